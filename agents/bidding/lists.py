"""Policies without memory of their own doings: the best-paid jobs, a list of one's own, the rival's price and less.

greedy_price: bids 0.8 × budget for the best-paid listed jobs; with probability 0.1 it trains the skill of the first.
fixed_list: its list is all jobs by number, from one on that was drawn once, round and round. It bids 0.9 × budget for
the first listed ones; with probability 0.2 it trains the skill of the first.
undercutter: the jobs of greedy_price and its training. A job whose winning price was ever shown it offers to do for
0.95 × the latest of these, at least 0.1 × and at most 0.8 × budget; any other for 0.8 × budget.
"""

from dataclasses import dataclass

import numpy as np

from worldloom.agents.agent import AgentConfig
from worldloom.agents.bidding.factory import without_argument
from worldloom.agents.bidding.market import Ints, Market, draws, moves, nothing, pick
from worldloom.agents.cohort import Columns, Decisions
from worldloom.runs.context import Context


@dataclass(frozen=True, slots=True)
class GreedyPrice:
    """The best-paid jobs first."""

    ratio: float = 0.8
    training: float = 0.1

    async def act_many(self, memo: Columns, seats: Ints, seen: Columns, ctx: Context) -> Decisions:
        market = Market.of(seen)
        job = market.best_paid
        if not len(job):
            return Decisions(nothing(seats))
        trains = draws(ctx.seed, "greedy_price.train", market.round, seats) < self.training
        skill = np.full(len(seats), market.skill[job[0]])
        return Decisions(moves(seats, job, market.asked(self.ratio, job), skill, trains))


@dataclass(frozen=True, slots=True)
class FixedList:
    """The same jobs every round, in the same order."""

    ratio: float = 0.9
    training: float = 0.2

    async def act_many(self, memo: Columns, seats: Ints, seen: Columns, ctx: Context) -> Decisions:
        market = Market.of(seen)
        jobs = market.jobs
        if not len(jobs):
            return Decisions(nothing(seats))
        first = pick(draws(ctx.seed, "fixed_list.first", 0, seats), len(market.budget))
        place = np.arange(min(market.places, len(jobs)))
        job = jobs[(np.searchsorted(jobs, first)[:, None] + place) % len(jobs)]
        trains = draws(ctx.seed, "fixed_list.train", market.round, seats) < self.training
        return Decisions(moves(seats, job, market.asked(self.ratio, job), market.skill[job[:, 0]], trains))


@dataclass(frozen=True, slots=True)
class Undercutter:
    """A little less than the last winner of the job took; the memo is the latest price of each job that was shown."""

    ratio: float = 0.8
    training: float = 0.1
    below: float = 0.95
    floor: float = 0.1

    async def act_many(self, memo: Columns, seats: Ints, seen: Columns, ctx: Context) -> Decisions:
        market = Market.of(seen)
        known = memo.get("price", np.zeros(len(market.budget)))
        known = np.where(market.last_price > 0, market.last_price, known)
        job = market.best_paid
        if not len(job):
            return Decisions(nothing(seats), {"price": known})
        usual, least = market.asked(self.ratio, job), market.asked(self.floor, job)
        under = np.minimum(np.maximum(self.below * known[job], least), usual)
        price = np.where(known[job] > 0, under, usual)
        trains = draws(ctx.seed, "undercutter.train", market.round, seats) < self.training
        skill = np.full(len(seats), market.skill[job[0]])
        return Decisions(moves(seats, job, price, skill, trains), {"price": known})


def greedy_price(config: AgentConfig) -> GreedyPrice:
    """The cohort of the room `greedy_price`."""
    without_argument("greedy_price", config)
    return GreedyPrice()


def fixed_list(config: AgentConfig) -> FixedList:
    """The cohort of the room `fixed_list`."""
    without_argument("fixed_list", config)
    return FixedList()


def undercutter(config: AgentConfig) -> Undercutter:
    """The cohort of the room `undercutter`."""
    without_argument("undercutter", config)
    return Undercutter()
