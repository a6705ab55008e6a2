"""The idiom in which published files write `returns`, read line by line; what is not in it stays `Unread`.

    NO STATE CHANGES. Read-only operation.      and what is returned, in prose
    STATE CHANGES to <entity>:                  one or more blocks of `path: value` lines
    volume: 0.5                                 a literal, as JSON; texts in quotes
    mono: {the enabled parameter value}         an argument; also {the enabled parameter}, {the enabled}
    output: {the device's name}                 a field of something that has to be looked up
    devices[device_id].paired: true             the item, or key, that the argument names
    playing: false (if the device is new)       a remark
    Fails if …    Message confirms: {mono: boolean}

Nothing is guessed: a bare word may be a text or prose, so it is unread, and who needs certainty asks `complete`.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import RecordError

READ_ONLY = "NO STATE CHANGES"
_HEADER = re.compile(r"STATE CHANGES to\s+(?P<entity>[^\n]*?)\s*:[ \t]*", re.IGNORECASE)
_HEADER_LINE = re.compile(rf"^[ \t]*(?:{_HEADER.pattern})$", re.IGNORECASE | re.MULTILINE)
_CHANGE = re.compile(r"(?P<path>[\w-]+(?:\.[\w-]+|\[[^\]\n]*\])*)\s*:\s*(?P<value>\S.*)")
_STEP = re.compile(r"\.?(?P<name>[\w-]+)|\[(?P<index>[^\]]*)\]")
_REMARK = re.compile(r"(?P<value>.*?)\s+\((?P<remark>[^()]*)\)")
_ARGUMENT = re.compile(r"\{(?:the )?(?P<name>[\w-]+?)(?: parameter| argument)?(?: value)?\}")
_LOOKED_UP = re.compile(r"\{(?:the )?(?P<owner>[\w -]+)['’]s (?P<field>[\w-]+)\}")
_FAILS = re.compile(r"Fails (?:if|when|unless) \S.*", re.IGNORECASE)
_CONFIRMS = re.compile(r"Message (?:confirms|contains|returns)\b:?\s*(?P<what>.*)", re.IGNORECASE)
_MESSAGE = re.compile(r"(?:Returns\b|Format:).*")
_FIELDS = re.compile(r"\{\s*(?P<inside>[\w-]+\s*:\s*\w+(?:\s*,\s*[\w-]+\s*:\s*\w+)*)\s*\}\.?")


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands there as it is."""

    value: Json


@dataclass(frozen=True, slots=True)
class Argument:
    """What the call gives for a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A field of something that the prose names: which one, only a reader of the whole scenario knows."""

    owner: str
    field: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Prose, or a bare word."""

    text: str


Value: TypeAlias = Literal | Argument | LookedUp | Unread


@dataclass(frozen=True, slots=True)
class Index:
    """`[…]` in a path: an item of a list, or a key of a mapping."""

    of: Value


Step: TypeAlias = str | Index


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the prose, with its number in it, from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One `path: value` line of a block.

    Attributes:
        path: the way to what changes; its first step is a property of the entity.
        value: what it becomes.
        remark: what stands in parentheses behind it; it may hold a condition.
    """

    entity: str
    path: tuple[Step, ...]
    value: Value
    remark: str
    line: Line

    @property
    def key(self) -> str:
        """The property that changes."""
        assert isinstance(self.path[0], str), "a path begins with a name"
        return self.path[0]


@dataclass(frozen=True, slots=True)
class Returns:
    """What could be read of a `returns`.

    Attributes:
        read_only: it says that nothing changes.
        entities: those that have a block, in order.
        changes: the lines of all blocks, in order.
        fails: the lines that say when the action fails.
        confirms: field -> type of what the message confirms; None if it says so in prose, or not at all.
        unread: lines that may say more about what changes.
    """

    read_only: bool = False
    entities: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    fails: tuple[Line, ...] = ()
    confirms: Mapping[str, str] | None = None
    unread: tuple[Line, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing else can change than what `changes` names."""
        return self.read_only or (bool(self.entities) and not self.unread)


def is_read_only(text: str) -> bool:
    """Whether the prose says that nothing changes."""
    return text.lstrip().startswith(READ_ONLY) and _HEADER_LINE.search(text) is None


def read_returns(text: str, parameters: Collection[str], states: Mapping[str, Mapping[str, Json]]) -> Returns:
    """Read the prose of one action.

    Args:
        text: its `returns`.
        parameters: names of its parameters.
        states: entity -> property -> value, as they are at first.
    """
    if is_read_only(text):
        return Returns(read_only=True)
    reader = _Reader(parameters, states)
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            reader.read(Line(number, line.strip()))
    return Returns(
        False,
        tuple(dict.fromkeys(reader.entities)),
        tuple(reader.changes),
        tuple(reader.fails),
        reader.confirms,
        tuple(reader.unread),
    )


class _Reader:
    """Goes through the lines; `_entity` is the one whose block is open."""

    def __init__(self, parameters: Collection[str], states: Mapping[str, Mapping[str, Json]]) -> None:
        self._parameters, self._states = parameters, states
        self._entity: str | None = None
        self.entities: list[str] = []
        self.changes: list[Change] = []
        self.fails: list[Line] = []
        self.unread: list[Line] = []
        self.confirms: dict[str, str] | None = None

    def read(self, line: Line) -> None:
        if header := _HEADER.fullmatch(line.text):
            self._open(header["entity"], line)
        elif _FAILS.fullmatch(line.text):
            self.fails.append(line)
            self._entity = None
        elif confirms := _CONFIRMS.fullmatch(line.text):
            self.confirms = _fields(confirms["what"])
            self._entity = None
        elif _MESSAGE.fullmatch(line.text):
            self._entity = None
        elif (change := self._change(line)) is not None:
            self.changes.append(change)
        else:
            self.unread.append(line)

    def _open(self, entity: str, line: Line) -> None:
        self._entity = entity if entity in self._states else None
        if self._entity is None:
            self.unread.append(line)
        else:
            self.entities.append(entity)

    def _change(self, line: Line) -> Change | None:
        found = _CHANGE.fullmatch(line.text.removeprefix("- "))
        if found is None or self._entity is None:
            return None
        path = self._path(found["path"], self._entity)
        text, remark = found["value"], ""
        if noted := _REMARK.fullmatch(text):
            text, remark = noted["value"], noted["remark"]
        value = _value(text, self._parameters)
        if not path or (path[0] not in self._states[self._entity] and isinstance(value, Unread)):
            return None  # `Note: the timer starts again` is prose
        return Change(self._entity, path, value, remark, line)

    def _path(self, text: str, entity: str) -> tuple[Step, ...]:
        """The steps of a path; the entity and `state` may be left out, as in a `pass_condition`."""
        steps: list[Step] = [
            found["name"] if found["name"] is not None else Index(self._index(found["index"]))
            for found in _STEP.finditer(text)
        ]
        for name in (entity, "state"):
            if steps and steps[0] == name and name not in self._states[entity]:
                del steps[0]
        return tuple(steps) if steps and isinstance(steps[0], str) else ()

    def _index(self, text: str) -> Value:
        name = text.strip()
        return Argument(name) if name in self._parameters else _value(name, self._parameters)


def _value(text: str, parameters: Collection[str]) -> Value:
    if (found := _ARGUMENT.fullmatch(text)) and found["name"] in parameters:
        return Argument(found["name"])
    if found := _LOOKED_UP.fullmatch(text):
        return LookedUp(found["owner"], found["field"])
    if len(text) > 1 and text[0] == text[-1] == "'" and "'" not in text[1:-1]:
        return Literal(text[1:-1])
    try:
        value: Json = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
        canonical(value)
    except (ValueError, RecursionError, RecordError):
        return Unread(text)
    return Literal(value)


def _fields(text: str) -> dict[str, str] | None:
    found = _FIELDS.fullmatch(text.strip())
    return dict(_pairs(found["inside"])) if found else None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        name, _, kind = part.partition(":")
        yield name.strip(), kind.strip()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)
