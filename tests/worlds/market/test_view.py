"""What an agent sees: what is public, its own skills and its own past, and nothing of others that is hidden."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from worldloom.core.canonical import canonical
from worldloom.core.errors import UsageError

ALL = {"per_skill": 2, "listing_probability": 1}


def shown(state, seat):
    view = state.view(seat)
    parts = [view.task, dict(view.context), dict(view.places), [vars_of(one) for one in view.actions]]
    return json.dumps([*parts, view.feedback.message if view.feedback else None, view.step])


def vars_of(spec):
    return [spec.name, spec.description, dict(spec.parameters), spec.read_only]


def played(world, step, anything, rounds, seed=0):
    state = world.initial(seed)
    for number in range(rounds):
        state = step(world, state, anything(world, state, number)).state
    return state


def test_no_hidden_skill_is_in_any_view(market, step, anything):
    world = market(5)
    state = played(world, step, anything, 8)
    for number, seat in enumerate(world.rules.seats):
        skills, benchmark = state.skills.copy(), state.benchmark.copy()
        others = [other for other in range(5) if other != number]
        skills[others], benchmark[others] = 0.123456789, 0.987654321
        tainted = replace(state, skills=skills, benchmark=benchmark)
        assert shown(tainted, seat) == shown(state, seat)
        assert tainted.fingerprint() != state.fingerprint()


def test_no_hidden_skill_is_in_what_an_agent_is_told(market, step, anything):
    world = market(5, learning={"performance_noise": 0, "by_doing": 0.5})
    for seed in range(6):
        # Each skill is a number of its own, to be found wherever it may turn up.
        skills = 0.3 + np.random.default_rng(seed).random((5, 3)) / 3
        state = replace(played(world, step, anything, 3, seed), skills=skills)
        told = step(world, state, anything(world, state, seed))
        for own, seat in enumerate(world.rules.seats):
            text = shown(told.state, seat) + (told.feedback[seat].message if seat in told.feedback else "")
            for other in range(5):
                hidden = {*skills[other].tolist(), *told.state.skills[other].tolist()}
                seen = [value for value in hidden if repr(value) in text]
                assert seen == [] if other != own else len(seen) >= 3


def test_its_own_skills_and_its_own_past_are_shown_for_ten_rounds(market, step, bid, train):
    world = market(jobs=ALL, learning={"performance_noise": 0})
    state = world.initial(0)
    moves = [{"a": bid(("writing-1", 5))}, {"a": train("coding")}, {"a": bid(("writing-1", 0))}, {}]
    for number in range(11):
        state = step(world, state, moves[number % 4]).state
    context = state.view("a").context
    assert context["skills"] == dict(zip(world.rules.body.skills, state.skills[0].tolist(), strict=True))
    assert [one["round"] for one in context["own_history"]] == list(range(1, 11))
    assert [one["round"] for one in context["history"]] == list(range(1, 11))
    assert [one["did"] for one in context["own_history"]][:4] == ["train", "refused", "nothing", "bid"]
    work = context["own_history"][3]
    assert work["bids"][0]["won"]
    assert work["bids"][0]["pay"] == work["income"] == 5
    assert context["reward"] == state.reward[0]
    assert [one["did"] for one in state.view("b").context["own_history"]] == ["nothing"] * 10


def test_reputations_are_shown_as_stars_best_first(market, step, bid):
    world = market(25, jobs=ALL)
    state = step(world, world.initial(0), {"c": bid(("writing-1", 5))}).state
    board = state.view("a").context["leaderboard"]
    assert len(board["coding"]) == 20
    assert [row["seat"] for row in board["coding"][:3]] == ["a", "b", "c"]
    assert all(row["stars"] == round(row["stars"], 1) for row in board["writing"])
    assert {row["seat"]: row["jobs_done"] for row in board["coding"]}["c"] == 1
    assert state.view("c").context["stars"]["writing"] == state.stars[2, 0]


@pytest.mark.parametrize(("disclosure", "open_prices"), [("sealed", False), ("open", True)])
def test_winning_prices_are_shown_under_open_disclosure_only(market, step, bid, disclosure, open_prices):
    world = market(jobs=ALL, mechanism={"disclosure": disclosure})
    state = step(world, world.initial(0), {"c": bid(("writing-1", 3.25))}).state
    job = state.view("a").context["history"][0]["jobs"][0]
    assert job["winner"] == "c"
    assert job.get("price") == (3.25 if open_prices else None)
    assert ("3.25" in shown(state, "a")) == open_prices
    assert state.seen.last_price.tolist() == [3.25 * open_prices, 0, 0, 0, 0, 0]


def test_the_schemas_take_what_the_rules_take(market, bid, train):
    world = market()
    view = world.initial(0).view("a")
    specs = {spec.name: spec.parameters for spec in view.actions}
    for schema in specs.values():
        jsonschema.Draft7Validator.check_schema(schema)
    listing = view.context["listings"][0]
    good = bid((listing["job"], listing["budget"])).arguments
    assert jsonschema.Draft7Validator(specs["bid"]).is_valid(good)
    for bad in (bid(), bid((listing["job"], 0)), bid(("nowhere", 1)), bid((listing["job"], "1"))):
        assert not jsonschema.Draft7Validator(specs["bid"]).is_valid(bad.arguments)
    assert jsonschema.Draft7Validator(specs["train"]).is_valid(train("coding").arguments)
    assert not jsonschema.Draft7Validator(specs["train"]).is_valid(train("cooking").arguments)
    assert world.actions(world.initial(0), "b") == view.actions


def test_bids_are_offered_when_there_are_jobs(market):
    state = market(jobs={"listing_probability": 0}).initial(0)
    assert [spec.name for spec in state.view("a").actions] == ["train"]


def test_a_view_is_json_and_read_only(market, step, anything):
    context = played(market(4), step, anything, 5).view("a").context
    canonical(context)
    with pytest.raises(TypeError, match="read-only"):
        context["history"][0]["jobs"][0]["winner"] = "a"


def test_the_brief_tells_the_rules_unless_the_scenario_does(market):
    told = market(mechanism={"pay": "performance"}).initial(0).view("a").task
    assert "12 rounds" in told
    assert "times your performance" in told
    assert "{" not in told


def test_a_seat_that_is_not_there_has_no_view(market):
    with pytest.raises(UsageError, match="there is no seat 'z'"):
        market().initial(0).view("z")


def test_a_cohort_sees_the_same_as_columns(market, step, anything):
    state = played(market(4), step, anything, 5)
    view = state.view("b").context
    jobs = [state.rules.job_names[job] for job in np.flatnonzero(state.seen.listed)]
    assert [row["job"] for row in view["listings"]] == jobs
    assert [row["budget"] for row in view["listings"]] == state.seen.budget[state.seen.listed].tolist()
    assert list(view["stars"].values()) == state.seen.stars[1].tolist()
    assert list(view["skills"].values()) == state.seen.skills[1].tolist()
