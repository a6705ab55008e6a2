"""Decisions are read strictly: one JSON object, or one sentence that says what is wrong."""

import math
from typing import Any

import pytest

from worldloom.core.errors import ReplyError
from worldloom.models.model import Completion, FinishReason, ToolCall
from worldloom.models.reply import DEEPEST, LONGEST, parse_arguments, parse_object, parse_text

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ('{"a": 1}', {"a": 1}),
    ('\n  {"a": [1, 2.5, null, true, "x"]}\n', {"a": [1, 2.5, None, True, "x"]}),
    ('```json\n{"a": 1}\n```', {"a": 1}),
    ('```\n{\n  "a": 1\n}\n```\n', {"a": 1}),
    ('```JSON\r\n{"a": 1}\r\n```', {"a": 1}),
    ('{"a": "```json\\n{}\\n```"}', {"a": "```json\n{}\n```"}),
    ('{"a": "\\ud83d\\ude00 \\u200b</script>\\u001b[31m"}', {"a": "😀 \u200b</script>\x1b[31m"}),
    ('{"a": -0.0, "b": -0}', {"a": 0.0, "b": 0}),
    ("{}", {}),
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED)
def test_one_object_is_read_bare_or_in_the_only_fence(text: str, expected: dict[str, Any]) -> None:
    assert parse_text(text) == expected


def test_minus_zero_becomes_zero() -> None:
    assert math.copysign(1.0, parse_text('{"a": -0.0}')["a"]) == 1.0  # type: ignore[arg-type]


REFUSED: list[tuple[str, str]] = [
    ("", "is empty"),
    ("   \n", "is empty"),
    ("null", "is null"),
    ("[1]", "is a list"),
    ('[{"a": 1}]', "is a list"),
    ('"text"', "is a text"),
    ("3", "is a number"),
    ("true", "is a boolean"),
    ("I would water the plants.", "holds no JSON object"),
    ('{"a": 1} Done.', "has text after the JSON"),
    ('{"a": 1}{"a": 2}', "more than one JSON value"),
    ('{"a": 1}\n\n{"a": 2}', "more than one JSON value"),
    ('{"a": 1}, [2]', "has text after the JSON"),
    ('Sure! {"a": 1}', "text before the JSON"),
    ('Here it is:\n```json\n{"a": 1}\n```', "text before the JSON"),
    ('```json\n{"a": 1}\n```\nDone.', "text before the JSON"),
    ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', "text after the JSON"),
    ('```json\n{"a": 1}', "text before the JSON"),
    ('\u200b{"a": 1}', "text before the JSON"),
    ('\ufeff{"a": 1}', "text before the JSON"),
    ('{"a": 1', "no valid JSON"),
    ('{"a": "cut', "no valid JSON"),
    ("{'a': 1}", "no valid JSON"),
    ('{"a": 1,}', "no valid JSON"),
    ('{"a": 1 // why\n}', "no valid JSON"),
    ('{a: 1}', "no valid JSON"),
    ('{"a": 1, "a": 2}', "has the key 'a' twice"),
    ('{"b": {"a": 1, "a": 1}}', "has the key 'a' twice"),
    ('{"a": NaN}', "NaN is no JSON number"),
    ('{"a": -Infinity}', "-Infinity is no JSON number"),
    ('{"a": 1e999}', "too large"),
    ('{"a": ' + "9" * 30 + "}", "too many digits"),
    ('{"a": ' + "9" * 9000 + "}", "too many digits"),
    ('{"a": ' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1), "nested too deeply"),
    ('{"a":' + "[" * 90_000, "nested too deeply"),
    ('{"a": "' + "x" * LONGEST + '"}', "has 100,009 characters"),
    ('{"a": "\\ud83d"}', "lone surrogate"),
    ('{"\\udc00": 1}', "lone surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_everything_else_is_refused_with_one_sentence(text: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason) as caught:
        parse_text(text)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 200
    said.encode("utf-8")


@pytest.mark.parametrize("text", ["", "null", "{} {}", '{"a": 1} x', "[]", "a=1"])
def test_arguments_of_a_tool_call_are_read_as_strictly(text: str) -> None:
    with pytest.raises(ReplyError, match="tool arguments"):
        parse_arguments(text)


@pytest.mark.parametrize(("finish", "reason"), [("length", "cut off"), ("refusal", "declined")])
def test_a_cut_or_refused_answer_is_never_read_even_if_it_parses(finish: FinishReason, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason):
        parse_object(Completion('{"a": 1}', finish_reason=finish))
    with pytest.raises(ReplyError, match=reason):
        parse_object(Completion("", tool_calls=(ToolCall("1", "f", "{}"),), finish_reason=finish))


def test_one_tool_call_counts_and_its_preamble_does_not() -> None:
    completion = Completion(
        "I will act.", tool_calls=(ToolCall("1", "decide", '{"a": 1}'),), finish_reason="tool_calls"
    )
    assert parse_object(completion) == parse_object(completion, tool="decide") == {"a": 1}


def test_two_tool_calls_and_an_unknown_tool_are_refused() -> None:
    call = ToolCall("1", "decied", "{}")
    with pytest.raises(ReplyError, match="made 2 tool calls"):
        parse_object(Completion("", tool_calls=(call, call)))
    with pytest.raises(ReplyError, match="no tool 'decied'; the only one is 'decide'; did you mean it"):
        parse_object(Completion("", tool_calls=(call,)), tool="decide")
