"""Scoring: what a bid is worth to a job, from the bidder's reputation q and the price against the budget.

All in logarithms: a price near 0 then makes a score near 1 and never an infinite one. Scores lie in (0, 1].
"""

import numpy as np

from worldloom.worlds.market.body import Ces, CobbDouglas
from worldloom.worlds.market.rules import Floats

LOWEST_REPUTATION = 2.0**-20
"""A reputation of 0 counts as this, so that its logarithm is finite."""
_NEARLY_COBB_DOUGLAS = 1e-6
"""Where |rho| is smaller, CES is Cobb–Douglas to 9 digits, and its own formula would lose more than that."""


def log_scores(rule: CobbDouglas | Ces, reputation: Floats, price: Floats, budget: Floats) -> Floats:
    """log of U / (1 + U) for each bid, shape (bids,); U as the rule says, of q and s = (price / budget)^(−eta).

    Args:
        reputation: q in [0, 1].
        price: above 0.
    """
    log_q = np.log(np.maximum(reputation, LOWEST_REPUTATION))
    log_s = -rule.elasticity * (np.log(price) - np.log(budget))  # price / budget may be too small for a float
    weight = rule.weight
    if isinstance(rule, CobbDouglas) or abs(rule.rho) < _NEARLY_COBB_DOUGLAS:
        log_u = weight * log_q + (1.0 - weight) * log_s
    else:
        terms = np.logaddexp(_log(weight) + rule.rho * log_q, _log(1.0 - weight) + rule.rho * log_s)
        log_u = terms / rule.rho
    return -np.logaddexp(0.0, -log_u)


def _log(share: float) -> np.float64:
    return np.log(np.float64(share)) if share > 0 else np.float64(-np.inf)
