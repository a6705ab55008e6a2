"""Choice between few decisions by their values: the best one, but now and then any.

Ties go round from a decision that is each seat's own, so that seats that know nothing do not all do the same.
"""

import numpy as np

from worldloom.agents.bidding.market import Floats, Ints, draws, pick


def chosen(values: Floats, exploration: float, seed: int, component: str, round: int, seats: Ints) -> Ints:
    """The decision of each seat, shape (seats,).

    Args:
        values: of each decision, shape (seats, decisions).
        exploration: probability that any decision is taken, all alike.
        component: name of the policy; draws are made for `<component>.first`, `.explore` and `.any`.
    """
    many = values.shape[1]
    first = pick(draws(seed, f"{component}.first", 0, seats), many)
    turned = (first[:, None] + np.arange(many)) % many
    best = np.argmax(np.take_along_axis(values, turned, axis=1), axis=1)
    explores = draws(seed, f"{component}.explore", round, seats) < exploration
    return np.where(
        explores, pick(draws(seed, f"{component}.any", round, seats), many), (first + best) % many
    )
