"""What only a real vLLM shows: what it does with fields of its own, with patience that ends, and with a whole run."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from model_cases import LONG, asked, until

from worldloom import api
from worldloom.core.errors import ModelError
from worldloom.models.factory import open_model
from worldloom.models.model import Completion, Request
from worldloom.models.spec import EndpointLimits, ModelSpec

pytestmark = pytest.mark.vllm


def ask(server: dict[str, Any], request: Request, **extra_body: Any) -> Completion:
    async def main() -> Completion:
        model = open_model(
            ModelSpec(server["model"], server["base_url"], {"extra_body": extra_body}), environ={}
        )
        try:
            return await model.complete(request)
        finally:
            await model.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("field", "obeyed"),
    [
        ({"structured_outputs": {"choice": ["oak", "elm"]}}, True),
        ({"structured_outputs": {"regex": "oak|elm"}}, True),
        ({"guided_choice": ["oak", "elm"]}, False),
        ({"guided_regex": "oak|elm"}, False),
        ({"grammar": 'root ::= "oak" | "elm"'}, False),
    ],
)
def test_fields_of_its_own_are_obeyed_or_ignored_as_the_docs_say(
    vllm: dict[str, Any], field: dict[str, Any], obeyed: bool
) -> None:
    assert (ask(vllm, asked("Say hello."), **field).text in ("oak", "elm")) is obeyed


def test_an_answer_is_as_long_as_it_is_told_to_be(vllm: dict[str, Any]) -> None:
    answer = ask(vllm, asked("Say hello.", max_tokens=40), ignore_eos=True, min_tokens=40)
    assert (answer.usage.completion_tokens, answer.finish_reason) == (40, "length")


@pytest.mark.parametrize("back_end", ["vllm"], indirect=True)
def test_a_request_that_takes_too_long_is_a_timeout_and_is_dropped(
    vllm: dict[str, Any], back_end: Any
) -> None:
    spec = ModelSpec(vllm["model"], vllm["base_url"], limits=EndpointLimits(timeout_s=0.5))

    async def main() -> ModelError:
        model = open_model(spec, environ={})
        with pytest.raises(ModelError) as caught:
            await model.complete(LONG)
        await model.aclose()
        await until(back_end.able, lambda running: running == 0)
        return caught.value

    assert asyncio.run(main()).kind == "timeout"


def test_a_run_on_it_replays_without_it(vllm: dict[str, Any], tmp_path: Path) -> None:
    result = api.run(
        suite="starter", model=vllm["model"], base_url=vllm["base_url"], max_steps=1, runs_dir=tmp_path
    )
    assert result.status == "completed"
    assert set(result.reasons()) <= {"completed", "step_limit"}
    assert [one.problem for one in api.replay(result.folder)] == [None] * len(result.episodes)
