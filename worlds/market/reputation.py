"""Reputation: a Beta estimate of performance that forgets; work by anyone in a skill is its prior.

R ← decay · R + p and S ← decay · S + (1 − p) after a performance p; the reputation is
(R + k · prior) / (R + S + k), the prior the mean of the last performances of anyone in that skill.
"""

from dataclasses import dataclass

import numpy as np

from worldloom.worlds.market import body
from worldloom.worlds.market.grouping import places, turns
from worldloom.worlds.market.rules import Floats, Ints, sealed


@dataclass(frozen=True, eq=False)
class Evidence:
    """What reputations are made from.

    Attributes:
        good, bad: R and S, shape (agents, skills).
        recent: the last performances of anyone, oldest first, shape (skills, prior_window); at the left 0 where there
            were fewer.
        known: how many of them there were, shape (skills,).
    """

    good: Floats
    bad: Floats
    recent: Floats
    known: Ints

    def __post_init__(self) -> None:
        for column in (self.good, self.bad, self.recent, self.known):
            sealed(column)

    @staticmethod
    def none(agents: int, skills: int, window: int) -> "Evidence":
        """What is known before anyone has worked."""
        nothing = np.zeros((agents, skills))
        return Evidence(nothing, nothing, np.zeros((skills, window)), np.zeros(skills, dtype=np.int64))


def priors(evidence: Evidence, rule: body.Reputation) -> Floats:
    """Prior of each skill, shape (skills,)."""
    total = evidence.recent[:, 0]
    for place in range(1, evidence.recent.shape[1]):
        total = total + evidence.recent[:, place]
    return np.where(evidence.known > 0, total / np.maximum(evidence.known, 1), rule.initial_prior)


def reputations(evidence: Evidence, rule: body.Reputation) -> Floats:
    """Reputation of each agent in each skill, in [0, 1], shape (agents, skills)."""
    good, bad, k = evidence.good, evidence.bad, rule.prior_weight
    return (good + k * priors(evidence, rule)) / (good + bad + k)


def stars(reputation: Floats) -> Floats:
    """Reputation as people are shown it: 0 to 5, one decimal."""
    return np.round(5.0 * reputation, 1)


def after_work(
    evidence: Evidence, rule: body.Reputation, seat: Ints, skill: Ints, performance: Floats
) -> Evidence:
    """Evidence after works, each by an agent in a skill, in their order; shapes (works,)."""
    good, bad = evidence.good.copy(), evidence.bad.copy()
    for rows in turns(seat * good.shape[1] + skill):
        place = seat[rows], skill[rows]
        good[place] = rule.decay * good[place] + performance[rows]
        bad[place] = rule.decay * bad[place] + (1.0 - performance[rows])
    recent, known = _seen(evidence, skill, performance)
    return Evidence(good, bad, recent, known)


def after_benchmarks(evidence: Evidence, weight: float, seat: Ints, skill: Ints, level: Floats) -> Evidence:
    """Evidence after training benchmarks that clients take for `weight` pieces of work; agents differ."""
    if weight == 0:
        return evidence
    good, bad = evidence.good.copy(), evidence.bad.copy()
    good[seat, skill] += weight * level
    bad[seat, skill] += weight * (1.0 - level)
    return Evidence(good, bad, evidence.recent, evidence.known)


def _seen(evidence: Evidence, skill: Ints, performance: Floats) -> tuple[Floats, Ints]:
    """`recent` and `known` after performances; only the last of each skill stay."""
    skills, window = evidence.recent.shape
    order = np.argsort(skill, kind="stable")
    count = np.bincount(skill, minlength=skills)
    place = places(skill[order])
    recent = np.zeros((skills, window + int(count.max(initial=0))))
    recent[:, :window] = evidence.recent
    recent[skill[order], window + place] = performance[order]
    kept = count[:, None] + np.arange(window)
    return np.take_along_axis(recent, kept, axis=1), np.minimum(evidence.known + count, window)
