"""Best response: the most that an agent can earn in a duel against a policy that is known, by backward induction.

All values are exact expectations over the ranking and the policies' own chance. Whoever responds sees the whole state,
the other's skill too, which agents do not see: so its value is what no policy of the same choices exceeds, and perhaps
more than any of them can reach. The regret of a policy is that value less its own, against the same other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from worldloom.worlds.market.duel import FIRST, Choice, Duel, asked, market_key
from worldloom.worlds.market.state import MarketState

Memory: TypeAlias = float
"""What a policy keeps from round to round; 0 before the first."""
Law: TypeAlias = Sequence[tuple[float, Choice, Memory]]
"""What a policy may do, each with its probability and with what is kept after it."""
Position: TypeAlias = tuple[bytes, Memory]
"""A market's key, and what the other keeps."""


class Policy(Protocol):
    """How likely an agent is to do what."""

    def law(self, state: MarketState, memory: Memory) -> Law:
        """Its law before a round."""


@dataclass(frozen=True, slots=True)
class FixedShare:
    """Bids at a share of the budget, trains now and then: the rooms `greedy_price` and `fixed_list`, in a duel."""

    ratio: float
    training: float

    def law(self, state: MarketState, memory: Memory) -> Law:
        return _or_train(self.training, asked(state, self.ratio), memory)


@dataclass(frozen=True, slots=True)
class Undercut:
    """Bids a share of the last winning price that was shown, within bounds: the room `undercutter`, in a duel."""

    ratio: float
    training: float
    below: float
    floor: float

    def law(self, state: MarketState, memory: Memory) -> Law:
        known = float(state.seen.last_price[0]) or memory
        usual = asked(state, self.ratio)
        under = min(max(self.below * known, asked(state, self.floor)), usual)
        return _or_train(self.training, under if known else usual, known)


@dataclass(frozen=True, slots=True)
class Response:
    """A best response.

    Attributes:
        value: what it earns in expectation.
        first: its choice in the first round.
        plan: its choice in every position that can be reached.
    """

    value: float
    first: Choice
    plan: Mapping[Position, Choice]


def best_response(duel: Duel, other: Policy, ratios: Sequence[float]) -> Response:
    """The best that the first seat can do against `other` in the second.

    Args:
        ratios: shares of the budget at which it may bid; it may always train. Equals go to the earlier, training last.

    Raises:
        UsageError: a ratio is not above 0 and at most 1.
    """
    worths: dict[Position, float] = {}
    plan: dict[Position, Choice] = {}

    def worth(state: MarketState, memory: Memory) -> float:
        if state.over:
            return 0.0
        position = market_key(state), memory
        if position not in worths:
            theirs = other.law(state, memory)
            choices = [*(asked(state, ratio) for ratio in ratios), None]
            found = [_expected(duel, state, choice, theirs, worth) for choice in choices]
            worths[position] = max(found)
            plan[position] = choices[found.index(worths[position])]
        return worths[position]

    most = worth(duel.start, 0.0)
    return Response(most, plan[market_key(duel.start), 0.0], plan)


def value(duel: Duel, policy: Policy, other: Policy) -> float:
    """What `policy` in the first seat earns in expectation against `other` in the second."""
    worths: dict[tuple[bytes, Memory, Memory], float] = {}

    def worth(state: MarketState, own: Memory, memory: Memory) -> float:
        if state.over:
            return 0.0
        position = market_key(state), own, memory
        if position not in worths:
            theirs, total = other.law(state, memory), 0.0
            for probability, choice, kept in policy.law(state, own):
                onward = _keeping(worth, kept)
                total += probability * _expected(duel, state, choice, theirs, onward)
            worths[position] = total
        return worths[position]

    return worth(duel.start, 0.0, 0.0)


def _expected(
    duel: Duel,
    state: MarketState,
    choice: Choice,
    theirs: Law,
    onward: Callable[[MarketState, Memory], float],
) -> float:
    """What the first seat can expect from a choice: the round's income, and what is worth having after it."""
    total = 0.0
    for chance, other, kept in theirs:
        for way in duel.outcomes(state, choice, other):
            total += chance * way.probability * (way.income[FIRST] + onward(way.state, kept))
    return total


def _keeping(
    worth: Callable[[MarketState, Memory, Memory], float], own: Memory
) -> Callable[[MarketState, Memory], float]:
    return lambda state, memory: worth(state, own, memory)


def _or_train(training: float, price: float, kept: Memory) -> Law:
    return ((training, None, kept), (1.0 - training, price, kept))
