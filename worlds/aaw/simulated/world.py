"""The model world: a language model proposes what an action does; only what passes every check is done.

Arguments that do not fit are answered as the rules world answers them, and the model is not asked. A reply that may not
be done is sent back with the reason, at most `RETRIES` times; then the episode ends by the world's fault. So does an
episode whose world no longer fits into its model's context, or whose model declines.
"""

from collections.abc import Mapping

from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.errors import Ended, ModelError, ReplyError
from worldloom.core.scenario import Scenario
from worldloom.models.model import Completion
from worldloom.runs.context import Context
from worldloom.worlds.aaw.parameters import Refused
from worldloom.worlds.aaw.simulated.simulator import MODEL, Answer, Call, Refusal, Simulator
from worldloom.worlds.aaw.state import SEAT, AawState, fact_of, unknown_action, unknown_seats
from worldloom.worlds.world import Transition

RETRIES = 2
"""How often a reply is sent back in one step."""
_BEGINNING = 2_000
"""Characters of a reply that are sent back with it."""
_BROKEN = "The action could not be carried out."


class ModelWorld:
    """A scenario of kind `aaw`, simulated by the model that the run knows as `world`."""

    def __init__(self, scenario: Scenario) -> None:
        """Make ready.

        Raises:
            DocumentError: an invariant of the file has faults.
        """
        self.simulator = Simulator(scenario)
        self._initial = AawState.initial(scenario)

    def initial(self, seed: int) -> AawState:
        """The state that the file gives, whatever the seed."""
        return self._initial

    async def step(self, state: AawState, moves: Mapping[str, Action], ctx: Context) -> Transition[AawState]:
        """Carry out the move of the seat `agent`.

        The fact is that of `fact_of`; with `attempts`, if more than one reply was needed, and `fault`, if none of them
        could be used.

        Raises:
            ModelError: the model's server failed.
            Ended: `world_failed`, or as `Context.model`.
        """
        feedback = unknown_seats(moves)
        if SEAT not in moves:
            return Transition(state, feedback)
        action = moves[SEAT]
        entities: Mapping[str, Json] = {}
        simulated = self.simulator.actions.get(action.name)
        if simulated is None:
            fact = fact_of(action, None, False, unknown_action(action.name, state.entities))
        else:
            try:
                call = self.simulator.call(action)
            except Refused as refusal:
                fact = fact_of(action, simulated.spec, False, str(refusal))
            else:
                fact, entities = await self._answered(state, action, call, ctx)
        after = state.after(fact, entities, traced=self.simulator.traced)
        assert after.feedback is not None, "a step gives feedback"
        return Transition(after, {**feedback, SEAT: after.feedback}, (fact,))

    async def _answered(
        self, state: AawState, action: Action, call: Call, ctx: Context
    ) -> tuple[dict[str, Json], Mapping[str, Json]]:
        """The fact of a step, and the new states of the entities that it changed."""
        answer, refused = await self._asked(state, call, ctx)
        if answer is None:
            fact = fact_of(action, call.action.spec, False, _BROKEN)
            fact["fault"] = f"the world's model gave no lawful answer to {action.name}: {refused[-1].why}"
        else:
            fact = fact_of(action, call.action.spec, answer.success, answer.message)
            fact["changes"] = {name: dict(properties) for name, properties in answer.delta.changes.items()}
        attempts = len(refused) + (answer is not None)
        if attempts > 1:
            fact["attempts"] = attempts
        return fact, {} if answer is None else answer.delta.entities

    async def _asked(self, state: AawState, call: Call, ctx: Context) -> tuple[Answer | None, list[Refusal]]:
        """The first lawful answer, if there is one, and the replies that were sent back before it."""
        refused: list[Refusal] = []
        while len(refused) <= RETRIES:
            try:
                completion = await self.simulator.propose(state.entities, call, ctx, refused)
            except ModelError as error:
                if error.kind in (
                    "overflow",
                    "refusal",
                ):  # of the agent's model they would be the agent's fault
                    raise Ended("world_failed", f"the world's model: {error}") from error
                raise
            if completion.finish_reason == "refusal":
                raise Ended("world_failed", "the world's model declined to answer")
            try:
                return self.simulator.check(state.entities, call, completion, state.trace), refused
            except ReplyError as wrong:
                ctx.usage.unusable(MODEL)
                refused.append(Refusal(_said(completion), str(wrong)))
        return None, refused


def build(scenario: Scenario, options: Mapping[str, Json]) -> ModelWorld:
    """What the registry calls: the world `model` of a scenario, which has no options.

    Raises:
        DocumentError: as `ModelWorld`.
    """
    return ModelWorld(scenario)


def _said(completion: Completion) -> str:
    """A reply as the chat shows it, also if it was made by tool calls; of a very long one the beginning."""
    text = completion.text or "\n".join(call.arguments for call in completion.tool_calls)
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}…"
