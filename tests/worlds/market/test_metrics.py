"""Metrics against values computed by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.worlds.market import metrics

ALL = {
    "jobs": {"per_skill": 2, "listing_probability": 1, "budget_noise": 0},
    "mechanism": {"temperature": 0.001},
}


@pytest.fixture
def rounds(market, step, bid, train):
    """Two rounds. a wins two of its bids, then trains; b bids too high, then wins; c does nothing, then errs."""
    world = market(3, **ALL)
    first = {
        "a": bid(("writing-1", 5), ("coding-1", 4), ("coding-2", 4), ("writing-2", 5)),
        "b": bid(("writing-1", 10)),
    }
    second = {"a": train("coding"), "b": bid(("coding-1", 6)), "c": bid(("coding-1", 0))}
    state = world.initial(0)
    for moves in (first, second):
        state = step(world, state, moves).state
    return state.history


def test_of_a_round(rounds):
    first, second = rounds
    assert metrics.unemployment(first) == 0.5
    assert metrics.unemployment(second) == 0
    assert metrics.vacancy(first) == 0.5
    assert metrics.vacancy(second) == pytest.approx(5 / 6)
    assert metrics.price_ratio(first) == 0.5
    assert metrics.price_ratio(second) == 0.75
    won = first.winner == 0
    assert won.tolist() == [True, False, True, True, False, False]
    assert metrics.output(first) == pytest.approx(float(np.dot([10, 8, 8], first.performance[won])))
    assert metrics.client_utility(second) == second.performance[2] - 0.75


def test_of_a_round_in_which_nothing_happens(market, step):
    world = market(2, jobs={"listing_probability": 0})
    done = step(world, world.initial(0), {})
    fact = done.facts[0]
    assert (fact["unemployment"], fact["vacancy"], fact["price_ratio"], fact["client_utility"]) == (None,) * 4
    assert (fact["gini"], fact["output"], fact["refused"]) == (0, 0, {})


def test_of_agents(rounds):
    # a wins three of four bids with capacity 3; b none of one, then one of one.
    assert metrics.win_rate(rounds).tolist()[:2] == [1.0, 0.5]
    assert metrics.bid_ratio(rounds).tolist()[:2] == [0.5, 0.875]
    assert metrics.training_rate(rounds).tolist() == [0.5, 0, 0]
    assert metrics.rewards(rounds).tolist() == [[13, 0, 0], [13, 6, 0]]
    assert metrics.rank_spread(rounds).tolist() == [0, 0, 1]
    entropy = -(1 / 3 * math.log(1 / 3) + 2 / 3 * math.log(2 / 3))
    assert metrics.specialisation(rounds).tolist()[:2] == [pytest.approx(1 - entropy / math.log(3)), 1.0]
    for column in (metrics.win_rate, metrics.bid_ratio, metrics.specialisation):
        assert math.isnan(column(rounds)[2])


def test_of_rewards():
    assert metrics.gini(np.array([1.0, 1, 1])) == 0
    assert metrics.gini(np.array([0.0, 0, 0, 8])) == 0.75
    assert metrics.gini(np.array([1.0, 3])) == 0.25
    assert metrics.gini(np.array([-5.0, 4])) == 0.5
    assert metrics.gini(np.zeros(3)) == 0
    assert metrics.market_share(np.array([1.0, 3, -2])).tolist() == [0.25, 0.75, 0]
    assert metrics.market_share(np.zeros(4)).tolist() == [0.25] * 4
    assert metrics.ranks(np.array([3.0, 9, 3, 1])).tolist() == [2, 1, 2, 4]
    assert metrics.ranks(np.array([0.1 + 0.2, 0.3])).tolist() == [1, 1]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0.01, 100))
def test_gini_is_that_of_the_definition_and_free_of_scale(values, scale):
    reward = np.array(values)
    if reward.sum() > 1e-3:
        n = len(values)
        pairwise = sum(abs(a - b) for a in values for b in values) / (2 * n * sum(values))
        assert metrics.gini(reward) == pytest.approx(pairwise, abs=1e-9)
        assert metrics.gini(reward * scale) == pytest.approx(metrics.gini(reward), abs=1e-9)


def test_of_series():
    series = np.array([4.0, 4, 4, 1, 1, 2, 4])
    assert metrics.recovery(series, 3, 5, window=2) == 0.75
    assert metrics.recovery(series, 0, 5) is None
    assert metrics.recovery(series, 3, 7) is None
    assert metrics.correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1)
    assert metrics.correlation(np.array([1.0, 1]), np.array([3.0, 2])) is None
