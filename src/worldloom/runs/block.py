"""Block: an event that carries a table, where thousands act at once.

The body holds a schema, the cells stand column after column in one blob (little-endian). `expand` gives the rows.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldloom.core.content import Blob
from worldloom.core.errors import RecordError

_KINDS = {"b": "bool", "i": "integer", "u": "integer", "f": "number"}


def pack_columns(columns: Mapping[str, NDArray[Any]]) -> tuple[dict[str, Any], Blob]:
    """The body and the blob of a block; every column has shape (rows,).

    Raises:
        RecordError: columns differ in length, or hold something else than booleans or finite numbers.
    """
    schema, chunks, rows = [], [], None
    for name, column in columns.items():
        if column.dtype.kind not in _KINDS or column.ndim != 1 or (rows is not None and len(column) != rows):
            raise RecordError(
                f"cannot record column {name!r}: dtype {column.dtype}, shape {column.shape}; "
                "allowed: one dimension, equal lengths, booleans, integers or floats"
            )
        if column.dtype.kind == "f" and not (np.isfinite(column).all() and not _negative_zero(column)):
            raise RecordError(f"cannot record column {name!r}: it holds NaN, infinity or -0.0")
        rows = len(column)
        dtype = column.dtype.newbyteorder("<")
        schema.append({"name": name, "dtype": dtype.str})
        chunks.append(np.ascontiguousarray(column, dtype=dtype).tobytes())
    blob = Blob(b"".join(chunks), "application/x-worldloom-columns")
    return {"rows": rows or 0, "columns": schema, "cells": blob.ref}, blob


def expand(body: Mapping[str, Any], cells: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a block, each a JSON object; `cells` is the content of its blob.

    Raises:
        RecordError: schema and cells do not belong together: the record is damaged.
    """
    columns, at = {}, 0
    try:
        rows = range(body["rows"])
        for column in body["columns"]:
            dtype = np.dtype(column["dtype"])
            columns[column["name"]] = np.frombuffer(cells, dtype, count=len(rows), offset=at).tolist()
            at += dtype.itemsize * len(rows)
    except (LookupError, TypeError, ValueError, OverflowError) as damage:
        raise RecordError(f"a block cannot be read: {damage}") from damage
    if at != len(cells):
        raise RecordError(f"a block cannot be read: it has {len(cells):,} bytes of cells and names {at:,}")
    for row in rows:
        yield {name: values[row] for name, values in columns.items()}


def _negative_zero(column: NDArray[Any]) -> bool:
    return bool((np.signbit(column) & (column == 0)).any())
