"""Operators on CEL values, each under the meter of its evaluation.

Values are JSON, time stamps and durations. As in CEL, nothing is converted silently and `true` is no number. One rule
is kinder: whole and decimal numbers may meet in arithmetic, and the result is decimal (CEL refuses `1 + 0.5`; in YAML
`21` and `21.5` are both just numbers). Division by zero is an error for both kinds.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError

MAX_STEPS: Final = 100_000
"""Steps of one evaluation, or of all those that share a meter: parts evaluated, items gone through, 64 characters of
text made or compared. About 0.05 s."""
MAX_TEXT: Final = 100_000
"""Characters of one text that an expression makes."""
_MAX_DEPTH, _TOO_DEEP = 100, "its value is nested too deeply"
_LEAST, _GREATEST = -(2**63), 2**63 - 1


class EvaluationError(UsageError):
    """An expression has no value for these inputs; the text says why."""

    code = "expression"


class Exhausted(EvaluationError):
    """An expression needs more steps or makes longer text than allowed. No operator absorbs it."""


class Meter:
    """The steps that are left."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS


class Scope:
    """What an evaluation sees and pays with: the values of names, and a meter that others may share."""

    __slots__ = ("meter", "names")

    def __init__(self, names: Mapping[str, Any], meter: Meter | None = None) -> None:
        self.names = names
        self.meter = Meter() if meter is None else meter

    def with_names(self, names: Mapping[str, Any]) -> "Scope":
        """Other names, paid from the same meter, the making of them included."""
        self.spend(1 + (len(names) >> 3))
        return Scope(names, self.meter)

    def spend(self, steps: int) -> None:
        """Pay; `Exhausted` if it is too much."""
        self.meter.left -= steps
        if self.meter.left < 0:
            raise Exhausted(f"more than the {MAX_STEPS:,} steps that there are for one action or check")

    def text(self, length: int) -> None:
        """Pay for making a text of this many characters."""
        if length > MAX_TEXT:
            raise Exhausted(f"it makes text of more than {MAX_TEXT} characters")
        self.spend(length >> 6)


def kind(value: Any) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case float():
            return "a decimal number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case datetime():
            return "a time stamp"
    return "a duration"


def add(left: Any, right: Any, scope: Scope) -> Any:
    """`left + right`: numbers, text, lists, times."""
    if _numbers(left, right):
        return number(left + right)
    if type(left) is str and type(right) is str:
        scope.text(len(left) + len(right))
        return left + right
    if type(left) is list and type(right) is list:
        scope.spend(len(left) + len(right))
        return left + right
    if isinstance(left, timedelta) and isinstance(right, datetime | timedelta):
        return right + left
    if isinstance(left, datetime) and isinstance(right, timedelta):
        return left + right
    raise EvaluationError(f"cannot add {kind(left)} and {kind(right)}")


def subtract(left: Any, right: Any, _: Scope) -> Any:
    """`left - right`: numbers, times."""
    if _numbers(left, right):
        return number(left - right)
    if isinstance(left, datetime | timedelta) and type(right) in (type(left), timedelta):
        return left - right
    raise EvaluationError(f"cannot subtract {kind(right)} from {kind(left)}")


def multiply(left: Any, right: Any, _: Scope) -> Any:
    """`left * right`: numbers."""
    if _numbers(left, right):
        return number(left * right)
    raise EvaluationError(f"cannot multiply {kind(left)} by {kind(right)}")


def divide(left: Any, right: Any, _: Scope) -> Any:
    """`left / right`: two whole numbers give a whole one, cut off towards zero."""
    if not _numbers(left, right):
        raise EvaluationError(f"cannot divide {kind(left)} by {kind(right)}")
    if right == 0:
        raise EvaluationError("division by zero")
    if type(left) is int and type(right) is int:
        quotient = abs(left) // abs(right)
        return number(quotient if (left < 0) == (right < 0) else -quotient)
    return number(left / right)


def modulo(left: Any, right: Any, _: Scope) -> int:
    """`left % right` of whole numbers: the rest has the sign of the left one."""
    if type(left) is not int or type(right) is not int:
        raise EvaluationError(f"cannot take the rest of {kind(left)} by {kind(right)}")
    if right == 0:
        raise EvaluationError("division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def negate(value: Any) -> Any:
    """`-value`: a number or a duration."""
    if type(value) is int or type(value) is float:
        return number(-value)
    if isinstance(value, timedelta):
        return -value
    raise EvaluationError(f"cannot negate {kind(value)}")


def compare(left: Any, right: Any, scope: Scope) -> int:
    """Negative, 0 or positive, for numbers, text, truth values, time stamps and durations."""
    if _numbers(left, right) or (
        type(left) is type(right) and type(left) in (str, bool, datetime, timedelta)
    ):
        if type(left) is str:
            scope.spend(len(left) >> 6)
        return int(left > right) - int(left < right)
    raise EvaluationError(f"cannot order {kind(left)} and {kind(right)}")


def equal(left: Any, right: Any, scope: Scope) -> bool:
    """Numbers by value; otherwise only values of one kind can be equal (`true` is not 1)."""
    if type(left) is not type(right):
        return _numbers(left, right) and bool(left == right)
    if type(left) is str:
        scope.spend(len(left) >> 6)
    if type(left) is list:
        scope.spend(len(left))
        return len(left) == len(right) and all(equal(a, b, scope) for a, b in zip(left, right, strict=True))
    if type(left) is dict:
        scope.spend(len(left))
        return left.keys() == right.keys() and all(
            equal(item, right[key], scope) for key, item in left.items()
        )
    return bool(left == right)


def among(item: Any, container: Any, scope: Scope) -> bool:
    """`item in container`: an item of a list, or a key of a mapping."""
    if type(container) is list:
        scope.spend(len(container))
        return any(equal(item, other, scope) for other in container)
    if type(container) is dict:
        if type(item) in (str, int, bool):
            return type(item) is str and item in container
        raise EvaluationError(f"{kind(item)} cannot be the key of a mapping")
    raise EvaluationError(f"'in' needs a list or a mapping on its right, not {kind(container)}")


def at_index(container: Any, index: Any) -> Any:
    """`container[index]`: an item of a list, or the value of a key."""
    if type(container) is list:
        if type(index) is not int:
            raise EvaluationError(f"the index of a list is {kind(index)}; it must be a whole number")
        if not 0 <= index < len(container):
            raise EvaluationError(f"there is no item {index} in a list of {len(container)}")
        return container[index]
    if type(container) is dict:
        if type(index) is not str:
            raise EvaluationError(f"the key of a mapping is {kind(index)}; it must be text")
        if index not in container:
            raise EvaluationError(f"there is no key {index[:60]!r}")
        return container[index]
    raise EvaluationError(f"{kind(container)} has no items")


def number(value: Any) -> Any:
    """A result of arithmetic, if it fits: whole numbers into 64 bits, decimal ones finite."""
    if type(value) is int:
        if not _LEAST <= value <= _GREATEST:
            raise EvaluationError("a whole number does not fit into 64 bits")
    elif not math.isfinite(value):
        raise EvaluationError("a decimal number is too large")
    return value


def to_json(value: Any, scope: Scope, depth: int = 0) -> Json:
    """A result as plain JSON, every part paid for: shared parts count as often as they are seen."""
    if type(value) is float:
        return value + 0.0  # -0.0 becomes 0.0
    if value is None or type(value) in (bool, int):
        return value  # type: ignore[no-any-return]
    if type(value) is str:
        scope.text(len(value))
        return value
    if depth > _MAX_DEPTH:
        raise Exhausted(_TOO_DEEP)
    if type(value) is list:
        scope.spend(len(value))
        return [to_json(item, scope, depth + 1) for item in value]
    if type(value) is dict:
        scope.spend(len(value))
        return {key: to_json(item, scope, depth + 1) for key, item in value.items()}
    raise EvaluationError(f"its value is {kind(value)}; write string(…) around it")


def weigh(value: Json, scope: Scope, depth: int = 0) -> None:
    """Pay for every part of a value as for one that an expression makes, since parts may be shared many times over."""
    if type(value) is str:
        scope.spend(len(value) >> 6)
    elif isinstance(value, list | dict):
        if depth > _MAX_DEPTH:
            raise Exhausted(_TOO_DEEP)
        scope.spend(len(value))
        for item in value if isinstance(value, list) else value.values():
            weigh(item, scope, depth + 1)


def _numbers(left: Any, right: Any) -> bool:
    return (type(left) is int or type(left) is float) and (type(right) is int or type(right) is float)
