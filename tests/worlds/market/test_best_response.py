"""The best response: equal to brute force and to formulas by hand; its values are the means of the engine itself."""

import asyncio
import itertools
import math

import numpy as np
import pytest

from worldloom.agents.bidding.lists import FixedList, GreedyPrice, Undercutter
from worldloom.core.errors import UsageError
from worldloom.runs.context import Context
from worldloom.worlds.market.best_response import FixedShare, Undercut, best_response, value
from worldloom.worlds.market.duel import FIRST, SECOND, Duel, market_key
from worldloom.worlds.market.moves import NONE, MoveColumns
from worldloom.worlds.market.round import play

BARE = {
    "skills": ["a"],
    "jobs": {"per_skill": 1, "listing_probability": 1, "budget_noise": 0},
    "learning": {"by_doing": 0, "performance_noise": 0},
}
RATIOS = (0.5, 0.8, 1.0)
GREEDY, LISTED = FixedShare(0.8, 0.1), FixedShare(0.9, 0.2)
UNDER = Undercut(0.8, 0.1, 0.95, 0.1)
OPEN = {"disclosure": "open"}


@pytest.fixture(scope="module")
def duel(market):
    """A duel with the given parts of `world:`; and its market as agents meet it."""

    def make(rounds, **world):
        real = market(2, **{**BARE, "rounds": rounds, **world})
        return Duel(real.rules.body), real

    return make


def moves_of(*choices):
    bids = [choice is not None for choice in choices]
    return MoveColumns.of(
        np.arange(2),
        np.where(bids, NONE, 0),
        np.where(bids, 0, NONE)[:, None],
        np.array([[choice or 0.0] for choice in choices]),
    )


def earned(real, seed, cohorts):
    """What both seats earn in a market of this seed; each is its cohort's only one."""

    async def life():
        state, memos, ctx = real.initial(seed), [{}, {}], Context.null(seed=seed)
        while not state.over:
            moves = None
            for seat, cohort in enumerate(cohorts):
                seats, shown = np.array([seat]), state.seen
                own = {"skills": shown.skills[seats], "reward": shown.reward[seats]}
                found = await cohort.act_many(memos[seat], seats, {**vars(shown), **own}, ctx)
                memos[seat], mine = found.memo, MoveColumns.of(**found.moves)
                moves = mine if moves is None else moves.beside(mine)
            state = play(state, moves)
        return state.reward

    return asyncio.run(life())


def off_by(sample, expected):
    """In standard errors."""
    return abs(np.mean(sample) - expected) / (np.std(sample, ddof=1) / len(sample) ** 0.5)


def test_in_one_round_the_best_response_is_the_best_price_by_hand(duel):
    game, _ = duel(1, mechanism={"temperature": 0.3})

    def score(ratio):
        u = 0.5**0.6 * ratio**-0.4
        return u / (1 + u)

    def gain(ratio):
        ahead = score(ratio) ** (1 / 0.3) / (score(ratio) ** (1 / 0.3) + score(0.8) ** (1 / 0.3))
        return 10 * ratio * (0.1 + 0.9 * ahead)

    assert best_response(game, GREEDY, RATIOS).value == pytest.approx(max(map(gain, RATIOS)), abs=1e-12)
    assert value(game, FixedShare(0.5, 0.25), GREEDY) == pytest.approx(0.75 * gain(0.5), abs=1e-12)


def test_the_best_response_is_the_best_of_all_plans(duel):
    other, ratios = FixedShare(0.7, 0.3), (0.6, 1.0)
    rules = {"temperature": 0.05, "portfolio_weight": 4}
    game, _ = duel(2, mechanism=rules, learning={**BARE["learning"], "step": 0.9})
    choices = (6.0, 10.0, None)

    def rounds(state, choice):
        ways = [
            (p, way) for p, theirs, _ in other.law(state, 0) for way in game.outcomes(state, choice, theirs)
        ]
        return [(p * way.probability, way.income[FIRST], way.state) for p, way in ways]

    firsts = {choice: rounds(game.start, choice) for choice in choices}
    places = {market_key(after): after for ways in firsts.values() for _, _, after in ways}
    later = {
        (key, choice): sum(p * income for p, income, _ in rounds(state, choice))
        for key, state in places.items()
        for choice in choices
    }

    def worth(first, plan):
        return sum(
            p * (income + later[market_key(after), plan[market_key(after)]])
            for p, income, after in firsts[first]
        )

    plans = [
        dict(zip(places, chosen, strict=True)) for chosen in itertools.product(choices, repeat=len(places))
    ]
    best = max(worth(first, plan) for first in choices for plan in plans)
    found = best_response(game, other, ratios)
    assert len(plans) == 3 ** len(places) >= 243
    assert found.value == pytest.approx(best, abs=1e-12)
    assert len(set(found.plan.values())) > 1, "what is best depends on the position"


@pytest.mark.parametrize("other", [GREEDY, UNDER])
@pytest.mark.parametrize("policy", [GREEDY, UNDER, FixedShare(0.5, 0.5), FixedShare(1.0, 0.0)])
def test_no_policy_of_the_same_choices_does_better(duel, policy, other):
    game, _ = duel(3)  # sealed: an undercutter asks what greedy_price asks
    assert value(game, policy, other) <= best_response(game, other, RATIOS).value + 1e-12


CASTS = {
    "greedy_price against fixed_list": (GreedyPrice(), FixedList(), GREEDY, LISTED, {}),
    "fixed_list against undercutter": (FixedList(), Undercutter(), LISTED, UNDER, OPEN),
    "undercutter against undercutter": (Undercutter(), Undercutter(), UNDER, UNDER, OPEN),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASTS)
def test_a_policys_value_is_its_mean_reward_in_the_engine(duel, name):
    first, second, policy, other, mechanism = CASTS[name]
    game, real = duel(3, mechanism=mechanism)
    sample = np.array([earned(real, seed, (first, second)) for seed in range(400)])
    one, two = value(game, policy, other), value(game, other, policy)
    assert off_by(sample[:, FIRST], one) < 4
    assert off_by(sample.sum(axis=1), one + two) < 3, "this varies less, and tells more"


@pytest.mark.slow
def test_a_best_response_earns_its_value_in_the_engine(duel):
    rules = {"mechanism": {"temperature": 0.05}, "learning": {**BARE["learning"], "step": 0.5}}
    game, real = duel(3, **rules)
    found, drawn = best_response(game, GREEDY, RATIOS), np.random.default_rng(0)
    sample = []
    for seed in range(600):
        state = real.initial(seed)
        while not state.over:
            (training, _, _), (_, price, _) = GREEDY.law(state, 0.0)
            theirs = None if drawn.random() < training else price
            state = play(state, moves_of(found.plan[market_key(state), 0.0], theirs))
        sample.append(state.reward[FIRST])
    assert off_by(sample, found.value) < 3
    assert found.value > value(game, GREEDY, GREEDY) + 0.5


MECHANISMS = {
    "default": {},
    "learning by doing": {"learning": {"by_doing": 1, "performance_noise": 0}},
    "ces": {"mechanism": {"scoring": {"rule": "ces", "rho": -50, "elasticity": 3}}},
    "all the rest": {
        "mechanism": {
            "pay": "performance",
            "tax_rate": 0.2,
            "entry_cost": 0.5,
            "portfolio_weight": 1,
            "shortlist": 1,
        },
        "shocks": [{"type": "recession", "block_rounds": 1}],
    },
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_the_market_does_is_one_of_the_outcomes_and_as_often_as_they_say(duel, name):
    game, real = duel(3, **MECHANISMS[name])
    place = game.outcomes(game.start, 9.0, None)[0].state
    ways = {market_key(way.state): way for way in game.outcomes(place, 0.9, 0.6)}
    assert sum(way.probability for way in ways.values()) == pytest.approx(1, abs=1e-12)
    counts = dict.fromkeys(ways, 0)
    for seed in range(300):
        state = play(play(real.initial(seed), moves_of(9.0, None)), moves_of(0.9, 0.6))
        way = ways[market_key(state)]
        assert state.history[-1].income.tolist() == list(way.income)
        counts[market_key(state)] += 1
    assert len(ways) == 2
    for key, way in ways.items():
        spread = (way.probability * (1 - way.probability) / 300) ** 0.5
        assert abs(counts[key] / 300 - way.probability) < 3 * spread


def test_a_sure_winner_wins_for_sure(duel):
    game, _ = duel(1, mechanism={"temperature": 1e-6})
    chances = [way.probability for way in game.outcomes(game.start, 5.0, 9.0)]
    assert chances[FIRST] == 1.0
    assert chances[SECOND] == 0.0 or math.log(chances[SECOND]) < -100


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("skills", ["a", "b"]),
        ("jobs", {**BARE["jobs"], "per_skill": 2}),
        ("jobs", {**BARE["jobs"], "listing_probability": 0.8}),
        ("jobs", {**BARE["jobs"], "budget_noise": 0.05}),
        ("learning", {**BARE["learning"], "performance_noise": 0.05}),
        ("learning", {**BARE["learning"], "by_doing": 0.1}),
        ("mechanism", {"matching": "random"}),
        ("mechanism", {"verification": {"rule": "audit"}}),
    ],
)
def test_a_market_with_more_chance_is_refused(duel, part, change):
    with pytest.raises(UsageError, match=r"in a duel .* cannot be .*\n  allowed: "):
        duel(3, **{part: change})


def test_a_bid_that_the_market_refuses_is_refused(duel):
    game, _ = duel(3)
    with pytest.raises(UsageError, match="at most 10"):
        best_response(game, GREEDY, [0.5, 1.5])
