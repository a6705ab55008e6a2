"""With anything replaced by anything there is a scenario or there are problems, and editors agree with the loader."""

import copy
import json

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.errors import DocumentError
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.core.schema import scenario_schema
from worldloom.core.yamlio import parse

SOUND = parse(
    """\
id: bell
category: accessibility
user_prompt: Ring.
summary: s
tags: [t]
cast: {agent: {agent: llm, count: 1, model: m}}
limits: {steps: 3, wall_s: 2.5}
world:
  context: {date: 2026-01-01}
  entities:
    bell:
      type: t
      name: n
      state: {rung: 0}
      invariants: [bell.rung >= 0]
      actions:
        - name: ring
          description: d
          parameters: {times: {type: integer, required: true, minimum: 1}}
          returns: r
          requires: [{that: 'true', else: e}]
          let: {x: =bell.rung}
          effects: [{set: {bell.rung: =x}, when: 'true'}]
          result: {rung: =bell.rung}
          error: e
evaluation_rubric: [{criterion: c, pass_condition: p, check: 'true'}]
execution_rules: [r]
paths: {literal: [bell.ring: {times: 1}], careful: []}
""",
    "sound.yaml",
).value
REGISTRY = Registry.discover()
VALIDATOR = jsonschema.Draft7Validator(scenario_schema(REGISTRY))
SCALARS = [None, True, 0, 3, -1, 1.5, "", " ", "x", "a.b", "bell", "\u200b", "=1"]
CONTAINERS = [[], [[]], ["x"], [1], [None], {}, {"a": 1}, {"a": {}}, {"set": {}}, {"id": "x"}]
VALUES = st.sampled_from([*SCALARS, *CONTAINERS])


def paths_of(value, path=()):
    yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from paths_of(inner, (*path, key))


PLACES = st.sampled_from([path for path in paths_of(SOUND) if path])


def replaced(value, path, new):
    changed = copy.deepcopy(value)
    inside = changed
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = new
    return changed


def renamed(value, path):
    changed = copy.deepcopy(value)
    inside = changed
    for part in path[:-1]:
        inside = inside[part]
    if isinstance(inside, dict):
        inside[f"{path[-1]}s"] = inside.pop(path[-1])
    return changed


def loads(value):
    try:
        parse_scenario(json.dumps(value, ensure_ascii=False), "f.yaml", REGISTRY)
    except DocumentError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.line == 1 and problem.column >= 1
            assert problem.found and problem.allowed
            assert "pydantic" not in str(problem)
        return False
    return True


def test_the_sound_one_loads():
    assert loads(SOUND) and VALIDATOR.is_valid(SOUND)


@given(PLACES, VALUES)
@settings(max_examples=120, deadline=None)
def test_any_value_replaced_gives_a_scenario_or_problems(path, new):
    changed = replaced(SOUND, path, new)
    if loads(changed):
        assert VALIDATOR.is_valid(changed)


@given(PLACES)
@settings(max_examples=60, deadline=None)
def test_any_key_renamed_gives_a_scenario_or_problems(path):
    changed = renamed(SOUND, path)
    if loads(changed):
        assert VALIDATOR.is_valid(changed)
