"""A run of talking episodes that meets some hazard, and whether it comes to equal the run that met none."""

import contextlib
import sqlite3

import pytest

from worldloom.core.errors import RecordError


class Stamp:
    """A tool that says what it is told, and before that waits for the disk."""

    name, parameters, effect_class = "stamp", {}, "idempotent"

    async def call(self, arguments, idempotency_key):
        return arguments["text"]


@pytest.fixture
def stamp():
    return Stamp()


@pytest.fixture
def plays(ask, stamp):
    """Twelve episodes, each with 24 answers of a model and 8 of a tool."""

    async def child(ctx, item):
        ctx.emit("heard.1", {"text": (await ctx.model("agent", ask(f"{item} of {ctx.seed}"))).text})

    async def play(ctx):
        for n in range(8):
            await ctx.map(child, range(3))
            await ctx.tool(stamp, {"text": f"{n} of {ctx.seed} " * 200})

    return [play] * 12


@pytest.fixture
def acting(echo):
    """A model that repeats what it is told; it acts before its nth answer."""

    def at(nth, act):
        asked = []

        def answer(request):
            asked.append(request)
            if len(asked) == nth:
                act()
            return request.messages[-1].content[0].text

        return echo(answer)

    return at


@pytest.fixture
def go(echo, plays):
    """Plays what is left of the run on a desk."""
    return lambda desk, model=None, **settings: desk.play(
        *plays, models={"agent": model or echo()}, **settings
    )


def _sound(desk):
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute("SELECT episode, key, data FROM events ORDER BY seq").fetchall()


@pytest.fixture
def sound():
    """All events on a disk that is sound, each as (episode, key, data), in the order of their arrival."""
    return _sound


@pytest.fixture
def fails(go):
    """Whether a run fails with one error in these words, behind which there is nothing but its cause."""

    def check(desk, words, model=None):
        with pytest.raises(RecordError, match=words) as failure:
            go(desk, model)
        assert not isinstance(failure.value.__cause__, RecordError)
        return str(failure.value)

    return check


@pytest.fixture
def goes_on(new_desk, go, plays, echo):
    """Whether a run, resumed, comes to equal the one that met nothing, and is replayed from its record alone."""
    whole = [row.fingerprint for row in go(new_desk("whole"))]

    def check(desk):
        _sound(desk)
        assert [row.fingerprint for row in go(desk)] == whole
        desk.replay(*plays, models={"agent": echo()})

    return check
