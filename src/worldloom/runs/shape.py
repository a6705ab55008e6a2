"""Shape: whether what was read out of JSON is of the types that its dataclasses name.

JSON that was damaged, or written by hand, may hold anything anywhere. It is found out where it is read, not later
where a text turns out to be a number.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, ForwardRef, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from worldloom.core.arguments import shown

T = TypeVar("T")
MOST = 2**63 - 1
"""The largest whole number that a record holds."""


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of a type, as annotations name it; numbers are finite, and a bool is none."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or isinstance(kind, ForwardRef):
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in parts)
    if origin is Literal:
        return value in parts
    if origin in (list, tuple, Sequence):
        return isinstance(value, list | tuple) and all(fits(one, parts[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(
            fits(name, parts[0]) and fits(one, parts[1]) for name, one in value.items()
        )
    if kind in (int, float):
        return (type(value) is int or type(value) is kind) and -MOST <= value <= MOST  # type: ignore[operator]
    return isinstance(value, kind)


def checked(value: T) -> T:
    """What was read, once every dataclass in it holds what its fields say.

    Raises:
        TypeError: one does not; names the field.
    """
    if is_dataclass(value) and not isinstance(value, type):
        for name, kind in _fields(type(value)):
            found = getattr(value, name)
            if not fits(found, kind):
                raise TypeError(f"{name} is {shown(found)}")
            checked(found)
    elif isinstance(value, Mapping):
        for one in value.values():
            checked(one)
    elif isinstance(value, list | tuple):
        for one in value:
            checked(one)
    return value


def texts(value: Any) -> dict[str, str]:
    """A mapping of text to text.

    Raises:
        TypeError: it is none.
    """
    if not fits(value, dict[str, str]):
        raise TypeError(f"{shown(value)} is no mapping of text to text")
    return dict(value)


@cache
def _fields(kind: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    return [(one.name, hints[one.name]) for one in fields(kind)]
