"""q_learner: learns when to bid high, when to bid low and when to train, each seat for itself.

Tabular Q-learning (Watkins, 1989). State: the level of its own skill in its trade, and whether the last round earned
anything. Decisions: bid for jobs of the trade at one of a few shares of the budget, or train the trade's skill. Reward:
the income of the round. Its trade is that of `trade`; where in the trade's list of jobs its bids begin is drawn each
round. All numbers stand in `q_learning.yaml`; those of TUNABLE may be set: `q_learner:exploration=0.05,discount=0.5`.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from worldloom.agents.agent import AgentConfig
from worldloom.agents.bidding.choice import chosen
from worldloom.agents.bidding.factory import settings_of
from worldloom.agents.bidding.market import NONE, Floats, Ints, Market, draws, moves, nothing
from worldloom.agents.bidding.trade import trades
from worldloom.agents.cohort import Columns, Decisions
from worldloom.core.yamlio import parse, validate
from worldloom.runs.context import Context

_Share = Annotated[float, Field(ge=0, le=1)]
_FILE = "q_learning.yaml"
TUNABLE = {
    **dict.fromkeys(("learning_rate", "discount", "exploration"), (0.0, 1.0)),
    "initial_value": (0.0, 1e6),
}
"""Settings that an argument may change, with their ranges."""


class Settings(BaseModel):
    """What `q_learning.yaml` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    ratios: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)]
    skill_levels: tuple[_Share, ...]
    learning_rate: _Share
    discount: _Share
    exploration: _Share
    initial_value: float


@dataclass(frozen=True, slots=True)
class QLearner:
    """The memo: each seat's table, shape (seats, states, decisions); its last state, decision (or NONE) and reward."""

    settings: Settings

    async def act_many(self, memo: Columns, seats: Ints, seen: Columns, ctx: Context) -> Decisions:
        settings, market, rows = self.settings, Market.of(seen), np.arange(len(seats))
        train = len(settings.ratios)
        shape = (len(seats), 2 * (len(settings.skill_levels) + 1), train + 1)
        table = memo["table"] if memo else np.full(shape, settings.initial_value)
        reward = market.reward
        if not len(market.jobs):
            idle, nowhere = np.full(len(seats), NONE), np.zeros(len(seats), dtype=np.int64)
            kept = {"table": table, "state": nowhere, "decision": idle, "reward": reward}
            return Decisions(nothing(seats), kept)
        trade = trades(market, seats, ctx.seed, "q_learner")
        level = np.searchsorted(np.array(settings.skill_levels), market.skills[rows, trade], side="right")
        income = reward - memo["reward"] if memo else np.zeros(len(seats))
        state = 2 * level + (income > 0)
        if memo:
            table = self._learned(table, memo["state"], memo["decision"], income, state)
        decision = chosen(
            table[rows, state], settings.exploration, ctx.seed, "q_learner", market.round, seats
        )
        job = market.some_of(trade, draws(ctx.seed, "q_learner.begin", market.round, seats))
        price = market.asked(np.array([*settings.ratios, 1.0])[decision][:, None], job)
        found = moves(seats, job, price, trade, decision == train)
        return Decisions(found, {"table": table, "state": state, "decision": decision, "reward": reward})

    def _learned(self, table: Floats, state: Ints, decision: Ints, income: Floats, now: Ints) -> Floats:
        """Tables after Q(s, a) ← Q(s, a) + rate · (income + discount · max Q(s', ·) − Q(s, a))."""
        table, rows = table.copy(), np.flatnonzero(decision != NONE)
        place = rows, state[rows], decision[rows]
        ahead = table[rows, now[rows]].max(axis=1)
        error = income[rows] + self.settings.discount * ahead - table[place]
        table[place] += self.settings.learning_rate * error
        return table


def q_learner(config: AgentConfig) -> QLearner:
    """The cohort of the room `q_learner`: the settings in `q_learning.yaml`, but for those in its argument.

    Raises:
        UsageError: its argument or its options cannot be used.
    """
    given = settings_of("q_learner", config, TUNABLE)
    text = files("worldloom.agents.bidding").joinpath(_FILE).read_bytes()
    return QLearner(validate(parse(text, _FILE), Settings).model_copy(update=given))
