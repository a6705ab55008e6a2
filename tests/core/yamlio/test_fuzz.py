"""Whatever the bytes, reading ends in a document or in problems with places; nothing else is ever raised."""

import math

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.canonical import canonical
from worldloom.core.errors import DocumentError
from worldloom.core.yamlio import parse, reader

TOKENS = st.sampled_from(
    [
        "&a ",
        "*a",
        "- ",
        "? ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "|",
        ">",
        "'",
        '"',
        "\t",
        "\n",
        "\r\n",
        "!!x ",
        "%YAML 1.2\n",
        "---\n",
        "...\n",
        "<<: ",
        "\\u",
        "\\ud800",
        "\ufeff",
        "\x00",
        "0x",
        "1e",
        ".nan",
        "#",
        "@",
        ",",
        "  ",
        "\u200b",
        "a",
        "key",
        "9" * 30,
        "\u2028",
        "é",
        "😀",
        "k" * 1100,
        "a: 1\n",
        "b:\n  - x\n",
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdef", min_size=1), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def read_safely(data):
    try:
        document = parse(data, "f.yaml")
    except DocumentError as error:
        assert error.problems
        str(error).encode("utf-8")
        for problem in error.problems:
            assert problem.found and problem.allowed
            assert problem.line == 0 or 1 <= problem.column <= len(problem.source) + 1
        return None
    canonical(document.value)  # what was read can be recorded
    return document


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_arbitrary_bytes_give_a_document_or_problems(data):
    read_safely(data)


@given(st.text(max_size=100))
@settings(max_examples=150, deadline=None)
def test_arbitrary_text_gives_a_document_or_problems(text):
    read_safely(text)


@given(st.lists(TOKENS, max_size=20).map("".join))
@settings(max_examples=250, deadline=None)
def test_what_looks_like_yaml_gives_a_document_or_problems(text):
    read_safely(text)


@given(st.dictionaries(st.text("abcdef", min_size=1), json_values, max_size=4))
@settings(max_examples=60, deadline=None)
def test_json_written_by_others_is_read_as_it_is(value):
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=None)
    document = read_safely(text)
    assert document is not None, text
    assert matches(document.value, value)


def matches(found, expected):
    """Equal up to -0.0; PyYAML writes a few texts unquoted that are numbers in YAML 1.2 and none in 1.1."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(matches(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(matches, found, expected))
    if isinstance(expected, str) and not isinstance(found, str):
        return math.isclose(
            found, float(int(expected, 0) if expected[:2] in ("0o", "0x") else float(expected))
        )
    return found == expected


@given(st.lists(TOKENS, max_size=12).map("".join))
@settings(max_examples=150, deadline=None)
def test_both_parsers_of_the_library_read_the_same(text):
    found = []
    chosen = reader._Loader
    try:
        for loader in (yaml.SafeLoader, chosen):
            reader._Loader = loader
            document = read_safely(text)
            found.append(document and document.value)
    finally:
        reader._Loader = chosen
    assert found[0] == found[1]
