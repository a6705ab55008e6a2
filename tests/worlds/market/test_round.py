"""The round: what it does by the rules, and that nobody's draws depend on what others do or who comes first."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest

from worldloom.core.action import Action
from worldloom.worlds.market.moves import NONE, read_actions
from worldloom.worlds.market.scoring import log_scores

ALL = {"per_skill": 2, "listing_probability": 1}
SURE = {"temperature": 0.01}


def rounds(world, step, moves_of, count, seed=0):
    """States after each of `count` rounds."""
    states = [world.initial(seed)]
    for number in range(count):
        states.append(step(world, states[-1], moves_of(world, states[-1], number)).state)
    return states


@pytest.mark.parametrize("pay", ["fixed", "performance"])
def test_work_is_paid_as_bid_or_by_performance(market, step, bid, pay):
    world = market(jobs=ALL, mechanism={"pay": pay})
    state = step(world, world.initial(0), {"a": bid(("writing-1", 8), ("coding-2", 5))}).state
    record = state.history[-1]
    assert [record.winner[job] for job in (0, 3)] == [0, 0]
    assert record.price[[0, 3]].tolist() == [8, 5]
    share = record.performance[[0, 3]] if pay == "performance" else np.ones(2)
    assert record.pay[[0, 3]].tolist() == (np.array([8.0, 5.0]) * share).tolist()
    assert state.reward.tolist() == [float(record.pay.sum()), 0, 0]
    assert 0.3 < record.performance[0] < 0.5


def test_a_chance_of_0_upgrades_nobody(market, step, bid):
    world = market(jobs=ALL, learning={"by_doing": 0})
    moves = {"a": bid(("writing-1", 8)), "b": bid(("writing-1", 8)), "c": Action("train", {"skill": "?"})}
    for state in rounds(world, step, lambda *_: moves, 12):
        assert (state.skills == 0.4).all()


def test_a_chance_of_1_upgrades_by_each_work_and_the_unmatched_in_their_first_choice(market, step, bid):
    world = market(2, jobs=ALL, learning={"by_doing": 1}, mechanism=SURE)
    moves = {"a": bid(("writing-1", 2), ("writing-2", 3)), "b": bid(("writing-2", 9.5), ("writing-1", 9.5))}
    state = step(world, world.initial(0), moves).state
    assert state.history[-1].winner[:2].tolist() == [0, 0]
    assert state.skills[0].tolist() == [1 - (1 - (1 - 0.6 * 0.9)) * 0.9, 0.4, 0.4]
    assert state.skills[1].tolist() == [1 - 0.6 * 0.9, 0.4, 0.4]


def test_training_always_upgrades_and_its_benchmark_is_exact_and_stays(market, step, bid, train):
    world = market(jobs=ALL, learning={"by_doing": 0})
    state = step(world, world.initial(0), {"a": train("coding")}).state
    level = 1 - 0.6 * 0.9
    assert state.skills[0].tolist() == [0.4, level, 0.4]
    for _ in range(3):
        assert state.view("a").context["benchmarks"] == {"coding": level}
        state = step(world, state, {"a": bid(("writing-1", 5))}).state
    assert state.view("a").context["own_history"][0]["benchmark"] == level
    assert state.view("b").context["benchmarks"] == {}


def test_nobody_does_more_than_it_can_and_no_job_is_done_twice(market, step, anything):
    world = market(9, mechanism={"capacity": 2})
    for state in rounds(world, step, anything, 12)[1:]:
        record = state.history[-1]
        taken = record.winner[record.winner != NONE]
        assert np.bincount(taken, minlength=1).max() <= 2
        assert not (record.winner[~record.listed] != NONE).any()
        for job in np.flatnonzero(record.winner != NONE):
            mine = (record.bid_job == job) & (record.bid_seat == record.winner[job])
            assert record.bid_price[mine].tolist() == [record.price[job]]


def test_each_agent_acts_once_in_a_round(market, step, anything):
    world = market(5)
    for state in rounds(world, step, anything, 12)[1:]:
        record = state.history[-1]
        assert len(record.train) == 5
        assert ((record.train != NONE).astype(int) + record.bidding + (record.fault > 0) <= 1).all()


def test_one_agents_moves_leave_every_other_draw_alone(market, step, bid, train):
    world = market(jobs=ALL, learning={"by_doing": 0.5})
    mine = [bid(("writing-1", 5), ("writing-2", 6)), train("design"), bid(("writing-2", 0)), None]

    def moves(chosen):
        others = {"b": bid(("coding-1", 4)), "c": bid(("coding-1", 4), ("design-1", 3))}
        return lambda world, state, number: others | ({"a": mine[chosen]} if mine[chosen] else {})

    lives = [rounds(world, step, moves(chosen), 12) for chosen in range(4)]
    for first, *others in zip(*lives, strict=True):
        for state in others:
            assert np.array_equal(state.budget, first.budget)
            assert np.array_equal(state.listed, first.listed)
            assert np.array_equal(state.skills[1:], first.skills[1:])
            assert np.array_equal(state.reward[1:], first.reward[1:])
            assert np.array_equal(state.evidence.good[1:], first.evidence.good[1:])
    assert len({life[-1].skills[0].tobytes() for life in lives}) == 3, "a refused move is as none"


def test_the_order_of_moves_and_the_form_of_moves_change_nothing(market, step, anything):
    world = market(8)

    def shuffled(world, state, number):
        moves = list(anything(world, state, number).items())
        random.Random(number).shuffle(moves)
        return dict(moves)

    def columns(world, state, number):
        moves = read_actions(world.rules, anything(world, state, number))
        turn = np.random.default_rng(number).permutation(len(moves.seat))
        cells = (moves.seat, moves.train, moves.job, moves.price, moves.fault)
        return type(moves)(*(column[turn] for column in cells))

    prints = [
        [state.fingerprint() for state in rounds(world, step, form, 12)]
        for form in (anything, shuffled, columns)
    ]
    assert prints[0] == prints[1] == prints[2]
    assert len(set(prints[0])) == 13
    assert rounds(world, step, anything, 3, seed=1)[-1].fingerprint() not in prints[0]


IN_ANOTHER_PROCESS = """
import asyncio
from worldloom.core.action import Action
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.runs.context import Context
from worldloom.worlds.market.world import build
text = "kind: market\\nid: m\\ncast: {a: random}\\nworld: {rounds: 9, skills: [a], jobs: {listing_probability: 1}}\\n"
world = build(parse_scenario(text, "m.yaml", Registry.discover()), ["x", "y", "z"])
state = world.initial(3)
bids = [{"job": job, "price": 3.5} for job in ("a-1", "a-2", "a-3")]
for number in range(9):
    moves = {seat: Action("bid", {"bids": bids}) for seat in {"x", "y", "z"}}
    state = asyncio.run(world.step(state, moves, Context.null())).state
print(state.fingerprint())
"""


def test_another_process_with_another_hash_seed_comes_to_the_same():
    def life(seed):
        done = subprocess.run(
            [sys.executable, "-P", "-c", IN_ANOTHER_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    assert life("1") == life("2") != ""


def test_the_share_of_first_places_is_a_softmax(market, step, bid):
    # Two bidders with scores s: P(first) = s1^(1/T) / (s1^(1/T) + s2^(1/T)).
    many = {"per_skill": 50, "listing_probability": 1, "budget_noise": 0}
    world = market(2, skills=["a", "b"], jobs=many, mechanism={"capacity": 100, "max_bids": 100})
    names = world.rules.job_names
    moves = {"a": bid(*((job, 6.0) for job in names)), "b": bid(*((job, 8.0) for job in names))}
    wins = [
        int((step(world, world.initial(seed), moves).state.history[-1].winner == 0).sum())
        for seed in range(40)
    ]
    record = step(world, world.initial(0), moves).state.history[-1]
    expected = 0.0
    for job in (0, 50):
        score = [
            float(record.bid_score[(record.bid_job == job) & (record.bid_seat == seat)][0]) for seat in (0, 1)
        ]
        expected += score[0] ** 5 / (score[0] ** 5 + score[1] ** 5) / 2
    assert abs(sum(wins) / 4000 - expected) < 3 * (0.25 / 4000) ** 0.5
    assert expected > 0.55


def test_at_random_price_and_reputation_do_not_matter(market, step, bid):
    many = {"per_skill": 50, "listing_probability": 1}
    world = market(
        2, skills=["a", "b"], jobs=many, mechanism={"capacity": 100, "max_bids": 100, "matching": "random"}
    )
    names = world.rules.job_names
    moves = {"a": bid(*((job, 0.1) for job in names)), "b": bid(*((job, 7.5) for job in names))}
    wins = [
        int((step(world, world.initial(seed), moves).state.history[-1].winner == 0).sum())
        for seed in range(40)
    ]
    assert abs(sum(wins) / 4000 - 0.5) < 3 * (0.25 / 4000) ** 0.5


def test_taxes_are_redistributed_equally_and_bidding_has_its_cost(market, step, bid):
    world = market(jobs=ALL, mechanism={"tax_rate": 0.3, "entry_cost": 0.25})
    state = step(world, world.initial(0), {"a": bid(("writing-1", 6)), "b": bid(("coding-1", 0))}).state
    assert state.reward.tolist() == pytest.approx([6 * 0.7 + 0.6 - 0.25, 0.6, 0.6])


def test_an_audit_shows_the_skill_in_place_of_the_reputation(market, step, bid):
    verified = {"verification": {"rule": "audit", "probability": 1}}
    world, plain = market(jobs=ALL, mechanism=verified), market(jobs=ALL)
    moves = {"a": bid(("writing-1", 6))}
    scores = [step(one, one.initial(0), moves).state.history[-1].bid_score[0] for one in (world, plain)]
    rule, budget = plain.rules.body.mechanism.scoring, plain.initial(0).budget[:1]
    for score, quality in zip(scores, (0.4, 0.5), strict=True):
        assert score == np.exp(log_scores(rule, np.array([quality]), np.array([6.0]), budget))[0]


def test_when_all_rounds_are_played_moves_are_refused(market, step, bid):
    world = market(rounds=1, jobs=ALL)
    state = step(world, world.initial(0), {}).state
    assert state.over
    done = step(world, state, {"a": bid(("writing-1", 5))})
    assert done.state is state
    assert not done.feedback["a"].success
    assert state.view("a").actions == ()
    assert state.view("a").context["listings"] == []


def test_a_market_of_one_agent_and_one_job_works(market, step, bid):
    world = market(1, skills=["a"], jobs={"per_skill": 1, "listing_probability": 1}, rounds=5)
    state = rounds(world, step, lambda *_: {"a": bid(("a-1", 9))}, 5)[-1]
    assert state.reward.tolist() == [45]
