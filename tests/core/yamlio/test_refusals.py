"""What is refused is refused with one problem: its place, what is allowed, and the nearest thing meant."""

import pytest

from worldloom.core.errors import DocumentError
from worldloom.core.yamlio import MAX_BYTES, parse, reader
from worldloom.core.yamlio.reader import MAX_ALIAS_WEIGHT, MAX_DEPTH, MAX_PROBLEMS


def refused(text):
    with pytest.raises(DocumentError) as caught:
        parse(text, "f.yaml")
    return caught.value.problems


CASES = [
    # text, line, column, part of what is said
    ("a: 1\nb: 2\na: 3\n", 3, 1, "the key 'a' stands here a second time; first in line 1"),
    ("x: {a: 1, a: 2}\n", 1, 11, "second time"),
    ("caf\u00e9: 1\ncafe\u0301: 2\n", 2, 1, "second time"),
    ("a: &x {p: 1}\nb:\n  <<: *x\n", 3, 3, "merge key"),
    ("a: &x [1, *x]\n", 1, 11, "inside what it names"),
    ("a: *nothing\n", 1, 4, "no anchor &nothing"),
    ("*x : 1\n", 1, 1, "as a key"),
    ("a:\n\tb: 1\n", 2, 1, "a tab"),
    ("a:\tb\n", 1, 3, "a tab"),
    ("a: b\tc\n", 1, 5, "a tab"),
    ("a: [\n\t1]\n", 2, 1, "a tab"),
    ("a: |\n\tx\n", 2, 1, "a tab"),
    ("a: 1\n---\nb: 2\n", 2, 1, "second document"),
    ("a: 1\n... x\n", 2, 5, "after the end"),
    ("- a\n- b\n", 1, 1, "a list at the top"),
    ("just text\n", 1, 1, "text at the top"),
    ("12\n", 1, 1, "a number at the top"),
    ("1: a\n", 1, 1, "the key 1 is a number"),
    ("a: {true: b}\n", 1, 5, "the key true is a truth value"),
    ("~: a\n", 1, 1, "the key ~ is null"),
    ("? [a, b]\n: c\n", 1, 3, "a list or mapping as a key"),
    ("{a: 1}: b\n", 1, 1, "a list or mapping as a key"),
    ("'': a\n", 1, 1, "without a visible character"),
    ("' a': b\n", 1, 1, "spaces around"),
    ("a: !!python/object/apply:os.system [x]\n", 1, 4, "a tag"),
    ("a: !mine x\n", 1, 4, "a tag"),
    ("a: !!str 5\n", 1, 4, "a tag"),
    ("a: ! b\n", 1, 4, "a tag"),
    ("a: !unknown!x y\n", 1, 4, "a tag"),
    ("%YAML 1.1\n---\na: 1\n", 1, 1, "directive"),
    ("%TAG ! tag:x,2026:\n---\na: 1\n", 1, 1, "directive"),
    ("a\u200bb: 1\n", 1, 1, "U+200B (zero width space)"),
    ("a\u00a0b: 1\n", 1, 1, "U+00A0 (no-break space)"),
    ("\u202eabc: 1\n", 1, 1, "U+202E (right-to-left override)"),
    ("a\u3164: 1\n", 1, 1, "U+3164"),
    ("a\ufe0f: 1\n", 1, 1, "U+FE0F"),
    ('"a\\tb": 1\n', 1, 1, "U+0009"),
    ('"a\\ud800": 1\n', 1, 5, "names no character"),
    ('a: "\\ud83d\\ude00"\n', 1, 7, "surrogate"),
    ('a: "\\0"\n', 1, 4, "U+0000"),
    ('a: "\\e[31m"\n', 1, 4, "U+001B"),
    ("a: \x00\n", 1, 4, "U+0000"),
    ("a: \x1b[31m\n", 1, 4, "U+001B"),
    ("a: \x85b\n", 1, 4, "U+0085"),
    ("a: b\u2028c\n", 1, 5, "U+2028 (line separator)"),
    ("a: b\n\ufeffc: d\n", 2, 1, "U+FEFF"),
    ("a: \ud800\n", 1, 4, "half of a surrogate pair"),
    ("a: {b:1}\n", 1, 5, "'b:1' is a key without a colon"),
    ("a: {b}\n", 1, 5, "'b' is a key without a colon"),
    ("? a\n", 1, 3, "'a' is a key without a colon"),
    ("a: 1\nb\n", 2, 1, "a key without a colon"),
    ("a: b: c\n", 1, 5, "a colon where no key may end"),
    ("a: 1\n b: 2\n", 2, 3, "a colon where no key may end"),
    ("a: @b\n", 1, 4, "'@' cannot begin a value"),
    ("a: `b`\n", 1, 4, "'`' cannot begin a value"),
    ("a: 'x\nb: 1\n", 1, 4, "the quote in line 1 is never closed"),
    ('a: "x\n---\ny"\n', 1, 4, "the quote in line 1 is never closed"),
    ('a: "\\q"\n', 1, 5, "unknown escape"),
    ('a: "\\x1"\n', 1, 7, "too few hexadecimal digits"),
    ("a: [1, 2\nb: 3\n", 2, 2, "the list that begins with [ in line 1"),
    ("a: {b: 1\nc: 2\n", 2, 2, "the mapping that begins with { in line 1"),
    ("a: 'b'c\n", 1, 7, "does not belong to the mapping that begins in line 1"),
    ("- a\nb: 1\n", 2, 1, "does not belong to the list that begins in line 1"),
    ("a: - b\n", 1, 4, "a list item where none may stand"),
    ("a: ,\n", 1, 4, "no value can begin here"),
    ("a: *\n", 1, 5, "a * without the name"),
    ("a: &\n", 1, 5, "a & without a name"),
    ("a: |9x\n  b\n", 1, 6, "header of | or >"),
]


@pytest.mark.parametrize(("text", "line", "column", "said"), CASES, ids=[repr(case[0]) for case in CASES])
def test_each_fault_is_one_problem_at_its_place(text, line, column, said):
    (problem,) = refused(text)
    assert said in problem.found
    assert (problem.line, problem.column) == (line, column)
    assert problem.allowed
    assert (
        problem.source == text.encode("utf-8", "replace").decode().splitlines()[line - 1]
        or not text.isprintable()
    )


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "--- # nothing\n...\n", "\ufeff"]
)
def test_an_empty_file_is_refused(text):
    (problem,) = refused(text)
    assert problem.found == "the file is empty"


@pytest.mark.parametrize(
    ("data", "line", "column", "said"),
    [
        (b"a: caf\xe9\n", 1, 7, "0xE9 is no UTF-8"),
        (b"a: 1\r\nb: \xc3\xa9\xff\r\n", 2, 5, "0xFF is no UTF-8"),
        (b"\xef\xbb\xbfa: \xff\n", 1, 4, "0xFF is no UTF-8"),
        (b"a: \xed\xa0\x80\n", 1, 4, "0xED is no UTF-8"),
        ("a: 1\n".encode("utf-16"), 0, 0, "UTF-16"),
        ("a: 1\n".encode("utf-16-le"), 0, 0, "UTF-16"),
        ("a: 1\n".encode("utf-32"), 0, 0, "UTF-32"),
    ],
)
def test_other_encodings_are_refused(data, line, column, said):
    (problem,) = refused(data)
    assert said in problem.found
    assert (problem.line, problem.column) == (line, column)


def test_faults_that_leave_the_structure_clear_are_all_told_in_file_order():
    problems = refused("a: .nan\nb: !x y\nb: 1\n7: {c: 1, c: 2}\n")
    assert [(problem.line, problem.column) for problem in problems] == [
        (1, 4),
        (2, 4),
        (3, 1),
        (4, 1),
        (4, 11),
    ]


def test_a_file_of_faults_ends_the_reading():
    assert len(refused("a: .nan\n" + "".join(f"k{i}: .nan\n" for i in range(1000)))) == MAX_PROBLEMS


def test_the_nearest_anchor_is_named():
    (problem,) = refused("a: &kitchen 1\nb: *kitchn\n")
    assert problem.nearest == "kitchen"


@pytest.mark.parametrize("opener", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_and_never_exhausts_the_stack(opener):
    (problem,) = refused("a:\n  " + opener * 100_000)
    assert problem.found == "too many levels inside one another"


def test_nesting_up_to_the_limit_is_read():
    inside = MAX_DEPTH - 1
    parse("a: " + "[" * inside + "]" * inside, "f.yaml")
    refused("a: " + "[" * (inside + 1) + "]" * (inside + 1))


def test_an_alias_bomb_is_refused():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    (problem,) = refused(bomb)
    assert "too large" in problem.found


def test_aliases_cannot_repeat_a_long_text_without_bound():
    (problem,) = refused(f"a: &a {'x' * (MAX_ALIAS_WEIGHT // 10)}\nb: [{', '.join(['*a'] * 20)}]\n")
    assert "too large" in problem.found


def test_aliases_cannot_nest_deeper_than_lists():
    half = MAX_DEPTH // 2
    text = "a0: &a0 []\n" + "".join(f"a{i}: &a{i} {'[' * half}*a{i - 1}{']' * half}\n" for i in range(1, 10))
    (problem,) = refused(text)
    assert "too large" in problem.found


def test_the_number_of_values_is_bounded(monkeypatch):
    monkeypatch.setattr(reader, "MAX_VALUES", 100)
    (problem,) = refused(f"a: [{'1, ' * 200}]\n")
    assert problem.found == "too many values"


def test_a_plain_alias_is_a_copy():
    document = parse("a: &x {p: [1]}\nb: *x\nc: *x\n", "f.yaml")
    assert document.value == {"a": {"p": [1]}, "b": {"p": [1]}, "c": {"p": [1]}}
    document.value["b"]["p"].append(2)
    assert document.value["a"] == document.value["c"] == {"p": [1]}


def test_a_too_large_text_is_refused():
    (problem,) = refused("a: " + "x" * MAX_BYTES)
    assert "16 MiB" in problem.allowed


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  tab\there\n",
        'a: "tab\there"\n',
        "a: 'tab\there'\n",
        "a: 1 # tab\there\n",
        "# tab\there\na: 1\n",
    ],
)
def test_tabs_inside_text_and_comments_are_left_alone(text):
    parse(text, "f.yaml")


def test_values_may_hold_what_keys_may_not():
    text = "a: '\u200d\u202b<<'\nb: \"\\t\\n\\r\"\nc: \U0001f469\u200d\U0001f33e\n"
    assert parse(text, "f.yaml").value == {
        "a": "\u200d\u202b<<",
        "b": "\t\n\r",
        "c": "\U0001f469\u200d\U0001f33e",
    }


def test_a_byte_order_mark_and_crlf_change_nothing():
    text = "a: 1\nb: |\n  x\n  y\nc: 'p\n  q'\n"
    expected = parse(text, "f.yaml").value
    assert parse(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), "f.yaml").value == expected
    assert parse(text.replace("\n", "\r"), "f.yaml").value == expected


def test_columns_are_counted_in_characters():
    (problem,) = refused("\U0001f331\u65e5\u672c: {x: 1, x: 2}\n")
    assert problem.column == 13
