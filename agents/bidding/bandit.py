"""bandit: learns which price pays, and nothing else.

An epsilon-greedy bandit (Sutton and Barto, 2018, ch. 2) over five decisions: bid 0.4, 0.6, 0.8 or 1.0 × budget for jobs
of its trade, or train the trade's skill. Its trade is that of `trade`; where in the trade's list of jobs its bids begin
is drawn each round. A decision never taken comes first, from one of its own on; then the one of the highest value is
taken, and with probability 0.1 any. The first income of a decision is its value, a later one moves it by a fifth of the
difference. Training earns nothing at once, so a bandit, which looks no further, soon trains by exploration only. The
two shares may be set: `bandit:exploration=0.05,step=0.5`.
"""

from dataclasses import dataclass

import numpy as np

from worldloom.agents.agent import AgentConfig
from worldloom.agents.bidding.choice import chosen
from worldloom.agents.bidding.factory import settings_of
from worldloom.agents.bidding.market import NONE, Bools, Floats, Ints, Market, draws, moves, nothing
from worldloom.agents.bidding.trade import trades
from worldloom.agents.cohort import Columns, Decisions
from worldloom.runs.context import Context


@dataclass(frozen=True, slots=True)
class Bandit:
    """The memo: value of each decision and whether it was ever taken, shape (seats, decisions); the last decision, NONE
    if there was none; the reward before it.
    """

    ratios: tuple[float, ...] = (0.4, 0.6, 0.8, 1.0)
    exploration: float = 0.1
    step: float = 0.2

    async def act_many(self, memo: Columns, seats: Ints, seen: Columns, ctx: Context) -> Decisions:
        market, train = Market.of(seen), len(self.ratios)
        value, tried = self._learned(memo, market.reward) if memo else _fresh(len(seats), train + 1)
        kept = {"value": value, "tried": tried, "reward": market.reward}
        if not len(market.jobs):
            return Decisions(nothing(seats), {**kept, "decision": np.full(len(seats), NONE)})
        values = np.where(tried, value, np.inf)
        decision = chosen(values, self.exploration, ctx.seed, "bandit", market.round, seats)
        trade = trades(market, seats, ctx.seed, "bandit")
        job = market.some_of(trade, draws(ctx.seed, "bandit.begin", market.round, seats))
        price = market.asked(np.array([*self.ratios, 1.0])[decision][:, None], job)
        return Decisions(moves(seats, job, price, trade, decision == train), {**kept, "decision": decision})

    def _learned(self, memo: Columns, reward: Floats) -> tuple[Floats, Bools]:
        """Values, and what was tried, after the last decision's income."""
        value, tried, decision = memo["value"].copy(), memo["tried"].copy(), memo["decision"]
        rows = np.flatnonzero(decision != NONE)
        place = rows, decision[rows]
        income, old = (reward - memo["reward"])[rows], value[place]
        value[place] = np.where(tried[place], old + self.step * (income - old), income)
        tried[place] = True
        return value, tried


def _fresh(seats: int, decisions: int) -> tuple[Floats, Bools]:
    return np.zeros((seats, decisions)), np.zeros((seats, decisions), dtype=np.bool_)


def bandit(config: AgentConfig) -> Bandit:
    """The cohort of the room `bandit`.

    Raises:
        UsageError: its argument or its options cannot be used.
    """
    given = settings_of("bandit", config, dict.fromkeys(("exploration", "step"), (0.0, 1.0)))
    return Bandit(**given)  # type: ignore[arg-type]  # the ratios are no setting
