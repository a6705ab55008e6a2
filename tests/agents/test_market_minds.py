"""Agents that deliberate before they bid: what a model is shown, what it may answer, and what is carried over."""

import asyncio
import json
from dataclasses import replace

import jsonschema
import pytest

from worldloom.agents.agent import AgentConfig
from worldloom.agents.deliberation.style import MODULES
from worldloom.core.action import Action
from worldloom.core.errors import Ended, UsageError
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.models.model import Completion
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.context import Context
from worldloom.worlds.market.world import build

SMALL = {"rounds": 12, "skills": ["writing", "coding", "design"], "jobs": {"per_skill": 2}}
AGENTS = ("react", "cot", "cot:long", "ssa", "ssa:no-metacognition", "ssa:no-competitors", "ssa:no-planning")
each_agent = pytest.mark.parametrize("who", AGENTS)


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


@pytest.fixture(scope="module")
def market(registry):
    """A small market with the given parts of `world:`."""

    def make(agents=4, **world):
        text = json.dumps({"kind": "market", "id": "m", "cast": {"a": "react"}, "world": {**SMALL, **world}})
        return build(parse_scenario(text, "m.yaml", registry), [f"s{number}" for number in range(agents)])

    return make


@pytest.fixture(scope="module")
def agent(registry):
    """The agent that a cast calls `name` or `name:argument`."""

    def make(who, **options):
        name, _, argument = who.partition(":")
        return registry.get("agent", name).load()(AgentConfig(None, argument, options=options))

    return make


def answers(request):
    """A valid answer, by the request alone: bids for the first jobs of the schema, or trains where there are none."""
    properties = request.schema["properties"]
    reply = {
        name: 4.5 if one["type"] == "number" else f"{name} as thought"
        for name, one in properties.items()
        if "type" in one
    }
    choices = {next(iter(one["properties"])): one for one in properties["action"]["anyOf"]}
    if "bid" not in choices:
        return json.dumps({**reply, "action": {"train": choices["train"]["properties"]["train"]["enum"][0]}})
    jobs = [one["properties"] for one in choices["bid"]["properties"]["bid"]["items"]["anyOf"][:2]]
    bids = [{"job": one["job"]["const"], "price": round(0.9 * one["price"]["maximum"], 2)} for one in jobs]
    return json.dumps({**reply, "action": {"bid": bids}})


def turn(agent, view, answer=answers, memo=None):
    """One decision, and the requests that led to it."""
    asked = []

    def answering(request):
        asked.append(request)
        return answer(request)

    ctx = Context.null({"agent": ScriptedModel(answering)})
    decision = asyncio.run(agent.act(memo, view, ctx))
    return decision, asked, ctx


def text_of(request):
    return "\n".join(message.content[0].text for message in request.messages)


def played(world, agent, rounds, seat="s1"):
    """A market in which `seat` deliberates and the others train or bid; with the memo and the last requests."""
    state, memo, asked = world.initial(0), None, []
    for number in range(rounds):
        decision, asked, _ = turn(agent, state.view(seat), memo=memo)
        memo, moves = decision.memo, {seat: decision.action}
        listing = state.view("s0").context["listings"]
        if listing and number % 3:
            bids = [{"job": row["job"], "price": row["budget"] / 2} for row in listing[:3]]
            moves["s0"] = Action("bid", {"bids": bids})
        moves["s2"] = Action("train", {"skill": world.rules.body.skills[number % 2]})
        state = asyncio.run(world.step(state, moves, Context.null())).state
    return state, memo, asked


@each_agent
def test_an_answer_that_fits_the_schema_is_a_move_that_the_market_takes(market, agent, who):
    one, world = agent(who), market(mechanism={"disclosure": "open"})
    state, _, (request,) = played(world, one, 8)
    jsonschema.Draft7Validator.check_schema(request.schema)
    jsonschema.validate(json.loads(answers(request)), request.schema)
    past = [row["did"] for row in state.view("s1").context["own_history"]]
    assert set(past) <= {"bid", "train"}
    assert "bid" in past
    assert request.max_tokens == 300


@each_agent
def test_no_skill_of_another_seat_is_ever_in_a_prompt(market, agent, who):
    world, one = market(learning={"performance_noise": 0}), agent(who)
    state, memo, _ = played(world, one, 7)
    skills, benchmark = state.skills.copy(), state.benchmark.copy()
    skills[[0, 2, 3]], benchmark[[0, 2, 3]] = 0.123456789, 0.987654321
    tainted = replace(state, skills=skills, benchmark=benchmark)
    shown, unshown = (turn(one, place.view("s1"), memo=memo)[1][0] for place in (state, tainted))
    assert shown == unshown
    own = {f"{level:.2f}" for level in state.skills[1].tolist()}
    for level in state.skills[[0, 2, 3]].ravel().tolist():
        assert f"{level:.2f}" in own or f"level {level:.2f}" not in text_of(shown)


def test_all_are_told_the_market_in_the_same_words(market, agent):
    view = played(market(mechanism={"disclosure": "open"}), agent("cot"), 6)[0].view("s1")
    told = {turn(agent(who), view)[1][0].messages[1].content[0].text for who in AGENTS if who != "cot:long"}
    assert len(told) == 1
    (text,) = told
    assert "Round 7 of 12" in text
    assert "last done by" in text
    assert "stars" in text
    assert "income" in text
    assert "{" not in text


def test_what_is_told_is_bounded_whatever_the_market(market, agent):
    world = market(agents=200, rounds=40, jobs={"per_skill": 300}, history_rounds=30)
    one = agent("react:jobs=6,history_rounds=2")
    _, memo, (request,) = played(world, one, 8)
    text = request.messages[1].content[0].text
    assert text.count(": budget ") == 6
    assert text.count("; income ") == 2
    assert len(memo["thoughts"]) == 2
    assert len(text) < 2_500
    allowed = request.schema["properties"]["action"]["anyOf"][0]["properties"]["bid"]["items"]["anyOf"]
    assert len(allowed) == 6


def test_of_too_many_jobs_those_are_shown_that_suit_best(market, agent):
    state = market(jobs={"per_skill": 6, "listing_probability": 1, "budget_noise": 0}).initial(0)
    skills = state.skills.copy()
    skills[1] = [0.1, 0.9, 0.2]  # budgets are 10, 8 and 6
    _, (request,), _ = turn(agent("cot:jobs=7"), replace(state, skills=skills).view("s1"))
    shown = [line.split(":")[0][2:] for line in text_of(request).splitlines() if ": budget " in line]
    assert shown == [*(f"coding-{number}" for number in range(1, 7)), "design-1"]


def test_where_no_job_is_listed_one_can_only_train(market, agent):
    state = market(jobs={"listing_probability": 0}).initial(0)
    decision, (request,), _ = turn(agent("ssa"), state.view("s0"))
    assert decision.action == Action("train", {"skill": "writing"})
    assert len(request.schema["properties"]["action"]["anyOf"]) == 1


def test_when_the_market_is_over_nobody_is_asked(market, agent):
    world = market(rounds=1)
    state = asyncio.run(world.step(world.initial(0), {}, Context.null())).state
    decision, asked, _ = turn(agent("react"), state.view("s0"), memo={"thoughts": []})
    assert (decision.action, decision.memo, asked) == (None, {"thoughts": []}, [])


def test_react_is_shown_its_thoughts_beside_what_came_of_them(market, agent):
    _, memo, (request,) = played(market(), agent("react"), 8)
    text = text_of(request)
    assert [one["round"] for one in memo["thoughts"]] == [3, 4, 5, 6, 7]
    assert "## Your thoughts then\n- round 3: thought as thought" in text


def test_cot_carries_nothing_over(market, agent):
    _, memo, (request,) = played(market(), agent("cot"), 4)
    assert memo == {}
    assert "as thought" not in text_of(request)


def test_ssa_is_shown_its_notes_and_what_it_expected_beside_what_it_earned(market, agent):
    state, memo, (request,) = played(market(), agent("ssa"), 8)
    text, earned = text_of(request), state.history[5].income[1]
    for name in MODULES:
        assert f"- {name}: {name} as thought" in text
        assert memo["notes"][name] == f"{name} as thought"
    assert f"- round 6: expected 4.50, earned {earned:.2f}" in text
    assert [one["round"] for one in memo["expected"]] == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("word", "module"),
    [("no-metacognition", "metacognition"), ("no-competitors", "competitors"), ("no-planning", "plan")],
)
def test_an_ablation_leaves_out_the_prompt_the_note_and_the_memory_of_one_module(market, agent, word, module):
    _, memo, (request,) = played(market(), agent(f"ssa:{word}"), 4)
    left = [name for name in MODULES if name != module]
    system = request.messages[0].content[0].text
    assert f"{module}:" not in text_of(request)
    assert all(f"{name}: " in system for name in left)
    notes = [name for name in request.schema["required"] if name in MODULES]
    assert notes == left == list(memo["notes"])
    assert ("expected_income" in request.schema["required"]) == (module != "metacognition")
    assert bool(memo["expected"]) == (module != "metacognition")


@each_agent
def test_all_notes_of_a_round_together_are_as_long_in_every_style(market, agent, who):
    _, (request,), _ = turn(
        agent(f"{who}{',' if ':' in who else ':'}thought_characters=120"), market().initial(0).view("s0")
    )
    lengths = [one["maxLength"] for one in request.schema["properties"].values() if "maxLength" in one]
    assert sum(lengths) == 120


def test_the_control_is_as_long_as_ssa_and_holds_nothing_of_it(market, agent):
    world = market()
    _, _, (first,) = played(world, agent("cot:long"), 1)
    _, _, (long,) = played(world, agent("cot:long"), 5)
    _, _, (ssa,) = played(world, agent("ssa"), 5)
    system = long.messages[0].content[0].text
    assert first.messages[0] == long.messages[0]
    assert len(system) == len(ssa.messages[0].content[0].text)
    told, notes = (
        request.messages[1].content[0].text
        for request in (long, turn(agent("cot"), world.initial(0).view("s1"))[1][0])
    )
    assert "## Remarks" in told
    assert "## Remarks" not in notes
    for word in (*MODULES, "expected", "compet", "strateg", "leads"):
        assert word not in system.replace(world.rules.task, "").lower()


def test_notes_are_kept_to_their_length_though_no_schema_held_the_model_to_it(market, agent):
    def long(request):
        reply = json.loads(answers(request))
        return json.dumps(
            {name: text * 500 if isinstance(text, str) else text for name, text in reply.items()}
        )

    decision, _, _ = turn(agent("ssa"), market().initial(0).view("s0"), long)
    assert decision.action is not None
    assert [len(text) for text in decision.memo["notes"].values()] == [120, 120, 120]


@each_agent
def test_an_answer_that_is_no_decision_is_sent_back_twice_and_then_the_round_passes(market, agent, who):
    view = market().initial(0).view("s0")
    decision, asked, ctx = turn(agent(who), view, lambda request: "I bid high.", memo={"notes": {}})
    assert decision.action is None
    assert decision.memo == {"notes": {}}
    assert decision.fault
    assert [len(request.messages) for request in asked] == [2, 4, 6]
    assert decision.fault in text_of(asked[-1])
    assert ctx.usage.models["agent"][3] == 3


def test_a_good_answer_after_a_bad_one_counts(market, agent):
    decision, asked, _ = turn(
        agent("react"),
        market().initial(0).view("s0"),
        lambda request: answers(request) if len(request.messages) > 2 else "Let me think.",
    )
    assert decision.action is not None
    assert not decision.fault
    assert len(asked) == 2


def test_what_was_cut_off_is_no_decision_and_what_is_endless_is_not_sent_again_whole(market, agent):
    view = market().initial(0).view("s0")
    decision, _, _ = turn(
        agent("cot"), view, lambda request: Completion(answers(request), finish_reason="length")
    )
    assert "cut off" in decision.fault
    _, asked, _ = turn(agent("cot"), view, lambda request: "x" * 1_000_000)
    assert all(len(text_of(request)) < 10_000 for request in asked)


def test_a_refusal_ends_the_episode_and_is_not_asked_again(market, agent):
    asked = []

    def refuse(request):
        asked.append(request)
        return Completion("No.", finish_reason="refusal")

    with pytest.raises(Ended, match="refused"):
        turn(agent("ssa"), market().initial(0).view("s0"), refuse)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("who", "allowed"),
    [
        ("react:long", "max_tokens=NUMBER"),
        ("cot:lonk", "did you mean 'long'"),
        ("ssa:no-plan", "did you mean 'no-planning'"),
        ("ssa:no-planning,no-competitors,no-metacognition", "at most two"),
        ("cot:max_tokens=many", "max_tokens=NUMBER"),
        ("cot:max_tokens=0", "whole numbers above 0"),
        ("cot:retries=3", "history_rounds=NUMBER"),
    ],
)
def test_an_argument_that_means_nothing_is_refused(agent, who, allowed):
    with pytest.raises(UsageError, match=allowed):
        agent(who)


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"jobs": True}, {"retries": 9}, {"max_tokens": "9"}])
def test_options_that_mean_nothing_are_refused(agent, options):
    with pytest.raises(UsageError, match="whole numbers above 0"):
        agent("react", **options)


def test_settings_come_from_the_argument_or_as_options(market, agent):
    assert agent("ssa:no-planning,max_tokens=90,jobs=4").max_tokens == agent("ssa", max_tokens=90).max_tokens
    assert agent("cot:long").style.long
    _, asked, _ = turn(agent("react:bids=1"), market().initial(0).view("s0"))
    assert '"maxItems": 1' in json.dumps(asked[0].schema)
    assert "at most 1\n" in text_of(asked[0])


def test_the_model_is_the_one_that_the_seat_names(registry, market):
    one = registry.get("agent", "react").load()(AgentConfig(None, model="small"))
    ctx = Context.null({"small": ScriptedModel(answers)})
    assert asyncio.run(one.act(None, market().initial(0).view("s0"), ctx)).action is not None
