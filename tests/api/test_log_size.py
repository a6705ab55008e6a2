"""The log of a chat grows with its length and not with the square of it, what was asked included."""

import contextlib

import pytest

import worldloom as wl
from worldloom.models.model import Completion, Usage
from worldloom.runs.limits import Limits
from worldloom.runs.store import RunStore


@pytest.fixture
def talking(speaking, words):
    """An agent that never comes to an end, in messages of equal length."""
    move, _, turn_of = words

    def answer(request):
        reply = move("lamp.switch", lit=turn_of(request) % 2 == 0)
        return Completion(reply, usage=Usage(1000, 50))

    speaking.answer = answer
    return speaking


def bytes_of(result):
    """Bytes of events, telemetry and blobs of the contestant's episode."""
    with contextlib.closing(RunStore(result.folder)) as store:
        row = result.episodes[-1].row
        rows = store.reader.execute(
            "SELECT sum(length(key) + length(data)) FROM (SELECT episode, key, data FROM events"
            " UNION ALL SELECT episode, key, data FROM telemetry) WHERE episode = ?",
            (row,),
        )
        blobs = store.reader.execute("SELECT sum(length(data)) FROM blobs")
        return rows.fetchone()[0] + blobs.fetchone()[0]


@pytest.mark.parametrize("few", [25, pytest.param(50, marks=pytest.mark.slow)])
def test_eight_times_the_steps_take_eight_times_the_bytes(files, runs, talking, few):
    sizes = {}
    for steps in (few, 8 * few):
        result = wl.run(files[:1], model="m", runs_dir=runs, limits=Limits(steps=steps))
        assert (result.episodes[-1].reason, result.episodes[-1].steps) == ("step_limit", steps)
        sizes[steps] = bytes_of(result)
    assert sizes[8 * few] / sizes[few] == pytest.approx(8, rel=0.1)
    assert sizes[few] / few < 2_000, "bytes a step"


def test_every_prompt_can_be_put_together_from_what_is_kept(files, runs, talking):
    seen = []
    answer = talking.answer
    talking.answer = lambda request: (seen.append(request), answer(request))[1]
    result = wl.run(files[:1], model="m", runs_dir=runs, limits=Limits(steps=5))
    with contextlib.closing(RunStore(result.folder)) as store:
        kept = [body for _, type, body in store.telemetry(result.episodes[-1].row) if type == "request.1"]
    by_digest = {body["messages"]: body for body in kept}

    def whole(body):
        return (whole(by_digest[body["continues"]]) if body["continues"] else []) + body["new"]

    assert [whole(body) for body in kept] == [[m.to_json() for m in request.messages] for request in seen]
    settings = {body["parameters"]: body["settings"] for body in kept if "settings" in body}
    assert [settings[body["parameters"]] for body in kept] == [request.parameters() for request in seen]
    assert len(settings) == 1, "the schema of the answers is kept once"
