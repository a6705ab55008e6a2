"""What docs/scenarios.md shows works: its scenario, the pieces that go into it, its expressions and its commands."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from worldloom.cli.app import app
from worldloom.core.action import Action
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.core.suite import load_scenarios
from worldloom.worlds.aaw.checks import compile_rubric
from worldloom.worlds.aaw.world import RulesWorld

PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


WHOLE, ACTIONS, CRITERIA, SUITE = blocks("yaml")


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


def scenario_with(registry, actions=(), criteria=()):
    """The page's scenario with more actions of the drum, and other criteria."""
    content = yaml.safe_load(WHOLE)
    content["world"]["entities"]["drum"]["actions"] += actions
    content["evaluation_rubric"] = list(criteria) or content["evaluation_rubric"]
    return parse_scenario(yaml.safe_dump(content), "page.yaml", registry)


def judged(scenario, path):
    world = RulesWorld(scenario)
    state, facts = world.initial(0), []
    for action in path:
        state, fact = world.apply(state, action)
        facts.append(fact)
    rubric = compile_rubric(scenario)
    return [c.evaluate(state.to_json(), scenario.body.context, facts).passed for c in rubric], facts


def test_the_scenario_does_what_the_page_says(registry):
    scenario = parse_scenario(WHOLE, "wash-tonight.yaml", registry)
    paths = scenario.paths.reveal()
    assert judged(scenario, paths.literal)[0] == [True, False]
    assert judged(scenario, paths.careful)[0] == [True, True]


def test_the_further_actions_work_in_it(registry):
    scenario = scenario_with(registry, actions=yaml.safe_load(ACTIONS))
    path = [
        Action("drum.take_out", {"piece_id": "j1"}),
        Action("drum.take_out", {"piece_id": "j1"}),
        Action("drum.correct_label", {"piece_id": "t1", "hottest": 40}),
        Action("drum.correct_label", {"piece_id": "s1"}),
    ]
    _, facts = judged(scenario, path)
    assert [fact["message"] for fact in facts] == [
        '{"left":1,"what":"wool jumper"}',
        "There is no such piece.",
        '{"hottest":40}',
        '{"hottest":30}',
    ]
    assert facts[-1]["changes"]["drum"]["pieces"] == [
        {"piece_id": "t1", "what": "towel", "hottest": 40},
        {"piece_id": "s1", "what": "unknown", "hottest": 30},
    ]


def test_conditions_without_a_check_are_read(registry):
    scenario = scenario_with(registry, criteria=yaml.safe_load(CRITERIA))
    assert [criterion.how for criterion in compile_rubric(scenario)] == ["idiom"] * 3
    assert judged(scenario, scenario.paths.reveal().careful)[0] == [True] * 3
    assert judged(scenario, scenario.paths.reveal().literal)[0] == [False, True, False]


def test_every_expression_is_true_of_the_scenario(registry):
    on_state, on_trace = blocks("cel")
    careful = parse_scenario(WHOLE, "wash-tonight.yaml", registry).paths.reveal().careful
    for text, path in ((on_state, careful), (on_trace, careful)):
        for line in text.splitlines():
            passed, _ = judged(scenario_with(registry, criteria=[{"criterion": line, "check": line}]), path)
            assert passed == ["never" not in line], line


def test_the_suite_is_one(registry, tmp_path):
    (tmp_path / "wash-tonight.yaml").write_text(WHOLE, "utf-8")
    (tmp_path / "evening.yaml").write_text(SUITE, "utf-8")
    assert [s.id for s in load_scenarios([tmp_path / "evening.yaml"], registry)] == ["wash-tonight"]


def test_the_commands_play_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wash-tonight.yaml").write_text(WHOLE, "utf-8")
    (commands,) = blocks("sh")
    for line in commands.splitlines():
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, done.output
