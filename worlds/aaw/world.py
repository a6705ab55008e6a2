"""The rules world: what an action does follows from the scenario's rules alone, the same every time.

One seat, `agent`. Reading never writes, a failure changes nothing, and nothing is asked of the outside. At least 10,000
actions/s on one core (benchmarks/rules_world.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from worldloom.core.action import Action, ActionSpec, Feedback
from worldloom.core.canonical import Json, canonical, digest, parse
from worldloom.core.errors import RecordError
from worldloom.core.frozen import freeze, thaw
from worldloom.core.scenario import Scenario
from worldloom.core.view import View
from worldloom.runs.context import Context
from worldloom.worlds.aaw.body import AawBody
from worldloom.worlds.aaw.rules import Outcome, Rule, compile_rules
from worldloom.worlds.world import Transition

SEAT = "agent"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a seat is shown that never changes."""

    task: str
    context: Mapping[str, Json]
    places: Mapping[str, str]
    actions: tuple[ActionSpec, ...]


@dataclass(frozen=True, slots=True)
class RulesState:
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


class RulesWorld:
    """A scenario of kind `aaw`, executed by its rules."""

    def __init__(self, scenario: Scenario) -> None:
        """Compile the rules.

        Raises:
            UsageError: the scenario has prose only, or for some actions; names them.
            DocumentError: its rules have faults.
        """
        rules = compile_rules(scenario)
        body = scenario.body
        assert isinstance(body, AawBody), "compile_rules has seen it"
        self._rules = rules.by_action
        self._traced = rules.traced
        # Copies: who holds the scenario can change nothing in a world that has been built.
        self._context: dict[str, Json] = thaw(body.context)
        surroundings = Surroundings(
            task=scenario.user_prompt or "",
            context=freeze(self._context),
            places=freeze(
                {
                    key: f"{entity.name} ({entity.type})"
                    + (f": {entity.description}" if entity.description else "")
                    for key, entity in body.entities.items()
                }
            ),
            actions=tuple(rule.spec for rule in self._rules.values()),
        )
        states: dict[str, Json] = {key: thaw(entity.state.reveal()) for key, entity in body.entities.items()}
        self._initial = RulesState(states, surroundings)

    def initial(self, seed: int) -> RulesState:
        """The state that the file gives, whatever the seed."""
        return self._initial

    async def step(
        self, state: RulesState, moves: Mapping[str, Action], ctx: Context
    ) -> Transition[RulesState]:
        """Carry out the move of the seat `agent`.

        The fact is `{action, arguments, success, message, read_only, changes}`, with `changes` entity -> property ->
        new value; `fault` says what is wrong with the scenario, if that is why the action failed.
        """
        feedback = {
            seat: Feedback(False, f"There is no seat '{seat}' here.") for seat in moves if seat != SEAT
        }
        if SEAT not in moves:
            return Transition(state, feedback)
        state, fact = self.apply(state, moves[SEAT])
        assert state.feedback is not None, "apply gives feedback"
        return Transition(state, {**feedback, SEAT: state.feedback}, (fact,))

    def apply(self, state: RulesState, action: Action) -> tuple[RulesState, dict[str, Json]]:
        """The state after an action, and the fact: `step` without the form, for searches."""
        rule = self._rules.get(action.name)
        if rule is None:
            outcome = Outcome(False, self._unknown(action.name), {}, {})
        else:
            outcome = rule.run(
                state.entities, {"context": self._context, "trace": list(state.trace)}, action.arguments
            )
        fact = _fact(action, rule, outcome)
        entities = {**state.entities, **outcome.entities} if outcome.entities else state.entities
        trace = (
            (*state.trace, {key: fact[key] for key in ("action", "arguments", "success")})
            if self._traced
            else ()
        )
        told = Feedback(outcome.success, outcome.message)
        return RulesState(entities, state.surroundings, told, state.step + 1, trace), fact

    def _unknown(self, name: str) -> str:
        entity_id, _, action_name = _recordable(name).partition(".")
        if entity_id not in self._initial.entities:
            return f"There is no '{entity_id}' here."
        return (
            f"'{entity_id}' has no action '{action_name}'." if action_name else f"'{entity_id}' is no action."
        )


def build(scenario: Scenario) -> RulesWorld:
    """What the registry calls: the world of a scenario.

    Raises:
        UsageError: as `RulesWorld`.
    """
    return RulesWorld(scenario)


def _fact(action: Action, rule: Rule | None, outcome: Outcome) -> dict[str, Json]:
    fact: dict[str, Json] = {
        "action": action.name if rule else _recordable(action.name),
        "arguments": _given(action.arguments),
        "success": outcome.success,
        "message": outcome.message,
        "read_only": rule is not None and rule.spec.read_only,
        "changes": {name: dict(properties) for name, properties in outcome.changes.items()},
    }
    if outcome.fault:
        fact["fault"] = outcome.fault
    return fact


def _given(arguments: Mapping[str, Json]) -> Json:
    """A copy of the arguments, which stay the agent's; nothing, if a record could not hold them (refused then)."""
    if not arguments:
        return {}
    try:
        return parse(canonical(dict(arguments)))
    except (RecordError, RecursionError, TypeError, ValueError):
        return {}


def _recordable(name: str) -> str:
    """The name of an action as far as a record needs to hold it."""
    return name[:200].encode("utf-8", "replace").decode("utf-8")
