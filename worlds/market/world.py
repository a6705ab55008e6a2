"""The market as a world: many seats act at once, by name or as columns. Nothing is asked of the outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldloom.core.action import Action, ActionSpec, Feedback
from worldloom.core.errors import meant
from worldloom.core.scenario import Scenario, seats_of
from worldloom.runs.context import Context
from worldloom.worlds.market.body import body_of
from worldloom.worlds.market.metrics import aggregates
from worldloom.worlds.market.moves import MoveColumns, read_actions
from worldloom.worlds.market.round import play
from worldloom.worlds.market.rules import Rules, rules_for
from worldloom.worlds.market.state import MarketState
from worldloom.worlds.market.view import brief
from worldloom.worlds.world import Transition


@dataclass(frozen=True, slots=True)
class MarketWorld:
    """A market with its agents."""

    rules: Rules

    def initial(self, seed: int) -> MarketState:
        """The market before its first round, with that round's listings; `seed` is that of all its chance."""
        return MarketState.initial(self.rules, seed)

    async def step(
        self, state: MarketState, moves: Mapping[str, Action] | MoveColumns, ctx: Context
    ) -> Transition[MarketState]:
        """Play one round; a seat without a move does nothing in it.

        The round is recorded as three blocks (`RoundRecord.emit`); the fact is its `aggregates`. Feedback is for moves
        by name; an agent of a cohort reads its own in its view.
        """
        named = {} if isinstance(moves, MoveColumns) else moves
        if state.over:
            told = Feedback(False, f"The market is over after {state.round} rounds.")
            return Transition(state, dict.fromkeys(named, told))
        columns = moves if isinstance(moves, MoveColumns) else read_actions(self.rules, moves)
        after = play(state, columns)
        record = after.history[-1]
        record.emit(ctx)
        numbers = self.rules.seat_numbers
        feedback = {
            seat: record.feedback(numbers[seat]) if seat in numbers else self._nobody(seat) for seat in named
        }
        return Transition(after, feedback, (aggregates(record, after.reward),))

    def actions(self, state: MarketState, seat: str) -> tuple[ActionSpec, ...]:
        """What `seat` may do: bid for listed jobs, or train."""
        return state.view(seat).actions

    def _nobody(self, seat: str) -> Feedback:
        return Feedback(False, f"There is no seat {seat!r}{meant(seat, self.rules.seats)}.")


def build(scenario: Scenario, seats: Sequence[str] = ()) -> MarketWorld:
    """The market of a scenario of kind `market`.

    Args:
        seats: names of its agents; by default those that the scenario's cast implies.

    Raises:
        UsageError: two agents have one name.
    """
    body = body_of(scenario)
    task = scenario.user_prompt or brief(body)
    named = seats or [seat for seat, _ in seats_of(scenario.cast)]
    return MarketWorld(rules_for(body, named, task))
