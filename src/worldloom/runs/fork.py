"""Fork: the past of an episode, something changed, then live."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.content import Blob
from worldloom.core.errors import UsageError, offer
from worldloom.core.event import Event, pack
from worldloom.core.key import place_before, show_key
from worldloom.runs.effect import ASK, EFFECTS
from worldloom.runs.episode import STOPPED
from worldloom.runs.redact import redactor
from worldloom.runs.store import RunStore, put_episode

TEXTS = ("model.1", ASK)
"""Types of events whose answer is given as text, and not as JSON."""


def forked(
    recorded: Mapping[bytes, Event], at: bytes, overrides: Mapping[bytes, Event] | None = None
) -> dict[bytes, Event]:
    """The rows with which a fork at key `at` starts: the parent's rows below it, and what is put in their stead.

    Args:
        recorded: key -> row of the parent.
        at: first key that is played live, unless it is overridden.
        overrides: key -> row to use instead, e.g. a different answer at `at`.
    """
    past = {key: event for key, event in recorded.items() if key < at}
    return past | dict(overrides or {})


def answered(events: Mapping[bytes, Event], key: bytes, answer: Json) -> Event:
    """The row of an effect with another answer: of a model or a person text, of anything else JSON.

    Raises:
        UsageError: the row holds no answer, or one of another kind.
    """
    event, where = events[key], show_key(key)
    if event.type == STOPPED and event.body["at"] == ASK:
        raise UsageError(f"the question at {where} has not been answered: `worldloom answer` does that")
    if event.type not in EFFECTS:
        raise UsageError(
            f"the event at {where} is {event.type}: nothing was asked there\n"
            f"  allowed: an event that holds an answer: {', '.join(sorted(EFFECTS))}"
        )
    if event.type in TEXTS and not isinstance(answer, str):
        raise UsageError(
            f"the answer at {where} is a {'model' if event.type == 'model.1' else 'person'}'s; allowed: text"
        )
    if event.type == "model.1":
        old = event.body.get("answer") or {}
        answer = {
            "text": answer,
            "finish_reason": "stop",
            "prompt_tokens": old.get("prompt_tokens"),
            "completion_tokens": old.get("completion_tokens"),
        }
    elif event.type == "tool.1":
        answer = {"value": answer}
    elif event.type == ASK:
        choices = events[place_before(key)].body["choices"]
        if choices and answer not in choices:
            raise UsageError(f"{answer!r} is no answer to the question at {where}{offer(answer, choices)}")
    data, blob = pack({"request": event.body["request"], "answer": answer}, redactor())
    return Event(event.key, event.type, data, None if blob is None else lambda _: blob.data)


def give_past(store: RunStore, parent: RunStore, episode: int, at: bytes, override: Event | None) -> None:
    """Give the only episode of a new run the past of an episode of another run, so that a resume plays on.

    Args:
        at: first key that is not taken over.
        override: row to put in at `at`.
    """
    past = [event for event in parent.arrivals(episode) if event.key < at]
    with store.writing() as writer:
        for event in [*past, *([] if override is None else [override])]:
            for ref in _refs([json.loads(event.data), event.body]):
                source = override.load if event is override and override is not None else None
                data = source(ref["sha256"]) if source is not None else parent.blob(ref["sha256"])
                writer.blob(Blob(data, str(ref["media_type"])))
            writer.event((0, ""), event)
        for key, type, data in parent.raw_telemetry(episode):
            if key < at:
                writer.telemetry((0, ""), key, type, data)
        put_episode(writer, 0, status="running")


def _refs(value: Any) -> Iterator[Mapping[str, Any]]:
    """The references to blobs in a JSON value."""
    if isinstance(value, dict):
        if value.keys() == {"sha256", "media_type", "size"}:
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _refs(item)
