"""Seen: what a cohort of a market is handed before a round, as columns.

What is public, and of what is an agent's own only the rows of the cohort's seats. What is hidden goes only to a policy
that asks for it by name (`needs`), and the record says so.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldloom.agents.cohort import Columns
from worldloom.core.errors import UsageError
from worldloom.worlds.market.rules import Ints
from worldloom.worlds.market.state import MarketState

_HIDDEN = "oracle_"


def seen_by(place: MarketState, seats: Ints, needs: Sequence[str] = ()) -> Columns:
    """The columns for a cohort.

    Args:
        seats: numbers of its seats, ascending.
        needs: names of hidden columns that its policy asks for.

    Raises:
        UsageError: there is no such hidden column.
    """
    shown, mechanism = place.seen, place.rules.body.mechanism
    columns: dict[str, NDArray[Any]] = {
        "round": np.array(shown.round),
        "listed": shown.listed,
        "budget": np.where(shown.listed, shown.budget, 0.0),
        "job_skill": shown.job_skill,
        "last_price": shown.last_price,
        "stars": shown.stars,
        "max_bids": np.array(mechanism.max_bids),
        "minimum_price": np.array(mechanism.minimum_price),
        "skills": shown.skills[seats],
        "reward": shown.reward[seats],
    }
    hidden = _hidden(place) if needs else {}
    if unknown := [name for name in needs if name not in hidden]:
        raise UsageError(f"a market has no column {unknown[0]!r}\n  allowed: {', '.join(hidden)}")
    return {**columns, **{name: hidden[name] for name in needs}}


def _hidden(place: MarketState) -> dict[str, NDArray[Any]]:
    """Everybody's true skills and exact reputations, the bids of the last round, and the rules by number."""
    body, last, none = place.rules.body, place.history[-1:], np.zeros(0, dtype=np.int64)
    mechanism = body.mechanism
    cells = {
        "skills": place.skills,
        "reputation": place.reputation,
        "bid_seat": last[0].bid_seat if last else none,
        "bid_job": last[0].bid_job if last else none,
        "bid_score": last[0].bid_score if last else np.zeros(0),
        "rounds": body.rounds,
        "weight": mechanism.scoring.weight,
        "elasticity": mechanism.scoring.elasticity,
        "rho": getattr(mechanism.scoring, "rho", 0.0),
        "temperature": mechanism.temperature,
        "capacity": mechanism.capacity,
        "step": body.learning.step,
        "by_performance": mechanism.pay == "performance",
    }
    return {f"{_HIDDEN}{name}": np.asarray(cell) for name, cell in cells.items()}
