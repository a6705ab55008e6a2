"""The schema that editors get accepts what loads and refuses what does not, as far as types can say."""

import jsonschema
import pytest

from worldloom.core.errors import DocumentError
from worldloom.core.scenario import parse_scenario
from worldloom.core.schema import scenario_schema
from worldloom.core.yamlio import parse

STALL = "kind: stall\nid: s\ntitle: t\nworld: {rounds: 3, jobs: [a]}\n"
HEADER = """\
kind: aaw
schema: 1
title: Off
summary: A lamp.
tags: [home]
cast: {agent: careful}
limits: {steps: 10, wall_s: 1.5}
paths: {literal: [lamp.switch: {on: false}]}
"""


@pytest.fixture
def accepts(registry):
    schema = scenario_schema(registry)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    return lambda text: validator.is_valid(parse(text, "f.yaml").value)


def test_what_loads_is_accepted(accepts, text, registry):
    as_list = text.replace("    lamp:\n", "    - id: lamp\n")
    for sound in (text, as_list, HEADER + text, STALL, STALL.replace("title", "limits: {steps: 3}\ntitle")):
        parse_scenario(sound, "f.yaml", registry)
        assert accepts(sound)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("user_prompt:", "user_promt:"),
        ("user_prompt: Switch the lamp off.\n", ""),
        ("category: accessibility", "category: comfort"),
        ("category: accessibility\n", ""),
        ("type: boolean", "type: bool"),
        ("description: Switch it.", "describe: Switch it."),
        ("id: lamp-off", "id: 12"),
        ("id: lamp-off", "id: l\nlimits: {steps: 0}"),
        ("id: lamp-off", "id: l\ncast: {agent: {count: 2}}"),
        ("id: lamp-off", "id: l\npaths: {literal: [lamp.switch]}"),
        ("id: lamp-off", "id: l\npaths: {literal: [{a: {}, b: {}}]}"),
        ("id: lamp-off", "id: l\nkind: stal"),
        ("id: lamp-off", "id: l\nkind: stall"),
        ("  entities:", "  entites:"),
        ("    lamp:\n", "    - name: x\n"),
        (
            "evaluation_rubric:\n  - criterion: It is off.\n    pass_condition: lamp.state.on == false\n",
            "evaluation_rubric: []\n",
        ),
    ],
)
def test_what_does_not_load_is_refused(accepts, text, registry, old, new):
    assert old in text
    faulty = text.replace(old, new)
    if "    - name: x" in new:
        faulty = text.replace(
            "    lamp:\n      type: device\n      name: Lamp\n", "    - type: device\n      name: Lamp\n"
        )
    with pytest.raises(DocumentError):
        parse_scenario(faulty, "f.yaml", registry)
    assert not accepts(faulty)


def test_each_kind_has_its_own_branch(accepts):
    assert not accepts(STALL.replace("rounds: 3", "rounds: x"))
    assert not accepts(STALL.replace("title: t\n", ""))
    assert not accepts(STALL.replace("kind: stall\n", ""))
