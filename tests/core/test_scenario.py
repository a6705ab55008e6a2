"""A scenario is read by the model of its kind; whatever is wrong with it is told at its place."""

import pytest

from worldloom.core.action import Action
from worldloom.core.errors import DocumentError, UsageError
from worldloom.core.registry import Registry, Room
from worldloom.core.scenario import load_scenario, parse_scenario

STALL = "kind: stall\nid: s\ntitle: t\nworld: {rounds: 3}\n"


def problems(text, registry):
    with pytest.raises(DocumentError) as caught:
        parse_scenario(text, "f.yaml", registry)
    return caught.value.problems


def only(text, registry):
    (problem,) = problems(text, registry)
    return problem


def test_a_scenario_of_the_default_kind_is_loaded(tmp_path, text, registry):
    (tmp_path / "a.yaml").write_text(text)
    scenario = load_scenario(tmp_path / "a.yaml", registry)
    assert (scenario.kind, scenario.id, scenario.category) == ("aaw", "lamp-off", "accessibility")
    assert scenario.user_prompt == "Switch the lamp off."
    assert scenario.file == str(tmp_path / "a.yaml")
    assert scenario.source_text.reveal() == text
    assert scenario.document.locate(("world", "entities", "lamp", "state", "on")) == (10, 19)


def test_every_key_of_the_header_arrives(text, registry):
    header = """\
kind: aaw
schema: 1
title: Off
summary: A lamp.
tags: [home, light]
source: invented
licence: CC0-1.0
cast: {agent: {agent: llm, model: embedded}}
graph: aaw
limits: {steps: 10, model_calls: 20, tokens: 1000, wall_s: 1.5}
metrics: [SPR]
execution_rules: [The bulb is warm.]
paths: {literal: [lamp.switch: {on: false}], careful: []}
"""
    scenario = parse_scenario(header + text, "f.yaml", registry)
    assert (scenario.title, scenario.summary.reveal(), scenario.tags) == ("Off", "A lamp.", ("home", "light"))
    assert (scenario.source, scenario.licence, scenario.graph, scenario.metrics) == (
        "invented",
        "CC0-1.0",
        "aaw",
        ("SPR",),
    )
    seat = scenario.cast["agent"]
    assert (seat.agent, seat.count, seat.model) == ("llm", 1, "embedded")
    assert (scenario.limits.steps, scenario.limits.model_calls) == (10, 20)
    assert (scenario.limits.tokens, scenario.limits.wall_s) == (1000, 1.5)
    assert scenario.execution_rules.reveal() == ("The bulb is warm.",)
    assert scenario.paths.reveal().literal == (Action("lamp.switch", {"on": False}),)
    assert scenario.evaluation_rubric.reveal()[0].pass_condition == "lamp.state.on == false"


def test_what_an_agent_must_not_see_is_not_in_the_text_of_a_scenario(text, registry):
    shown = repr(parse_scenario(text + "execution_rules: [The bulb is warm.]\n", "f.yaml", registry))
    assert "STATE CHANGES" not in shown and "lamp.state.on" not in shown and "bulb" not in shown


def test_another_kind_is_read_by_its_own_model(registry):
    scenario = parse_scenario(STALL, "f.yaml", registry)
    assert scenario.kind == "stall"
    assert scenario.body.rounds == 3


def test_a_kind_s_model_and_its_header_are_strict(registry):
    assert [
        (p.line, p.found) for p in problems(STALL.replace("title: t\n", "").replace("3", "x"), registry)
    ] == [
        (1, "`title` is missing"),
        (3, 'the text "x"'),
    ]


def test_contradictions_that_a_kind_finds_are_told_at_their_place(registry):
    problem = only(STALL.replace("title: t", "title: loss").replace("3", "4"), registry)
    assert (problem.line, problem.column, problem.found) == (4, 17, "too many rounds for a loss")


def test_a_missing_kind_is_guessed_from_the_body_and_told(registry):
    problem = only(STALL.replace("kind: stall\n", ""), registry)
    assert problem.found == "`kind` is missing; 'rounds' belongs to stall"
    assert (problem.line, problem.column, problem.allowed) == (3, 9, "`kind: stall`")


def test_a_world_without_entities_and_kind_is_of_the_default_kind(text, registry):
    problem = only(text.replace("  entities:", "  entites:"), registry)
    assert (problem.found, problem.nearest) == ("unknown key 'entites'", "entities")


def test_an_unknown_kind_is_told_with_the_nearest(registry):
    problem = only(STALL.replace("kind: stall", "kind: stal"), registry)
    assert (problem.found, problem.allowed, problem.nearest) == (
        "unknown kind 'stal'",
        "one of aaw, stall",
        "stall",
    )
    assert only(STALL.replace("kind: stall", "kind: [a]"), registry).found == "a kind that is no text"


def test_a_kind_called_null_wants_quotes():
    problem = only("kind: null\nid: s\nworld: {}\n", Registry.discover())
    assert (problem.found, problem.nearest) == ("a kind that is no text", "'null'")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("suite: s\nscenarios: [a.yaml]\n", "suite"),
        ("kind: study\nscenario: a.yaml\nvary: {}\n", "study"),
        ("scenario: a.yaml\nvary: {limits.steps: [1, 2]}\nseeds: [1]\n", "study"),
        ("models: {}\n", "project"),
        ("role: agent\nname: x\nsummary: s\nfactory: m:f\n", "room"),
    ],
)
def test_other_documents_are_told_from_scenarios(text, what, registry):
    assert only(text, registry).found == f"this is a {what} and no scenario"


EDITS = [
    # replaced, by, line, found, nearest
    ("user_prompt:", "user_promt:", 3, "unknown key 'user_promt'", "user_prompt"),
    ("category: accessibility", "category: accesibility", 2, 'the text "accesibility"', "accessibility"),
    ("id: lamp-off", "id: 12", 1, "the number 12", None),
    ("id: lamp-off", "id: ' a'", 1, "the text ' a'", None),
    ("id: lamp-off", 'id: "a\\u200b"', 1, "the text 'a\\u200b'", None),
    ("Switch the lamp off.", "' '", 3, "text without a visible character", None),
    ("id: lamp-off", "id: l\nschema: 2", 2, "the number 2", None),
    ("id: lamp-off", "id: l\nlimits: {steps: 0}", 2, "the number 0", None),
    ("id: lamp-off", "id: l\nlimits: {wall_s: 0}", 2, "the number 0", None),
    ("id: lamp-off", "id: l\nlimits: {step: 3}", 2, "unknown key 'step'", "steps"),
    ("id: lamp-off", "id: l\ncast: {a: {agent: x, modle: y}}", 2, "unknown key 'modle'", "model"),
    ("id: lamp-off", "id: l\ncast: {a: 3}", 2, "the number 3", None),
    ("id: lamp-off", "id: l\ncast: {a: {count: 2}}", 2, "`agent` is missing", None),
    ("id: lamp-off", "id: l\ncast: {agent: carefull}", 2, "the agent 'carefull'", "careful"),
    ("id: lamp-off", "id: l\ncast: {agent: {agent: lllm}}", 2, "the agent 'lllm'", "llm"),
    ("id: lamp-off", "id: l\ncast: {agnt: llm}", 2, "the seat 'agnt'", "agent"),
    ("id: lamp-off", "id: l\ncast: {agent: {agent: llm, count: 2}}", 2, "2 agents at the seat 'agent'", None),
    ("id: lamp-off", "id: l\ngraph: nope", 2, "the graph 'nope'", None),
    ("id: lamp-off", "id: l\ngraph: aww", 2, "the graph 'aww'", "aaw"),
    ("id: lamp-off", "id: l\ngraph: 'null'", 2, "the graph 'null', which plays the kind 'null'", None),
    ("id: lamp-off", "id: l\nmetrics: [NSS, SPQ]", 2, 'the text "SPQ"', "SPR"),
    ("id: lamp-off", "id: l\ntags: home", 2, 'the text "home"', None),
    ("id: lamp-off", "id: l\npaths: {literal: [lamp.switch]}", 2, 'the text "lamp.switch"', None),
    ("id: lamp-off", "id: l\npaths: {literal: [lamp.switch: [1]]}", 2, "a list", None),
    ("id: lamp-off", "id: l\npaths: {literal: [{lamp.switch: {}, lamp.off: {}}]}", 2, "a mapping", None),
    ("id: lamp-off", "id: l\npaths: {carefull: []}", 2, "unknown key 'carefull'", "careful"),
    ("  - criterion: It is off.", "  - criteria: It is off.", 19, "unknown key 'criteria'", "criterion"),
]


@pytest.mark.parametrize(("old", "new", "line", "found", "nearest"), EDITS)
def test_faults_of_the_header_are_told_at_their_place(text, registry, old, new, line, found, nearest):
    assert old in text
    problem = only(text.replace(old, new), registry)
    assert (problem.line, problem.found, problem.nearest) == (line, found, nearest)


def test_header_and_body_are_told_together_and_in_file_order(text, registry):
    faulty = text.replace("category: accessibility", "category: x").replace("type: boolean", "type: bool")
    faulty = faulty.replace("pass_condition", "pass_conditions")
    assert [problem.line for problem in problems(faulty, registry)] == [2, 14, 20]


def test_a_missing_world_is_told_once(registry):
    problem = only("kind: stall\nid: s\ntitle: t\n", registry)
    assert problem.found == "`world` is missing"


def test_the_digest_is_over_the_content(text, registry):
    def digest(changed):
        return parse_scenario(changed, "elsewhere.yaml", registry).digest

    first = digest(text)
    assert (
        digest("# a remark\n\n" + text.replace("{on: true}", "{\n        on: true # lit\n      }")) == first
    )
    assert digest(text.replace("id: lamp-off\n", "") + "id: 'lamp-off'\n") == first
    assert digest("kind: aaw\nschema: 1\n" + text) == first
    assert digest(text.replace("\n", "\r\n")) == first
    assert digest(text.replace("Switch the lamp off.", "Switch the lamp off!")) != first
    assert digest(text.replace("on: true}", "on: 1}")) != first


def test_entities_as_a_list_or_as_a_mapping_give_one_digest_and_one_body(text, registry):
    as_list = text.replace("    lamp:\n", "    - id: lamp\n")
    assert as_list != text
    first, second = (parse_scenario(form, "f.yaml", registry) for form in (text, as_list))
    assert first.digest == second.digest
    assert first.body == second.body
    path = ("world", "entities", "lamp", "actions", 0, "name")
    assert first.document.locate(path) == second.document.locate(path) == (12, 17)


def test_faults_in_a_list_of_entities_are_told_at_their_place(text, registry):
    faulty = text.replace("    lamp:\n", "    - id: lamp\n").replace("type: boolean", "type: bool")
    problem = only(faulty, registry)
    assert (problem.line, problem.found) == (14, 'the text "bool"')


def test_a_room_whose_body_is_none_is_told(text):
    stranger = Room("world", "x", "s", "aaw", "json:dumps", "json:JSONDecoder", None, (), "x/room.yaml", None)
    with pytest.raises(UsageError, match=r"x/room\.yaml: body: json:JSONDecoder is no subclass"):
        parse_scenario(text, "f.yaml", Registry([stranger]))
