"""Canonical JSON: one byte string for one value, on every machine.

Keys sorted, UTF-8, no spaces, shortest round-trip floats. What JSON would bend silently is refused
with its path: NaN, infinity, -0.0, numpy scalars, tuples, sets, non-text keys, lone surrogates.
"""

import hashlib
import json
import math
from typing import Any, TypeAlias, Union

from worldloom.core.errors import RecordError
from worldloom.core.frozen import FrozenDict, FrozenList

Json: TypeAlias = Union[None, bool, int, float, str, list["Json"], dict[str, "Json"]]  # noqa: UP007 (recursive)

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode


def canonical(value: Json) -> bytes:
    """The one byte string of a JSON value.

    Raises:
        RecordError: a part of the value is no JSON, or would not survive a round trip; names its path.
    """
    _check(value, ())
    try:
        return _encode(value).encode("utf-8")
    except UnicodeEncodeError:
        raise RecordError(f"cannot record {_surrogate_path(value, ())}: lone surrogate in text") from None


def digest(value: Json) -> str:
    """SHA-256 over the canonical bytes, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parse(data: bytes | str) -> Json:
    """Read JSON that `canonical` wrote."""
    parsed: Json = json.loads(data)
    return parsed


def _check(value: Any, path: tuple[str | int, ...]) -> None:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return
    if kind is dict or kind is FrozenDict:
        for key, item in value.items():
            if type(key) is not str:
                raise RecordError(
                    f"cannot record {_shown(path)}: key {key!r} is {type(key).__name__}, not text"
                )
            if type(item) is not str:
                _check(item, (*path, key))
    elif kind is list or kind is FrozenList:
        for index, item in enumerate(value):
            if type(item) is not str:
                _check(item, (*path, index))
    elif kind is float:
        if not math.isfinite(value):
            raise RecordError(f"cannot record {_shown(path)}: {value} is no JSON number")
        if value == 0.0 and math.copysign(1.0, value) < 0:
            raise RecordError(
                f"cannot record {_shown(path)}: -0.0 and 0.0 would not be told apart; write 0.0"
            )
    else:
        raise RecordError(
            f"cannot record {_shown(path)}: {kind.__module__}.{kind.__qualname__} is no JSON value "
            "(allowed: None, bool, int, float, str, list, dict with text keys)"
        )


def _surrogate_path(value: Any, path: tuple[str | int, ...]) -> str:
    """Path of the first text that UTF-8 cannot hold."""
    if isinstance(value, str):
        return "" if encodable(value) else _shown(path)
    if isinstance(value, dict):
        for key, item in value.items():
            found = _shown((*path, key)) if not encodable(key) else _surrogate_path(item, (*path, key))
            if found:
                return found
    if isinstance(value, list):
        for index, item in enumerate(value):
            if found := _surrogate_path(item, (*path, index)):
                return found
    return ""


def encodable(text: str) -> bool:
    """Whether UTF-8 can hold the text: lone surrogates it cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
