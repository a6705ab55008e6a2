"""Requests and answers as the record keeps them: digests that tell all apart, a text that is kept once."""

import json

import pytest

from worldloom.core.errors import ModelError
from worldloom.models.model import Completion, Message, Request, ToolCall, ToolSpec, Usage
from worldloom.runs.ledger import unchanged
from worldloom.runs.recorder import Prompts, answer_of, completion_of

HELLO = Request((Message.of("system", "Be kind."), Message.of("user", "Hello.")))


@pytest.mark.parametrize(
    "completion",
    [
        Completion("hello"),
        Completion("", finish_reason="length", usage=Usage(3, 0)),
        Completion("x", reasoning="because", usage=Usage(3, 4)),
        Completion(
            "", tool_calls=(ToolCall("1", "go", "{}"), ToolCall("2", "go", "{")), finish_reason="tool_calls"
        ),
        Completion("x", logprobs=[{"token": "x", "logprob": -0.5}]),
        Completion("\ufffd", mended=True),
    ],
)
def test_an_answer_reads_back_as_it_was_given(completion):
    answer = json.loads(json.dumps(answer_of(completion)))
    assert completion_of(answer) == completion


def test_telemetry_is_no_part_of_an_answer():
    answer = answer_of(Completion("x", telemetry={"latency_s": 1.5, "server": "b7"}))
    assert "latency" not in json.dumps(answer)


def test_a_recorded_failure_is_raised_again_with_its_kind_and_without_the_servers_words():
    with pytest.raises(ModelError) as failed:
        completion_of({"error": "overflow"})
    assert failed.value.kind == "overflow"


@pytest.mark.parametrize(
    "other",
    [
        Request((Message.of("user", "Hello."),)),
        Request((Message.of("system", "Be kind."), Message.of("user", "Hello!"))),
        Request((Message.of("system", "Be kind."), Message.of("assistant", "Hello."))),
        Request((Message.of("system", "Be kind.Hello."),)),
        Request((*HELLO.messages, Message.of("user", ""))),
        Request(HELLO.messages, max_tokens=5),
        Request(HELLO.messages, temperature=0.0),
        Request(HELLO.messages, seed=0),
        Request(HELLO.messages, stop=("x",)),
        Request(HELLO.messages, schema={"type": "object"}),
        Request(HELLO.messages, tools=(ToolSpec("go", "", {}),)),
    ],
)
def test_requests_that_differ_have_different_digests(other):
    assert Prompts(unchanged).digest("m", other)[0] != Prompts(unchanged).digest("m", HELLO)[0]


def test_the_model_is_part_of_the_digest_and_what_was_asked_before_is_not():
    fresh = Prompts(unchanged)
    assert fresh.digest("m", HELLO)[0] != fresh.digest("n", HELLO)[0]
    later = Prompts(unchanged)
    later.digest("m", Request(HELLO.messages[:1]))
    assert later.digest("m", HELLO)[0] == fresh.digest("m", HELLO)[0]


def test_a_chat_is_kept_once_and_can_be_put_together_again():
    prompts, kept, messages = Prompts(unchanged), {}, list(HELLO.messages)
    for turn in range(5):
        _, shown = prompts.digest("m", Request(tuple(messages)))
        kept[shown["messages"]] = shown
        assert len(shown["new"]) == 2
        if turn == 3:
            _, same = prompts.digest("m", Request(tuple(messages)))
            assert (same["new"], same["continues"]) == ([], shown["messages"]), "asked again, nothing is new"
        messages += [Message.of("assistant", f"said {turn}"), Message.of("user", f"heard {turn}")]

    def whole(digest):
        row = kept[digest]
        return (whole(row["continues"]) if row["continues"] else []) + row["new"]

    assert whole(shown["messages"]) == [message.to_json() for message in messages[:-2]]
