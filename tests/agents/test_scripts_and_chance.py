"""Agents without a model: fixed sequences, and seeded chance."""

import asyncio

import jsonschema
import pytest

from worldloom.agents.agent import AgentConfig, Decision
from worldloom.agents.random.agent import RandomAgent
from worldloom.agents.scripted.agent import ScriptedAgent, build, options_of
from worldloom.core.action import Action, ActionSpec
from worldloom.core.errors import DocumentError, UsageError
from worldloom.core.view import View
from worldloom.runs.context import Context

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "lit": {"type": "boolean"},
        "level": {"type": "integer", "minimum": 3, "maximum": 7},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "parts": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]},
    },
    "required": ["name", "level", "where"],
    "additionalProperties": False,
}
VIEW = View(
    "Do.",
    {},
    {},
    (ActionSpec("lamp.set", "Set it.", SCHEMA), ActionSpec("lamp.look", "Look.", {"type": "object"})),
)


def decisions(agent, count=60, seed=0, view=VIEW):
    async def run():
        root = Context.null(seed=seed)
        return [await agent.act(None, view, root.node(turn, "agent")) for turn in range(count)]

    return asyncio.run(run())


def test_the_random_agent_does_the_same_for_the_same_seed_and_place_and_other_things_elsewhere():
    assert decisions(RandomAgent()) == decisions(RandomAgent())
    assert decisions(RandomAgent(), seed=1) != decisions(RandomAgent())
    taken = decisions(RandomAgent())
    assert len({repr(decision) for decision in taken}) > 20


def test_what_it_draws_fits_the_schema_of_the_action():
    drawn = [one.action for one in decisions(RandomAgent(), count=300) if one.action]
    assert {action.name for action in drawn} == {"lamp.set", "lamp.look"}
    for action in drawn:
        jsonschema.validate(action.arguments, SCHEMA if action.name == "lamp.set" else {"type": "object"})
    given = {name for action in drawn for name in action.arguments}
    assert given == set(SCHEMA["properties"])


def test_it_stops_once_in_eight_turns_and_where_nothing_can_be_done():
    stops = sum(one.action is None for one in decisions(RandomAgent(), count=2000))
    assert 180 < stops < 330
    (decision,) = decisions(RandomAgent(), count=1, view=View("Do.", {}, {}, ()))
    assert decision.action is None


def test_a_script_is_played_in_order_whatever_is_said_and_then_it_is_done():
    agent, memo, taken = ScriptedAgent((Action("a.b"), Action("c.d", {"x": 1}))), None, []

    async def run():
        nonlocal memo
        for _ in range(4):
            decision = await agent.act(memo, VIEW, Context.null())
            memo = decision.memo
            taken.append(decision.action)

    asyncio.run(run())
    assert taken == [Action("a.b"), Action("c.d", {"x": 1}), None, None]


def test_a_script_is_read_from_a_file_in_the_form_of_a_scenarios_paths(tmp_path):
    file = tmp_path / "script.yaml"
    file.write_text("actions:\n  - lamp.look: {}\n  - lamp.set: {level: 3}\n")
    assert build(AgentConfig(None, str(file))).actions == (
        Action("lamp.look"),
        Action("lamp.set", {"level": 3}),
    )


@pytest.mark.parametrize(
    "text", ["", "steps: []", "actions: look", "actions: [look]", "actions: [{a: {}, b: {}}]"]
)
def test_a_script_that_is_none_is_refused_with_its_place(tmp_path, text):
    file = tmp_path / "script.yaml"
    file.write_text(text)
    with pytest.raises(DocumentError, match=r"script\.yaml"):
        build(AgentConfig(None, str(file)))


def test_a_run_keeps_the_script_itself_whatever_becomes_of_the_file(tmp_path):
    file = tmp_path / "script.yaml"
    file.write_text("actions: [{lamp.look: {}}]\n")
    before = options_of(str(file))
    file.write_text("actions: [{lamp.set: {level: 3}}]\n")
    assert options_of(str(file)) != before
    assert build(AgentConfig(None, str(file), before)).actions == (Action("lamp.look"),)
    file.unlink()
    assert build(AgentConfig(None, str(file), before)).actions == (Action("lamp.look"),)


@pytest.mark.parametrize("options", [{"actions": "look"}, {"steps": []}, {"actions": [], "more": 1}])
def test_options_that_are_no_script_are_refused(options):
    with pytest.raises(UsageError, match="allowed: actions"):
        build(AgentConfig(None, "script.yaml", options))


@pytest.mark.parametrize(
    ("memo", "path"),
    [
        ((1, 2), r"\$: builtins.tuple"),
        ({"a": [1, {2}]}, r"\$.a\[1\]"),
        ({1: 2}, "key 1"),
        ([float("nan")], r"\[0\]"),
    ],
)
def test_a_memo_that_is_no_json_is_a_fault_of_the_agent_and_names_the_path(memo, path):
    with pytest.raises(TypeError, match=f"memo must be JSON: .*{path}"):
        Decision(None, memo)


def test_without_a_file_the_message_says_how_one_is_named():
    with pytest.raises(UsageError, match=r"scripted:my_actions\.yaml"):
        build(AgentConfig(None))
