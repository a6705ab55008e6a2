"""Functions that expressions may call: CEL's own, and a few of its well-known extensions.

Each says with how many arguments it is called, as `f(x)` or as `x.f()`. Others add theirs by the same type.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from worldloom.worlds.expressions.values import EvaluationError, Scope, add, compare, kind, number


@dataclass(frozen=True, slots=True)
class Function:
    """A function of expressions.

    Attributes:
        run: called with the scope and the arguments, the receiver of a method first.
        free: numbers of arguments of `f(…)`; empty if it is a method only.
        method: numbers of arguments of `x.f(…)`, `x` not counted; empty if it is no method.
        reads: names whose values it uses.
    """

    run: Callable[..., Any]
    free: tuple[int, ...] = ()
    method: tuple[int, ...] = ()
    reads: tuple[str, ...] = ()


def _size(_: Scope, value: Any) -> int:
    if type(value) in (str, list, dict):
        return len(value)
    raise EvaluationError(f"{kind(value)} has no size")


def _on_text(name: str, act: Callable[..., Any], makes_text: bool = False) -> Callable[..., Any]:
    def run(scope: Scope, *values: Any) -> Any:
        for value in values:
            if type(value) is not str:
                raise EvaluationError(f"{name} works on text, not on {kind(value)}")
            scope.text(len(value)) if makes_text else scope.spend(len(value) >> 6)
        return act(*values)

    return run


def _matches(scope: Scope, text: Any, pattern: Any) -> bool:
    """RE2 syntax. The time grows with text × pattern × counts such as `{3}`, and that is what is paid."""
    if type(text) is not str or type(pattern) is not str:
        raise EvaluationError(f"matches works on text, not on {kind(text)} and {kind(pattern)}")
    size = len(pattern)
    for count in _COUNT.finditer(pattern):
        size *= max(1, *(int(number[:9]) for number in re.findall("[0-9]+", count.group())))
    if size > 5_000:
        raise EvaluationError("the pattern is too long, or repeats too often")
    scope.spend(500 + len(text) * size // 64)
    try:
        return bool(_native_matches()({"text": text, "pattern": pattern}))
    except RuntimeError as error:
        raise EvaluationError(f"{pattern!r} is no usable pattern") from error


_COUNT = re.compile(r"\{[0-9, ]*[0-9][0-9, ]*\}")


@cache
def _native_matches() -> Callable[[dict[str, str]], Any]:
    # Loads a command line and prompt_toolkit, 0.7-1.8 s: only for scenarios that match patterns.
    import cel  # noqa: PLC0415

    return cel.compile("text.matches(pattern)").execute


def _join(scope: Scope, items: Any, separator: Any = "") -> str:
    texts = _list("join", scope, items)
    if type(separator) is not str or not all(type(item) is str for item in texts):
        raise EvaluationError("join works on a list of texts")
    scope.text(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _sum(scope: Scope, items: Any) -> Any:
    total: Any = 0
    for item in _list("sum", scope, items):
        total = add(total, item, scope)
    return total


def _extreme(name: str, sign: int) -> Callable[..., Any]:
    def run(scope: Scope, items: Any) -> Any:
        values = _list(name, scope, items)
        if not values:
            raise EvaluationError(f"{name} of an empty list")
        best = values[0]
        compare(best, best, scope)
        for value in values[1:]:
            if compare(value, best, scope) * sign > 0:
                best = value
        return best

    return run


def _list(name: str, scope: Scope, items: Any) -> list[Any]:
    if type(items) is not list:
        raise EvaluationError(f"{name} works on a list, not on {kind(items)}")
    scope.spend(len(items))
    return items


def _int(_: Scope, value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is float:
        return int(number(int(value)))
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    if type(value) is str and re.fullmatch("[+-]?[0-9]{1,19}", value):
        return int(number(int(value)))
    raise EvaluationError(f"{_shown(value)} is no whole number")


def _double(_: Scope, value: Any) -> float:
    if type(value) in (int, float):
        return float(value)
    if type(value) is str and re.fullmatch(
        r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", value[:400]
    ):
        return float(number(float(value)))
    raise EvaluationError(f"{_shown(value)} is no number")


def _string(_: Scope, value: Any) -> str:
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"
    raise EvaluationError(f"{kind(value)} cannot be made text")


_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})", re.ASCII)
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|us|m|s)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def _timestamp(_: Scope, value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if type(value) is str and _STAMP.fullmatch(value):
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise EvaluationError(f"{_shown(value)} is no time stamp such as 2026-07-03T18:20:00Z")


def _duration(_: Scope, value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if type(value) is str and len(value) <= 100:
        sign, body = (-1, value[1:]) if value[:1] == "-" else (1, value)
        parts = _PART.findall(body)
        if parts and "".join(amount + unit for amount, unit in parts) == body:
            return sign * timedelta(seconds=sum(float(amount) * _SECONDS[unit] for amount, unit in parts))
    raise EvaluationError(f"{_shown(value)} is no duration such as 1h30m")


def _part(name: str, of_stamp: Callable[[datetime], int], seconds: int = 0) -> Callable[..., int]:
    """A part of a time stamp (UTC), or how often a unit of `seconds` fits into a duration."""

    def run(_: Scope, value: Any) -> int:
        if isinstance(value, datetime):
            return of_stamp(value)
        if seconds and isinstance(value, timedelta):
            whole = abs(value) // timedelta(seconds=seconds)
            return whole if value >= timedelta() else -whole
        raise EvaluationError(f"{name} works on a time, not on {kind(value)}")

    return run


def _shown(value: Any) -> str:
    return repr(value[:60]) if type(value) is str else kind(value)


FUNCTIONS: Mapping[str, Function] = {
    "size": Function(_size, free=(1,), method=(0,)),
    "int": Function(_int, free=(1,)),
    "double": Function(_double, free=(1,)),
    "string": Function(_string, free=(1,)),
    "timestamp": Function(_timestamp, free=(1,)),
    "duration": Function(_duration, free=(1,)),
    "contains": Function(_on_text("contains", lambda text, part: part in text), method=(1,)),
    "startsWith": Function(_on_text("startsWith", str.startswith), method=(1,)),
    "endsWith": Function(_on_text("endsWith", str.endswith), method=(1,)),
    "matches": Function(_matches, method=(1,)),
    "lowerAscii": Function(_on_text("lowerAscii", lambda t: t.encode().lower().decode(), True), method=(0,)),
    "upperAscii": Function(_on_text("upperAscii", lambda t: t.encode().upper().decode(), True), method=(0,)),
    "trim": Function(_on_text("trim", str.strip, True), method=(0,)),
    "join": Function(_join, method=(0, 1)),
    "sum": Function(_sum, method=(0,)),
    "min": Function(_extreme("min", -1), method=(0,)),
    "max": Function(_extreme("max", 1), method=(0,)),
    "getFullYear": Function(_part("getFullYear", lambda t: t.year), method=(0,)),
    "getMonth": Function(_part("getMonth", lambda t: t.month - 1), method=(0,)),
    "getDate": Function(_part("getDate", lambda t: t.day), method=(0,)),
    "getDayOfMonth": Function(_part("getDayOfMonth", lambda t: t.day - 1), method=(0,)),
    "getDayOfWeek": Function(_part("getDayOfWeek", lambda t: t.isoweekday() % 7), method=(0,)),
    "getHours": Function(_part("getHours", lambda t: t.hour, 3600), method=(0,)),
    "getMinutes": Function(_part("getMinutes", lambda t: t.minute, 60), method=(0,)),
    "getSeconds": Function(_part("getSeconds", lambda t: t.second, 1), method=(0,)),
}
