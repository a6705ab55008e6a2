"""Reputation and learning, against values computed by hand."""

import numpy as np
import pytest

from worldloom.worlds.market.body import Learning, Reputation
from worldloom.worlds.market.grouping import places, turns
from worldloom.worlds.market.learning import performances, upgraded
from worldloom.worlds.market.reputation import (
    Evidence,
    after_benchmarks,
    after_work,
    priors,
    reputations,
    stars,
)

RULE = Reputation()


def works(*rows):
    """Columns of (seat, skill, performance), …"""
    seat, skill, performance = zip(*rows, strict=True)
    return np.array(seat), np.array(skill), np.array(performance, dtype=np.float64)


def test_before_any_work_everybody_has_half_a_reputation():
    evidence = Evidence.none(2, 3, 5)
    assert priors(evidence, RULE).tolist() == [0.5] * 3
    assert reputations(evidence, RULE).tolist() == [[0.5] * 3] * 2
    assert stars(reputations(evidence, RULE)).tolist() == [[2.5] * 3] * 2


def test_a_reputation_by_hand():
    # Agent 0 works twice in skill 1, with 0.8 and then 0.4; agent 1 once, with 0.9.
    evidence = after_work(Evidence.none(2, 2, 5), RULE, *works((0, 1, 0.8), (0, 1, 0.4), (1, 1, 0.9)))
    good, bad = 0.85 * 0.8 + 0.4, 0.85 * (1 - 0.8) + (1 - 0.4)
    prior = (0.8 + 0.4 + 0.9) / 3
    assert evidence.good[0].tolist() == [0, good]
    assert evidence.bad[0].tolist() == [0, bad]
    found = reputations(evidence, RULE)
    assert found[0, 1] == pytest.approx((good + prior) / (good + bad + 1), rel=1e-15)
    assert found[1, 1] == pytest.approx((0.9 + prior) / (0.9 + (1 - 0.9) + 1), rel=1e-15)
    assert found[:, 0].tolist() == [0.5, 0.5]
    assert stars(found)[0, 1] == round(5 * (good + prior) / (good + bad + 1), 1)


def test_the_prior_is_the_mean_of_the_last_five_of_anyone():
    evidence = after_work(
        Evidence.none(3, 2, 5), RULE, *works((0, 0, 0.1), (1, 0, 0.2), (2, 0, 0.3), (0, 1, 1.0))
    )
    assert priors(evidence, RULE).tolist() == [pytest.approx(0.2), 1.0]
    evidence = after_work(evidence, RULE, *works(*((1, 0, value) for value in (0.4, 0.5, 0.6, 0.7))))
    assert evidence.recent[0].tolist() == [0.3, 0.4, 0.5, 0.6, 0.7]
    assert priors(evidence, RULE)[0] == pytest.approx(0.5)
    assert evidence.known.tolist() == [5, 1]
    evidence = after_work(evidence, RULE, *works(*((2, 0, value / 10) for value in range(9))))
    assert evidence.recent[0].tolist() == [0.4, 0.5, 0.6, 0.7, 0.8]


def test_without_work_nothing_is_forgotten():
    evidence = after_work(Evidence.none(1, 1, 5), RULE, *works((0, 0, 0.8)))
    nothing = np.array([], dtype=np.int64)
    later = after_work(evidence, RULE, nothing, nothing, np.array([]))
    assert reputations(later, RULE).tolist() == reputations(evidence, RULE).tolist()


def test_a_portfolio_counts_for_its_weight_and_a_neutral_one_for_nothing():
    evidence = Evidence.none(2, 1, 5)
    one = np.array([1]), np.array([0]), np.array([0.9])
    assert after_benchmarks(evidence, 0, *one) is evidence
    shown = after_benchmarks(evidence, 2, *one)
    assert reputations(shown, RULE)[:, 0].tolist() == [0.5, pytest.approx((1.8 + 0.5) / 3)]


def test_an_upgrade_closes_a_tenth_of_the_gap():
    skills = np.full((2, 2), 0.4)
    once = upgraded(Learning(), skills, np.array([0]), np.array([1]))
    assert once.tolist() == [[0.4, 1 - 0.6 * 0.9], [0.4, 0.4]]
    thrice = upgraded(Learning(), skills, np.array([0, 1, 0, 0]), np.array([1, 0, 1, 1]))
    assert thrice[0, 1] == pytest.approx(1 - 0.6 * 0.9**3, rel=1e-15)
    assert thrice[1, 0] == 1 - 0.6 * 0.9


def test_a_performance_is_the_skill_with_noise_in_0_to_1():
    skill, noise = np.array([0.4, 0.9, 0.4, 0.0]), np.array([1.0, 10.0, -30.0, -30.0])
    found = performances(Learning(performance_noise=0.05), skill, noise)
    assert found.tolist() == [pytest.approx(0.4 * 1.05), 1.0, 0.0, 0.0]
    assert not np.signbit(found).any()


def test_turns_take_each_key_once_and_in_its_order():
    assert [rows.tolist() for rows in turns(np.array([3, 1, 3, 3, 1]))] == [[1, 0], [4, 2], [3]]
    assert list(turns(np.array([], dtype=np.int64))) == []
    assert places(np.array([1, 1, 2, 5, 5, 5])).tolist() == [0, 1, 0, 0, 1, 2]
