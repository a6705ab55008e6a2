"""The embedded server for real: starts, answers, says no, ends, and leaves nothing behind."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from worldloom.core.errors import ModelError, UsageError
from worldloom.models.embedded import CONTEXT_TOKENS, EmbeddedModel, file_identity
from worldloom.models.factory import open_model
from worldloom.models.model import Message, Request, ToolSpec
from worldloom.models.probe import Probe, probe
from worldloom.models.spec import EndpointLimits, ModelSpec, Settings
from worldloom.models.weights import CATALOGUE, cache_folder, ensure, verify

HI = Request((Message.of("user", "Say hello."),), max_tokens=3, temperature=0.0)


@pytest.fixture
def weights_file(needs_xllamacpp: None) -> Path:
    try:
        return ensure(CATALOGUE["smollm2"], cache_folder())
    except UsageError as error:
        pytest.skip(str(error))


def never() -> Path:
    raise AssertionError("the server is not to be started")


def test_tools_are_refused_instead_of_being_ignored_in_silence() -> None:
    model = EmbeddedModel("m", never)
    asked = Request(HI.messages, tools=(ToolSpec("f", "", {}),))
    with pytest.raises(ModelError, match="ask for a decision by JSON Schema") as caught:
        asyncio.run(model.complete(asked))
    assert caught.value.kind == "bad_request"


@pytest.mark.usefixtures("needs_xllamacpp")
def test_a_file_that_is_no_model_is_a_users_error_and_ends_no_process(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(5000))
    model = EmbeddedModel("broken", lambda: path)
    with pytest.raises(UsageError, match=r"broken\.gguf cannot be loaded"):
        asyncio.run(model.complete(HI))
    assert asyncio.run(probe(model)).reachable is False
    asyncio.run(model.aclose())


def test_closing_what_was_never_started_starts_nothing() -> None:
    asyncio.run(EmbeddedModel("m", never).aclose())


@pytest.mark.slow
def test_the_pinned_digest_is_that_of_the_file(weights_file: Path) -> None:
    assert verify(CATALOGUE["smollm2"], weights_file)
    assert file_identity(weights_file) == file_identity(weights_file)


@pytest.mark.slow
def test_it_serves_from_a_path_silently_and_leaves_no_thread_and_no_socket(
    weights_file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def sockets() -> int:
        folder = Path("/proc/self/fd")
        links = (
            [os.readlink(item) for item in folder.iterdir() if item.is_symlink()] if folder.exists() else []
        )
        return sum(link.startswith("socket:") for link in links)

    def threads() -> int:
        folder = Path("/proc/self/task")
        return len(list(folder.iterdir())) if folder.exists() else threading.active_count()

    spec = ModelSpec(f"embedded:{weights_file}", limits=EndpointLimits(concurrency=2))

    async def main() -> tuple[Probe, str, int]:
        model = open_model(spec, environ={})
        found, answer = await probe(model), await model.complete(HI)
        serving = threads()
        await model.aclose()
        return found, answer.text, serving

    asyncio.run(main())  # the first start keeps pools of its own for the life of the process
    before = sockets()
    found, text, serving = asyncio.run(main())
    assert found == Probe(True, (file_identity(weights_file),), CONTEXT_TOKENS)
    assert text
    assert threads() < serving
    assert sockets() == before
    assert capfd.readouterr() == ("", "")
    assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.slow
def test_first_requests_that_come_together_start_one_server(weights_file: Path) -> None:
    located: list[int] = []

    def locate() -> Path:
        located.append(1)
        return weights_file

    model = EmbeddedModel("m", locate, slots=2, settings=Settings(context_tokens=512))

    async def main() -> list[Any]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(model.complete(HI)) for _ in range(6)]
        await model.aclose()
        return [task.result().text for task in tasks]

    assert len(asyncio.run(main())) == 6
    assert located == [1]


@pytest.mark.slow
def test_other_processes_of_the_machine_cannot_use_the_server(weights_file: Path) -> None:
    import httpx2

    model = EmbeddedModel("m", lambda: weights_file, slots=1)

    async def main() -> int:
        client = await model._client()
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            answer = await stranger.post(
                f"{client.endpoint.base_url}/chat/completions",
                json={"messages": [{"role": "user", "content": "hi"}]},
            )
        await model.aclose()
        return answer.status_code

    assert asyncio.run(main()) == 401
