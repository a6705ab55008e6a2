"""What all engines of kind `aaw` have in common: the state, what a seat is shown of it, and the fact of one step."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from worldloom.core.action import Action, ActionSpec, Feedback
from worldloom.core.canonical import Json, canonical, digest, parse
from worldloom.core.errors import RecordError
from worldloom.core.frozen import freeze, thaw
from worldloom.core.scenario import Scenario
from worldloom.core.surrogates import mend
from worldloom.core.view import View
from worldloom.worlds.aaw.body import EntityAction, body_of
from worldloom.worlds.aaw.returns import is_read_only
from worldloom.worlds.expressions.values import Meter, Scope, equal

SEAT = "agent"
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a seat is shown that never changes."""

    task: str
    context: Mapping[str, Json]
    places: Mapping[str, str]
    actions: tuple[ActionSpec, ...]

    @staticmethod
    def of(scenario: Scenario) -> "Surroundings":
        """What the scenario shows, as copies that nobody can change."""
        entities = body_of(scenario).entities.items()
        places = {
            key: f"{entity.name} ({entity.type})" + (f": {entity.description}" if entity.description else "")
            for key, entity in entities
        }
        actions = tuple(_spec(key, action) for key, entity in entities for action in entity.actions)
        return Surroundings(
            scenario.user_prompt or "", freeze(body_of(scenario).context), freeze(places), actions
        )


@dataclass(frozen=True, slots=True)
class AawState:
    """The states of all entities, and what the seat has been told. Never changed: each step makes a new one.

    Attributes:
        entities: entity -> property -> value.
        feedback: the answer to the last action.
        step: number of actions taken.
        trace: the steps so far, if a rule asks for them; else empty.
    """

    entities: Mapping[str, Json]
    surroundings: Surroundings = field(repr=False, compare=False)
    feedback: Feedback | None = None
    step: int = 0
    trace: tuple[Json, ...] = ()

    @staticmethod
    def initial(scenario: Scenario) -> "AawState":
        """The state that the file gives."""
        entities = body_of(scenario).entities.items()
        states: dict[str, Json] = {key: thaw(entity.state.reveal()) for key, entity in entities}
        return AawState(states, Surroundings.of(scenario))

    def after(self, fact: Mapping[str, Json], entities: Mapping[str, Json], *, traced: bool) -> "AawState":
        """The state after the step that a fact tells of, in which `entities` have new states."""
        step: Json = {key: fact[key] for key in ("action", "arguments", "success")}
        return AawState(
            {**self.entities, **entities} if entities else self.entities,
            self.surroundings,
            Feedback(bool(fact["success"]), str(fact["message"])),
            self.step + 1,
            (*self.trace, step) if traced else (),
        )

    def to_json(self) -> dict[str, Json]:
        """Entity -> property -> value: what a scorer reads. The parts are shared: do not change them."""
        return dict(self.entities)

    def fingerprint(self) -> str:
        told: Json = None if self.feedback is None else [self.feedback.success, self.feedback.message]
        return digest(
            {"entities": self.to_json(), "told": told, "step": self.step, "trace": list(self.trace)}
        )

    def view(self, seat: str) -> View:
        """What the seat `agent` may see: never state, rules or the prose of `returns`."""
        shown = self.surroundings
        return View(shown.task, shown.context, shown.places, shown.actions, self.feedback, self.step)


def fact_of(action: Action, spec: ActionSpec | None, success: bool, message: str) -> dict[str, Json]:
    """The fact of a step that changed nothing; `spec` is None for an action that the world does not have.

    It is `{action, arguments, success, message, read_only, changes}`, with `changes` entity -> property -> new value;
    an engine that was at fault adds `fault`.
    """
    return {
        "action": spec.name if spec else _recordable(action.name),
        "arguments": given(action.arguments),
        "success": success,
        "message": message,
        "read_only": spec is not None and spec.read_only,
        "changes": {},
    }


def given(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """A copy of the arguments, which stay the agent's; nothing, if a record could not hold them (refused then)."""
    if not arguments:
        return {}
    try:
        copy = parse(canonical(dict(arguments)))
    except (RecordError, RecursionError, TypeError, ValueError):
        return {}
    assert isinstance(copy, dict), "a mapping was given"
    return copy


def unknown_action(name: str, entities: Mapping[str, Json]) -> str:
    """What a seat is told that names an action the world does not have."""
    entity_id, _, action_name = _recordable(name).partition(".")
    if entity_id not in entities:
        return f"There is no '{entity_id}' here."
    return f"'{entity_id}' has no action '{action_name}'." if action_name else f"'{entity_id}' is no action."


def unknown_seats(moves: Mapping[str, Action]) -> dict[str, Feedback]:
    """What seats are told that kind `aaw` does not have."""
    return {seat: Feedback(False, f"There is no seat '{seat}' here.") for seat in moves if seat != SEAT}


def _spec(entity_id: str, action: EntityAction) -> ActionSpec:
    """Where there are rules they say whether an action only reads, and else the prose does."""
    read_only = not action.effects.reveal() if action.has_rules else is_read_only(action.returns.reveal())
    return ActionSpec(f"{entity_id}.{action.name}", action.description, action.arguments_schema(), read_only)


def _recordable(name: str) -> str:
    """The name of an action as far as a record needs to hold it."""
    return mend(name[:200])


def same(left: Json, right: Json) -> bool:
    """Equal as JSON: numbers by value, and `true` is not 1."""
    meter = Meter()
    meter.left = _NO_LIMIT
    return equal(left, right, Scope({}, meter))
