"""Delta: what a reply of the simulator would do to the state, read strictly and checked before anything is done.

Whatever is wrong is a `ReplyError`, one sentence that goes back to the simulator. Nothing is repaired but that a whole
number becomes decimal where decimals stand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import ReplyError, nearest
from worldloom.models.model import Completion
from worldloom.models.reply import parse_object
from worldloom.worlds.aaw.returns import Change, Returns
from worldloom.worlds.aaw.simulated.agreement import (
    UNKNOWN,
    States,
    check_agreement,
    known_value,
    may_be_null,
)
from worldloom.worlds.aaw.simulated.shapes import Shape
from worldloom.worlds.aaw.state import same

SPARE = 1_000
"""Characters by which a message may be longer than the state is as JSON: it stays in the agent's chat."""
LONGER = 2_000
"""Characters by which a property, as JSON, may become longer than it is and was at first, beside the arguments."""
GROWTH = 5_000
"""Characters by which the state, as JSON, may grow in an episode, beside the arguments of the present call."""
MAX_THOUGHT = 400
"""Characters of a thought that the schema allows; a longer one is no fault."""
_KEYS = ("thought_process", "success", "message", "state_changes")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A reply, read and not yet checked.

    Attributes:
        changes: entity -> property -> new value.
    """

    success: bool
    message: str
    changes: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Delta:
    """What will be done.

    Attributes:
        changes: entity -> property -> new value, of the properties whose value is another one now.
        entities: the new states of the entities that change.
    """

    changes: Mapping[str, Mapping[str, Json]]
    entities: Mapping[str, Json]


def read_proposal(completion: Completion, longest: int) -> Proposal:
    """The proposal that a reply holds; `longest` is how many characters its message may have.

    Raises:
        ReplyError: it holds none.
    """
    reply = parse_object(completion)
    for key in reply:
        if key not in _KEYS:
            raise ReplyError(f"Unknown key {key[:60]!r}; allowed are {', '.join(_KEYS)}.")
    success, message = reply.get("success"), reply.get("message")
    changes = reply.get("state_changes", {})
    if not isinstance(reply.get("thought_process", ""), str):
        raise ReplyError("thought_process must be a text.")
    if not isinstance(success, bool):
        raise ReplyError("success must be true or false.")
    if not isinstance(message, str) or not message.strip():
        raise ReplyError("message must be a text that is not empty.")
    if len(message) > longest:
        raise ReplyError(f"message has {len(message):,} characters; at most {longest:,} are allowed.")
    if not isinstance(changes, dict):
        raise ReplyError("state_changes must be an object: entity, then property, then its new value.")
    return Proposal(success, message, changes)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds the changes of one call.

    Attributes:
        returns: what the prose of the action says of them.
        arguments: of the call, defaults filled in.
        before: entity -> property -> value, before the call.
        initial: the same at the beginning of the episode.
    """

    returns: Returns
    arguments: Mapping[str, Json]
    before: States
    initial: States

    @property
    def longest_message(self) -> int:
        """Characters of a message, which tells of the state and of no more; it counts as grown by `GROWTH` at most."""
        return SPARE + min(_length(dict(self.before)), _length(dict(self.initial)) + GROWTH)

    def schema(self, read_only: bool) -> dict[str, Json]:
        """JSON Schema of a reply; entities and properties that cannot change are left out of it."""
        properties: dict[str, Json] = {
            "thought_process": {"type": "string", "maxLength": MAX_THOUGHT},
            "success": {"type": "boolean"},
            "message": {"type": "string", "minLength": 1, "maxLength": self.longest_message},
        }
        if not read_only:
            names = self.returns.entities if self.returns.complete else self.before
            properties["state_changes"] = _closed(
                {
                    name: _closed({key: self._property_schema(name, key) for key in self._keys(name)})
                    for name in names
                }
            )
        return {**_closed(properties), "required": [*properties]}

    def checked(self, changes: Mapping[str, Json]) -> Delta:
        """What proposed changes (entity -> property -> new value) of a call that succeeds do.

        Raises:
            ReplyError: it may not be done.
        """
        new: dict[str, dict[str, Json]] = {}
        for entity, properties in self.by_entity(changes).items():
            if self.returns.complete and properties and entity not in self.returns.entities:
                raise ReplyError(_outside(f"the entity {entity!r}", self.returns.entities))
            for key, value in properties.items():
                fitting = self._fitting(entity, key, value)
                self._check_length(entity, key, fitting)
                new.setdefault(entity, {})[key] = fitting
        after: dict[str, Json] = {
            entity: {**_state(self.before, entity), **new[entity]} if entity in new else state
            for entity, state in self.before.items()
        }
        check_agreement(self.returns, self.arguments, self.before, after)
        self._check_growth(after)
        really: dict[str, dict[str, Json]] = {}
        for entity, values in new.items():
            old = _state(self.before, entity)
            for key, value in values.items():
                if key not in old or canonical(value) != canonical(old[key]):
                    really.setdefault(entity, {})[key] = value
        return Delta(really, {entity: after[entity] for entity in really})

    def by_entity(self, changes: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
        """Proposed changes, once each is known to be an object that belongs to an entity.

        Raises:
            ReplyError: one is not.
        """
        found: dict[str, dict[str, Json]] = {}
        for entity, properties in changes.items():
            if entity not in self.before:
                raise ReplyError(_unknown("entity", entity, self.before))
            if not isinstance(properties, dict):
                raise ReplyError(f"state_changes.{entity} must be an object: property, then its new value.")
            found[entity] = properties
        return found

    def _check_length(self, entity: str, key: str, value: Json) -> None:
        """Check that a property does not become much longer than what was there and what the call brings."""
        states = (_state(self.before, entity), _state(self.initial, entity))
        known = max((_length(state[key]) for state in states if key in state), default=0)
        _check_longest(f"{entity}.{key[:60]}", value, known + LONGER + _length(dict(self.arguments)))

    def _check_growth(self, after: dict[str, Json]) -> None:
        """Check that the state does not grow without end; what the agent brings itself is no fault of the world."""
        known = max(_length(dict(self.before)), _length(dict(self.initial)) + GROWTH)
        _check_longest("The whole state", after, known + _length(dict(self.arguments)))

    def _fitting(self, entity: str, key: str, value: Json) -> Json:
        """A proposed value as it enters the state."""
        lines, known = self._lines(entity, key), self._keys(entity)
        if key not in known:
            if self.returns.complete:
                raise ReplyError(_outside(f"{entity}.{key[:60]}", [f"{entity}.{name}" for name in known]))
            raise ReplyError(_unknown(f"property of {entity}", key, known))
        if value is None and may_be_null(lines, self.arguments):
            return None
        try:
            return self._shape(entity, key).fit(value, f"{entity}.{key}")
        except ReplyError:
            if any(same(value, wanted) for wanted in _whole(lines, self.arguments)):
                return value  # what `returns` names may stand there, whatever stood there before
            raise

    def _keys(self, entity: str) -> dict[str, None]:
        """The properties that may change, or come to be."""
        named = {change.key: None for change in self.returns.changes if change.entity == entity}
        if self.returns.complete:
            return named
        known = (*_state(self.initial, entity), *_state(self.before, entity), *named)
        return dict.fromkeys(known)

    def _lines(self, entity: str, key: str) -> list[Change]:
        return [change for change in self.returns.changes if (change.entity, change.key) == (entity, key)]

    def _shape(self, entity: str, key: str) -> Shape:
        """As now, and null if it was null at first; as at first, if it is null now."""
        states = (_state(self.before, entity), _state(self.initial, entity))
        samples = [state[key] for state in states if key in state]
        alike = None in samples or len({type(sample) for sample in samples}) == 1
        decimal = any(isinstance(value, float) for value in self.arguments.values())
        return Shape.of(samples if alike else samples[:1], decimal=decimal)

    def _property_schema(self, entity: str, key: str) -> dict[str, Json]:
        """Of what a property may become, the values included that `returns` gives it in this call."""
        lines, shape = self._lines(entity, key), self._shape(entity, key)
        if not shape.kinds:
            return {}
        others = Shape.of(_whole(lines, self.arguments)).kinds
        if may_be_null(lines, self.arguments):
            others |= {"null"}
        return replace(shape, kinds=shape.kinds | others).schema()


def _whole(lines: Sequence[Change], arguments: Mapping[str, Json]) -> list[Json]:
    """The values that lines give to a whole property, where they can be known."""
    values = [known_value(line.value, arguments) for line in lines if len(line.path) == 1]
    return [value for value in values if value is not UNKNOWN]


def _state(states: States, entity: str) -> Mapping[str, Json]:
    state = states.get(entity, {})
    assert isinstance(state, dict), "states are mappings"
    return state


def _length(value: Json) -> int:
    return len(canonical(value).decode())


def _check_longest(what: str, value: Json, longest: int) -> None:
    length = _length(value)
    if length > longest:
        raise ReplyError(
            f"{what} would have {length:,} characters as JSON; at most {longest:,} are allowed here."
        )


def _closed(properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _unknown(what: str, name: str, known: Mapping[str, object]) -> str:
    near = nearest(name, known)
    hint = f" Did you mean {near!r}?" if near else ""
    return f"There is no {what} {name[:60]!r}.{hint} There are: {', '.join(known) or 'none'}."


def _outside(what: str, named: Sequence[str]) -> str:
    return f"{what} may not change: `returns` of this action names only {', '.join(dict.fromkeys(named))}."
