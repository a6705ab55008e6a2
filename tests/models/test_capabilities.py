"""What a back end obeys, refuses or ignores is found by asking, and nothing is guessed."""

import asyncio
import json
from collections.abc import Callable

import pytest

from worldloom.core.errors import ModelError
from worldloom.models.capabilities import ASKED, SAMPLED_TOKENS, capabilities
from worldloom.models.model import Completion, Request, ToolCall, Usage
from worldloom.models.scripted import ScriptedModel

NAMES = ("json_schema", "logprobs", "seed", "stop", "tools")


def found(answer: Callable[[Request], Completion | str | ModelError]) -> dict[str, str]:
    return {one.name: one.state for one in asyncio.run(capabilities(ScriptedModel(answer)))}


def obeying(request: Request) -> Completion:
    if request.schema is not None:
        return Completion(json.dumps({"answer": "seven oaks"}))
    if request.tools:
        return Completion("", tool_calls=(ToolCall("1", "write_sentence", "{}"),))
    others = [{"token": "x", "logprob": -2.0}] * (request.top_logprobs or 0)
    logprobs = {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": others}]} if others else None
    return Completion("Th" if request.stop else f"The {request.seed}", logprobs=logprobs)


def test_what_obeys_is_found_to_obey() -> None:
    assert found(obeying) == dict.fromkeys(NAMES, "obeyed")


def test_what_answers_as_if_nothing_was_asked_ignores_it() -> None:
    texts = iter("abcdefgh")
    ignoring = Usage(prompt_tokens=9)
    states = found(lambda request: Completion(f"The sea {next(texts)}", usage=ignoring))
    assert states == dict.fromkeys(NAMES, "ignored")


def test_what_refuses_is_found_to_refuse() -> None:
    assert found(lambda request: ModelError("bad_request", "no such field")) == dict.fromkeys(
        NAMES, "refused"
    )


@pytest.mark.parametrize("kind", ["unreachable", "timeout", "auth", "quota", "not_found", "overloaded"])
def test_a_server_in_trouble_is_asked_once_and_nothing_is_said_of_it(kind: str) -> None:
    asked = []

    def fail(request: Request) -> ModelError:
        asked.append(request)
        return ModelError(kind, "trouble")  # type: ignore[arg-type]

    assert found(fail) == dict.fromkeys(NAMES, "unclear")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("seed", Completion("always the same")),
        ("json_schema", Completion("", reasoning="hm, what", finish_reason="length")),
        ("tools", Completion("in words")),
        ("tools", Completion("in words", usage=Usage(prompt_tokens=9))),
    ],
)
def test_what_the_answers_do_not_tell_is_unclear(name: str, answer: Completion) -> None:
    def say(request: Request) -> Completion:
        seen = answer.usage.prompt_tokens is not None and bool(request.tools)
        return Completion(
            answer.text, answer.reasoning, finish_reason=answer.finish_reason,
            usage=Usage(prompt_tokens=20) if seen else answer.usage,
        )  # fmt: skip

    assert found(say)[name] == "unclear"


def test_it_takes_six_short_calls() -> None:
    assert len(ASKED) == 6
    assert max(request.max_tokens or 0 for request in ASKED.values()) <= 3 * SAMPLED_TOKENS
