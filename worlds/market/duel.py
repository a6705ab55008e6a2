"""Duel: a market of two agents and one job, cut down until all its chance can be counted.

Nothing is drawn but the job's ranking of two bids, so a round goes one of two ways at most, each with a probability
that is known exactly. The rounds themselves are played by the engine, whatever the mechanism.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from worldloom.core.errors import UsageError
from worldloom.runs.chance import gumbels, pairs
from worldloom.worlds.market.body import MarketBody
from worldloom.worlds.market.moves import NONE, MoveColumns
from worldloom.worlds.market.round import play
from worldloom.worlds.market.rules import rules_for, shown_budgets
from worldloom.worlds.market.state import MarketState

Choice: TypeAlias = float | None
"""The price of a bid for the job; None is to train."""
FIRST, SECOND = 0, 1
"""The seats."""
_FAIR = 1000.0
"""Temperature at which scores, whose logarithms lie between -14 and 0, cannot outweigh _CLEAR."""
_CLEAR = 1.0
"""By how much the wanted bidder's Gumbel draw has to exceed the other's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way in which a round may go.

    Attributes:
        income: of both.
    """

    probability: float
    state: MarketState
    income: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Duel:
    """A market of two agents, one skill and one job.

    At the temperature _FAIR the ranking of two bids is a coin that falls as the seed says, so the engine can be had to
    play either outcome. How likely the outcomes are at the market's own temperature T is known, for the difference of
    two Gumbel draws is logistic: P(first) = 1 / (1 + exp(−(log score − log other score) / T)).

    Attributes:
        body: the market.

    Raises:
        UsageError: chance is in something else too.
    """

    body: MarketBody
    _seeds: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        body, mechanism = self.body, self.body.mechanism
        wanted = (
            ("the number of skills", len(body.skills), (1,)),
            ("jobs.per_skill", body.jobs.per_skill, (1,)),
            ("jobs.listing_probability", body.jobs.listing_probability, (1,)),
            ("jobs.budget_noise", body.jobs.budget_noise, (0,)),
            ("learning.performance_noise", body.learning.performance_noise, (0,)),
            ("learning.by_doing", body.learning.by_doing, (0, 1)),
            ("mechanism.matching", mechanism.matching, ("gale_shapley",)),
            ("mechanism.verification.rule", mechanism.verification.rule, ("none",)),
        )
        for name, found, allowed in wanted:
            if found not in allowed:
                shown = " or ".join(map(str, allowed))
                raise UsageError(f"in a duel {name} cannot be {found}\n  allowed: {shown}")

    @cached_property
    def start(self) -> MarketState:
        """The market before its first round."""
        mechanism = self.body.mechanism.model_copy(update={"temperature": _FAIR})
        body = self.body.model_copy(update={"mechanism": mechanism})
        return MarketState.initial(rules_for(body, ("first", "second"), ""), 0)

    def outcomes(self, state: MarketState, first: Choice, second: Choice) -> tuple[Outcome, ...]:
        """How the round to come may go if the two choose so.

        Raises:
            UsageError: a bid is not allowed.
        """
        moves = _moves(first, second)
        if first is None or second is None:
            return (self._outcome(state, moves, FIRST, 1.0),)
        ways = [self._outcome(state, moves, seat, 1.0) for seat in (FIRST, SECOND)]
        log_score = np.log(ways[0].state.history[-1].bid_score)
        lead = (log_score[FIRST] - log_score[SECOND]) / self.body.mechanism.temperature
        chances = np.exp(-np.logaddexp(0.0, [-lead, lead])).tolist()
        return tuple(replace(way, probability=chance) for way, chance in zip(ways, chances, strict=True))

    def _outcome(self, state: MarketState, moves: MoveColumns, seat: int, probability: float) -> Outcome:
        """The round in which `seat` is ranked first if both bid."""
        after = play(replace(state, seed=self._seed(state.round, seat)), moves)
        record = after.history[-1]
        if record.fault.any():
            prices = moves.price[:, 0].tolist()
            raise UsageError(
                f"the bids {prices} cannot all be made\n  allowed: above 0, at most {state.budget[0]}"
            )
        mine, theirs = record.income.tolist()
        return Outcome(probability, after, (mine, theirs))

    def _seed(self, round: int, seat: int) -> int:
        """One under which `seat` draws the higher number in a round."""
        if (round, seat) not in self._seeds:
            numbers, seed = pairs(np.arange(2), np.zeros(2, dtype=np.int64)), 0
            while True:
                draws = gumbels(seed, "market.ranking", round, numbers)
                if draws[seat] - draws[1 - seat] > _CLEAR:
                    break
                seed += 1
            self._seeds[round, seat] = seed
        return self._seeds[round, seat]


def asked(state: MarketState, ratio: float) -> float:
    """The price at a share of the budget as agents are shown it, never below what the market takes."""
    return max(ratio * float(shown_budgets(state.budget)[0]), state.rules.body.mechanism.minimum_price)


def market_key(state: MarketState) -> bytes:
    """All of a duel's market that what is to come depends on: not what was earned, nor how it came to this."""
    evidence, round = state.evidence, np.array([state.round])
    columns = (round, state.skills, evidence.good, evidence.bad, evidence.recent, evidence.known)
    return b"".join(column.tobytes() for column in (*columns, state.seen.last_price))


def _moves(first: Choice, second: Choice) -> MoveColumns:
    bids = np.array([[choice is not None] for choice in (first, second)])
    return MoveColumns.of(
        np.arange(2),
        np.where(bids[:, 0], NONE, 0),
        np.where(bids, 0, NONE),
        np.array([[choice or 0.0] for choice in (first, second)]),
    )
