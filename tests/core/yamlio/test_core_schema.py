"""Plain scalars mean what YAML 1.2 says, and text stays text."""

import pytest

from worldloom.core.errors import DocumentError
from worldloom.core.yamlio import parse


def value(text: str):
    return parse(f"key: {text}\n", "f.yaml").value["key"]


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "No",
        "yes",
        "on",
        "off",
        "y",
        "n",
        "12:30",
        "1:20:30",
        "2026-07-03",
        "2026-07-03T10:00:00Z",
        "1_000",
        "0b101",
        "1.2.3",
        "v1.10",
        "0o8",
        "0xZ",
        "+",
        "-x",
        ".",
        "..",
        "e5",
        "1e",
        "infinity",
        "nan",
        "NaN",
        "tRUE",
        "=",
        "a#b",
    ],
)
def test_what_yaml_1_1_would_bend_stays_text(text):
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("9223372036854775807", 2**63 - 1),
        ("1e-5", 1e-05),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.25", -1.25),
        ("1.10", 1.1),
        ("12e03", 12000.0),
    ],
)
def test_core_schema_values(text, expected):
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("text", ["-0.0", "-0e5", "-.0"])
def test_negative_zero_becomes_zero(text):
    assert str(value(text)) == "0.0"


@pytest.mark.parametrize("text", ["'true'", '"12"', "'null'", "'~'", "'1e-5'", "'<<'"])
def test_quoted_scalars_are_text(text):
    assert value(text) == text[1:-1]


def test_block_scalars_are_text():
    assert value("|-\n  12") == "12"
    assert value(">-\n  one\n  two") == "one two"


@pytest.mark.parametrize(
    "text",
    [
        ".nan",
        ".NaN",
        ".inf",
        "-.inf",
        "+.INF",
        "1e999",
        "-1e999",
        "9223372036854775808",
        "-9223372036854775809",
        "0xFFFFFFFFFFFFFFFFFF",
        "9" * 5000,
    ],
)
def test_numbers_that_json_cannot_hold_are_refused(text):
    with pytest.raises(DocumentError) as caught:
        value(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (1, 6)
    assert "64 bits" in problem.allowed


def test_keys_that_look_like_yaml_1_1_booleans_are_text():
    assert parse("on: 1\nno: 2\n12:30: 3\n", "f.yaml").value == {"on": 1, "no": 2, "12:30": 3}
