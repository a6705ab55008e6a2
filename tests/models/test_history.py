"""Histories that strict servers reject are mended; lawful ones are left alone."""

import json

import pytest

from worldloom.core.content import Blob, Image, Text
from worldloom.models.history import NOTHING, sanitise
from worldloom.models.model import Message, ToolCall

SYSTEM, USER, ANSWER = Message.of("system", "s"), Message.of("user", "u"), Message.of("assistant", "a")


def calling(*ids: str, name: str = "f", arguments: str = "{}") -> Message:
    return Message("assistant", (), tuple(ToolCall(call_id, name, arguments) for call_id in ids))


def result(call_id: str, text: str = "r") -> Message:
    return Message("tool", (Text(text),), tool_call_id=call_id)


LAWFUL = [
    (USER,),
    (SYSTEM, USER, ANSWER, USER),
    (SYSTEM, USER, calling("1", "2"), result("2"), result("1"), ANSWER, USER),
    (SYSTEM, USER, ANSWER),
    (Message("user", (Text("look"), Image(Blob(b"x", "image/png")))), ANSWER),
]


@pytest.mark.parametrize("history", LAWFUL)
def test_a_lawful_history_is_passed_on_as_it_is(history: tuple[Message, ...]) -> None:
    assert sanitise(history) == history


@pytest.mark.parametrize("history", LAWFUL)
def test_mending_twice_changes_nothing_more(history: tuple[Message, ...]) -> None:
    broken = (*history, result("lost"), calling("9"), USER, Message.of("system", "late"))
    assert sanitise(sanitise(broken)) == sanitise(broken)


def test_a_result_without_a_call_becomes_a_user_message() -> None:
    assert sanitise((USER, ANSWER, result("1", "late"))) == (USER, ANSWER, Message.of("user", "late"))


def test_a_call_without_a_result_gets_one_before_the_next_message() -> None:
    shown = sanitise((USER, calling("1", "2"), result("1"), USER))
    assert [message.role for message in shown] == ["user", "assistant", "tool", "tool", "user"]
    assert shown[3] == result("2", "(no result)")


def test_a_call_at_the_end_gets_a_result() -> None:
    assert sanitise((USER, calling("1")))[-1] == result("1", "(no result)")


def test_a_second_result_for_one_call_becomes_a_user_message() -> None:
    roles = [message.role for message in sanitise((USER, calling("1"), result("1"), result("1")))]
    assert roles == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize("arguments", ["", "null", "{", "[1]", '{"a": 1} x', "a=1", "[" * 100_000])
def test_past_arguments_that_are_no_object_are_kept_as_a_value_in_one(arguments: str) -> None:
    shown = sanitise((USER, calling("1", arguments=arguments)))[1].tool_calls[0].arguments
    assert json.loads(shown) == {"invalid_arguments": arguments}


def test_names_of_past_calls_are_made_lawful() -> None:
    assert (
        sanitise((USER, calling("1", name="phone.call now" + "x" * 99)))[1].tool_calls[0].name[:15]
        == "phone_call_nowx"
    )
    assert sanitise((USER, calling("1", name="")))[1].tool_calls[0].name == "unknown"


def test_empty_messages_are_dropped_or_say_that_they_are_empty() -> None:
    empty = [Message.of(role, " \n") for role in ("system", "user", "assistant")]
    assert sanitise((*empty, USER)) == (Message("user", (Text(NOTHING), Text("u"))),)
    assert sanitise((USER, calling("1"), result("1", "")))[-1] == result("1", NOTHING)


def test_messages_of_one_role_in_a_row_become_one() -> None:
    assert sanitise((SYSTEM, SYSTEM, USER, USER, ANSWER, ANSWER)) == (
        Message("system", (Text("s"), Text("s"))),
        Message("user", (Text("u"), Text("u"))),
        Message("assistant", (Text("a"), Text("a"))),
    )


def test_an_assistant_who_speaks_first_is_preceded_by_a_user() -> None:
    assert sanitise((SYSTEM, ANSWER, USER)) == (SYSTEM, Message.of("user", NOTHING), ANSWER, USER)


def test_a_system_message_in_the_middle_becomes_a_user_message() -> None:
    assert sanitise((USER, ANSWER, SYSTEM)) == (USER, ANSWER, Message.of("user", "s"))


def test_lone_surrogates_are_mended_in_texts_and_arguments() -> None:
    shown = sanitise((Message.of("user", "a\ud800"), calling("1", arguments='{"a": "\\udc00"}')))
    assert shown[0] == Message.of("user", "a\ufffd")
    assert json.loads(shown[1].tool_calls[0].arguments) == {"a": "\ufffd"}
