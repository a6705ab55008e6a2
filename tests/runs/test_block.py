"""Blocks: a table as one event, whose rows come back with their types."""

import numpy as np
import pytest

from worldloom.core.canonical import canonical
from worldloom.core.errors import RecordError
from worldloom.runs.block import expand, pack_columns

COLUMNS = {
    "seat": np.array([3, 1, 2], dtype=np.uint64),
    "wealth": np.array([0.1, 1e300, -2.5]),
    "active": np.array([True, False, True]),
    "small": np.array([-1, 0, 127], dtype=np.int8),
    "big_endian": np.array([1, 2, 3], dtype=">i4"),
}


def test_the_rows_of_a_block_come_back_as_json_with_their_types():
    body, blob = pack_columns(COLUMNS)
    rows = list(expand(body, blob.data))
    assert rows == [
        {"seat": 3, "wealth": 0.1, "active": True, "small": -1, "big_endian": 1},
        {"seat": 1, "wealth": 1e300, "active": False, "small": 0, "big_endian": 2},
        {"seat": 2, "wealth": -2.5, "active": True, "small": 127, "big_endian": 3},
    ]
    assert body["cells"] == blob.ref
    canonical(body)
    canonical(rows[0])


def test_the_bytes_do_not_depend_on_strides_or_byte_order():
    wide = np.arange(6, dtype=np.int32)
    assert (
        pack_columns({"x": wide[::2]})[1].sha256
        == pack_columns({"x": np.array([0, 2, 4], dtype=">i4")})[1].sha256
    )


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_and_none_are_blocks_too(rows):
    body, blob = pack_columns({"x": np.zeros(rows)})
    assert list(expand(body, blob.data)) == [{"x": 0.0}] * rows


@pytest.mark.parametrize(
    "columns",
    [
        {"x": np.array([1.0, np.nan])},
        {"x": np.array([np.inf])},
        {"x": np.array([-0.0])},
        {"x": np.array(["a"])},
        {"x": np.array([object()])},
        {"x": np.array([1 + 2j])},
        {"x": np.zeros((2, 2))},
        {"a": np.zeros(2), "x": np.zeros(3)},
    ],
)
def test_what_has_no_json_form_is_refused_by_the_name_of_its_column(columns):
    with pytest.raises(RecordError, match="column 'x'"):
        pack_columns(columns)


@pytest.mark.parametrize(
    ("changes", "cells"),
    [
        ({}, b""),
        ({}, b"\xff" * 9),
        ({}, b"\xff" * 17),
        ({"rows": "x"}, bytes(16)),
        ({"rows": 2**70}, bytes(16)),
        ({"rows": 1}, bytes(16)),
        ({"columns": [{"name": "x"}]}, bytes(16)),
        ({"columns": [{"name": "x", "dtype": "nothing"}]}, bytes(16)),
        ({"columns": [{"name": "x", "dtype": "O"}]}, bytes(16)),
        ({"columns": 5}, bytes(16)),
    ],
)
def test_a_block_whose_schema_and_cells_do_not_belong_together_is_an_error_of_the_record(changes, cells):
    body, _ = pack_columns({"x": np.zeros(2)})
    with pytest.raises(RecordError, match="a block cannot be read"):
        list(expand({**body, **changes}, cells))
