"""Pay: what a piece of work earns, and what the state takes and gives."""

from collections.abc import Callable, Mapping

import numpy as np

from worldloom.worlds.market.rules import Bools, Floats, Ints


def _fixed(price: Floats, performance: Floats) -> Floats:
    return price


def _by_performance(price: Floats, performance: Floats) -> Floats:
    return price * performance


PAYS: Mapping[str, Callable[[Floats, Floats], Floats]] = {"fixed": _fixed, "performance": _by_performance}
"""Name -> pay of each piece of work from its price and its performance, shapes (works,)."""


def incomes(pay: Floats, seat: Ints, bidding: Bools, *, tax_rate: float, entry_cost: float) -> Floats:
    """What each agent is left with, shape (agents,): pay after tax, its part of all taxes, less the cost of bidding.

    Args:
        pay, seat: of each piece of work; an agent's are added in their order.
        bidding: whether an agent has bid, shape (agents,).
    """
    agents = len(bidding)
    earned = np.bincount(seat, weights=pay, minlength=agents)
    part = tax_rate * np.sum(pay) / agents
    return earned * (1.0 - tax_rate) + part - entry_cost * bidding
