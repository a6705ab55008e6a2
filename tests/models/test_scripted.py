"""The scripted model is a function of the request and nothing else."""

import asyncio

import pytest

from worldloom.core.errors import ModelError
from worldloom.models.model import Completion, Message, Request
from worldloom.models.probe import Probe, probe
from worldloom.models.scripted import ScriptedModel

HI = Request((Message.of("user", "hi"),))


def test_it_answers_with_a_text_a_completion_or_an_error() -> None:
    assert asyncio.run(ScriptedModel(lambda asked: "yes").complete(HI)).text == "yes"
    full = Completion("", reasoning="r", finish_reason="length", telemetry={"attempts": 3})
    answer = asyncio.run(ScriptedModel(lambda asked: full).complete(HI))
    assert (answer.reasoning, answer.finish_reason, answer.telemetry["attempts"]) == ("r", "length", 3)
    refusing = ScriptedModel(lambda asked: ModelError("quota", "empty", retry_after_s=2.0))
    with pytest.raises(ModelError, match="empty") as caught:
        asyncio.run(refusing.complete(HI))
    assert (caught.value.kind, caught.value.retry_after_s) == ("quota", 2.0)


def test_it_sees_the_request() -> None:
    echo = ScriptedModel(lambda asked: str(asked.max_tokens), name="echo")
    assert asyncio.run(echo.complete(Request(HI.messages, max_tokens=7))).text == "7"
    assert echo.id == "scripted:echo"


def test_a_probe_finds_no_server_behind_it() -> None:
    assert asyncio.run(probe(ScriptedModel(lambda asked: "", context_tokens=5))) == Probe(
        None, context_tokens=5
    )
