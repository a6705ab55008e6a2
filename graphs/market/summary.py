"""Summary: what a market came to, agent by agent, as the last fact of its record."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from worldloom.core.canonical import Json
from worldloom.worlds.market import metrics
from worldloom.worlds.market.record import RoundRecord
from worldloom.worlds.market.rules import Ints
from worldloom.worlds.market.state import MarketState

ROUND, MARKET = "round.1", "market.1"
"""Types of the facts of a round, and of the whole market."""


def summary(past: Sequence[RoundRecord], after: MarketState, groups: Mapping[str, Ints]) -> dict[str, Json]:
    """Columns by agent, in the order of their numbers; None where a mean is over nothing.

    Args:
        past: all rounds.
        after: the market after the last.
        groups: name -> seats.
    """
    reward = after.reward
    group_of = np.empty(len(reward), dtype=object)
    for name, seats in groups.items():
        group_of[seats] = name
    columns: dict[str, NDArray[np.float64] | Ints] = {
        "reward": reward,
        "share": metrics.market_share(reward),
        "rank": metrics.ranks(reward),
        "rank_spread": metrics.rank_spread(past),
        "win_rate": metrics.win_rate(past),
        "bid_ratio": metrics.bid_ratio(past),
        "training_rate": metrics.training_rate(past),
        "specialisation": metrics.specialisation(past),
        "skill": after.skills.mean(axis=1),
        "stars": after.stars.mean(axis=1),
    }
    return {
        "seat": list(after.rules.seats),
        "group": group_of.tolist(),
        **{name: _cells(column) for name, column in columns.items()},
    }


def _cells(column: NDArray[np.float64] | Ints) -> list[Json]:
    return [None if cell != cell else cell for cell in (column + 0).tolist()]
