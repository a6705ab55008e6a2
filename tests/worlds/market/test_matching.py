"""Job-proposing Gale–Shapley: stable, within capacity, and the best stable matching for every job."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.worlds.market.matching import NOBODY, gale_shapley, random_serial


def bids_of(draw, agents, jobs, longest=5):
    """Random bids as columns, sorted by job and, within a job, by its preference."""
    rows = []
    for seat in range(agents):
        wanted = draw.sample(range(jobs), min(jobs, draw.randint(0, longest)))
        rows += [(job, draw.random(), seat, rank) for rank, job in enumerate(wanted)]
    rows.sort()
    column = [np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 2, 3)]
    return column[0], column[1], column[2]


def blocking(job, seat, rank, capacity, won):
    """Bids whose job and agent would both rather have each other than what they have."""
    held = {}
    for bid in won:
        if bid != NOBODY:
            held.setdefault(int(seat[bid]), []).append(int(rank[bid]))
    found = []
    for bid in range(len(job)):
        mine = won[job[bid]]
        job_wants = mine == NOBODY or bid < mine
        ranks = held.get(int(seat[bid]), [])
        agent_wants = len(ranks) < capacity or rank[bid] < max(ranks)
        if bid != mine and job_wants and agent_wants:
            found.append(bid)
    return found


def check_stable(seed):
    draw = random.Random(seed)
    agents, jobs, capacity = draw.randint(1, 12), draw.randint(1, 15), draw.randint(1, 4)
    bids = bids_of(draw, agents, jobs)
    won = gale_shapley(*bids, capacity, jobs, np.zeros(jobs))
    assert blocking(*bids, capacity, won.tolist()) == []
    taken = won[won != NOBODY]
    assert (bids[0][taken] == np.flatnonzero(won != NOBODY)).all(), "a job took a bid for another one"
    assert np.bincount(bids[1][taken], minlength=1).max() <= capacity


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_no_market_has_a_blocking_pair(seed):
    check_stable(seed)


@pytest.mark.slow
def test_ten_thousand_markets_have_no_blocking_pair():
    for seed in range(10_000):
        check_stable(seed)


def stable_matchings(job, seat, rank, capacity, jobs):
    choices = [[NOBODY, *np.flatnonzero(job == number).tolist()] for number in range(jobs)]
    for won in itertools.product(*choices):
        held = [int(seat[bid]) for bid in won if bid != NOBODY]
        if all(held.count(agent) <= capacity for agent in held) and not blocking(
            job, seat, rank, capacity, won
        ):
            yield won


@pytest.mark.parametrize("seed", range(60))
def test_every_job_gets_the_best_that_any_stable_matching_gives_it(seed):
    draw = random.Random(seed)
    agents, jobs, capacity = draw.randint(1, 5), draw.randint(1, 5), draw.randint(1, 3)
    bids = bids_of(draw, agents, jobs)
    won = gale_shapley(*bids, capacity, jobs, np.zeros(jobs)).tolist()
    every = list(stable_matchings(*bids, capacity, jobs))
    best = [min((one[job] for one in every), key=lambda b: (b == NOBODY, b)) for job in range(jobs)]
    assert won == best


def test_a_market_by_hand():
    # Both jobs like a best; a wants job 1 most and can do one: job 0 falls back on b.
    job, seat, rank = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([1, 0, 0, 1])
    assert gale_shapley(job, seat, rank, 1, 3, np.zeros(3)).tolist() == [1, 2, NOBODY]
    assert gale_shapley(job, seat, rank, 2, 3, np.zeros(3)).tolist() == [0, 2, NOBODY]


def test_nobody_bids_and_nobody_wins():
    nothing = np.array([], dtype=np.int64)
    for match in (gale_shapley, random_serial):
        assert match(nothing, nothing, nothing, 3, 2, np.zeros(2)).tolist() == [NOBODY, NOBODY]


def test_at_random_jobs_choose_in_the_order_of_the_lottery():
    job, seat, rank = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    assert random_serial(job, seat, rank, 1, 2, np.array([0.1, 0.2])).tolist() == [0, 3]
    assert random_serial(job, seat, rank, 1, 2, np.array([0.2, 0.1])).tolist() == [1, 2]
    assert random_serial(job, seat, rank, 2, 2, np.array([0.2, 0.1])).tolist() == [0, 2]
