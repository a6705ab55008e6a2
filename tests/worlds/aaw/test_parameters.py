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
