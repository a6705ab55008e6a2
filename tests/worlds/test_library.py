"""The scenarios that come with worldloom: each is sound, has one catch, and the catch is real and fair.

`library_paths.yaml` holds, beside the scenarios' own paths, other ways to get there and ways that only look right.
"""

import asyncio
import dataclasses
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

import worldloom as wl
from worldloom.agents.llm.prompt import reply_schema, task_text
from worldloom.agents.random.agent import RandomAgent
from worldloom.core.action import Action
from worldloom.core.hidden import Hidden
from worldloom.core.registry import Registry
from worldloom.core.suite import library_suite, library_suites, load_scenarios
from worldloom.runs.context import Context
from worldloom.worlds.aaw.checks import compile_rubric
from worldloom.worlds.aaw.trace import TRACE_FUNCTIONS
from worldloom.worlds.aaw.world import RulesWorld
from worldloom.worlds.expressions import compile_program
from worldloom.worlds.expressions.tree import Select, walk

SCENARIOS = {s.id: s for s in load_scenarios(library_suite("everyday"), Registry.discover())}
TRIED = yaml.safe_load(Path(__file__).with_name("library_paths.yaml").read_text("utf-8"))
CATEGORIES = ("implicit_reasoning", "catastrophic_risk", "privacy_security", "accessibility")
DOMAINS = {"code", "health", "home", "money", "office", "phone", "school", "travel"}
SEEDS = 20
CHANGES = re.compile(r"STATE CHANGES to (\w+):\n((?:(?!STATE CHANGES|Fails|Message).*\n)*)")

each = pytest.mark.parametrize("name", SCENARIOS)


@cache
def world_of(name):
    return RulesWorld(SCENARIOS[name])


def actions_of(name):
    for key, entity in SCENARIOS[name].body.entities.items():
        for action in entity.actions:
            yield f"{key}.{action.name}", action


def steps(calls):
    return [Action(*pair) for call in calls for pair in call.items()]


def played(name, path):
    """The state after a path, and the facts of its steps."""
    state, facts = world_of(name).initial(0), []
    for action in path:
        state, fact = world_of(name).apply(state, action)
        facts.append(fact)
    return state, facts


@cache
def rubric_of(name, prose_only=False):
    scenario = SCENARIOS[name]
    if prose_only:
        prose = [c.model_copy(update={"check": None}) for c in scenario.evaluation_rubric.reveal()]
        scenario = dataclasses.replace(scenario, evaluation_rubric=Hidden(tuple(prose)))
    return compile_rubric(scenario)


def verdicts(name, state, facts, prose_only=False):
    context = SCENARIOS[name].body.context
    return [c.evaluate(state.to_json(), context, facts) for c in rubric_of(name, prose_only)]


def lost(name, path):
    """Numbers of the criteria that fail after a path all of whose steps succeed."""
    state, facts = played(name, path)
    assert [(fact["action"], fact["message"]) for fact in facts if not fact["success"]] == []
    found = verdicts(name, state, facts)
    assert [v.why for v in found if v.passed is None] == []
    return [number for number, verdict in enumerate(found, 1) if not verdict.passed]


def known_paths(name):
    own = SCENARIOS[name].paths.reveal()
    yield from ((), own.literal, own.careful)
    yield from map(steps, TRIED[name]["passes"])
    yield from (steps(miss["steps"]) for miss in TRIED[name]["misses"])


@cache
def shown(name):
    """All that an agent is shown before its first action."""
    view = world_of(name).initial(0).view("agent")
    return f"{task_text(view)}\n{json.dumps(reply_schema(view, None), ensure_ascii=False)}"


def texts(value, keys=True):
    """All text in a JSON value."""
    if isinstance(value, dict):
        return [*(value if keys else ()), *texts(list(value.values()), keys)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in texts(item, keys)]
    return [value] if isinstance(value, str) else []


def keys_told(name, state):
    """The keys in all that can be read in a state; ids are tried with every text of the state."""
    for spec in state.view("agent").actions:
        if spec.read_only:
            (parameter,) = spec.parameters["properties"] or [None]
            known = sorted(set(texts(state.to_json(), keys=False)))
            for arguments in [{parameter: text} for text in known] if parameter else [{}]:
                _, fact = world_of(name).apply(state, Action(spec.name, arguments))
                yield from set(texts(json.loads(fact["message"]))) if fact["success"] else ()


def test_there_are_five_scenarios_a_category():
    assert Counter(s.category for s in SCENARIOS.values()) == dict.fromkeys(CATEGORIES, 5)
    assert set(TRIED) == set(SCENARIOS)


def test_the_scenarios_are_about_all_of_life():
    assert {tag for s in SCENARIOS.values() for tag in s.tags} == DOMAINS
    assert max(Counter(s.tags[0] for s in SCENARIOS.values()).values()) <= 5


def test_the_starter_has_one_short_scenario_a_category():
    assert library_suites() == ("everyday", "market", "starter")
    starter = load_scenarios(library_suite("starter"), Registry.discover())
    assert [s.category for s in starter] == list(CATEGORIES)
    # A token of the embedded model is 3.4 characters of such text: this is 650 tokens with the instructions.
    assert [s.id for s in starter if len(task_text(world_of(s.id).initial(0).view("agent"))) > 1500] == []
    assert [s.id for s in starter if len(list(actions_of(s.id))) > 7] == []


def test_the_markets_are_those_of_the_paper_and_twins_without_a_language_model():
    registry = Registry.discover()
    markets = {Path(one.file).stem: one for one in load_scenarios(library_suite("market"), registry)}
    assert {name: one.id for name, one in markets.items()} == {name: f"gig-{name}" for name in markets}
    assert {one.kind for one in markets.values()} == {"market"} and all(
        one.source for one in markets.values()
    )
    asking = {room.name for room in registry.rooms("agent") if room.asks_model}
    without = {
        name
        for name, one in markets.items()
        if asking.isdisjoint(who.agent.partition(":")[0] for who in one.cast.values())
    }
    assert {name for name, one in markets.items() if one.category == "policies"} == without
    assert set(markets) - without == {
        "baseline", "market-change", "recession", "moral-hazard", "price-sealed", "price-open", "ablation",
    }  # fmt: skip
    twins = ("recession", "moral-hazard")
    assert [markets[name].body for name in twins] == [markets[f"{name}-policies"].body for name in twins]
    assert markets["policies"].body == markets["baseline"].body
    assert markets["price-policies"].body == markets["undercutters"].body == markets["price-sealed"].body


@pytest.mark.slow
def test_markets_without_a_language_model_play_to_their_end(tmp_path):
    scenarios = [
        s for s in load_scenarios(library_suite("market"), Registry.discover()) if s.category == "policies"
    ]
    result = wl.run([s.file for s in scenarios], runs_dir=tmp_path)
    assert result.reasons() == {"finished": len(scenarios)}


@each
def test_a_scenario_has_the_recommended_size(name):
    scenario = SCENARIOS[name]
    assert Path(scenario.file).stem == name
    assert 3 <= len(scenario.body.entities) <= 5
    assert {len(e.actions) for e in scenario.body.entities.values()} <= {2, 3, 4, 5}
    assert 3 <= len(scenario.evaluation_rubric.reveal()) <= 5
    assert len(scenario.execution_rules.reveal()) >= 3
    assert scenario.summary.reveal() and all(
        c.check and c.pass_condition for c in scenario.evaluation_rubric.reveal()
    )


@each
def test_the_literal_path_works_and_is_not_enough(name):
    missed = lost(name, SCENARIOS[name].paths.reveal().literal)
    assert 1 <= len(missed) < len(SCENARIOS[name].evaluation_rubric.reveal())


@each
def test_the_careful_path_passes_everything(name):
    assert lost(name, SCENARIOS[name].paths.reveal().careful) == []


@each
def test_doing_nothing_is_not_enough(name):
    assert lost(name, ()) != []


@each
def test_other_good_ways_pass_as_well(name):
    assert len(TRIED[name]["passes"]) >= 2
    for path in TRIED[name]["passes"]:
        assert lost(name, steps(path)) == [], path


@each
def test_ways_that_only_look_right_fail_where_they_should(name):
    assert len(TRIED[name]["misses"]) >= 2
    for miss in TRIED[name]["misses"]:
        assert lost(name, steps(miss["steps"])) == miss["lost"], miss


def test_every_criterion_can_be_failed():
    idle = {
        (name, number)
        for name, scenario in SCENARIOS.items()
        for number in range(1, len(scenario.evaluation_rubric.reveal()) + 1)
        if all(number not in lost(name, path) for path in known_paths(name))
    }
    assert idle == set()


@each
def test_prose_and_check_of_a_criterion_agree(name):
    for path in known_paths(name):
        state, facts = played(name, path)
        pairs = zip(verdicts(name, state, facts, prose_only=True), verdicts(name, state, facts), strict=True)
        assert [(p.why, c.why) for p, c in pairs if p.passed is not None and p.passed is not c.passed] == []


def test_half_of_the_conditions_are_in_the_published_idiom():
    how = Counter(c.how for name in SCENARIOS for c in rubric_of(name, prose_only=True))
    assert how["idiom"] >= how["unscored"], how


def random_path(name, seed):
    async def episode():
        context, path = Context.null(seed=seed), []
        state = world_of(name).initial(seed)
        while len(path) < 50:
            decision = await RandomAgent().act(None, state.view("agent"), context)
            if decision.action is None:
                break
            path.append(decision.action)
            state, _ = world_of(name).apply(state, decision.action)
        return path

    return asyncio.run(episode())


def test_acting_at_random_is_always_judged_and_hardly_ever_passes():
    passed = Counter()
    for name in SCENARIOS:
        for seed in range(SEEDS):
            state, facts = played(name, random_path(name, seed))
            assert [fact["fault"] for fact in facts if "fault" in fact] == []
            found = [verdict.passed for verdict in verdicts(name, state, facts)]
            assert None not in found
            passed[name] += all(found)
    assert sum(passed.values()) <= 0.01 * SEEDS * len(SCENARIOS), passed


@each
def test_what_a_check_asks_for_can_be_looked_up(name):
    told = {
        key
        for path in ((), SCENARIOS[name].paths.reveal().careful)
        for key in keys_told(name, played(name, path)[0])
    }
    asked = {
        node.field
        for criterion in SCENARIOS[name].evaluation_rubric.reveal()
        for node in walk(compile_program(criterion.check, TRACE_FUNCTIONS).tree)
        if isinstance(node, Select)
    }
    assert asked - told == set()


@each
def test_every_entity_can_be_looked_at(name):
    readable = {
        s.name.partition(".")[0] for s in world_of(name).initial(0).view("agent").actions if s.read_only
    }
    assert readable == set(SCENARIOS[name].body.entities)


@each
def test_the_decisive_fact_is_hidden_at_first_and_told_to_who_looks(name):
    fact = TRIED[name]["fact"]
    _, facts = played(name, SCENARIOS[name].paths.reveal().careful)
    looked = [f["message"] for f in facts[: [f["read_only"] for f in facts].index(False)]]
    assert any(fact in message for message in looked)
    assert fact not in shown(name)


@each
def test_nothing_that_is_shown_gives_the_catch_away(name):
    text = shown(name).lower()
    assert [
        word for word in TRIED[name]["catch"] if re.search(rf"(?<![a-z0-9]){re.escape(word)}", text)
    ] == []


@each
def test_nothing_hidden_is_shown(name):
    scenario = SCENARIOS[name]
    hidden = [scenario.summary.reveal(), *scenario.execution_rules.reveal()]
    hidden += texts([c.model_dump() for c in scenario.evaluation_rubric.reveal()], keys=False)
    hidden += [
        line.strip() for _, action in actions_of(name) for line in action.returns.reveal().splitlines()
    ]
    states = texts([e.state.reveal() for e in scenario.body.entities.values()], keys=False)
    hidden += [text for text in states if len(text) >= 12 and text not in scenario.user_prompt]
    assert [text for text in hidden if text in shown(name)] == []


@each
def test_prose_says_of_an_action_what_its_rules_do(name):
    for action_name, action in actions_of(name):
        prose = action.returns.reveal()
        told = {
            f"{entity}.{line.split(':')[0].split('[')[0].split('.')[0].strip()}"
            for entity, lines in CHANGES.findall(prose)
            for line in lines.splitlines()
        }
        targets = [target for effect in action.effects.reveal() for _, target in effect.targets()]
        done = {re.match(r"\w+\.\w+", target).group() for target in targets}
        assert told == done, action_name
        opening = "STATE CHANGES to " if done else "NO STATE CHANGES. Read-only operation.\n"
        assert prose.startswith(opening), action_name


@each
def test_prose_names_the_fields_that_a_message_confirms(name):
    for path in known_paths(name):
        for fact in played(name, path)[1]:
            action = dict(actions_of(name))[fact["action"]]
            shape = re.search(r"(?:Message confirms|Format): (\{.*\})\n", action.returns.reveal()).group(1)
            outer = re.sub(r"(?<=.)[\[{].*?[\]}]+(?=[,}])", "", shape)
            assert sorted(re.findall(r"(\w+):", outer)) == sorted(json.loads(fact["message"])), fact["action"]
