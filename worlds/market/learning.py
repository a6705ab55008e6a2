"""Learning: skills grow by training and by doing, and never reach 1. An upgrade is s ← 1 − (1 − s) · (1 − step)."""

import numpy as np

from worldloom.worlds.market import body
from worldloom.worlds.market.grouping import turns
from worldloom.worlds.market.rules import Floats, Ints, sealed


def performances(rule: body.Learning, skill: Floats, noise: Floats) -> Floats:
    """How well works go, in [0, 1]: skill · (1 + noise · N(0, 1)), shapes (works,)."""
    # + 0.0: a product of 0 and a negative number would be -0.0, which no record takes.
    return np.clip(skill * (1.0 + rule.performance_noise * noise), 0.0, 1.0) + 0.0


def upgraded(rule: body.Learning, skills: Floats, seat: Ints, skill: Ints) -> Floats:
    """Skills after upgrades, each of an agent in a skill, shape (agents, skills)."""
    result = skills.copy()
    for rows in turns(seat * skills.shape[1] + skill):
        place = seat[rows], skill[rows]
        result[place] = 1.0 - (1.0 - result[place]) * (1.0 - rule.step)
    return sealed(result)
