"""The null world: one action that does nothing. A template for authors, and the floor of benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass

from worldloom.core.action import Action, ActionSpec, Feedback
from worldloom.core.canonical import digest
from worldloom.core.scenario import Body, Scenario
from worldloom.core.view import View
from worldloom.runs.context import Context
from worldloom.worlds.world import Transition

_WAIT = ActionSpec("wait", "Do nothing.", {"type": "object", "properties": {}, "additionalProperties": False})


class NullBody(Body):
    """`world:` of kind `null` holds nothing."""


@dataclass(frozen=True, slots=True)
class NullState:
    """How often something was done."""

    task: str
    step: int = 0

    def fingerprint(self) -> str:
        return digest(self.step)

    def view(self, seat: str) -> View:
        feedback = Feedback(True, "") if self.step else None
        return View(self.task, {}, {}, (_WAIT,), feedback, self.step)


@dataclass(frozen=True, slots=True)
class NullWorld:
    """Counts moves."""

    task: str

    def initial(self, seed: int) -> NullState:
        return NullState(self.task)

    async def step(
        self, state: NullState, moves: Mapping[str, Action], ctx: Context
    ) -> Transition[NullState]:
        return Transition(NullState(state.task, state.step + 1), {seat: Feedback(True, "") for seat in moves})


def build(scenario: Scenario) -> NullWorld:
    """The world of a scenario of kind `null`."""
    return NullWorld(scenario.user_prompt or "Nothing is asked of you.")
