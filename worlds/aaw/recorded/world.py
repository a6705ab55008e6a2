"""The replay world: for the recorded action and arguments the recorded feedback and changes, step by step.

Whatever else is done, or done after the last recorded step, has no answer: the episode ends by the world's fault, with
a detail that names the step, what is recorded and what was found.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError, offer
from worldloom.core.scenario import Scenario
from worldloom.runs.context import Context
from worldloom.worlds.aaw.recorded.record import Step, read_record
from worldloom.worlds.aaw.state import SEAT, AawState, fact_of, given, same, unknown_seats
from worldloom.worlds.world import Transition

_NO_ANSWER = "The record has no answer to this."
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ReplayWorld:
    """A scenario of kind `aaw`, answered from a record."""

    first: AawState
    steps: tuple[Step, ...]

    def initial(self, seed: int) -> AawState:
        """The state that the file of the scenario gives, whatever the seed."""
        return self.first

    async def step(self, state: AawState, moves: Mapping[str, Action], ctx: Context) -> Transition[AawState]:
        """Answer the move of the seat `agent`. The fact is that of `fact_of`, with `fault` if there is no answer."""
        feedback = unknown_seats(moves)
        if SEAT not in moves:
            return Transition(state, feedback)
        action, entities = moves[SEAT], dict[str, Json]()
        spec = next((one for one in self.first.surroundings.actions if one.name == action.name), None)
        recorded = self.steps[state.step] if state.step < len(self.steps) else None
        found = given(action.arguments)
        if recorded is None or recorded.action != action.name or not same(recorded.arguments, found):
            fact = fact_of(action, spec, False, _NO_ANSWER)
            fact["fault"] = (
                f"step {state.step + 1} differs from the record; recorded: "
                + (_shown(recorded.action, recorded.arguments) if recorded else "nothing, it ends before")
                + f"; found: {_shown(str(fact['action']), found)}"
            )
        else:
            fact = fact_of(action, spec, recorded.success, recorded.message)
            fact["changes"] = {name: dict(properties) for name, properties in recorded.changes.items()}
            for name, properties in recorded.changes.items():
                old = state.entities[name]
                assert isinstance(old, dict), "states are mappings"
                entities[name] = {**old, **properties}
        after = state.after(fact, entities, traced=False)
        assert after.feedback is not None, "a step gives feedback"
        return Transition(after, {**feedback, SEAT: after.feedback}, (fact,))


def options_of(argument: str) -> dict[str, Json]:
    """The options of a replay world: the episodes in the file named after `replay:`.

    Raises:
        UsageError: no file is named, or it is no record.
    """
    if not argument:
        raise UsageError("the world `replay` needs its file, e.g. --world replay:record.json")
    return {"episodes": read_record(Path(argument))}


def build(scenario: Scenario, options: Mapping[str, Json]) -> ReplayWorld:
    """What the registry calls: the world `replay` of a scenario.

    Args:
        options: `episodes`: scenario id -> steps, each a `Step`.

    Raises:
        UsageError: there is no episode of this scenario, or it is one of another version of it.
    """
    episodes = options.get("episodes")
    if not isinstance(episodes, dict) or set(options) != {"episodes"}:
        raise UsageError(f"world replay: options {sorted(options)}; allowed: episodes")
    if scenario.id not in episodes:
        choices = offer(scenario.id, episodes)
        raise UsageError(f"the record has no episode of the scenario {scenario.id!r}{choices}")
    try:
        steps = TypeAdapter(tuple[Step, ...]).validate_python(tuple(_listed(episodes[scenario.id])))
    except ValidationError as wrong:
        raise UsageError(f"world replay: episodes.{scenario.id} is no list of steps: {wrong}") from None
    first = AawState.initial(scenario)
    for number, step in enumerate(steps, start=1):
        for entity in step.changes:
            if entity not in first.entities:
                raise UsageError(
                    f"step {number} of the record changes {entity!r}, which the scenario {scenario.id!r} does not have"
                    f"\n  allowed: {', '.join(first.entities)}"
                )
    return ReplayWorld(first, steps)


def _listed(steps: Json) -> list[Json]:
    return steps if isinstance(steps, list) else [steps]


def _shown(action: str, arguments: Mapping[str, Json]) -> str:
    text = f"{action} {json.dumps(dict(arguments), ensure_ascii=False, sort_keys=True)}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
