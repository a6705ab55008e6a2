"""A server that sends every kind of wrong thing: each ends in the right kind of error or in a sound completion.

Never a crash, never a hang, never a key in what is said, and never a request that goes elsewhere.
"""

import asyncio
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import ModelError, ReplyError
from worldloom.models.gates import Gate
from worldloom.models.model import Completion, Message, Model, Request
from worldloom.models.reply import parse_object
from worldloom.models.retry import Retry
from worldloom.models.spec import Endpoint, Settings

KEY = "wl-9f8e7d6c5b4a3210"
HI = Request((Message.of("user", "hi"),), max_tokens=5)
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def chat(content: Any = "hi", **changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **changes.pop("message", {})}
    choice = {"index": 0, "finish_reason": "stop", "message": message, **changes.pop("choice", {})}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    return {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
            "usage": usage, **changes}  # fmt: skip


def raw(body: bytes | str, head: bytes = OK, **more: Any) -> dict[str, Any]:
    """A response of these very bytes, its length declared."""
    data = body.encode() if isinstance(body, str) else body
    return {"raw": head + b"content-length: %d\r\n\r\n" % len(data) + data, **more}


def status(number: int, body: Any = None, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    said = {"error": {"message": f"no, key {KEY}"}} if body is None else body
    return {"body": said, "status": number, "headers": named}


def calls(arguments: Any, name: Any = "f") -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"body": chat(None, message={"tool_calls": [call]}, choice={"finish_reason": "tool_calls"})}


BODY = json.dumps(chat())
WHOLE = BODY.encode()

# name -> what is sent (fields of Reply), and the kinds of error that are right; "" for a completion
PROTOCOL: dict[str, tuple[dict[str, Any], str]] = {
    "Retry-After of days": (status(429, retry_after="259200"), "rate_limited"),
    "Retry-After for ever": (status(429, retry_after="inf"), "rate_limited"),
    "Retry-After of 400 digits": (status(503, retry_after="9" * 400), "overloaded"),
    "Retry-After in the past": (status(429, retry_after="Thu, 01 Jan 1970 00:00:00 GMT"), "rate_limited"),
    "Retry-After in words": (status(429, retry_after="soon"), "rate_limited"),
    "Retry-After below zero": (status(503, retry_after="-5"), "overloaded"),
    "429 for a rate": (status(429, {"error": {"message": "Rate limit reached, per min"}}), "rate_limited"),
    "429 for a quota": (status(429, {"error": {"code": "insufficient_quota", "message": "x"}}), "quota"),
    "402": (status(402), "quota"),
    "401 that repeats the key": (status(401, {"error": {"message": f"Bearer {KEY} is wrong"}}), "auth"),
    "422 that repeats the request": (
        status(422, {"detail": [{"msg": "bad", "input": {"authorization": f"Bearer {KEY}"}}]}),
        "bad_request",
    ),
    "500": (status(500), "overloaded"),
    "502 in HTML": (status(502, f"<html>{KEY}</html>".encode()), "overloaded"),
    "520": (status(520, b""), "overloaded"),
    "529": (status(529), "overloaded"),
    "400 that is no JSON": (status(400, b"\xff\x00no"), "bad_request"),
    "418": (status(418), "bad_request"),
    "204": ({"raw": b"HTTP/1.1 204 No Content\r\n\r\n"}, "bad_reply"),
    "a status beyond all": ({"raw": b"HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n"}, "bad_reply|overloaded"),
    "no status": ({"raw": b"HTTP/1.1\r\n\r\n"}, "bad_reply"),
    "100 first": ({"raw": b"HTTP/1.1 100 Continue\r\n\r\n" + raw(WHOLE)["raw"]}, ""),
    "103 first": ({"raw": b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + raw(WHOLE)["raw"]}, ""),
    "nothing": ({"raw": b""}, "unreachable"),
    "half a body": ({"raw": OK + b"content-length: 999\r\n\r\n" + WHOLE[:40]}, "bad_reply"),
    "half a chunk": ({"raw": OK + b"transfer-encoding: chunked\r\n\r\nff\r\n{"}, "bad_reply"),
    "reset at once": ({"raw": b"", "reset": True}, "unreachable"),
    "reset in the body": (
        {"raw": OK + b"content-length: 999\r\n\r\n" + WHOLE[:40], "reset": True},
        "unreachable|bad_reply",
    ),
    "a drip without end": ({"raw": OK + b"\r\n", "drip": True}, "timeout"),
    "a drip of headers": ({"raw": OK, "drip": True}, "timeout|bad_reply"),
    "no answer": ({"hang": True}, "timeout"),
    "HTTP/1.0 that closes": ({"raw": b"HTTP/1.0 200 OK\r\n\r\n" + WHOLE}, ""),
    "HTTP/2 without asking": ({"raw": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"}, "bad_reply|unreachable"),
    "a longer body than declared": ({"raw": raw(WHOLE)["raw"] + b"HTTP/1.1 200 OK\r\n\r\n"}, ""),
    "a length below zero": ({"raw": OK + b"content-length: -1\r\n\r\n" + WHOLE}, "bad_reply"),
    "two lengths": ({"raw": OK + b"content-length: 3\r\n" + raw(WHOLE, b"")["raw"]}, "bad_reply"),
    "huge headers": (raw(WHOLE, OK + b"x-big: " + b"y" * 2_000_000 + b"\r\n"), "bad_reply"),
    "a thousand headers": (raw(WHOLE, OK + b"".join(b"x-%d: y\r\n" % n for n in range(1000))), ""),
    "a key in a header": (raw("{", OK + f"x-echo: Bearer {KEY}\r\n".encode()), "bad_reply"),
    "gzip that is none": (raw(WHOLE, OK + b"content-encoding: gzip\r\n"), "bad_reply"),
    "gzip cut off": (raw(gzip.compress(WHOLE)[:-40], OK + b"content-encoding: gzip\r\n"), "bad_reply"),
    "an unknown encoding": (raw(b"\x8b\x00" + WHOLE, OK + b"content-encoding: wl\r\n"), "bad_reply"),
    "JSON said to be HTML": (raw(WHOLE, b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"), ""),
    "a charset that is none": (raw(WHOLE, b"HTTP/1.1 200 OK\r\ncontent-type: a/b; charset=wl\r\n"), ""),
    "HTML": (raw(f"<html>{KEY}</html>"), "bad_reply"),
    "a stream": (raw(f"data: {BODY}\n\ndata: [DONE]\n\n"), "bad_reply"),
    "an empty body": (raw(b""), "bad_reply"),
}
BODIES: dict[str, tuple[dict[str, Any], str]] = {
    "BOM": (raw(b"\xef\xbb\xbf" + WHOLE), ""),
    "UTF-16": (raw(BODY.encode("utf-16")), "bad_reply|"),
    "bytes that are no UTF-8": (raw(WHOLE.replace(b'"hi"', b'"h\xe9"')), ""),
    "a key twice": (raw(BODY.replace('"usage"', '"choices": null, "usage"')), "bad_reply"),
    "text after": (raw(BODY + " and more"), "bad_reply"),
    "two bodies": (raw(BODY + BODY), "bad_reply"),
    "too deep": (raw('{"choices":' + "[" * 100_000), "bad_reply"),
    "a number of 5,000 digits": (raw(BODY.replace('"created": 1', '"created": ' + "9" * 5000)), "bad_reply|"),
    "null": (raw("null"), "bad_reply"),
    "a list": ({"body": [chat()]}, "bad_reply"),
    "no choices": ({"body": chat(choices=[])}, "bad_reply"),
    "choices null": ({"body": chat(choices=None)}, "bad_reply"),
    "a choice null": ({"body": chat(choices=[None])}, "bad_reply"),
    "two choices": ({"body": chat(choices=chat()["choices"] * 2)}, ""),
    "no message": ({"body": chat(choice={"message": None})}, "bad_reply"),
    "content null": ({"body": chat(None)}, "bad_reply"),
    "content a number": ({"body": chat(7)}, "bad_reply"),
    "an unknown finish": ({"body": chat(choice={"finish_reason": "because"})}, "bad_reply"),
    "a finish that is a list": ({"body": chat(choice={"finish_reason": ["stop"]})}, "bad_reply"),
    "no finish": ({"body": chat(choice={"finish_reason": None})}, ""),
    "cut off": ({"body": chat("half", choice={"finish_reason": "length"})}, ""),
    "filtered": ({"body": chat("", choice={"finish_reason": "content_filter"})}, ""),
    "usage null": ({"body": chat(usage=None)}, ""),
    "usage a text": ({"body": chat(usage="many")}, ""),
    "usage NaN": (raw(BODY.replace('"prompt_tokens": 7', '"prompt_tokens": NaN')), ""),
    "usage infinite": (raw(BODY.replace('"prompt_tokens": 7', '"prompt_tokens": 1e999')), ""),
    "usage below zero": ({"body": chat(usage={"prompt_tokens": -3, "completion_tokens": -1})}, ""),
    "usage beyond all": ({"body": chat(usage={"prompt_tokens": 10**30, "completion_tokens": True})}, ""),
    "logprobs NaN": (raw(BODY.replace('"index": 0', '"index": 0, "logprobs": {"content": [NaN, -0.0]}')), ""),
    "logprobs a text": ({"body": chat(choice={"logprobs": "x\ud800"})}, ""),
    "half characters": ({"body": chat("a\ud83d b\ude00")}, ""),
    "escapes": ({"body": chat("\x1b[2J\x00\u200b\u202e</script>")}, ""),
    "reasoning in tags": ({"body": chat("<think>hm</think>hi")}, ""),
    "reasoning without its opening": ({"body": chat("hm</think>hi")}, ""),
    "reasoning without its end": ({"body": chat("<think>hm", choice={"finish_reason": "length"})}, ""),
    "reasoning that is no text": ({"body": chat(message={"reasoning_content": [1]})}, "|bad_reply"),
    "an id that is no text": ({"body": chat(id={"a": 1}, model=5)}, ""),
    "an error under 200": ({"body": {"error": {"message": f"overloaded, {KEY}"}}}, "overloaded|bad_reply"),
    "a refusal": ({"body": chat(None, message={"refusal": "no"})}, ""),
    "calls that are no list": ({"body": chat(None, message={"tool_calls": "f()"})}, "bad_reply"),
    "a call without a name": (calls("{}", None), "bad_reply"),
    "arguments cut off": (calls('{"a": '), ""),
    "arguments null": (calls(None), ""),
    "arguments an object": (calls({"a": 1}), ""),
    "arguments twice": (calls('{"a": 1}{"a": 2}'), ""),
    "arguments with half a character": (calls('{"a": "\\ud800"}'), ""),
}
HOSTILE = {**PROTOCOL, **BODIES}
STRICTER = dict.fromkeys(
    (
        *("a thousand headers", "a longer body than declared", "bytes that are no UTF-8", "a key twice"),
        *("usage a text", "usage NaN", "usage infinite", "usage beyond all"),
    ),
    "bad_reply",
)
"""What litellm takes for no answer and the direct client reads."""
UNDECIDED = {"arguments cut off", "arguments null", "arguments twice", "cut off", "filtered", "a refusal"}
"""Completions that hold no decision: reading one is to fail with a sentence."""


async def no_wait(seconds: float) -> None:
    pass


def direct(url: str) -> Model:
    from worldloom.models.openai_client import OpenAIModel

    settings = Settings(timeout_s=0.3)
    return OpenAIModel("m", Endpoint(url, KEY), gate=Gate(2), settings=settings, retry=Retry(sleep=no_wait))


def gateway(url: str) -> Model:
    from worldloom.models.gateway import GatewayModel

    settings = Settings(timeout_s=1.0)  # its first call is slow
    return GatewayModel("hosted_vllm", "m", gate=Gate(2), settings=settings, retry=Retry(sleep=no_wait))


@pytest.fixture(params=[direct, pytest.param(gateway, marks=pytest.mark.slow)], ids=lambda way: way.__name__)
def opened(request: Any, stub: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Model]:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", stub.url)
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    way: Callable[[str], Model] = request.param
    return lambda: way(stub.url)


def ask(model: Model) -> Completion | ModelError:
    async def main() -> Completion | ModelError:
        try:
            async with asyncio.timeout(30):
                return await model.complete(HI)
        except ModelError as error:
            return error
        finally:
            await model.aclose()

    return asyncio.run(main())


def everything_said(error: BaseException) -> str:
    """The texts of an error and of all that hangs on it."""
    texts: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        texts += [str(seen), repr(seen)]
        seen = seen.__cause__ or seen.__context__
    return "\n".join(texts)


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_comes_is_an_error_of_its_kind_or_a_sound_completion(
    stub: Any, reply: Any, opened: Callable[[], Model], name: str
) -> None:
    sent, kinds = HOSTILE[name]
    stub.always(reply(**sent))
    model = opened()
    if model.id.startswith("hosted_vllm:"):
        kinds = f"{kinds}|{STRICTER.get(name, kinds)}"
    found = ask(model)
    if isinstance(found, ModelError):
        assert found.kind in kinds.split("|") and found.kind, f"{found.kind}: {found}"
        assert KEY not in everything_said(found)
        assert len(str(found)) < 1000
        assert str(found).isprintable()
    else:
        assert "" in kinds.split("|"), found
        sound(found, undecided=name in UNDECIDED)
    assert len(stub.asked) <= 8


def sound(completion: Completion, *, undecided: bool) -> None:
    """It can be recorded, its counts are counts, and what is no decision is not taken for one."""
    said: list[Json] = [completion.text, completion.reasoning, completion.logprobs]
    canonical([*said, *(call.to_json() for call in completion.tool_calls), dict(completion.telemetry)])
    assert "</think>" not in completion.text
    for count in (completion.usage.prompt_tokens, completion.usage.completion_tokens):
        assert count is None or 0 <= count < 2**53
    if undecided:
        with pytest.raises(ReplyError):
            parse_object(completion)


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_the_prompt_nor_the_key_elsewhere(
    stub: Any, elsewhere: Any, reply: Any, opened: Callable[[], Model], number: int
) -> None:
    stub.always(reply(b"", status=number, headers={"location": f"{elsewhere.url}/chat/completions"}))
    found = ask(opened())
    assert elsewhere.asked == []
    assert isinstance(found, ModelError)
    assert found.kind == "not_found"


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["deepseek", "anthropic", "perplexity"])  # three clients of litellm's
def test_no_client_of_litellms_follows_a_redirect(
    stub: Any, elsewhere: Any, reply: Any, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    from worldloom.models.gateway import GatewayModel

    for name in ("DEEPSEEK", "ANTHROPIC", "PERPLEXITYAI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    stub.always(reply(b"", status=307, headers={"location": f"{elsewhere.url}/chat/completions"}))
    settings = Settings(extra_body={"api_base": stub.url})
    found = ask(GatewayModel(provider, "m", gate=Gate(1), settings=settings, retry=Retry(sleep=no_wait)))
    assert isinstance(found, ModelError)
    assert stub.asked
    assert elsewhere.asked == []


def test_a_dead_server_is_unreachable(opened: Callable[[], Model], stub: Any, reply: Any) -> None:
    model = opened()
    stub.always(reply(raw=b"", reset=True))
    assert isinstance(found := ask(model), ModelError)
    assert (found.kind, len(stub.asked)) == ("unreachable", 4)


def test_after_every_wrong_thing_the_same_model_still_answers(
    stub: Any, reply: Any, opened: Callable[[], Model]
) -> None:
    model = opened()

    async def main() -> str:
        for name, (sent, _) in BODIES.items():
            stub.always(reply(**sent), reply(chat("fine")))
            try:
                await model.complete(HI)
            except ModelError as error:
                assert error.kind != "unreachable", name
        stub.always(reply(chat("fine")))
        text = (await model.complete(HI)).text
        await model.aclose()
        return text

    assert asyncio.run(main()) == "fine"
