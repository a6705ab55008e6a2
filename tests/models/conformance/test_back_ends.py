"""What every back end keeps, whatever stands behind it."""

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import ModelError, UsageError
from worldloom.models.gates import Gate
from worldloom.models.model import Completion, Message, Model, Request
from worldloom.models.reply import parse_object
from worldloom.models.scripted import ScriptedModel
from worldloom.models.spec import Endpoint
from worldloom.models.weights import CATALOGUE, cache_folder, ensure

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"action": {"enum": ["wait", "go"]}, "why": {"type": "string", "maxLength": 20}},
    "required": ["action", "why"],
    "additionalProperties": False,
}
CONTEXT_TOKENS = 2048


def request(text: str, **fields: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 60, "temperature": 0.0, "seed": 1, **fields}
    return Request(
        (Message.of("system", "You act in a world. Answer in JSON."), Message.of("user", text)), **given
    )


def mini(text: str, wants_json: bool) -> Any:
    """What a model would say, in a line: too long a prompt is an overflow, else a decision."""
    if len(text) > 4 * CONTEXT_TOKENS:
        return ModelError("overflow", "too long")
    return '{"action": "go", "why": "it is time"}' if wants_json else "hello"


def scripted(stub: Any) -> Model:
    return ScriptedModel(
        lambda asked: mini(asked.messages[-1].to_json()["content"][0]["text"], asked.schema is not None),  # type: ignore
        context_tokens=CONTEXT_TOKENS,
    )


def serve_mini(stub: Any, reply: Any, chat: Any) -> None:
    def answer(asked: Any) -> Any:
        if asked.method == "GET":
            return reply({"data": [{"id": "m", "max_model_len": CONTEXT_TOKENS}]})
        said = mini(asked.body["messages"][-1]["content"], "response_format" in asked.body)
        if isinstance(said, ModelError):
            message = f"This model's maximum context length is {CONTEXT_TOKENS} tokens."
            return reply({"error": {"message": message, "code": "context_length_exceeded"}}, status=400)
        return reply(chat(said))

    stub.answer = answer


def direct(stub: Any) -> Model:
    from worldloom.models.openai_client import OpenAIModel

    return OpenAIModel("m", Endpoint(stub.url), gate=Gate(16))


def gateway(stub: Any) -> Model:
    from worldloom.models.gateway import GatewayModel

    return GatewayModel("hosted_vllm", "m", gate=Gate(16))


def embedded(stub: Any) -> Model:
    from worldloom.models.embedded import EmbeddedModel
    from worldloom.models.spec import Settings

    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")

    def locate() -> Path:
        try:
            return ensure(CATALOGUE["smollm2"], cache_folder())
        except UsageError as error:
            pytest.skip(str(error))

    return EmbeddedModel("smollm2", locate, slots=4, settings=Settings(context_tokens=CONTEXT_TOKENS))


BACK_ENDS: list[Any] = [
    scripted,
    direct,
    pytest.param(gateway, marks=pytest.mark.slow),
    pytest.param(embedded, marks=pytest.mark.slow),
]


@pytest.fixture(params=BACK_ENDS, ids=lambda factory: factory.__name__)
def opened(
    request: Any, stub: Any, reply: Any, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Model]:
    serve_mini(stub, reply, chat)
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", stub.url)  # where the gateway looks
    factory: Callable[[Any], Model] = request.param
    return lambda: factory(stub)


def run(model: Model, *asked: Request) -> list[Completion | ModelError]:
    async def one(wanted: Request) -> Completion | ModelError:
        try:
            return await model.complete(wanted)
        except ModelError as error:
            return error

    async def main() -> list[Completion | ModelError]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(wanted)) for wanted in asked]
        await model.aclose()
        return [task.result() for task in tasks]

    return asyncio.run(main())


def test_a_decision_asked_by_schema_is_one_object_that_satisfies_it(opened: Callable[[], Model]) -> None:
    (completion,) = run(opened(), request("Go or wait?", schema=SCHEMA))
    assert isinstance(completion, Completion)
    decision = parse_object(completion)
    assert set(decision) == {"action", "why"}
    assert decision["action"] in ("wait", "go")


def test_what_comes_back_can_be_recorded(opened: Callable[[], Model]) -> None:
    (completion,) = run(opened(), request("Say hello.", top_logprobs=2))
    assert isinstance(completion, Completion)
    calls: list[Json] = [call.to_json() for call in completion.tool_calls]
    canonical([completion.text, completion.reasoning, calls, completion.logprobs, dict(completion.telemetry)])
    assert completion.finish_reason in ("stop", "length")
    assert completion.telemetry["attempts"] == 1
    assert {"waited_s", "latency_s"} <= set(completion.telemetry)


def test_too_long_a_prompt_is_an_overflow_and_asked_once(opened: Callable[[], Model]) -> None:
    (error,) = run(opened(), request("hello " * 3000))
    assert isinstance(error, ModelError)
    assert error.kind == "overflow"
    assert "attempts" not in str(error)


def test_many_at_once_are_all_answered_and_a_failing_one_harms_no_other(opened: Callable[[], Model]) -> None:
    asked = [request(f"Go or wait? Case {index}.", schema=SCHEMA, max_tokens=40) for index in range(6)]
    answers = run(opened(), *asked[:3], request("hello " * 3000), *asked[3:])
    assert [isinstance(answer, Completion) for answer in answers] == [True] * 3 + [False] + [True] * 3


def test_one_model_works_in_two_event_loops_and_closes_twice(opened: Callable[[], Model]) -> None:
    model = opened()
    for _ in range(2):
        (completion,) = run(model, request("Say hello.", max_tokens=5))
        assert isinstance(completion, Completion)
    asyncio.run(model.aclose())


def test_identity_is_stable_and_names_no_place(opened: Callable[[], Model], stub: Any) -> None:
    assert opened().id == opened().id
    assert "127.0.0.1" not in opened().id
    assert "/home" not in opened().id


def test_the_context_length_is_known_where_there_is_a_server(opened: Callable[[], Model]) -> None:
    model = opened()

    async def main() -> int | None:
        length = await model.context_length()
        await model.aclose()
        return length

    length = asyncio.run(main())
    assert length in (CONTEXT_TOKENS, None)
    assert length is not None or model.id.startswith("hosted_vllm:")
