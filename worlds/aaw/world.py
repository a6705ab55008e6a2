"""The rules world: what an action does follows from the scenario's rules alone, the same every time.

One seat, `agent`. Reading never writes, a failure changes nothing, and nothing is asked of the outside. At least 10,000
actions/s on one core (benchmarks/rules_world.py).
"""

from collections.abc import Mapping

from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.frozen import thaw
from worldloom.core.scenario import Scenario
from worldloom.runs.context import Context
from worldloom.worlds.aaw.body import body_of
from worldloom.worlds.aaw.rules import compile_rules
from worldloom.worlds.aaw.state import (
    SEAT,
    AawState,
    fact_of,
    unknown_action,
    unknown_seats,
)
from worldloom.worlds.world import Transition


class RulesWorld:
    """A scenario of kind `aaw`, executed by its rules."""

    def __init__(self, scenario: Scenario) -> None:
        """Compile the rules.

        Raises:
            UsageError: the scenario has prose only, or for some actions; names them.
            DocumentError: its rules have faults.
        """
        rules = compile_rules(scenario)
        self._rules = rules.by_action
        self._traced = rules.traced
        # A copy: who holds the scenario can change nothing in a world that has been built.
        self._context: dict[str, Json] = thaw(body_of(scenario).context)
        self._initial = AawState.initial(scenario)

    def initial(self, seed: int) -> AawState:
        """The state that the file gives, whatever the seed."""
        return self._initial

    async def step(self, state: AawState, moves: Mapping[str, Action], ctx: Context) -> Transition[AawState]:
        """Carry out the move of the seat `agent`.

        The fact is `{action, arguments, success, message, read_only, changes}`, with `changes` entity -> property ->
        new value; `fault` says what is wrong with the scenario, if that is why the action failed.
        """
        feedback = unknown_seats(moves)
        if SEAT not in moves:
            return Transition(state, feedback)
        state, fact = self.apply(state, moves[SEAT])
        assert state.feedback is not None, "apply gives feedback"
        return Transition(state, {**feedback, SEAT: state.feedback}, (fact,))

    def apply(self, state: AawState, action: Action) -> tuple[AawState, dict[str, Json]]:
        """The state after an action, and the fact: `step` without the form, for searches."""
        rule = self._rules.get(action.name)
        if rule is None:
            fact = fact_of(action, None, False, unknown_action(action.name, state.entities))
            return state.after(fact, {}, traced=self._traced), fact
        names: dict[str, Json] = {"context": self._context, "trace": list(state.trace)}
        outcome = rule.run(state.entities, names, action.arguments)
        fact = fact_of(action, rule.spec, outcome.success, outcome.message)
        fact["changes"] = {name: dict(properties) for name, properties in outcome.changes.items()}
        if outcome.fault:
            fact["fault"] = outcome.fault
        return state.after(fact, outcome.entities, traced=self._traced), fact


def build(scenario: Scenario) -> RulesWorld:
    """What the registry calls: the world of a scenario.

    Raises:
        UsageError: as `RulesWorld`.
    """
    return RulesWorld(scenario)
