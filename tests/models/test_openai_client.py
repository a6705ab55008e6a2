"""The direct client against a server that does what it is told, good and bad."""

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from worldloom.core.errors import ModelError
from worldloom.models.gates import Gate, Gates
from worldloom.models.model import Completion, Message, Model, Request, ToolSpec
from worldloom.models.openai_client import OpenAIModel
from worldloom.models.probe import Probe, probe
from worldloom.models.retry import Retry
from worldloom.models.spec import Endpoint, Settings

KEY = "wl-9f8e7d6c5b4a3210"
HI = Request((Message.of("user", "hi"),))


async def no_wait(seconds: float) -> None:
    pass


def direct(
    stub: Any, *, concurrency: int = 64, settings: Settings = Settings(), **endpoint: Any
) -> OpenAIModel:
    where = Endpoint(endpoint.get("base_url", stub.url), endpoint.get("key", KEY))
    return OpenAIModel("m", where, gate=Gate(concurrency), settings=settings, retry=Retry(sleep=no_wait))


def use(model: Model, work: Callable[[Model], Awaitable[Any]]) -> Any:
    """Do the work in an event loop of its own, and close the model there."""

    async def main() -> Any:
        try:
            return await work(model)
        finally:
            await model.aclose()

    return asyncio.run(main())


def ask(model: Model, request: Request = HI) -> Completion:
    completion = use(model, lambda opened: opened.complete(request))
    assert isinstance(completion, Completion)
    return completion


def failed(model: Model, request: Request = HI) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, request)
    return caught.value


def test_a_request_is_sent_as_it_was_asked_and_the_answer_read(stub: Any, reply: Any, chat: Any) -> None:
    stub.always(reply(chat("hello")))
    completion = ask(direct(stub))
    assert (completion.text, completion.usage.prompt_tokens) == ("hello", 7)
    assert (completion.telemetry["attempts"], completion.telemetry["waited_s"]) == (1, 0.0)
    (asked,) = stub.asked
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.body == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_a_schema_is_asked_for_as_response_format_and_tools_are_offered(stub: Any) -> None:
    tool = ToolSpec("f", "does f", {"type": "object"})
    ask(direct(stub), Request(HI.messages, schema={"type": "object"}, tools=(tool,)))
    assert stub.asked[0].body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert stub.asked[0].body["tools"][0]["function"]["name"] == "f"


def test_defaults_fill_what_the_request_leaves_open_and_extra_fields_are_added(stub: Any) -> None:
    settings = Settings(defaults={"temperature": 0.5, "max_tokens": 9}, extra_body={"top_k": 3})
    ask(direct(stub, settings=settings), Request(HI.messages, temperature=0.0))
    sent = stub.asked[0].body
    assert (sent["temperature"], sent["max_tokens"], sent["top_k"]) == (0.0, 9, 3)


def test_half_characters_in_a_prompt_do_not_break_the_request(stub: Any) -> None:
    ask(direct(stub), Request((Message.of("user", "a\ud800b"),)))
    assert stub.asked[0].body["messages"][0]["content"] == "a\ufffdb"


def test_identity_names_neither_host_nor_key(stub: Any) -> None:
    model = direct(stub)
    assert model.id == "openai:m"
    assert KEY not in repr(model.endpoint)


def test_openais_own_headers_stay_away_from_other_hosts(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "private-value")
    ask(direct(stub))
    assert "private-value" not in json.dumps(stub.asked[0].headers)


def test_a_proxy_variable_does_not_catch_loopback(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert ask(direct(stub)).text == "hi"


def test_a_redirect_is_not_followed(stub: Any, reply: Any) -> None:
    stub.always(reply("", status=307, headers={"location": "http://127.0.0.1:9/v1/chat/completions"}))
    assert failed(direct(stub)).kind == "not_found"


# What fails


def test_each_refused_request_becomes_its_kind(stub: Any, reply: Any) -> None:
    for status, kind in (
        (400, "bad_request"),
        (401, "auth"),
        (402, "quota"),
        (413, "overflow"),
        (422, "bad_request"),
    ):
        stub.always(reply({"error": {"message": "no"}}, status=status))
        before = len(stub.asked)
        assert failed(direct(stub)).kind == kind
        assert len(stub.asked) == before + 1


def test_overload_is_asked_again_until_the_answer_comes(stub: Any, reply: Any, chat: Any) -> None:
    stub.always(
        reply("", status=503), reply("", status=429, headers={"retry-after-ms": "1"}), reply(chat("late"))
    )
    completion = ask(direct(stub))
    assert (completion.text, completion.telemetry["attempts"]) == ("late", 3)


def test_retry_after_reaches_the_policy(stub: Any, reply: Any) -> None:
    stub.always(reply("", status=429, headers={"retry-after": "99999"}))
    error = failed(direct(stub))
    assert (error.kind, error.retry_after_s, len(stub.asked)) == ("rate_limited", 99999.0, 1)


BROKEN = {
    "cut off": b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{",
    "no http": b"hello\r\n\r\n",
    "bad gzip": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello",
    "html": b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
    "bytes until the end": b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)),
    "chunks cut off": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{",
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_answer_is_a_bad_reply_and_asked_again(stub: Any, reply: Any, chat: Any, raw: bytes) -> None:
    stub.always(reply(raw=raw))
    assert failed(direct(stub)).kind == "bad_reply"
    assert len(stub.asked) == 3
    stub.always(reply(raw=raw), reply(chat()))
    assert ask(direct(stub)).telemetry["attempts"] == 2


def test_a_connection_closed_without_an_answer_is_unreachable(stub: Any, reply: Any) -> None:
    stub.always(reply(raw=b""))
    assert failed(direct(stub)).kind == "unreachable"


def test_no_server_is_unreachable_and_the_address_is_named(stub: Any) -> None:
    error = failed(direct(stub, base_url="http://127.0.0.1:1/v1"))
    assert error.kind == "unreachable"
    assert "http://127.0.0.1:1/v1" in str(error)


def test_no_answer_in_time_is_a_timeout_and_frees_the_connection(stub: Any, reply: Any) -> None:
    stub.always(reply(hang=True))
    assert failed(direct(stub, settings=Settings(timeout_s=0.2))).kind == "timeout"
    stub.until(lambda server: server.dropped > 0 and server.open == 0)


def test_a_key_that_the_server_repeats_is_never_shown(stub: Any, reply: Any) -> None:
    for body in ({"error": {"message": f"bad key {KEY}"}}, f"<html>{KEY}</html>".encode()):
        for status in (200, 400, 401, 500):
            stub.always(reply(body, status=status))
            error = failed(direct(stub))
            seen: BaseException | None = error
            while seen is not None:
                assert KEY not in str(seen)
                seen = seen.__cause__ or seen.__context__


def test_a_wrong_name_is_answered_with_the_names_that_are_served(stub: Any, reply: Any) -> None:
    stub.answer = lambda asked: (
        reply({"data": [{"id": "org/m"}, {"id": "other"}]})
        if asked.method == "GET"
        else reply("", status=404)
    )
    error = failed(direct(stub))
    assert error.kind == "not_found"
    assert "served there: org/m, other" in str(error)


# Many at once, cancelled, in another loop


def test_sixty_four_requests_are_in_flight_at_once(stub: Any, reply: Any, chat: Any) -> None:
    stub.answer = lambda asked: reply(chat(asked.body["messages"][0]["content"]), together=64)

    async def work(model: Model) -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(model.complete(Request((Message.of("user", str(i)),)))) for i in range(64)
            ]
        return [task.result().text for task in tasks]

    assert use(direct(stub), work) == [str(i) for i in range(64)]


def test_connections_are_kept_beyond_a_hundred_at_once(stub: Any, reply: Any, chat: Any) -> None:
    stub.answer = lambda asked: reply(chat(), together=128)

    async def work(model: Model) -> None:
        for _ in range(2):
            async with asyncio.TaskGroup() as group:
                for _ in range(128):
                    group.create_task(model.complete(HI))

    use(direct(stub, concurrency=128), work)
    assert stub.connections == 128


def test_the_limit_of_an_endpoint_holds_for_all_its_models(stub: Any, reply: Any, chat: Any) -> None:
    stub.answer = lambda asked: reply(chat()) if asked.body["model"] == "probe" else reply(hang=True)
    gates = Gates()
    models = [
        OpenAIModel("m", Endpoint(stub.url), gate=gates.gate(stub.url, limit), retry=Retry())
        for limit in (3, 64)
    ]
    passer_by = OpenAIModel("probe", Endpoint(stub.url), gate=Gate(1))

    async def main() -> None:
        tasks = [asyncio.ensure_future(models[index % 2].complete(HI)) for index in range(40)]
        await asyncio.to_thread(stub.until, lambda server: server.waiting == 3)
        await passer_by.complete(HI)  # whatever else was sent before has arrived by now
        assert len(stub.asked) == 3 + 1
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for model in (*models, passer_by):
            await model.aclose()

    asyncio.run(main())


def test_cancelling_a_request_frees_its_connection_and_its_place(stub: Any, reply: Any, chat: Any) -> None:
    stub.always(reply(hang=True))

    async def work(model: Model) -> str:
        task = asyncio.ensure_future(model.complete(HI))
        await asyncio.to_thread(stub.until, lambda server: server.waiting == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(stub.until, lambda server: server.dropped == 1 and server.open == 0)
        stub.always(reply(chat("after")))
        return (await model.complete(HI)).text

    assert use(direct(stub, concurrency=1), work) == "after"


def test_a_model_works_in_one_event_loop_after_another(stub: Any) -> None:
    model = direct(stub)
    assert [ask(model).text for _ in range(3)] == ["hi"] * 3


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_loop_that_ended_without_closing_the_model_does_not_spoil_the_next(stub: Any) -> None:
    model = direct(stub)
    for _ in range(3):
        assert asyncio.run(model.complete(HI)).text == "hi"
        assert len(model._clients) == 1
    use(model, lambda opened: opened.complete(HI))
    gc.collect()


def test_closing_twice_is_allowed_and_a_later_request_opens_anew(stub: Any) -> None:
    async def work(model: Model) -> str:
        await model.complete(HI)
        await model.aclose()
        await model.aclose()
        return (await model.complete(HI)).text

    assert use(direct(stub), work) == "hi"
    stub.until(lambda server: server.open == 0)
    assert stub.connections == 2


# What the server says of itself

LISTINGS: list[tuple[Any, int | None]] = [
    ({"data": [{"id": "m", "max_model_len": 2048}, {"id": "lora", "max_model_len": 9}]}, 2048),
    ({"data": [{"id": "/path/m.gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 8192}}]}, 4096),
    ({"data": [{"id": "m", "context_length": 100}]}, 100),
    ({"data": [{"id": "m", "context_window": 200}]}, 200),
    ({"data": [{"id": "m"}]}, None),
    ({"data": [{"id": "m", "max_model_len": "2048", "meta": None}]}, None),
    ({"data": [{"id": "a", "max_model_len": 5}, {"id": "b", "max_model_len": 6}]}, None),
    ({"data": []}, None),
    ({"data": None}, None),
    ([], None),
    ([{"id": "m", "context_length": 100}], 100),
    (b"<html>", None),
]


@pytest.mark.parametrize(("listing", "expected"), LISTINGS)
def test_the_context_length_is_read_from_the_listing(
    stub: Any, reply: Any, listing: Any, expected: int | None
) -> None:
    stub.always(reply(listing))
    assert use(direct(stub), lambda model: model.context_length()) == expected
    assert stub.asked[0].path == "/v1/models"


def test_the_context_length_is_asked_once_but_a_failure_is_not_remembered(stub: Any, reply: Any) -> None:
    stub.always(reply("", status=503), reply({"data": [{"id": "m", "max_model_len": 2048}]}))

    async def work(model: Model) -> list[int | None]:
        return [await model.context_length() for _ in range(4)]

    assert use(direct(stub), work) == [None, 2048, 2048, 2048]
    assert len(stub.asked) == 2


def test_a_probe_tells_what_is_served_or_what_is_wrong(stub: Any, reply: Any) -> None:
    stub.always(reply({"data": [{"id": "m", "max_model_len": 2048}]}))
    assert use(direct(stub), probe) == Probe(True, ("m",), 2048)
    stub.always(reply({"error": {"message": "no"}}, status=401))
    assert use(direct(stub), probe) == Probe(True, problem="no (HTTP 401)")
    gone = use(direct(stub, base_url="http://127.0.0.1:1/v1"), probe)
    assert gone.reachable is False
    assert "cannot reach http://127.0.0.1:1/v1" in gone.problem


@pytest.mark.parametrize(
    ("status", "problem"),
    [(404, "served there: m2, other; did you mean 'hosted_vllm/m2'?"), (200, None), (400, None)],
)
def test_a_name_that_is_not_listed_is_tried_once_and_refused_only_if_the_server_refuses_it(
    stub: Any, reply: Any, chat: Any, status: int, problem: str | None
) -> None:
    listing = reply({"data": [{"id": "m2"}, {"id": "other"}]})
    stub.answer = lambda asked: listing if asked.method == "GET" else reply(chat(), status=status)
    found = use(direct(stub), probe)
    assert (found.problem or "").endswith(problem or "")
    assert bool(found.problem) == bool(problem)
    assert [asked.body["max_tokens"] for asked in stub.asked if asked.method == "POST"] == [1]


def test_a_listed_name_is_asked_no_word(stub: Any, reply: Any) -> None:
    for listing in ({"data": [{"id": "m"}]}, [{"id": "m"}, 5]):
        stub.always(reply(listing))
        assert use(direct(stub), probe).problem is None
    assert {asked.method for asked in stub.asked} == {"GET"}


PAGE = "<html>welcome</html>"


@pytest.mark.parametrize(
    ("listing", "status"),
    [(PAGE, 200), ("", 200), ("[" * 100_000, 200), ({"error": {"message": "no such page"}}, 404)]
    + [(listing, 200) for listing in ({"data": []}, {"data": None}, {"data": "x"}, {}, [], 7)],
)
@pytest.mark.parametrize(
    ("answer", "answered", "problem"),
    [(None, 200, ""), (PAGE, 200, "no completion"), (PAGE, 404, "HTTP 404"), ({}, 400, "")],
)
def test_a_server_without_a_list_that_can_be_read_is_tried_and_refused_only_if_it_does_not_answer_either(
    stub: Any, reply: Any, chat: Any, listing: Any, status: int, answer: Any, answered: int, problem: str
) -> None:
    said = reply(chat() if answer is None else answer, status=answered)
    stub.answer = lambda asked: reply(listing, status=status) if asked.method == "GET" else said
    found = use(direct(stub), probe)
    assert found.reachable is True
    assert problem in (found.problem or "")
    assert bool(found.problem) == bool(problem)
    assert any(asked.method == "POST" for asked in stub.asked)
