"""Means and their intervals: closed forms, known cases, and honest silence where there is too little."""

import itertools
import math

import numpy as np
import pytest

from worldloom.runs.agreement import wilson
from worldloom.runs.statistics import bootstrap_interval, estimate, rate


def test_nothing_scored_is_no_mean_and_no_interval():
    for values in ([], [("a", None), ("a", None), ("b", None)]):
        found = estimate(values)
        assert (found.mean, found.low, found.high) == (None, None, None)
        assert (found.scenarios, found.episodes, found.unscored) == (0, 0, len(values))


def test_one_scenario_has_a_mean_and_no_interval_however_often_it_was_played():
    found = estimate([("a", 1.0), ("a", 0.0), ("a", 0.0), ("a", None)])
    assert found.mean == pytest.approx(1 / 3)
    assert (found.low, found.high) == (None, None)
    assert (found.scenarios, found.episodes, found.unscored) == (1, 3, 1)


def test_the_mean_is_over_scenarios_and_not_over_episodes():
    found = estimate([("easy", 1.0)] * 9 + [("hard", 0.0)])
    assert found.mean == 0.5
    assert (found.scenarios, found.episodes) == (2, 10)


def test_two_scenarios_give_the_quantiles_of_the_three_means_that_resampling_can_find():
    """0, 1/2, 1 with probabilities 1/4, 1/2, 1/4: the 2.5 % and 97.5 % quantiles are the ends."""
    found = estimate([("a", 0.0), ("b", 1.0)])
    assert (found.mean, found.low, found.high) == (0.5, 0.0, 1.0)


def test_shares_that_are_all_the_same_have_wilsons_interval_with_the_scenarios_as_its_n():
    found = estimate([(str(n), 1.0) for n in range(4)])
    assert (found.mean, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(4 / (4 + 1.959964**2))
    found = estimate([(str(n), 0.0) for n in range(4)] * 3)
    assert (found.low, found.mean) == (0.0, 0.0)
    assert found.high == pytest.approx(1 - 4 / (4 + 1.959964**2)), "epochs do not make it narrower"


def test_other_numbers_that_are_all_the_same_have_an_interval_of_no_width():
    found = estimate([(str(n), 7.0) for n in range(5)])
    assert found.low == found.mean == found.high == 7.0


def exact_interval(values):
    """Quantiles over all n ** n resamples, each as likely as the other."""
    means = sorted(sum(draw) / len(values) for draw in itertools.product(values, repeat=len(values)))
    return np.percentile(means, [2.5, 97.5])


@pytest.mark.parametrize("values", [(0.0, 1.0, 1.0, 0.0), (0.1, 0.5, 0.9, 0.2, 0.7)])
def test_the_interval_is_that_of_all_resamples_counted_out(values):
    low, high = bootstrap_interval(np.array(values))
    assert (low, high) == pytest.approx(tuple(exact_interval(values)), abs=0.03)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_for_many_scenarios_the_interval_is_that_of_the_normal_approximation(share):
    n = 400
    values = [(str(i), float(i < share * n)) for i in range(n)]
    found = estimate(values)
    half = 1.96 * math.sqrt(share * (1 - share) / n)
    assert found.mean == pytest.approx(share)
    assert found.low == pytest.approx(share - half, abs=0.006)
    assert found.high == pytest.approx(share + half, abs=0.006)


def test_episodes_of_one_scenario_are_no_independent_evidence():
    """Ten epochs of a scenario that always ends alike must not narrow the interval."""
    once = [(str(n), float(n % 2)) for n in range(20)]
    ten_times = [pair for pair in once for _ in range(10)]
    few, many = estimate(once), estimate(ten_times)
    assert (many.mean, many.low, many.high) == (few.mean, few.low, few.high)
    assert many.episodes == 200
    as_if_independent = estimate([(str(n), value) for n, (_, value) in enumerate(ten_times)])
    assert as_if_independent.high - as_if_independent.low < 0.5 * (many.high - many.low)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.Generator(np.random.Philox(key=5))
    truth, covered = 0.3, 0
    for _ in range(120):
        low, high = bootstrap_interval((rng.random(60) < truth).astype(float))
        covered += low <= truth <= high
    assert 0.88 <= covered / 120 <= 1.0


def test_the_same_scores_in_any_order_give_the_same_interval_and_another_seed_a_near_one():
    values = [(str(n), (n * 7 % 10) / 10) for n in range(30)]
    assert estimate(values) == estimate(list(reversed(values)))
    other = estimate(values, seed=1)
    assert other != estimate(values)
    assert other.low == pytest.approx(estimate(values).low, abs=0.02)


def test_a_wider_level_gives_a_wider_interval():
    values = np.linspace(0, 1, 40)
    narrow, wide = bootstrap_interval(values, level=0.5), bootstrap_interval(values, level=0.99)
    assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]


def test_no_calls_are_no_rate_and_those_of_one_scenario_have_no_interval():
    assert rate([]).value is None
    assert rate([("a", 0, 0)]).n == 0
    found = rate([("a", 3, 4), ("a", 0, 2), ("b", 0, 0)])
    assert (found.value, found.low, found.high, found.scenarios, found.n) == (0.5, None, None, 1, 6)


def test_a_rate_is_over_calls_and_not_over_scenarios():
    found = rate([("long", 90, 90), ("short", 0, 10)])
    assert (found.value, found.n, found.scenarios) == (0.9, 100, 2)
    assert (found.low, found.high) == (0.0, 1.0)


def test_where_scenarios_have_as_many_calls_a_rate_is_the_mean_of_their_shares_with_its_interval():
    counts = [(f"{n:02}", n * 7 % 11, 10) for n in range(40)]
    low, high = bootstrap_interval(np.array([hits / calls for _, hits, calls in counts]))
    found = rate(counts)
    assert found.value == pytest.approx(sum(hits for _, hits, _ in counts) / 400)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_for_many_scenarios_the_interval_of_a_rate_is_that_of_the_linearised_ratio():
    """Cochran 1977, 6.13: the variance of a ratio r = x/y is sum((x - r y)^2) / (n mean(y))^2."""
    rng = np.random.Generator(np.random.Philox(key=3))
    calls = rng.integers(2, 40, size=400)
    hits = rng.binomial(calls, rng.beta(2, 3, size=400))
    found = rate((str(n), int(x), int(y)) for n, (x, y) in enumerate(zip(hits, calls, strict=True)))
    ratio = hits.sum() / calls.sum()
    half = 1.96 * math.sqrt(((hits - ratio * calls) ** 2).sum()) / calls.sum()
    assert found.value == pytest.approx(ratio)
    assert (found.low, found.high) == pytest.approx((ratio - half, ratio + half), abs=0.003)


@pytest.mark.slow
def test_the_interval_of_a_rate_covers_the_truth_where_calls_of_a_scenario_resemble_one_another():
    rng = np.random.Generator(np.random.Philox(key=8))
    covered, naive = 0, 0
    for _ in range(60):
        calls = rng.integers(5, 30, size=50)
        hits = rng.binomial(calls, rng.beta(0.6, 1.4, size=50))
        found = rate((str(n), int(x), int(y)) for n, (x, y) in enumerate(zip(hits, calls, strict=True)))
        low, high = wilson(hits.sum(), calls.sum())
        covered += found.low <= 0.3 <= found.high
        naive += low <= 0.3 <= high
    assert 0.88 <= covered / 60 <= 1.0
    assert naive < 0.75 * covered


def test_where_no_scenario_differs_the_interval_of_a_rate_has_the_scenarios_as_its_n():
    for hits in (0, 10):
        found = rate([(str(n), hits, 10) for n in range(8)])
        assert (found.low, found.high) == wilson(hits / 10 * 8, 8)


def test_counts_in_any_order_and_in_any_pieces_give_the_same_rate():
    counts = [(str(n % 5), n % 3, 4) for n in range(30)]
    assert rate(counts) == rate(reversed(counts))
    assert rate(counts).n == 120
