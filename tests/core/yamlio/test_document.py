"""Every part of a document can be found again."""

import pytest

from worldloom.core.yamlio import parse

TEXT = """\
# comment
title: Ü
rooms:
  - {name: hall, size: 12}
  - name: attic
    size: 1.10
plain: text
'quoted': |
  one
  two
"""


@pytest.fixture
def document():
    return parse(TEXT, "f.yaml")


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (("title",), (2, 8), (2, 1)),
        (("rooms",), (4, 3), (3, 1)),
        (("rooms", 0), (4, 5), (4, 5)),
        (("rooms", 0, "size"), (4, 24), (4, 18)),
        (("rooms", 1, "name"), (5, 11), (5, 5)),
        (("quoted",), (8, 11), (8, 1)),
        ((), (2, 1), (2, 1)),
    ],
)
def test_values_and_keys_are_located(document, path, value, key):
    assert document.locate(path) == value
    assert document.locate(path, key=True) == key


def test_a_path_that_leads_nowhere_gives_the_nearest_part(document):
    assert document.locate(("rooms", 1, "colour")) == (5, 5)
    assert document.locate(("title", "x", 3)) == (2, 1)
    assert document.locate(("nothing",)) == (2, 1)


def test_parts_are_had_by_path_with_their_spelling(document):
    assert document.get(("rooms", 1, "size")) == 1.1
    assert document.spelling(("rooms", 1, "size")) == "1.10"
    assert document.spelling(("quoted",)) is None
    assert document.get(("rooms", 7)) is None


def test_a_problem_shows_line_and_caret(document):
    problem = document.problem(("rooms", 0, "size"), "the number 12", "text", "twelve")
    assert str(problem).splitlines() == [
        "f.yaml:4:24: the number 12",
        "      - {name: hall, size: 12}",
        "                           ^",
        "  allowed: text",
        "  did you mean 'twelve'?",
    ]


def test_the_caret_stands_under_wide_characters_and_long_lines_are_cut():
    wide = parse("日本: {x: 1}\n", "f.yaml").problem(("日本", "x"), "found", "allowed")
    assert str(wide).splitlines()[2] == "    " + " " * len("__" * 2 + ": {x: ") + "^"
    long = parse(f"a: [{'x, ' * 1000}y]\n", "f.yaml").problem(("a", 1000), "found", "allowed")
    _, source, caret, _ = str(long).splitlines()
    assert len(source) < 200
    assert source[caret.index("^")] == "y"


def test_a_problem_never_hands_terminal_codes_on():
    problem = parse("a: '\u202e\u200b'\n", "f.yaml").problem(("a",), "found", "allowed")
    assert "\u202e" not in str(problem) and "<U+202E>" in str(problem)


def test_a_list_and_a_mapping_of_items_become_one_form():
    as_list = "world:\n  things:\n    - id: a\n      n: 1\n    - {n: 2, id: b}\n"
    as_mapping = "world:\n  things:\n    a: {n: 1}\n    b: {id: b, n: 2}\n"
    first, problems = parse(as_list, "f.yaml").keyed(("world", "things"))
    second, more = parse(as_mapping, "f.yaml").keyed(("world", "things"))
    assert problems == more == []
    assert (
        first.value
        == second.value
        == {"world": {"things": {"a": {"id": "a", "n": 1}, "b": {"id": "b", "n": 2}}}}
    )
    assert first.locate(("world", "things", "a", "n")) == (4, 10)
    assert first.locate(("world", "things", "b"), key=True) == (5, 18)
    assert second.locate(("world", "things", "a"), key=True) == (3, 5)
    assert second.locate(("world", "things", "a", "id")) == (3, 5)


@pytest.mark.parametrize(
    ("items", "line", "said"),
    [
        ("[{id: a}, {id: a}]", 1, "a second id 'a'; the first is in line 1"),
        ("[{n: 1}]", 1, "`id` is missing"),
        ("[{id: 3}]", 1, "`id` is no text"),
        ("[x]", 1, "an item that is no mapping"),
        ("{a: {id: b}}", 1, "`id` says 'b' under the key 'a'"),
        ("{a: 3}", 1, "an item that is no mapping"),
    ],
)
def test_items_without_a_usable_id_are_told(items, line, said):
    _, (problem,) = parse(f"things: {items}\n", "f.yaml").keyed(("things",))
    assert problem.line == line
    assert said in problem.found
