"""Arguments are checked against the declarations, and nothing is converted."""

from typing import Any

import pytest

from worldloom.core.errors import DocumentError
from worldloom.worlds.aaw.body import EntityAction
from worldloom.worlds.aaw.parameters import Parameters, Refused
from worldloom.worlds.aaw.world import RulesWorld


def parameters(**declared: dict[str, Any]) -> Parameters:
    return Parameters.of(EntityAction(name="go", description="Go.", parameters=declared))


def refusal(declared: dict[str, Any], value: Any) -> str:
    with pytest.raises(Refused) as caught:
        parameters(p=declared).checked({"p": value})
    return str(caught.value)


@pytest.mark.parametrize(
    ("declared", "given", "taken"),
    [
        ({"type": "string"}, "x", "x"),
        ({"type": "boolean"}, False, False),
        ({"type": "integer"}, 3, 3),
        ({"type": "integer"}, 3.0, 3),
        ({"type": "number"}, 3, 3.0),
        ({"type": "number"}, -0.0, 0.0),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 3, 3),
        ({"type": "string", "minLength": 1, "maxLength": 2}, "ab", "ab"),
        ({"type": "array", "items": {"type": "number"}, "maxItems": 2}, [1, 2], [1.0, 2.0]),
        ({"type": "array"}, [1, "a", None, {"x": []}], [1, "a", None, {"x": []}]),
        ({"type": "object"}, {"any": [1]}, {"any": [1]}),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 2.0, "m": 1}, {"n": 2, "m": 1}),
    ],
)
def test_what_fits_is_taken(declared: dict[str, Any], given: Any, taken: Any) -> None:
    found = parameters(p=declared).checked({"p": given})["p"]
    assert found == taken and type(found) is type(taken)


@pytest.mark.parametrize(
    ("declared", "given", "says"),
    [
        (
            {"type": "integer", "minimum": 50, "maximum": 500},
            "3",
            "The parameter 'p' is the text \"3\"; expected a whole number of at least 50 and of at most 500.",
        ),
        ({"type": "integer"}, 2.5, "is the number 2.5; expected a whole number."),
        ({"type": "integer"}, True, "is the truth value true; expected a whole number."),
        ({"type": "integer"}, None, "is nothing (null); expected a whole number."),
        ({"type": "integer"}, 2**63, "no plain JSON value"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "is the number 0; expected a number above 0."),
        ({"type": "number"}, float("nan"), "no plain JSON value"),
        ({"type": "boolean"}, "true", 'is the text "true"; expected true or false.'),
        ({"type": "boolean"}, 1, "is the number 1; expected true or false."),
        ({"type": "string"}, 5, "is the number 5; expected text."),
        ({"type": "string"}, "a\ud800", "no plain JSON value"),
        ({"type": "string", "enum": ["on", "off"]}, "On", 'expected one of "on", "off".'),
        ({"type": "integer", "enum": [0, 1]}, False, "expected one of 0, 1."),
        ({"type": "string", "maxLength": 3}, "abcd", "(at most 3 characters)"),
        ({"type": "array", "minItems": 1}, [], "(at least 1 items)"),
        ({"type": "array"}, {"a": 1}, "is a mapping; expected a list."),
        (
            {"type": "array", "items": {"type": "string"}},
            ["a", 1],
            "The item 1 of parameter 'p' is the number 1",
        ),
        (
            {"type": "array", "items": {"type": "object", "required": ["a"]}},
            [{}],
            "The item 0 of parameter 'p' lacks 'a'.",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
            {"b": 1},
            "The parameter 'p' has no 'b'; it has a.",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"a": 1},
            "The 'a' of parameter 'p' is",
        ),
        ({"type": "object"}, {1: 2}, "no plain JSON value"),
        ({"type": "array"}, (1, 2), "no plain JSON value"),
        ({"type": "string"}, "x" * 30_000, "too large"),
        ({"type": "array"}, [0] * 30_000, "too large"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_found_and_expected(
    declared: dict[str, Any], given: Any, says: str
) -> None:
    assert says in refusal(declared, given)


def test_arguments_nested_without_end_are_refused() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert "nested too deeply" in refusal({"type": "array"}, deep)


def test_missing_unknown_optional_and_default_parameters() -> None:
    declared = parameters(
        name={"type": "string", "required": True},
        volume={"type": "number", "default": 1},
        note={"type": "string"},
    )
    assert declared.checked({"name": "a"}) == {"name": "a", "volume": 1}
    assert declared.checked({"name": "a", "volume": 0.5, "note": "n"}) == {
        "name": "a",
        "volume": 0.5,
        "note": "n",
    }
    with pytest.raises(Refused, match="The required parameter 'name' is missing; expected text"):
        declared.checked({})
    with pytest.raises(Refused, match=r"no parameter 'nam'\. Did you mean 'name'\? Parameters: name, volume"):
        declared.checked({"nam": "a"})
    with pytest.raises(Refused, match=r"There is no parameter 'x'\. It takes none"):
        parameters().checked({"x": 1})
    with pytest.raises(Refused, match="is nothing"):
        declared.checked({"name": "a", "note": None})


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ({"type": "string", "pattern": "a+"}, "'pattern' would not be enforced"),
        ({"type": "number", "multipleOf": 2}, "'multipleOf' would not be enforced"),
        ({"type": "integer", "minimum": "1"}, 'the text "1"'),
        ({"type": "string", "maxLength": -1}, "the number -1"),
        ({"type": "string", "enum": []}, "a list"),
        ({"type": "array", "items": {"type": "text"}}, "the type 'text'"),
        ({"type": "array", "items": {"type": "string", "pattern": "x"}}, "'pattern' would not be enforced"),
        ({"type": "object", "properties": {"a": 1}}, "the number 1"),
        ({"type": "object", "properties": {"a": {"type": "integer", "maximum": None}}}, "nothing (null)"),
        ({"type": "integer", "maximum": 3, "default": 4}, "the number 4"),
        ({"type": "integer", "minimun": 3}, "'minimun' would not be enforced"),
        ({"type": "number", "max": 3}, "'max' would not be enforced"),
        ({"type": "string", "options": ["a"]}, "'options' would not be enforced"),
        ({"type": "string", "minimum": 3}, "'minimum' would not be enforced"),
        ({"type": "array", "items": {"type": "string", "enums": ["a"]}}, "'enums' would not be enforced"),
        (
            {"type": "integer", "minimum": 5, "maximum": 3},
            "no value is a whole number of at least 5 and of at most 3",
        ),
        (
            {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
            "no value is a number above 1 and of at most 1",
        ),
        (
            {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
            "no value is a whole number above 1 and below 2",
        ),
        (
            {"type": "integer", "minimum": 1.2, "maximum": 1.8},
            "no value is a whole number of at least 1.2 and of at most 1.8",
        ),
        ({"type": "string", "minLength": 4, "maxLength": 3}, "the number 4"),
        ({"type": "array", "minItems": 4, "maxItems": 3}, "the number 4"),
        (
            {"type": "object", "properties": {"a": {"type": "string", "minLength": 2, "maxLength": 1}}},
            "the number 2",
        ),
        (
            {"type": "array", "items": {"type": "object", "required": ["a"], "additionalProperties": False}},
            "'a', which may not be there",
        ),
        ({"type": "integer", "enum": [1, "2"]}, 'the text "2"'),
        ({"type": "boolean", "enum": ["on", True]}, 'the text "on"'),
        ({"type": "integer", "minimum": 2, "enum": [1, 2]}, "the number 1"),
        ({"type": "string", "const": 3}, "the number 3"),
        ({"type": "string", "const": "c", "enum": ["a", "b"]}, 'the text "c"'),
        ({"type": "boolean", "default": "on"}, 'the text "on"'),
        (
            {"type": "array", "items": {"type": "integer"}, "default": [1, 1.5]},
            "a list: The item 1 of value is the number 1.5; expected a whole number.",
        ),
    ],
)
def test_a_declaration_that_cannot_be_enforced_is_a_problem_of_the_file(
    scenario_of: Any, lamp_entity: Any, declared: dict[str, Any], found: str
) -> None:
    lamp_entity["actions"][0]["parameters"] = {"p": declared}
    with pytest.raises(DocumentError) as caught:
        RulesWorld(scenario_of({"lamp": lamp_entity}))
    assert [problem.found for problem in caught.value.problems] == [found]


def test_remarks_in_a_declaration_are_shown_and_not_enforced(scenario_of: Any, lamp_entity: Any) -> None:
    declared = {"type": "string", "description": "Which.", "examples": ["a"], "unit": "ml"}
    lamp_entity["actions"][0]["parameters"] = {"p": {**declared, "required": False}}
    view = RulesWorld(scenario_of({"lamp": lamp_entity})).initial(0).view("agent")
    assert view.actions[0].parameters["properties"] == {"p": declared}


def test_a_slip_in_a_word_is_told_at_its_place_with_the_nearest_word(
    scenario_of: Any, lamp_entity: Any
) -> None:
    lamp_entity["actions"][0]["parameters"] = {"p": {"type": "integer", "minimun": 3}}
    scenario = scenario_of({"lamp": lamp_entity})
    with pytest.raises(DocumentError) as caught:
        RulesWorld(scenario)
    (problem,) = caught.value.problems
    assert problem.nearest == "minimum" and "maximum" in problem.allowed and "requires" in problem.allowed
    assert scenario.document.lines[problem.line - 1][problem.column - 1 :].startswith('"minimun"')


def test_a_file_without_rules_loads_with_any_words(scenario_of: Any) -> None:
    go = {
        "name": "go",
        "description": "Go.",
        "parameters": {"p": {"type": "integer", "min": 3, "widget": "dial"}},
    }
    scenario_of({"e": {"type": "t", "name": "E", "actions": [go]}})


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "integer", "minimum": 3, "maximum": 3, "exclusiveMaximum": 4},
        {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "number", "enum": [1, 2.5], "default": 1},
        {"type": "string", "const": "a", "enum": ["a", "b"]},
        {"type": "array", "items": {"type": "object", "required": ["a"]}},
        {"type": "array", "items": {"enum": [1, "a", None]}, "minItems": 0, "maxItems": 0},
        {"type": "array", "items": {"minimum": 3, "minLength": 2}},
        {"type": "string", "title": "A", "format": "date", "$comment": "c", "examples": [1], "unit": "m"},
    ],
)
def test_what_some_value_fits_is_no_problem(scenario_of: Any, lamp_entity: Any, declared: Any) -> None:
    lamp_entity["actions"][0]["parameters"] = {"p": declared}
    RulesWorld(scenario_of({"lamp": lamp_entity}))
