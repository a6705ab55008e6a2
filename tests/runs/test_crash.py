"""kill -9 at any instant: nothing is lost, nothing happens twice, and the resumed run equals an uninterrupted one."""

import asyncio
import contextlib
import itertools
import os
import random
import signal
import sqlite3
import time
import types
from pathlib import Path

import numpy as np
import pytest
from langgraph.graph import START, StateGraph

from worldloom.core.errors import ToolError, UsageError
from worldloom.graphs.node import HouseState, house_node
from worldloom.runs.effect import Fate
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import RunStore, reopen

# A fork spares each life the seconds of its imports. No thread of ours is alive then; numpy's may be forked.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

EPISODES, TURNS, ROWS = 64, 2, 29
"""Rows of an episode without a doubtful call."""


class Fuse:
    """Kills its own process at the nth effect, before or after it has happened outside; None for never."""

    def __init__(self, left=None):
        self.left = left

    def burn(self):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Till:
    """A side effect in the world outside: a line in a file that outlives the process, one for each call."""

    parameters = types.MappingProxyType({})

    def __init__(self, folder: Path, name, effect_class, fuse, *, knows=True):
        self.name, self.effect_class, self.fuse, self.knows = name, effect_class, fuse, knows
        self.file = folder / name

    def lines(self):
        return self.file.read_text().splitlines() if self.file.exists() else []

    async def call(self, arguments, idempotency_key):
        self.fuse.burn()
        with self.file.open("a") as file:
            file.write(f"{idempotency_key} {arguments['n']}\n")
        self.fuse.burn()
        await asyncio.sleep(0)
        if arguments["n"] == "bad":
            raise ToolError("not that one")
        return {"paid": arguments["n"]}

    async def lookup(self, idempotency_key):
        if not self.knows:
            return Fate.UNKNOWN
        sent = dict(line.split() for line in self.lines())
        return {"paid": int(sent[idempotency_key])} if idempotency_key in sent else Fate.NEVER


class Outside:
    """All that the episodes of one run reach outside; the same files in every life of the run."""

    def __init__(self, folder: Path, echo, fuse: int | None = None):
        folder.mkdir(exist_ok=True)
        fuse = Fuse(fuse)
        self.once = Till(folder, "once", "once", fuse)
        self.idempotent = Till(folder, "idempotent", "idempotent", fuse)
        self.repeatable = Till(folder, "repeatable", "repeatable", fuse)
        self.doubtful = Till(folder, "doubtful", "once", fuse, knows=False)

        def answer(request):
            fuse.burn()
            return request.messages[-1].content[0].text

        self.models = {"agent": echo(answer)}

    def lines(self):
        return [till.lines() for till in (self.once, self.idempotent, self.repeatable, self.doubtful)]


class State(HouseState, total=False):
    turn: int


def plays(ask, outside):
    """Episodes with every kind of effect, half of them as graphs, a quarter with a call that nobody can ask after."""

    async def child(ctx, item):
        answer = await ctx.model("agent", ask(f"child {item}"))
        ctx.emit("heard.1", {"text": answer.text, "luck": float(ctx.rng("luck").random())})
        await ctx.tool(outside.once, {"n": item})

    async def turn(ctx, n):
        answer = await ctx.model("agent", ask(f"turn {n} of {ctx.seed}"))
        ctx.emit("said.1", {"text": answer.text * (1 if n % 2 else 600)})
        await ctx.tool(outside.once, {"n": n})
        await ctx.tool(outside.idempotent, {"n": n})
        with contextlib.suppress(ToolError):
            await ctx.tool(outside.repeatable, {"n": "bad"})
        ctx.emit(
            "seen.1", {"at": await ctx.wall(), "what": ctx.blob(b"%d" % ctx.seed * 3000, "text/plain").ref}
        )
        ctx.emit_block("table.1", {"n": np.arange(n + ctx.seed)})
        await ctx.map(child, range(2))
        if ctx.seed % 4 == 3:
            await ctx.tool(outside.doubtful, {"n": n})

    async def plain(ctx):
        for n in range(TURNS):
            await turn(ctx, n)

    async def node(state, ctx):
        n = state.get("turn", 0)
        await turn(ctx, n)
        return {"turn": n + 1}

    async def on(state):
        return "node" if state["turn"] < TURNS and not state.get("ended") else "__end__"

    graph = StateGraph(State)
    graph.add_node("node", house_node(node))
    graph.add_edge(START, "node")
    graph.add_conditional_edges("node", on)
    compiled = graph.compile()

    async def drawn(ctx):
        return (await ctx.subgraph("drawn", compiled, {})).get("ended")

    return [plain if n // 2 % 2 else drawn for n in range(EPISODES)]


def events_in(path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


def is_killed(process, now) -> bool:
    """Kill a process as soon as `now` says so, if it does not kill itself before; False if it came to its end."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if not ended and now():
            os.kill(process, signal.SIGKILL)
            ended, status = os.waitpid(process, 0)
        if ended:
            assert status in (0, signal.SIGKILL), "the run broke by itself"
            return status != 0
    raise AssertionError("the run has hung")


def instant(chance, path):
    """When to kill the next life: once some more events are on disk, after some time, or at an effect of its own."""
    kind = chance.choice(("events", "time", "effect"))
    if kind == "events":
        events = events_in(path) + chance.randrange(1, EPISODES * ROWS // 4)
        return None, lambda: events_in(path) >= events
    if kind == "time":
        end = time.monotonic() + chance.uniform(0, 0.25)
        return None, lambda: time.monotonic() > end
    return chance.randrange(EPISODES * TURNS * 4), lambda: False


def nobody_is_left(process):
    with pytest.raises(ProcessLookupError):
        os.killpg(process, 0)


def seen_on_disk(desk):
    """(episode, key) -> type and data of all events. What is there has to be sound."""
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = {}
    with contextlib.closing(desk.store):
        for row in desk.store.episodes():
            events = desk.store.arrivals(row.row)
            if row.status == "ended":
                assert events[-1].type == "ended.1", "an episode that says it has ended is complete"
                assert desk.store.scores()[row.row], "and scored"
            for event in events:
                assert event.body, "every event that is there can be read, its blob included"
                found[row.row, event.key] = (event.type, event.data)
    return found


@pytest.fixture
def crashing(new_desk, echo, ask, tmp_path, life):
    """Plays one run, killed up to so many times, to its end; gives the kills, and the desk and what was outside."""

    def run(name, chance, concurrency, kills):
        desk, place, killed, seen = new_desk(name), tmp_path / f"{name}-outside", 0, {}
        desk.create(EPISODES)

        def play(fuse):
            outside = Outside(place, echo, fuse)
            desk.play(*plays(ask, outside), models=outside.models, concurrency=concurrency)

        while killed < kills:
            fuse, now = instant(chance, desk.store.path)
            process = life(lambda fuse=fuse: play(fuse))
            if not is_killed(process, now):
                break
            killed += 1
            nobody_is_left(process)
            if chance.random() < 0.5:  # else the next life is the first to open what the kill has left
                there = seen_on_disk(desk)
                assert seen.items() <= there.items(), "what was once on disk stays as it was"
                seen = {key: row for key, row in there.items() if row[0] not in ("stopped.1", "ended.1")}
        play(None)
        assert seen.items() <= seen_on_disk(desk).items()
        return killed, desk, Outside(place, echo, 0)

    return run


@pytest.fixture
def whole(new_desk, echo, ask, tmp_path, monkeypatch):
    """The rows and the events of the run that nobody killed. The wall clock stands still, or no two runs were equal."""
    clock = types.SimpleNamespace(time=lambda: 1e9, perf_counter=time.perf_counter)
    monkeypatch.setattr("worldloom.runs.executor.time", clock)
    desk, outside = new_desk("whole"), Outside(tmp_path / "whole-outside", echo)
    rows = desk.play(*plays(ask, outside), models=outside.models)
    return rows, seen_on_disk(desk)


def equals(desk, outside, whole):
    """Whether a run that has come to its end equals the whole one, save where nobody can know what has happened."""
    rows, events = desk.store.episodes(), seen_on_disk(desk)
    doubtful = [row for row in rows if row.reason == "in_doubt"]
    for row in doubtful:
        assert (row.status, row.fault, row.seed % 4) == ("ended", "infrastructure", 3)
    lost = {row.row for row in doubtful}
    for row, wanted in zip(rows, whole[0], strict=True):
        if row.row not in lost:
            assert (row.status, row.reason, row.fingerprint) == ("ended", "finished", wanted.fingerprint)
    ends = {key for key, (type, _) in events.items() if type in ("stopped.1", "ended.1")}
    kept = {key: row for key, row in events.items() if key[0] not in lost or key not in ends}
    assert kept.items() <= whole[1].items(), "an episode in doubt is the whole one up to its doubt"
    assert {key for key in whole[1] if key[0] not in lost} <= kept.keys(), "and no row is lost"
    once, idempotent, repeatable, in_doubt = outside.lines()
    assert len(once) == len(set(once)), "what may happen once has happened once, however often it was killed"
    assert len(in_doubt) == len(set(in_doubt)), "also where nobody can say"
    full = EPISODES - len(lost)  # episodes that have done all that they do
    assert full * TURNS * 3 <= len(once) <= EPISODES * TURNS * 3
    for lines in (idempotent, repeatable):
        assert full * TURNS <= len(set(lines)) <= EPISODES * TURNS


@pytest.mark.parametrize(
    ("seed", "concurrency", "kills"),
    [
        (1, 8, 4),
        *(pytest.param(n, many, 14, marks=pytest.mark.slow) for n in range(2, 7) for many in (1, 8, 64)),
    ],
)
def test_a_run_killed_again_and_again_resumes_to_the_run_that_nobody_killed(
    crashing, whole, ask, seed, concurrency, kills
):
    chance, runs = random.Random(seed), itertools.count()
    while kills > 0:
        killed, desk, outside = crashing(f"run-{next(runs)}", chance, concurrency, kills)
        kills -= killed
        before = outside.lines()
        equals(desk, outside, whole)
        desk.replay(*plays(ask, outside), models=outside.models)
        assert outside.lines() == before, "a replay reaches nothing outside"


def test_a_run_that_is_killed_as_soon_as_an_episode_was_taken_up_again_resumes(desk, echo, ask):
    async def play(ctx):
        for n in range(4):
            await ctx.model("agent", ask(str(n)))
            if n == 2 and stops:
                stops.pop()("cancelled")

    stops = [lambda reason: desk.executor.stop(reason)]
    (row,) = desk.play(play, models={"agent": echo()})
    assert row.status == "cancelled"
    with desk.store.writing() as writer:
        reopen(writer, 0, ())
    (row,) = desk.play(play, models={"agent": echo()})
    assert (row.status, row.reason, row.model_calls) == ("ended", "finished", 4)
    desk.replay(play, models={"agent": echo()})


@pytest.mark.parametrize("rows", [0, 3])
def test_a_run_that_is_killed_while_it_is_laid_out_is_none(desk, life, rows):
    def laid_out():
        for n in range(rows):
            yield EpisodeRow(n, f"episode-{n}", "scenario", "", "toy", n, 0)
        os.kill(os.getpid(), signal.SIGKILL)

    assert is_killed(life(lambda: RunStore.create(desk.store.folder, {}, laid_out())), lambda: False)
    with pytest.raises(UsageError, match="holds no run"):
        desk.store.episodes()
