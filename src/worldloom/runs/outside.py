"""The one way to the outside: use the recorded answer, or ask and record.

What a crash between request and answer means, depends on the class of the effect; see `runs.effect`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar, cast

from worldloom.core.canonical import Json, canonical, parse
from worldloom.core.errors import Ended, RecordError
from worldloom.core.key import show_key
from worldloom.core.surrogates import mend
from worldloom.runs.effect import Call, Fate
from worldloom.runs.episode import Episode

T = TypeVar("T")


async def effect(episode: Episode, call: Call) -> Json:
    """The recorded answer, or the one that the outside gives now, which is recorded.

    Raises:
        Ended: the outside broke, or the episode was stopped.
        Divergence: something else is recorded, or nothing in a replay.
    """
    ledger, key, type, request = episode.ledger, call.key, call.type, call.request
    episode.check_stopped(key, type, key)
    old, wording = ledger.recorded(key), ""
    if old is not None:
        body = ledger.body(key)
        if old.type != type or body.get("request") != request or not body.keys() & {"answer", "broke"}:
            asked = f"{old.type} with request {str(body.get('request'))[:16]}…"
            raise ledger.diverged(key, asked, f"{type} with request {request[:16]}…")
        if episode.verify is not None and call.what and call.effect_class == "repeatable":
            await episode.verify(call, body.get("answer"))
    else:
        ledger.must_ask(key, type, request)
        outcome, wording = await _asked(episode, call)
        # As it will be read from the record: secrets masked, keys in their order. A program hears nothing else.
        body = cast(dict[str, Json], parse(ledger.mend(canonical({"request": request, **outcome}))))
    ledger.record(key, type, body)
    if "broke" in body:
        broke = Ended("tool_failed" if type == "tool.1" else "error", f"{type} broke: {body['broke']}")
        broke.add_note(wording)
        raise broke
    answer: Json = body["answer"]
    return answer


async def _asked(episode: Episode, call: Call) -> tuple[dict[str, Json], str]:
    """What the outside said, as the answer to be recorded.

    If it broke, that is the name of the exception; its text, which is for people, stands beside it.
    """
    ledger = episode.ledger
    if call.lookup is not None and call.effect_class == "once":
        intended = ledger.intended(call.key)
        if intended is None:
            await ledger.intend(call.key, call.request)
        elif intended != call.request:  # by other code: what became of that call says nothing about this one
            raise episode.stopped(
                call.key, call.type, "in_doubt", f"another call at {show_key(call.key)} was sent before"
            )
        elif (found := await _looked_up(episode, call, call.lookup)) is not Fate.NEVER:
            return {"answer": found}, ""
    elif call.effect_class == "idempotent":
        await ledger.durable()
    try:
        answer = await _outside(episode, call, call.ask)
        canonical(answer)
    except Ended:
        raise
    except Exception as fault:  # noqa: BLE001  # the outside may raise anything; a replay must find it again
        wording = mend(repr(fault))
        ledger.note(call.key, "broke.1", {"text": wording})
        return {"broke": fault.__class__.__name__}, wording
    return {"answer": answer}, ""


async def _looked_up(
    episode: Episode, call: Call, lookup: Callable[[], Awaitable[Json | Fate]]
) -> Json | Literal[Fate.NEVER]:
    """The answer of a call of an earlier life; raises `Ended` if nobody knows what became of it."""
    try:
        found = await _outside(episode, call, lookup)
        if not isinstance(found, Fate):
            canonical(found)
    except Ended:
        raise
    except Exception as fault:  # noqa: BLE001  # a tool that cannot be asked cannot tell
        episode.ledger.note(call.key, "broke.1", {"text": mend(repr(fault))})
        found = Fate.UNKNOWN
    if found is Fate.UNKNOWN:
        detail = f"the call at {show_key(call.key)} was sent before a crash"
        raise episode.stopped(call.key, call.type, "in_doubt", detail)
    return found


async def _outside(episode: Episode, call: Call, ask: Callable[[], Awaitable[T]]) -> T:
    task = asyncio.current_task()
    if task is None:
        raise RecordError("an effect needs a running asyncio task")
    if episode.stop_reason is not None:  # while the request was made durable
        raise episode.stopped(call.key, call.type)
    with episode.asking(task):
        try:
            return await ask()
        except asyncio.CancelledError:
            if not task.cancelling():
                raise RuntimeError("what was asked was cancelled from within") from None
            if not episode.given_up:
                raise
            task.uncancel()
            raise episode.stopped(call.key, call.type) from None
