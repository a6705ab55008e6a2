"""Agreement: whether a new state is what the action's `returns` says, as far as that can be read without guessing.

A value without a remark must be there; one with a remark may hold under a condition, so what was there may also stay.
Where the prose names single items of a list and nothing else of it, the rest of the list must be as it was.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import ReplyError
from worldloom.core.yamlio.wording import quoted
from worldloom.worlds.aaw.returns import Argument, Change, Literal, Returns, Unread, Value
from worldloom.worlds.aaw.state import same

States: TypeAlias = Mapping[str, Json]
Place: TypeAlias = tuple[str | int, ...]
"""The way from an entity's state down to a value."""

_ABSENT = object()
_CONDITION = re.compile(r"(?:if|when|unless|only|provided)\b", re.IGNORECASE)
_OTHER_VALUE = re.compile(r"\b(?:or|else|otherwise|then|instead|but)\b", re.IGNORECASE)


def known_value(value: Value, arguments: Mapping[str, Json]) -> Any:
    """The value, if it can be known without the rest of the scenario; else `UNKNOWN`."""
    if isinstance(value, Literal):
        return value.value
    if isinstance(value, Argument) and value.name in arguments:
        return arguments[value.name]
    return UNKNOWN


UNKNOWN = object()


def may_be_null(changes: Sequence[Change], arguments: Mapping[str, Json]) -> bool:
    """Whether the lines on one property say that it may become null."""
    return any(
        known_value(change.value, arguments) is None
        or (isinstance(change.value, Unread) and re.search(r"\bnull\b", change.value.text))
        for change in changes
    )


def check_agreement(returns: Returns, arguments: Mapping[str, Json], before: States, after: States) -> None:
    """Compare the states around a successful call with what `returns` says.

    Raises:
        ReplyError: they disagree; the text names the line.
    """
    lines: dict[tuple[str, Place], list[Change]] = {}
    for change in returns.changes:
        place = _place(change, arguments, after[change.entity])
        if place is not None:
            lines.setdefault((change.entity, place), []).append(change)
    for (entity, place), changes in lines.items():
        _check_value(entity, place, changes, arguments, before, after)
    by_property: dict[tuple[str, str], list[Change]] = {}
    for change in returns.changes if returns.complete else ():
        by_property.setdefault((change.entity, change.key), []).append(change)
    for (entity, key), changes in by_property.items():
        _check_rest(entity, key, changes, arguments, before, after)


def _check_value(
    entity: str,
    place: Place,
    changes: Sequence[Change],
    arguments: Mapping[str, Json],
    before: States,
    after: States,
) -> None:
    """Check what stands at a place against all lines that name it."""
    wanted = [known_value(change.value, arguments) for change in changes]
    if any(value is UNKNOWN or _unclear(change) for value, change in zip(wanted, changes, strict=True)):
        return
    found, old = _at(after[entity], place), _at(before[entity], place)
    if any(found is not _ABSENT and same(found, value) for value in wanted):
        return
    if all(change.remark for change in changes) and (
        found is old or (_ABSENT not in (found, old) and same(found, old))
    ):
        return
    shown = "missing" if found is _ABSENT else quoted(found)
    raise ReplyError(
        f"{_shown(entity, place)} would be {shown}, but `returns` says {changes[0].line.text!r}, "
        f"which is {quoted(wanted[0])} here."
    )


def _unclear(change: Change) -> bool:
    """Whether the remark may speak of another value than the one that stands there."""
    if _OTHER_VALUE.search(change.remark):
        return True
    conditional = not change.remark or _CONDITION.match(change.remark)
    return isinstance(change.value, Argument) and not conditional


def _check_rest(
    entity: str,
    key: str,
    changes: Sequence[Change],
    arguments: Mapping[str, Json],
    before: States,
    after: States,
) -> None:
    """Check that a property is as it was but for the places that are named in it, if all of them are known."""
    places = [_place(change, arguments, before[entity]) for change in changes]
    old, new = _at(before[entity], (key,)), _at(after[entity], (key,))
    if old is _ABSENT or new is _ABSENT or any(place is None or len(place) == 1 for place in places):
        return
    expected = before[entity]
    for place in places:
        assert place is not None, "seen above"
        if (found := _at(after[entity], place)) is not _ABSENT:
            expected = _with(expected, place, found)
    if not same(_at(expected, (key,)), new):
        named = ", ".join(_shown(entity, place) for place in places if place is not None)
        raise ReplyError(f"Of {entity}.{key} only {named} may change; give back all the rest as it was.")


def _place(change: Change, arguments: Mapping[str, Json], state: Json) -> Place | None:
    """Where a path leads in a state; None if that cannot be known, or it leads to nothing."""
    place: list[str | int] = []
    value: Any = state
    for number, step in enumerate(change.path):
        last = number == len(change.path) - 1
        if isinstance(step, str):
            key: str | int | None = step if isinstance(value, dict) else None
        else:
            wanted = known_value(step.of, arguments)
            field = step.of.name if isinstance(step.of, Argument) else ""
            key = None if wanted is UNKNOWN else _selected(value, wanted, field)
        if key is None or (isinstance(value, dict) and key not in value and not last):
            return None
        place.append(key)
        value = value.get(key) if isinstance(value, dict) else value[key]
    return tuple(place)


def _selected(container: Json, wanted: Json, field: str) -> str | int | None:
    """The key of a mapping, or the index of the one item whose field of that name, or id, is the wanted one."""
    if isinstance(container, dict):
        return wanted if isinstance(wanted, str) else None
    if not isinstance(container, list):
        return None
    items = [(index, item) for index, item in enumerate(container) if isinstance(item, dict)]
    by_name = any(field in item for _, item in items)
    found = [
        index
        for index, item in items
        if any(
            same(value, wanted)
            for name, value in item.items()
            if (name == field if by_name else name == "id" or name.endswith("_id"))
        )
    ]
    return found[0] if len(found) == 1 else None


def _at(state: Json, place: Place) -> Any:
    value: Any = state
    for key in place:
        inside = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if key not in inside:
            return _ABSENT
        value = value[key]
    return value


def _with(value: Any, place: Place, new: Json) -> Any:
    """A copy of a state with another value at a place."""
    if not place:
        return new
    key, rest = place[0], place[1:]
    if isinstance(value, dict):
        return {**value, str(key): _with(value.get(key), rest, new)}
    return [_with(item, rest, new) if index == key else item for index, item in enumerate(value)]


def _shown(entity: str, place: Place) -> str:
    return entity + "".join(f"[{key}]" if isinstance(key, int) else f".{key[:60]}" for key in place)
