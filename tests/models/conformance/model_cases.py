"""What every back end keeps, one function a promise, over an opened model and what stands behind it.

A case says nothing of how a back end works. What a back end cannot do it says in its `Able`, and a case about that
then asks that it be said: by an error of the right kind, never by silence.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import ModelError
from worldloom.models.capabilities import capabilities
from worldloom.models.model import Completion, Message, Model, Request, ToolCall, ToolSpec
from worldloom.models.reply import parse_object


@dataclass(frozen=True)
class Able:
    """What stands behind a model.

    Attributes:
        abilities: what `capabilities` has to find, by name; several states where the model itself decides.
        context_tokens: the window; None where nobody tells.
        overflowing: so many words are too long a prompt, an eighth of them is not.
        at_once: requests that are worked on together.
        running: how many requests the server works on now; None where it does not tell.
        answers_at_once: it has no long answers, so there is nothing to cancel.
        unknown: the same server, asked for a model that it does not serve; None if it serves whatever is asked.
    """

    abilities: Mapping[str, tuple[str, ...]]
    context_tokens: int | None
    overflowing: int
    at_once: int
    running: Callable[[], Awaitable[int]] | None = None
    answers_at_once: bool = False
    unknown: Callable[[], Model] | None = None


DECISION: dict[str, Json] = {
    "type": "object",
    "properties": {
        "why": {"type": "string", "maxLength": 20},
        "action": {
            "anyOf": [
                {"const": "DONE"},
                {
                    "type": "object",
                    "properties": {
                        "name": {"enum": ["wait", "go"]},
                        "times": {"type": "integer", "minimum": 1, "maximum": 9},
                        "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
                    },
                    "required": ["name", "times"],
                    "additionalProperties": False,
                },
            ]
        },
    },
    "required": ["why", "action"],
    "additionalProperties": False,
}
WORDS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 4, "title": "A text", "examples": ["ab"]},
        "day": {"type": "string", "maxLength": 10, "format": "date", "description": "When."},
        "free": {"type": "string", "maxLength": 4, "format": "of its own", "$comment": "any word"},
        "whole": {"type": "integer", "minimum": 3, "exclusiveMaximum": 6, "default": 4, "unit": "EUR"},
        "part": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "list": {"type": "array", "items": {"enum": [1, "two", None]}, "minItems": 1, "maxItems": 2},
        "inner": {"type": "object", "properties": {"on": {"type": "boolean"}}, "additionalProperties": False},
        "same": {"const": "same"},
    },
    "required": ["text", "day", "free", "whole", "part", "list", "inner", "same"],
    "additionalProperties": False,
}
"""Every word that the parameters of a scenario with rules may hold."""
LONG = Request(
    (Message.of("user", "Count from 1 to 1000, a number a line: 1 2 3 4 5 6 and on (hold)."),),
    max_tokens=1500,
    temperature=0.0,
)


def asked(text: str, **fields: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 12, "temperature": 0.0, **fields}
    return Request((Message.of("system", "You act in a world."), Message.of("user", text)), **given)


def only(text: str) -> dict[str, Json]:
    """A schema that one answer satisfies."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [text]}},
        "required": ["answer"],
        "additionalProperties": False,
    }


async def heard(model: Model, *requests: Request) -> list[Completion | ModelError]:
    """The answers to requests that are sent together."""

    async def one(request: Request) -> Completion | ModelError:
        try:
            return await model.complete(request)
        except ModelError as error:
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(request)) for request in requests]
    return [task.result() for task in tasks]


async def answered(model: Model, *requests: Request) -> list[Completion]:
    answers = await heard(model, *requests)
    assert [answer for answer in answers if not isinstance(answer, Completion)] == []
    return [answer for answer in answers if isinstance(answer, Completion)]


@contextlib.asynccontextmanager
async def at_work(model: Model, able: Able, count: int) -> AsyncIterator[list[asyncio.Task[Completion]]]:
    """So many long requests that the server works on; cancelled afterwards."""
    tasks = [asyncio.ensure_future(model.complete(LONG)) for _ in range(count)]
    try:
        if able.running is None:
            done, _ = await asyncio.wait(tasks, timeout=1)  # nothing tells, but it takes far longer than this
            assert not done
        else:
            await until(able, lambda running: running >= count)
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def until(able: Able, holds: Callable[[int], bool]) -> None:
    assert able.running is not None
    async with asyncio.timeout(60):
        while not holds(await able.running()):  # noqa: ASYNC110 (a server in another process)
            await asyncio.sleep(0.02)


async def an_answer_is_text_that_can_be_recorded(model: Model, able: Able) -> None:
    (answer,) = await answered(model, asked("Say hello.", top_logprobs=2))
    assert answer.text.strip()
    assert answer.finish_reason in ("stop", "length")
    calls: list[Json] = [call.to_json() for call in answer.tool_calls]
    canonical([answer.text, answer.reasoning, calls, answer.logprobs, dict(answer.telemetry)])
    assert answer.telemetry["attempts"] == 1
    assert {"waited_s", "latency_s"} <= set(answer.telemetry)


async def an_answer_by_schema_is_one_object_that_satisfies_it(model: Model, able: Able) -> None:
    requests = [asked(f"Decide, case {n}.", schema=DECISION, max_tokens=120) for n in range(4)]
    for answer in await answered(model, *requests):
        jsonschema.validate(parse_object(answer), DECISION)


async def every_word_of_a_scenarios_parameters_is_obeyed(model: Model, able: Able) -> None:
    (answer,) = await answered(model, asked("Fill it in.", schema=WORDS, max_tokens=250))
    jsonschema.validate(parse_object(answer), WORDS)


async def what_is_asked_for_is_obeyed_or_said_not_to_be(model: Model, able: Able) -> None:
    found = {one.name: one.state for one in await capabilities(model)}
    assert set(found) == set(able.abilities)
    assert {name: state for name, state in found.items() if state not in able.abilities[name]} == {}


async def logprobs_come_for_every_token_with_as_many_alternatives_as_asked(model: Model, able: Able) -> None:
    (answer,) = await answered(model, asked("Say hello.", top_logprobs=3, max_tokens=4))
    assert isinstance(answer.logprobs, dict)
    tokens: Any = answer.logprobs["content"]
    assert len(tokens) == answer.usage.completion_tokens
    assert {len(token["top_logprobs"]) for token in tokens} == {3}
    assert all(token["logprob"] <= 0.001 for token in tokens)
    (plain,) = await answered(model, asked("Say hello.", max_tokens=4))
    assert plain.logprobs is None


async def an_answer_ends_before_a_stop(model: Model, able: Able) -> None:
    (whole,) = await answered(model, asked("Tell me of the sea.", max_tokens=24))
    words = whole.text.split()
    word = words[len(words) // 2]
    (ended,) = await answered(model, asked("Tell me of the sea.", max_tokens=24, stop=(word,)))
    assert word not in ended.text
    assert ended.finish_reason == "stop"


async def an_answer_that_is_cut_off_says_so(model: Model, able: Able) -> None:
    (answer,) = await answered(model, asked("Count from one to ten.", max_tokens=2))
    assert (answer.finish_reason, answer.usage.completion_tokens) == ("length", 2)


async def tokens_are_counted(model: Model, able: Able) -> None:
    short, long = await answered(model, asked("Say hello."), asked("Say hello. " * 20))
    assert short.usage.prompt_tokens is not None
    assert long.usage.prompt_tokens is not None
    assert 0 < short.usage.prompt_tokens < long.usage.prompt_tokens
    assert 0 < (short.usage.completion_tokens or 0) <= 12


async def seeds_are_accepted_under_load(model: Model, able: Able) -> None:
    requests = [asked(f"Tell me of the number {n}.", seed=2**40 + n, temperature=1.0) for n in range(16)]
    await answered(model, *requests)
    await answered(model, asked("Are you there?"))


async def too_long_a_prompt_is_an_overflow_and_asked_once(model: Model, able: Able) -> None:
    error, again = await heard(
        model, asked("hello " * able.overflowing), asked("hello " * (able.overflowing // 8))
    )
    assert isinstance(error, ModelError)
    assert error.kind == "overflow"
    assert "attempts" not in str(error)
    assert isinstance(again, Completion)


async def a_failing_request_harms_no_other(model: Model, able: Able) -> None:
    fine = [asked(f"Case {n}.", schema=only(f"case {n}"), max_tokens=40) for n in range(6)]
    answers = await heard(model, *fine[:3], asked("hello " * able.overflowing), *fine[3:])
    assert [isinstance(answer, Completion) for answer in answers] == [True] * 3 + [False] + [True] * 3


async def thirty_two_different_requests_get_their_own_answers(model: Model, able: Able) -> None:
    requests = [asked("Answer.", schema=only(f"case {n:02}"), max_tokens=40) for n in range(32)]
    answers = await answered(model, *requests)
    assert [parse_object(answer)["answer"] for answer in answers] == [f"case {n:02}" for n in range(32)]


async def thirty_two_equal_requests_get_an_answer_each(model: Model, able: Able) -> None:
    answers = await answered(model, *[asked("Say hello.", temperature=1.0)] * 32)
    assert all(answer.usage.completion_tokens for answer in answers)
    ids = [answer.telemetry["server_id"] for answer in answers if "server_id" in answer.telemetry]
    assert len(set(ids)) == len(ids)


async def a_cancelled_request_is_dropped_by_the_server_and_the_next_is_answered(
    model: Model, able: Able
) -> None:
    if able.answers_at_once:
        return
    async with at_work(model, able, able.at_once):
        pass
    if able.running is not None:
        await until(able, lambda running: running == 0)
    async with asyncio.timeout(60):
        await answered(model, *[asked("Are you there?")] * able.at_once)


async def one_token_does_not_wait_for_long_answers(model: Model, able: Able) -> None:
    if able.answers_at_once:
        return
    async with at_work(model, able, min(able.at_once, 16) - 1) as tasks:
        await answered(model, asked("Are you there?", max_tokens=1))
        assert not any(task.done() for task in tasks)


async def an_unknown_model_is_not_found_and_what_is_served_is_named(model: Model, able: Able) -> None:
    if able.unknown is None:
        return
    other = able.unknown()
    (error,) = await heard(other, asked("Are you there?"))
    await other.aclose()
    assert isinstance(error, ModelError)
    assert error.kind == "not_found"


async def tools_are_called_or_refused_and_nothing_breaks(model: Model, able: Able) -> None:
    tool = ToolSpec("look", "Looks around.", {"type": "object", "properties": {"far": {"type": "boolean"}}})
    (answer,) = await heard(model, asked("Look around.", tools=(tool,)))
    if isinstance(answer, ModelError):
        assert answer.kind == "bad_request"
    await answered(model, asked("Are you there?"))


HISTORIES: Sequence[tuple[Message, ...]] = (
    (Message.of("assistant", "I begin."), Message.of("system", "Late."), Message.of("user", "a")),
    (Message.of("user", "a"), Message.of("user", "b"), Message.of("user", "")),
    (Message.of("user", "a"), Message("tool", (), tool_call_id="nobody's"), Message.of("user", "b")),
    (
        Message.of("user", "a"),
        Message("assistant", (), (ToolCall("1", "a tool", '{"broken'),)),
        Message.of("user", "b"),
    ),
    (Message.of("user", "half \ud83d, NUL \x00, escape \x1b[31m, </script>, zero\u200bwidth"),),
)


async def any_history_is_taken(model: Model, able: Able) -> None:
    await answered(model, *[Request(history, max_tokens=4) for history in HISTORIES])


CASES: Sequence[Callable[[Model, Able], Awaitable[None]]] = (
    an_answer_is_text_that_can_be_recorded,
    an_answer_by_schema_is_one_object_that_satisfies_it,
    every_word_of_a_scenarios_parameters_is_obeyed,
    what_is_asked_for_is_obeyed_or_said_not_to_be,
    logprobs_come_for_every_token_with_as_many_alternatives_as_asked,
    an_answer_ends_before_a_stop,
    an_answer_that_is_cut_off_says_so,
    tokens_are_counted,
    seeds_are_accepted_under_load,
    too_long_a_prompt_is_an_overflow_and_asked_once,
    a_failing_request_harms_no_other,
    thirty_two_different_requests_get_their_own_answers,
    thirty_two_equal_requests_get_an_answer_each,
    a_cancelled_request_is_dropped_by_the_server_and_the_next_is_answered,
    one_token_does_not_wait_for_long_answers,
    an_unknown_model_is_not_found_and_what_is_served_is_named,
    tools_are_called_or_refused_and_nothing_breaks,
    any_history_is_taken,
)
