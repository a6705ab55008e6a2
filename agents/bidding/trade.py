"""Trade: the one skill in which a learning policy works in a round.

A random-utility choice: the skill with the highest log(own skill) + log(best listed budget) + taste, where the taste
for each skill is 0.25 × a Gumbel number that a seat is given once (McFadden, 1974). So seats of one policy spread over
the skills, stay where they have learned something, and move when another skill pays better.
"""

import numpy as np

from worldloom.agents.bidding.market import Ints, Market
from worldloom.runs.chance import gumbels, pairs
from worldloom.runs.rounding import rounded

TASTE = 0.25
"""How much tastes count: 0.25 lets a seat prefer a skill that pays a third less about one time in six."""
_LOWEST_SKILL = 2.0**-20
"""A skill of 0 counts as this, so that its logarithm is finite."""


def trades(market: Market, seats: Ints, seed: int, component: str) -> Ints:
    """The skill of each seat, shape (seats,). Some job must be listed.

    Args:
        component: name of the policy; tastes are drawn for `<component>.taste`.
    """
    has_jobs = market.best_budget > 0
    pay = np.log(np.where(has_jobs, market.best_budget, 1.0))
    taste = gumbels(seed, f"{component}.taste", 0, pairs(seats[:, None], np.arange(len(pay))))
    worth = np.log(np.maximum(market.skills, _LOWEST_SKILL)) + pay + TASTE * taste
    best: Ints = np.argmax(np.where(has_jobs, rounded(worth), -np.inf), axis=1)
    return best
