"""What expressions mean, and what their errors say."""

from typing import Any

import pytest

from worldloom.worlds.expressions import EvaluationError, SyntaxFault, compile_program

NAMES: dict[str, Any] = {
    "lamp": {"on": True, "level": 21, "step": 0.5, "room": None, "name": "Desk"},
    "items": [{"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "c", "n": 3}],
    "empty": [],
    "args": {"id": "b"},
}


def value(source: str) -> Any:
    return compile_program(source).evaluate(NAMES)


def same(found: Any, expected: Any) -> bool:
    return type(found) is type(expected) and found == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("lamp.level + 1", 22),
        ("lamp.level + lamp.step", 21.5),
        ("lamp.level * 2 >= 42.0", True),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7.0 / 2", 3.5),
        ("-0.0", 0.0),
        ("lamp.name + '!'", "Desk!"),
        ("[1] + [2]", [1, 2]),
        ("lamp.room == null", True),
        ("true == 1", False),
        ("1 == 1.0", True),
        ("[1, {'a': true}] == [1.0, {'a': true}]", True),
        ("[1] == [true]", False),
        ("has(lamp.name) && !has(lamp.colour)", True),
        ("lamp.on ? 'on' : 'off'", "on"),
        ("items.filter(x, x.id == args.id)[0].n", 2),
        ("items.map(x, x.n > 1, x.id)", ["b", "c"]),
        ("items.exists(x, x.n == 3)", True),
        ("items.all(x, x.n > 1)", False),
        ("items.exists_one(x, x.n > 2)", True),
        ("empty.all(x, x.n > 1) && !empty.exists(x, true)", True),
        ("args.id in items.map(x, x.id)", True),
        ("'on' in lamp", True),
        ("lamp['level']", 21),
        ("items.map(x, x.n).sum() + items.map(x, x.n).max() - items.map(x, x.n).min()", 8),
        ("items.map(lamp, lamp.n)", [1, 2, 3]),
        ("lamp.name.startsWith('De') && lamp.name.endsWith('k') && lamp.name.contains('es')", True),
        ("lamp.name.lowerAscii() + lamp.name.upperAscii()", "deskDESK"),
        ("['a', 'b'].join('-')", "a-b"),
        ("' a '.trim()", "a"),
        ("'a-1'.matches('^[a-z]-[0-9]$')", True),
        ("size('née') + size(items) + items.size()", 9),
        ("int('12') + int(2.9)", 14),
        ("double('2.5')", 2.5),
        ("string(3) + string(2.0) + string(true)", "32true"),
        ("r'\\n' + '\\n\\x41\\u00e9'", "\\n\nAé"),
        ("1 // a remark\n + 2", 3),
        ("timestamp('2026-07-17T00:00:00Z') - timestamp('2026-07-03T00:00:00Z') >= duration('336h')", True),
        ("timestamp('2026-07-03T23:30:00-02:00').getDate()", 4),
        ("string(timestamp('2026-07-03T18:20:00Z') + duration('1h30m'))", "2026-07-03T19:50:00Z"),
        ("duration('90m').getHours()", 1),
    ],
)
def test_an_expression_has_its_value(source: str, expected: Any) -> None:
    assert same(value(source), expected)


def test_and_and_or_have_a_value_if_one_side_decides() -> None:
    assert value("lamp.colour == 1 || true") is True
    assert value("true || lamp.colour == 1") is True
    assert value("lamp.colour == 1 && false") is False
    assert value("items.exists(x, x.colour == 1 || x.n == 2)") is True
    with pytest.raises(EvaluationError, match="no 'colour' in lamp"):
        value("lamp.colour == 1 && true")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("lamp.colour", "there is no 'colour' in lamp"),
        ("lamp.level.colour", "lamp.level is a whole number, it has no 'colour'"),
        ("items[3]", "no item 3 in a list of 3"),
        ("items[-1]", "no item -1"),
        ("lamp['x']", "no key 'x'"),
        ("lamp.name + 1", "cannot add text and a whole number"),
        ("lamp.on + 1", "cannot add true or false and a whole number"),
        ("1 / 0", "division by zero"),
        ("1.0 / 0.0", "division by zero"),
        ("9223372036854775807 + 1", "64 bits"),
        ("1e308 * 10.0", "too large"),
        ("lamp.name < 1", "cannot order text and a whole number"),
        ("!lamp.name", "text where true or false is needed"),
        ("lamp.name ? 1 : 2", "text where true or false is needed"),
        ("lamp.name.map(x, x)", "goes through lists and mappings, not text"),
        ("int('x')", "'x' is no whole number"),
        ("'a'.matches('(')", "no usable pattern"),
        ("timestamp('noon')", "no time stamp such as"),
        ("duration('1h')", "write string"),
        ("nobody", "'nobody' has no value here"),
        ("{1: 2}", "it must be text"),
    ],
)
def test_an_expression_without_value_says_why(source: str, says: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(source)
    assert says in str(caught.value)
    assert f"`{source}`" in str(caught.value)


def test_a_condition_must_be_true_or_false() -> None:
    assert compile_program("lamp.on").holds(NAMES) is True
    with pytest.raises(EvaluationError, match="it is a whole number, not true or false"):
        compile_program("lamp.level").holds(NAMES)


@pytest.mark.parametrize(
    ("source", "offset", "says"),
    [
        ("", 0, "ends too early"),
        ("lamp.level >", 12, "ends too early"),
        ("lamp.level > > 1", 13, "unexpected '>'"),
        ("(1", 2, "ends too early"),
        ("1 2", 2, "unexpected '2'"),
        ("'abc", 0, "no meaning"),
        ("a ; b", 2, "no meaning"),
        ("sise(items)", 0, "unknown function 'sise', did you mean 'size'?"),
        ("items.size(1)", 6, "'size' with 1 arguments as a method"),
        ("has(lamp)", 0, "no field"),
        ("items.map(1, 2)", 10, "no name"),
        ("items.map(x)", 6, "'map' with 1 arguments"),
        ("while", 0, "unexpected 'while'"),
        ("1u", 1, "unexpected 'u'"),
        ("b'x'", 1, "unexpected"),
        ("Foo{a: 1}", 3, "unexpected '{'"),
        ("'\\ud800'", 1, "stands for no character"),
        ("99999999999999999999", 0, "the number"),
        ("__import__('os')", 0, "unknown function"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(source: str, offset: int, says: str) -> None:
    with pytest.raises(SyntaxFault) as caught:
        compile_program(source)
    assert caught.value.offset == offset
    assert says in caught.value.found


def test_a_program_knows_the_names_it_needs_and_no_others() -> None:
    program = compile_program("items.filter(x, x.id == args.id).map(y, y.n + lamp.level)[0] == x")
    assert program.names == ("items", "args", "lamp", "x")


def test_going_through_a_mapping_is_in_the_order_of_its_keys() -> None:
    program = compile_program("m.map(k, k)")
    assert program.evaluate({"m": {"b": 1, "a": 2, "c": 3}}) == ["a", "b", "c"]


def test_a_result_that_is_a_part_of_the_input_is_not_copied() -> None:
    assert compile_program("lamp").evaluate(NAMES) is NAMES["lamp"]


def test_evaluation_leaves_the_names_as_they_were() -> None:
    before = repr(NAMES)
    value("items.map(lamp, items.map(x, lamp.n * x.n))")
    assert repr(NAMES) == before
