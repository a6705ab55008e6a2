"""Faults of shape are said in plain words, at their place, from what the model allows."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from worldloom.core.errors import DocumentError
from worldloom.core.yamlio import Fault, Faults, parse, validate


class Lamp(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    colour: Literal["red", "green"] = "red"
    level: int = Field(default=0, ge=0, le=10)
    dimmed: bool = False
    label: str = Field(default="x", min_length=1)

    @field_validator("label")
    @classmethod
    def _no_spaces(cls, text: str) -> str:
        if " " in text:
            raise Faults(Fault((), f"the text {text!r}", "one word", text.split()[0]))
        if text == "plain":
            raise ValueError("this word is taken")
        return text


class House(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    lamps: dict[str, Lamp] = Field(default_factory=dict)
    order: tuple[str, ...] = ()
    owner: str | Lamp = "nobody"
    extra: JsonValue = None


def problems(text, model=House, at=()):
    with pytest.raises(DocumentError) as caught:
        validate(parse(text, "f.yaml"), model, at)
    return caught.value.problems


def only(text):
    (problem,) = problems(text)
    return problem


def test_a_sound_document_becomes_a_model():
    house = validate(
        parse("name: h\nlamps: {a: {level: 3}}\norder: [a]\nowner: {colour: green}\n", "f.yaml"), House
    )
    assert house.lamps["a"].level == 3
    assert house.order == ("a",)
    assert isinstance(house.owner, Lamp)


def test_a_part_of_a_document_can_be_validated():
    document = parse("top:\n  house: {name: h, lamps: {a: {level: 99}}}\n", "f.yaml")
    with pytest.raises(DocumentError) as caught:
        validate(document, House, ("top", "house"))
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 39)


CASES = [
    # text, line, column, found, allowed, nearest
    ("name: h\ncolor: x\n", 2, 1, "unknown key 'color'", "the keys name, lamps, order, owner, extra", None),
    ("name: h\nlamp: {}\n", 2, 1, "unknown key 'lamp'", "the keys name, lamps, order, owner, extra", "lamps"),
    ("nam: h\n", 1, 1, "unknown key 'nam'", "the keys name, lamps, order, owner, extra", "name"),
    ("order: []\n", 1, 1, "`name` is missing", "`name`: text", None),
    ("name: 1.10\n", 1, 7, "the number 1.10", 'text; quote it: "1.10"', None),
    ("name: null\n", 1, 7, "nothing (null)", "text", None),
    ("name:\n  - x\n", 2, 3, "a list", "text", None),
    ("name: h\nlamps: []\n", 2, 8, "a list without any item", None, None),
    ("name: h\nlamps: {a: {colour: gren}}\n", 2, 21, 'the text "gren"', 'one of "red", "green"', "green"),
    (
        "name: h\nlamps: {a: {level: 11}}\n",
        2,
        20,
        "the number 11",
        "a whole number of at least 0 and of at most 10",
        None,
    ),
    ("name: h\nlamps: {a: {level: '3'}}\n", 2, 20, 'the text "3"', None, "3"),
    ("name: h\nlamps: {a: {level: 3.5}}\n", 2, 20, "the number 3.5", None, None),
    ("name: h\nlamps: {a: {level: 1_0}}\n", 2, 20, 'the text "1_0"', None, "10"),
    ("name: h\nlamps: {a: {dimmed: on}}\n", 2, 21, 'the text "on"', "true or false", "true"),
    ("name: h\nlamps: {a: {dimmed: No}}\n", 2, 21, 'the text "No"', "true or false", "false"),
    ("name: h\nlamps: {a: {dimmed: 1}}\n", 2, 21, "the number 1", "true or false", None),
    ("name: h\nlamps: {a: {label: ''}}\n", 2, 20, "empty text", "text that is not empty", None),
    ("name: h\nlamps: {a: {label: two words}}\n", 2, 20, "the text 'two words'", "one word", "two"),
    ("name: h\nlamps: {a: {label: plain}}\n", 2, 20, "this word is taken", "text that is not empty", None),
    (
        "name: h\nlamps: {a: {x: 1}}\n",
        2,
        13,
        "unknown key 'x'",
        "the keys colour, level, dimmed, label",
        None,
    ),
    ("name: h\norder: {a: 1}\n", 2, 8, "a mapping", "a list; each item: text", None),
    ("name: h\norder: [a, 2]\n", 2, 12, "the number 2", 'text; quote it: "2"', None),
    ("name: h\nowner: 7\n", 2, 8, "the number 7", None, None),
    ("name: h\nowner: {levle: 1}\n", 2, 9, "unknown key 'levle'", None, "level"),
]


@pytest.mark.parametrize(("text", "line", "column", "found", "allowed", "nearest"), CASES)
def test_each_fault_is_said_plainly(text, line, column, found, allowed, nearest):
    problem = only(text)
    assert (problem.line, problem.column, problem.found, problem.nearest) == (line, column, found, nearest)
    assert allowed is None or problem.allowed == allowed


def test_all_problems_come_at_once_and_in_file_order():
    found = problems("order: 3\nlamps:\n  b: {level: x}\n  a: {level: y}\nnmae: h\nfoo: 1\n")
    assert [(problem.line, problem.column) for problem in found] == [(1, 8), (3, 14), (4, 14), (5, 1), (6, 1)]


def test_no_problem_speaks_the_library_s_language():
    for text, *_ in CASES:
        said = str(only(text)).lower()
        assert not any(
            word in said for word in ("pydantic", "input", "validat", "str_type", "https://", "dict", "tuple")
        )


@pytest.mark.parametrize("text", ["name: h\nextra: {a: [1, 1.5, null, true, 'x', {b: 1e-5}]}\n"])
def test_open_values_arrive_as_they_were_read(text):
    document = parse(text, "f.yaml")
    assert validate(document, House).extra == document.value["extra"]
