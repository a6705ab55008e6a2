"""The gateway: litellm kept quiet, its exceptions sorted, its answers read like all others. Importing it is slow."""

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from worldloom.core.errors import ModelError, UsageError
from worldloom.models.factory import open_model
from worldloom.models.gates import Gate
from worldloom.models.gateway import GatewayModel
from worldloom.models.model import Completion, Message, Request
from worldloom.models.retry import Retry
from worldloom.models.spec import ModelSpec

pytestmark = pytest.mark.slow

KEY = "wl-9f8e7d6c5b4a3210"
HI = Request((Message.of("user", "hi"),), max_tokens=5)
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "hey"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 1},
}


async def no_wait(seconds: float) -> None:
    pass


@pytest.fixture
def gateway(stub: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for provider, url in (("ANTHROPIC", stub.url.removesuffix("/v1")), ("HOSTED_VLLM", stub.url)):
        monkeypatch.setenv(f"{provider}_API_BASE", url)
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)
    names = {"anthropic": "claude-sonnet-4-5", "hosted_vllm": "m"}
    return lambda provider: GatewayModel(provider, names[provider], gate=Gate(4), retry=Retry(sleep=no_wait))


def ask(model: GatewayModel, request: Request = HI) -> Completion:
    return asyncio.run(model.complete(request))


def failed(model: GatewayModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model)
    return caught.value


def test_a_provider_with_a_format_of_its_own_is_asked_and_read(stub: Any, reply: Any, gateway: Any) -> None:
    stub.always(reply(MESSAGE))
    completion = ask(gateway("anthropic"), Request(HI.messages, seed=3, max_tokens=5))
    assert (completion.text, completion.finish_reason, completion.usage.prompt_tokens) == ("hey", "stop", 3)
    assert completion.telemetry["left_out"] == ["seed"]
    assert stub.asked[0].path == "/v1/messages"
    assert gateway("anthropic").id == "anthropic:claude-sonnet-4-5"


def test_answers_are_read_by_the_same_rules_as_the_direct_clients(
    stub: Any, reply: Any, chat: Any, gateway: Any
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{bad"}}
    stub.always(reply(chat("<think>a</think>b\ud800", tool_calls=[call])))
    completion = ask(gateway("hosted_vllm"))
    assert (completion.text, completion.reasoning, completion.mended) == ("b\ufffd", "a", True)
    assert (completion.tool_calls[0].arguments, completion.finish_reason) == ("{bad", "tool_calls")


def anthropic_error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


FAILURES: list[tuple[str, int, Any, str, int]] = [
    ("anthropic", 529, anthropic_error("overloaded_error", "Overloaded"), "overloaded", 8),
    ("anthropic", 429, anthropic_error("rate_limit_error", "slow down"), "rate_limited", 8),
    (
        "anthropic",
        400,
        anthropic_error("invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
        "overflow",
        1,
    ),
    (
        "anthropic",
        400,
        anthropic_error("invalid_request_error", "Your credit balance is too low"),
        "quota",
        1,
    ),
    ("anthropic", 401, anthropic_error("authentication_error", f"invalid x-api-key {KEY}"), "auth", 1),
    ("anthropic", 404, anthropic_error("not_found_error", "model: claude-x"), "not_found", 1),
    ("anthropic", 200, b"<html>", "bad_reply", 3),
    ("anthropic", 200, {"type": "message"}, "bad_reply", 3),
    ("hosted_vllm", 400, {"message": "This model's maximum context length is 10 tokens."}, "overflow", 1),
    ("hosted_vllm", 429, {"error": {"message": "no", "code": "insufficient_quota"}}, "quota", 1),
    ("hosted_vllm", 503, b"", "overloaded", 8),
    ("hosted_vllm", 404, {"message": "The model `x` does not exist."}, "not_found", 1),
    ("hosted_vllm", 200, b"<html>", "bad_reply", 3),
    ("hosted_vllm", 200, {"choices": []}, "bad_reply", 3),
]


def test_each_failure_becomes_its_kind_with_our_retries_and_no_others(
    stub: Any, reply: Any, gateway: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    for provider, status, body, kind, attempts in FAILURES:
        stub.always(reply(body, status=status))
        before = len(stub.asked)
        error = failed(gateway(provider))
        assert (error.kind, len(stub.asked) - before) == (kind, attempts), (
            provider,
            status,
            body,
            str(error),
        )
        assert KEY not in str(error)
        assert "Traceback" not in str(error)
    assert capfd.readouterr() == ("", "")


def test_a_host_that_is_not_there_is_unreachable(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_BASE", "http://127.0.0.1:1")
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://127.0.0.1:1/v1")
    assert failed(gateway("anthropic")).kind == "unreachable"
    assert failed(gateway("hosted_vllm")).kind == "unreachable"


def test_retry_after_reaches_the_policy(stub: Any, reply: Any, gateway: Any) -> None:
    stub.always(
        reply(anthropic_error("rate_limit_error", "slow down"), status=429, headers={"retry-after": "9999"})
    )
    error = failed(gateway("anthropic"))
    assert (error.kind, error.retry_after_s, len(stub.asked)) == ("rate_limited", 9999.0, 1)


def test_cancelling_a_request_frees_its_connection(stub: Any, reply: Any, gateway: Any) -> None:
    stub.always(reply(hang=True))

    async def main() -> None:
        task = asyncio.ensure_future(gateway("hosted_vllm").complete(HI))
        await asyncio.to_thread(stub.until, lambda server: server.waiting == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(stub.until, lambda server: server.dropped == 1)

    asyncio.run(main())


def test_an_unknown_provider_is_refused_with_what_may_be_meant() -> None:
    with pytest.raises(UsageError, match="no provider 'antropic'; did you mean 'anthropic/claude'"):
        open_model(ModelSpec("antropic/claude"))
    opened = open_model(ModelSpec("anthropic/claude"))
    assert isinstance(opened, GatewayModel)


def test_importing_it_asks_no_network_and_prints_nothing() -> None:
    code = (
        "import socket, sys, json\n"
        "def no(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = no\n"
        "from worldloom.models.gateway import load_litellm\n"
        "l = load_litellm()\n"
        "json.dump([l.telemetry, l.cache, l.num_retries, l.suppress_debug_info], sys.stdout)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [False, None, None, True]
    assert logging.getLogger("LiteLLM").level in (0, logging.CRITICAL + 1)
