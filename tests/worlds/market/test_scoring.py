"""What a bid is worth to a job: hand-computed values, limits, monotony, and no infinity anywhere."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.runs.rounding import rounded
from worldloom.worlds.market.body import Ces, CobbDouglas
from worldloom.worlds.market.scoring import LOWEST_REPUTATION, log_scores

shares = st.floats(0, 1)
prices = st.floats(1e-300, 1e6)
rules = st.one_of(
    st.builds(CobbDouglas, weight=shares, elasticity=st.floats(0, 100)),
    st.builds(Ces, rule=st.just("ces"), rho=st.floats(-100, 1), weight=shares, elasticity=st.floats(0, 100)),
)


def score(rule, reputation, price, budget=10.0):
    columns = (np.array([float(value)]) for value in (reputation, price, budget))
    return float(np.exp(log_scores(rule, *columns))[0])


def test_cobb_douglas_by_hand():
    # q = 0.5, s = (8/10)^-1 = 1.25: U = 0.5^0.6 · 1.25^0.4 = 0.72134; U / (1 + U) = 0.41906
    u = 0.5**0.6 * 1.25**0.4
    assert u == pytest.approx(0.721353, abs=1e-5)
    assert score(CobbDouglas(), 0.5, 8) == pytest.approx(u / (1 + u), rel=1e-14)
    assert score(CobbDouglas(elasticity=2, weight=0.3), 0.5, 8) == pytest.approx(
        1 / (1 + 1 / (0.5**0.3 * 1.5625**0.7)), rel=1e-14
    )


def test_ces_by_hand():
    # rho = 1: U = 0.6 · 0.5 + 0.4 · 1.25 = 0.8; rho = -1: U = 1 / (0.6 / 0.5 + 0.4 / 1.25) = 1 / 1.52
    assert score(Ces(rule="ces", rho=1), 0.5, 8) == pytest.approx(0.8 / 1.8, rel=1e-14)
    assert score(Ces(rule="ces", rho=-1), 0.5, 8) == pytest.approx(1 / 2.52, rel=1e-14)


@settings(deadline=None)
@given(shares, prices, shares, st.sampled_from([1e-3, 1e-5, 1e-6, 1e-9, 0.0, -1e-9, -1e-6, -1e-5, -1e-3]))
def test_ces_becomes_cobb_douglas_as_rho_goes_to_0(reputation, price, weight, rho):
    limit = score(CobbDouglas(weight=weight), reputation, price)
    near = score(Ces(rule="ces", rho=rho, weight=weight), reputation, price)
    # log U differs by at most |rho| · (log q − log s)² / 8 (Hoeffding's lemma), log(U / (1 + U)) by no more.
    gap = math.log(max(reputation, LOWEST_REPUTATION)) + math.log(price / 10)
    assert abs(math.log(near) - math.log(limit)) <= abs(rho) * gap**2 / 8 + 1e-8


@settings(deadline=None)
@given(rules, shares, shares, prices, prices)
def test_a_score_rises_with_reputation_and_falls_with_price(rule, q1, q2, p1, p2):
    low, high = sorted((q1, q2))
    cheap, dear = sorted((p1, p2))
    slack = 1e-12
    assert score(rule, low, p1) <= score(rule, high, p1) * (1 + slack)
    assert score(rule, q1, cheap) * (1 + slack) >= score(rule, q1, dear)


@settings(deadline=None)
@given(rules, shares, prices, st.floats(0.1, 1e6))
def test_every_score_is_finite_and_in_0_to_1(rule, reputation, price, budget):
    columns = (np.array([value]) for value in (reputation, price, budget))
    log_score = log_scores(rule, *columns)[0]
    assert math.isfinite(log_score)
    assert log_score <= 0


def test_a_price_near_0_buys_a_score_near_1_and_no_infinity():
    assert 0.99 < score(CobbDouglas(), 0.5, 1e-9) < 1
    assert score(CobbDouglas(elasticity=100), 0.5, 5e-324) <= 1


def test_what_decides_an_order_is_a_multiple_of_2_to_the_minus_40():
    values = np.array([0.1, -3.7, 1e-13, 36.74])
    assert np.array_equal(rounded(values) * 2.0**40, np.rint(values * 2.0**40))
    assert rounded(np.array([0.1]))[0] == rounded(np.array([np.nextafter(0.1, 1)]))[0]
