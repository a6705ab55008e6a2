"""The back ends of the conformance suite: how each is opened, and what stands behind it."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import mini_model
import pytest
from model_cases import Able

from worldloom.core.errors import ModelError, UsageError
from worldloom.models.classify import Refused, failure
from worldloom.models.factory import open_model
from worldloom.models.gates import Gate
from worldloom.models.model import Completion, Model, Request
from worldloom.models.scripted import ScriptedModel
from worldloom.models.spec import Endpoint, ModelSpec, Settings
from worldloom.models.weights import CATALOGUE, cache_folder, ensure
from worldloom.models.wire import completion_of, encode, response_format

EVERYTHING = dict.fromkeys(("json_schema", "logprobs", "seed", "stop", "tools"), ("obeyed",))
MINI = Able(EVERYTHING, mini_model.CONTEXT_TOKENS, overflowing=3000, at_once=16)


@dataclass(frozen=True)
class BackEnd:
    """A back end: opens a new model, and what stands behind it."""

    open: Callable[[], Model]
    able: Able


def _scripted(stub: Any) -> BackEnd:
    def answer(asked: Request) -> Completion | ModelError:
        body = {"model": mini_model.NAME, **encode(asked)}
        if asked.schema is not None:
            body.update(response_format(asked.schema))
        status, said = mini_model.answer(body)
        return completion_of(said) if status == 200 else failure(Refused(status, json.dumps(said), {}), now=0)

    return BackEnd(
        lambda: ScriptedModel(answer, context_tokens=mini_model.CONTEXT_TOKENS),
        replace(MINI, answers_at_once=True),
    )


def _direct(stub: Any, name: str = mini_model.NAME) -> BackEnd:
    from worldloom.models.openai_client import OpenAIModel

    async def running() -> int:
        return int(stub.waiting)

    return BackEnd(
        lambda: OpenAIModel(name, Endpoint(stub.url), gate=Gate(64)),
        replace(MINI, running=running, unknown=lambda: OpenAIModel("m2", Endpoint(stub.url), gate=Gate(1))),
    )


def _gateway(stub: Any) -> BackEnd:
    from worldloom.models.gateway import GatewayModel

    def named(name: str) -> Model:
        return GatewayModel("hosted_vllm", name, gate=Gate(64))

    able = replace(_direct(stub).able, context_tokens=None, unknown=lambda: named("m2"))
    return BackEnd(lambda: named(mini_model.NAME), able)


def _embedded(stub: Any) -> BackEnd:
    from worldloom.models.embedded import EmbeddedModel

    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")

    def locate() -> Path:
        try:
            return ensure(CATALOGUE["smollm2"], cache_folder())
        except UsageError as error:
            pytest.skip(str(error))

    settings = Settings(context_tokens=2048)
    return BackEnd(
        lambda: EmbeddedModel("smollm2", locate, slots=4, settings=settings),
        Able(
            {**EVERYTHING, "tools": ("refused",)},
            2048,
            overflowing=3000,
            at_once=4,
        ),
    )


@pytest.fixture(scope="session")
def vllm() -> Iterator[dict[str, Any]]:
    """A server as `worldloom serve` starts it; what it prints when it is ready."""
    model = os.environ["WORLDLOOM_VLLM_MODEL"]  # `make test-vllm` sees to it
    words = ("-P", "-m", "worldloom.cli", "serve", model, "--json", "--", "--enforce-eager")
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"worldloom serve {model} ended with {process.wait()}; what it said is above"
            yield json.loads(line)["models"][0]
        finally:
            process.terminate()


def _vllm(server: dict[str, Any]) -> BackEnd:
    spec = ModelSpec(server["model"], server["base_url"])
    metrics = server["base_url"].removesuffix("/v1") + "/metrics"

    async def running() -> int:
        async with httpx2.AsyncClient(trust_env=False) as client:
            lines = (await client.get(metrics)).text.splitlines()
        counts = [
            line
            for line in lines
            if line.startswith(("vllm:num_requests_running{", "vllm:num_requests_waiting{"))
        ]
        return int(sum(float(line.rpartition(" ")[2]) for line in counts))

    return BackEnd(
        lambda: open_model(spec, environ={}),
        Able(
            {**EVERYTHING, "tools": ("refused", "obeyed", "unclear")},
            8192,
            overflowing=10_000,
            at_once=32,
            running=running,
            unknown=lambda: open_model(replace(spec, model="hosted_vllm/nobody"), environ={}),
        ),
    )


BACK_ENDS: dict[str, Callable[[Any], BackEnd]] = {
    "scripted": _scripted,
    "direct": _direct,
    "gateway": _gateway,
    "embedded": _embedded,
    "vllm": _vllm,
}
_MARKS = {"gateway": (pytest.mark.slow,), "embedded": (pytest.mark.slow,), "vllm": (pytest.mark.vllm,)}


@pytest.fixture(params=[pytest.param(name, marks=_MARKS.get(name, ())) for name in BACK_ENDS])
def back_end(
    request: pytest.FixtureRequest, stub: Any, reply: Any, monkeypatch: pytest.MonkeyPatch
) -> BackEnd:
    """Each back end in turn."""
    if request.param == "vllm":
        return _vllm(request.getfixturevalue("vllm"))

    def say(asked: Any) -> Any:
        if asked.method == "GET":
            listed = {"id": mini_model.NAME, "max_model_len": mini_model.CONTEXT_TOKENS}
            return reply({"data": [listed]})
        if "(hold)" in asked.body["messages"][-1]["content"]:
            return reply(hang=True)
        status, body = mini_model.answer(asked.body)
        return reply(body, status=status)

    stub.answer = say
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", stub.url)  # where the gateway looks
    return BACK_ENDS[request.param](stub)
