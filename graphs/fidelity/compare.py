"""Comparing: one reply of a simulator against what the rules did from the same state.

What counts is what a reply would do: a property that it gives with the value it has already is no change, and numbers
are compared by value. Kinds are told independently of one another, so a reply may have several.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from worldloom.core.canonical import Json
from worldloom.graphs.fidelity.message import Leaks, fields_of
from worldloom.worlds.aaw.state import same

Kind: TypeAlias = Literal[
    "unreadable",
    "wrong_success",
    "wrong_value",
    "missing_change",
    "extra_change",
    "invented",
    "leaked_rule",
    "read_that_wrote",
]
"""How a reply may disagree with the rules."""

KINDS: tuple[Kind, ...] = get_args(Kind)
States: TypeAlias = Mapping[str, Mapping[str, Json]]
Changes: TypeAlias = Mapping[tuple[str, str], Json]
"""(entity, property) -> new value."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the rules did in one call.

    Attributes:
        before: entity -> property -> value.
        changes: of the properties whose value is another one now.
        confirmed: the fields of the message that can be compared, with their values; none if the file names none.
    """

    before: States
    success: bool
    message: str
    changes: Changes
    read_only: bool
    confirmed: Mapping[str, Json]

    @staticmethod
    def of(fact: Mapping[str, Any], before: States, named: Sequence[str]) -> "Truth":
        """The truth of a step.

        Args:
            fact: body of its `stepped.1`.
            named: fields that the action's `returns` names.
        """
        message = fields_of(fact["message"]) if fact["success"] else None
        known = message is not None and bool(named) and all(name in message for name in named)
        confirmed = {name: message[name] for name in named} if known and message is not None else {}
        changes = _flat(fact["changes"])
        return Truth(before, fact["success"], fact["message"], changes, fact["read_only"], confirmed)


@dataclass(frozen=True, slots=True)
class Compared:
    """A reply beside the truth.

    Attributes:
        said: success, message and changes; None if it cannot be read.
        exact: the same success and changes, and no confirmed field of the message differs.
        same_type: the same set of changed properties.
        message: whether the confirmed fields of the message are right; None if there are none to compare.
        accepted: it passed the checks of the model world.
        changing: the rules change something in this call.
    """

    said: tuple[bool, str, Changes] | None
    exact: bool
    same_type: bool
    message: bool | None
    accepted: bool
    changing: bool
    kinds: frozenset[Kind]


def compare(reply: Mapping[str, Any], truth: Truth, leaks: Leaks) -> Compared:
    """Compare a reply, as `proposed.1` holds it, with the truth."""
    if "unreadable" in reply:
        message = False if truth.confirmed else None
        unreadable: frozenset[Kind] = frozenset({"unreadable"})
        return Compared(None, False, False, message, False, bool(truth.changes), unreadable)
    changes, kinds = _effective(reply["changes"], truth.before), set[Kind]()
    if reply["success"] != truth.success:
        kinds.add("wrong_success")
    invented = {place for place in changes if place[1] not in truth.before.get(place[0], {})}
    if invented:
        kinds.add("invented")
    known = changes.keys() - invented
    if truth.read_only and known:
        kinds.add("read_that_wrote")
    elif known - truth.changes.keys():
        kinds.add("extra_change")
    if truth.changes.keys() - known:
        kinds.add("missing_change")
    if any(not same(changes[place], truth.changes[place]) for place in known & truth.changes.keys()):
        kinds.add("wrong_value")
    if leaks.found(reply["message"], truth.message, truth.before):
        kinds.add("leaked_rule")
    message = _confirms(reply["message"], truth.confirmed) if truth.confirmed else None
    right = message is not False and not kinds - {"leaked_rule"}
    return Compared(
        said=(reply["success"], reply["message"], changes),
        exact=right,
        same_type=changes.keys() == truth.changes.keys(),
        message=message,
        accepted="refused" not in reply,
        changing=bool(truth.changes),
        kinds=frozenset(kinds),
    )


def agreements(replies: Sequence[Compared]) -> tuple[int, int, int]:
    """Of all pairs of replies to one call: how many there are, are the same, and change the same properties.

    As published: the same is identical feedback and changes. A reply that cannot be read is like no other.
    """
    pairs = exact = types = 0
    for one, other in itertools.combinations(replies, 2):
        pairs += 1
        if one.said is not None and other.said is not None:
            like = one.said[2].keys() == other.said[2].keys()
            types += like
            exact += like and one.said[:2] == other.said[:2] and _same(one.said[2], other.said[2])
    return pairs, exact, types


def _same(changes: Changes, others: Changes) -> bool:
    return all(same(value, others[place]) for place, value in changes.items())


def _confirms(message: str, confirmed: Mapping[str, Json]) -> bool:
    said = fields_of(message)
    return said is not None and all(
        name in said and same(said[name], value) for name, value in confirmed.items()
    )


def _effective(changes: Mapping[str, Mapping[str, Json]], before: States) -> Changes:
    """What is another value than before; an entity that does not exist counts even without properties."""
    found = {
        place: value
        for place, value in _flat(changes).items()
        if place[1] not in before.get(place[0], {}) or not same(value, before[place[0]][place[1]])
    }
    return {**{(entity, ""): None for entity in changes if entity not in before}, **found}


def _flat(changes: Mapping[str, Mapping[str, Json]]) -> dict[tuple[str, str], Json]:
    return {
        (entity, key): value for entity, properties in changes.items() for key, value in properties.items()
    }
