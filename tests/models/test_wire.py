"""Answers are read strictly: what is no completion is `bad_reply`, and what is one can be recorded."""

import json
from typing import Any

import pytest

from worldloom.core.canonical import Json, canonical
from worldloom.core.content import Blob, Image, Text
from worldloom.core.errors import ModelError
from worldloom.models.model import Completion, Message, Request, ToolCall, ToolSpec, Usage
from worldloom.models.wire import completion_of, decode, encode, response_format


def reply(content: Any = "hi", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": content, **message},
    }
    return {
        "id": "1",
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }


def read(body: object) -> Completion:
    return decode(body if isinstance(body, bytes) else json.dumps(body).encode())


def recordable(completion: Completion) -> bytes:
    calls: list[Json] = [call.to_json() for call in completion.tool_calls]
    return canonical(
        [completion.text, completion.reasoning, calls, completion.logprobs, dict(completion.telemetry)]
    )


def call(arguments: Any = "{}", name: Any = "f", **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def with_choice(**fields: Any) -> dict[str, Any]:
    body = reply()
    body["choices"][0].update(fields)
    return body


HOSTILE: dict[str, object] = {
    "nothing": b"",
    "html": b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
    "text": b"upstream connect error",
    "random bytes": bytes(range(256)) * 4,
    "a stream": b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n',
    "cut off": json.dumps(reply()).encode()[:-20],
    "two bodies": json.dumps(reply()).encode() * 2,
    "too deep": b"[" * 100_000,
    "number with too many digits": b'{"choices": ' + b"9" * 9000 + b"}",
    "null": None,
    "list": [reply()],
    "number": 5,
    "empty object": {},
    "no choices": {"choices": []},
    "null choices": {"choices": None},
    "choices as object": {"choices": {"0": {}}},
    "choice as text": {"choices": ["hi"]},
    "null choice": {"choices": [None]},
    "no message": {"choices": [{"finish_reason": "stop"}]},
    "null message": {"choices": [{"message": None, "finish_reason": "stop"}]},
    "message as text": {"choices": [{"message": "hi", "finish_reason": "stop"}]},
    "old completion": {"choices": [{"text": "hi", "finish_reason": "stop"}]},
    "null content": reply(None),
    "content as number": reply(5),
    "content as object": reply({"text": "hi"}),
    "content of unknown parts": reply([{"type": "audio", "audio": "…"}]),
    "content of texts": reply(["hi"]),
    "aborted": reply("half an ans", "abort"),
    "failed": reply("half an ans", "error"),
    "finish reason as number": reply("hi", 7),
    "finish reason as object": reply("hi", {"reason": "stop"}),
    "tool calls as text": reply(None, "tool_calls", tool_calls="f()"),
    "tool call as text": reply(None, "tool_calls", tool_calls=["f()"]),
    "tool call without function": reply(None, "tool_calls", tool_calls=[{"id": "c1"}]),
    "tool call with null name": reply(None, "tool_calls", tool_calls=[call(name=None)]),
    "error": {"error": {"message": "boom", "type": "server_error"}},
    "error as text": {"error": "boom"},
    "error beside null choices": {"error": {"message": "boom"}, "choices": None},
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_completion_is_a_bad_reply(body: object) -> None:
    with pytest.raises(ModelError) as caught:
        read(body)
    assert caught.value.kind == "bad_reply"
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "Rate limited"}, "rate_limited"),
        ({"code": 502, "message": "Provider returned error"}, "overloaded"),
        (
            {
                "message": "This model's maximum context length is 10 tokens",
                "code": "context_length_exceeded",
            },
            "overflow",
        ),
        ({"message": "You exceeded your current quota", "code": "insufficient_quota"}, "quota"),
    ],
)
def test_an_error_under_status_200_keeps_its_kind_if_it_says_so(error: dict[str, Any], kind: str) -> None:
    for body in ({"error": error}, {"choices": [{"error": error, "finish_reason": None}]}):
        with pytest.raises(ModelError) as caught:
            read(body)
        assert caught.value.kind == kind


def test_a_plain_answer_is_read_with_its_usage_and_telemetry() -> None:
    body = reply(" Hi \u200b</script>\x1b[31m\n")
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 3}
    body["system_fingerprint"] = "fp"
    assert read(body) == Completion(
        text=" Hi \u200b</script>\x1b[31m\n",
        usage=Usage(7, 2),
        telemetry={"server_id": "1", "served_model": "m", "system_fingerprint": "fp", "cached_tokens": 3},
    )


def test_an_empty_answer_is_an_answer() -> None:
    assert read(reply("")).text == ""


def test_an_answer_cut_off_while_thinking_has_no_text() -> None:
    assert read(reply(None, "length")) == read(reply("", "length"))
    thinking = read(reply("<think>so", "length"))
    assert (thinking.text, thinking.reasoning, thinking.finish_reason) == ("", "so", "length")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_from_the_servers_field_and_from_tags(field: str) -> None:
    completion = read(reply("<think>b</think>c", **{field: "a"}))
    assert (completion.text, completion.reasoning) == ("c", "a\nb")
    assert read(reply(None, **{field: "a"})).text == ""


def test_content_in_parts_is_joined_and_thinking_set_apart() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]},
        {"type": "text", "text": "b"},
        {"text": "c"},
    ]
    assert (read(reply(parts)).text, read(reply(parts)).reasoning) == ("bc", "a")


@pytest.mark.parametrize(
    ("finish", "calls", "expected"),
    [
        ("stop", [], "stop"), ("length", [], "length"), ("STOP", [], "stop"), (None, [], "stop"),
        ("end_turn", [], "stop"), ("content_filter", [], "refusal"), ("stop", [call()], "tool_calls"),
        ("tool_calls", [call()], "tool_calls"),
        ("length", [call('{"a": ')], "length"), ("tool_calls", [], "stop"), (None, [call()], "tool_calls"),
    ],
)  # fmt: skip
def test_finish_reasons_are_brought_to_four(finish: str | None, calls: list[Any], expected: str) -> None:
    assert read(reply("x", finish, tool_calls=calls)).finish_reason == expected


def test_a_refusal_is_told_from_an_answer() -> None:
    completion = read(reply(None, refusal="I cannot help with that."))
    assert (completion.text, completion.finish_reason) == ("I cannot help with that.", "refusal")


def test_tool_calls_keep_the_raw_text_of_their_arguments() -> None:
    calls = [call('{"a": 1} x'), call({"a": 1}, id="c2"), call(None, id=None), call("", id="c1")]
    assert read(reply(None, "tool_calls", tool_calls=calls)).tool_calls == (
        ToolCall("c1", "f", '{"a": 1} x'),
        ToolCall("c2", "f", '{"a": 1}'),
        ToolCall("call_2", "f", ""),
        ToolCall("call_3", "f", ""),
    )


@pytest.mark.parametrize("usage", [None, 5, [], {}, {"prompt_tokens": None, "completion_tokens": "9"},
                                   {"prompt_tokens": -1, "completion_tokens": True},
                                   {"prompt_tokens": 1.5, "completion_tokens": 10**30}])  # fmt: skip
def test_token_counts_that_are_none_are_unknown(usage: object) -> None:
    assert read({**reply(), "usage": usage}).usage == Usage(None, None)


def test_lone_surrogates_are_mended_and_the_answer_is_marked() -> None:
    token = {"token": "\ud83d", "logprob": -0.0, "top_logprobs": [{"token": "x", "logprob": float("-inf")}]}
    body = with_choice(
        logprobs={"content": [token]},
        message={
            "role": "assistant",
            "content": "a\ud800\ud83d\ude00",
            "tool_calls": [call('{"\udc00": 1}')],
        },
    )
    completion = read(body)
    assert (completion.text, completion.mended) == ("a\ufffd😀", True)
    assert completion.tool_calls[0].arguments == '{"\ufffd": 1}'
    assert b'"logprob":0.0' in recordable(completion)
    assert not read(reply("a😀")).mended


def test_bytes_that_are_no_utf8_are_mended_and_the_answer_is_marked() -> None:
    completion = read(json.dumps(reply("a?b")).encode().replace(b"a?b", b"a\xed\xa0\x80b"))
    assert (completion.text, completion.mended) == ("a\ufffd\ufffd\ufffdb", True)


@pytest.mark.parametrize("value", [b"-0.0", b"NaN", b"Infinity", b"1e999", b"-1.5"])
def test_logprobs_can_be_recorded_whatever_numbers_come(value: bytes) -> None:
    body = json.dumps(with_choice(logprobs={"content": [{"token": "a", "logprob": 1}]})).encode()
    recordable(decode(body.replace(b'"logprob": 1', b'"logprob": ' + value)))


def test_a_parsed_reply_is_read_like_its_bytes() -> None:
    assert completion_of(reply("a\ud800")) == read(reply("a\ud800"))


def test_a_request_is_written_with_what_it_says_and_no_more() -> None:
    assert encode(Request((Message.of("user", "hi"),))) == {"messages": [{"role": "user", "content": "hi"}]}
    tool = ToolSpec("f", "does f", {"type": "object"})
    full = Request((Message.of("user", "hi"),), None, (tool,), 9, 0.0, 0.5, 0, ("x",), 0)
    assert encode(full) == {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "description": "does f", "parameters": {"type": "object"}},
            }
        ],
        "max_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 0,
        "stop": ["x"],
        "logprobs": True,
        "top_logprobs": 0,
    }


def test_messages_are_written_with_calls_results_and_images() -> None:
    messages = (
        Message("user", (Text("look"), Image(Blob(b"\x00", "image/png")))),
        Message("assistant", (), (ToolCall("c1", "f", "{}"),)),
        Message("tool", (Text("a"), Text("b")), tool_call_id="c1"),
    )
    assert encode(Request(messages))["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "a\nb", "tool_call_id": "c1"},
    ]


CLOSED: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({"type": "object"}, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"a": {"type": "object"}}}, False),
        ({**CLOSED, "properties": {"a": {"anyOf": [CLOSED, {"type": "null"}]}}}, True),
    ],
)
def test_strict_is_asked_where_openais_rules_allow_it(schema: dict[str, Json], strict: bool) -> None:
    asked: Any = response_format(schema)["response_format"]
    assert asked == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": strict},
    }


def test_a_format_of_an_authors_own_is_not_sent_and_nothing_else_is_touched() -> None:
    own = {"type": "string", "format": "iban"}
    kept = {"type": "string", "format": "date", "enum": [{"format": "iban"}], "default": {"format": "iban"}}
    schema: dict[str, Json] = {"properties": {"a": own, "format": kept, "b": {"anyOf": [own]}}}  # type: ignore[dict-item]
    sent: Any = response_format(schema)["response_format"]
    assert sent["json_schema"]["schema"] == {
        "properties": {"a": {"type": "string"}, "format": kept, "b": {"anyOf": [{"type": "string"}]}}
    }
    assert schema["properties"]["a"] == own  # type: ignore[index,call-overload]


def test_an_answer_with_endless_tool_calls_is_no_answer() -> None:
    with pytest.raises(ModelError, match="100000 tool calls"):
        read(reply(None, "tool_calls", tool_calls=[call() for _ in range(100_000)]))


@pytest.mark.parametrize("where", ["content", "reasoning_content", "refusal"])
def test_an_answer_longer_than_any_model_writes_is_no_answer(where: str) -> None:
    with pytest.raises(ModelError, match="more than 2,000,000 characters") as caught:
        read(reply(**{"content": "hi", where: "x" * 2_000_001}))
    assert caught.value.kind == "bad_reply"
