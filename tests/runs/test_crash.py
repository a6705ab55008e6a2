"""kill -9 at any instant: nothing is lost, nothing happens twice, and the resumed run equals an uninterrupted one."""

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest
from langgraph.graph import START, StateGraph

from worldloom.graphs.node import HouseState, house_node
from worldloom.runs.effect import Fate

# A fork spares each life the seconds of its imports. No thread of ours is alive then; numpy's may be forked.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

EPISODES, TURNS = 16, 6


class Till:
    """A side effect in the world outside: a line in a file that outlives the process, one for each call."""

    name, parameters = "till", {}

    def __init__(self, file: Path, effect_class):
        self.file, self.effect_class = file, effect_class

    def lines(self):
        return self.file.read_text().splitlines() if self.file.exists() else []

    async def call(self, arguments, idempotency_key):
        with self.file.open("a") as file:
            file.write(f"{idempotency_key} {arguments['n']}\n")
        await asyncio.sleep(0)
        return {"paid": arguments["n"]}

    async def lookup(self, idempotency_key):
        sent = {key: int(n) for key, n in (line.split() for line in self.lines())}
        return {"paid": sent[idempotency_key]} if idempotency_key in sent else Fate.NEVER


class State(HouseState, total=False):
    turn: int


def plays(ask, once, idempotent):
    """Episodes that talk, pay, buy and fan out, some of them as graphs."""

    async def child(ctx, item):
        answer = await ctx.model("agent", ask(f"child {item}"))
        ctx.emit("heard.1", {"text": answer.text, "luck": float(ctx.rng("luck").random())})

    async def turn(ctx, n):
        answer = await ctx.model("agent", ask(f"turn {n} of {ctx.seed}"))
        ctx.emit("said.1", {"text": answer.text * (1 if n % 3 else 600)})
        await ctx.tool(once, {"n": n})
        await ctx.tool(idempotent, {"n": n})
        await ctx.map(child, range(3))

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

    return [plain if n % 2 else drawn for n in range(EPISODES)]


def life(run) -> int:
    """Start `run` in a process of its own; returns its id."""
    process = os.fork()
    if process:
        return process
    try:
        run()
        os._exit(0)
    except BaseException:  # noqa: BLE001  # whatever it is, this process ends here
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def events_in(path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


def kill_after(process, path, events) -> bool:
    """Kill a process once so many events are on disk; False if it ended before."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            assert status == 0, "the run broke by itself"
            return False
        if events_in(path) >= events:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return True
    raise AssertionError("the run has hung")


def check_what_is_left(desk):
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with contextlib.closing(desk.store):
        for row in desk.store.episodes():
            types = [event.type for event in desk.store.arrivals(row.row)]
            if row.status == "ended":
                assert types[-1] == "ended.1", "an episode that says it has ended is complete"
                assert desk.store.scores()[row.row], "and scored"
            for event in desk.store.events(row.row).values():
                assert event.body, "every event that is there can be read, its blob included"


@pytest.mark.parametrize(
    ("seed", "kills"), [(1, 4), *(pytest.param(n, 12, marks=pytest.mark.slow) for n in range(2, 12))]
)
def test_a_run_killed_again_and_again_resumes_to_the_run_that_nobody_killed(
    desk, new_desk, echo, ask, tmp_path, seed, kills
):
    chance = random.Random(seed)
    whole = new_desk("whole").play(
        *plays(ask, Till(tmp_path / "whole-once", "once"), Till(tmp_path / "whole-idempotent", "idempotent")),
        models={"agent": echo()},
    )
    once, idempotent = Till(tmp_path / "once", "once"), Till(tmp_path / "idempotent", "idempotent")

    def run():
        desk.play(
            *plays(ask, once, idempotent), models={"agent": echo()}, concurrency=chance.choice((1, 3, 8))
        )

    desk.create(EPISODES)
    events, killed = 0, 0
    while killed < kills:
        events += chance.randrange(1, 2 * EPISODES * TURNS * 10 // kills)
        if not kill_after(life(run), desk.store.path, events):
            break
        killed += 1
        check_what_is_left(desk)
        events = max(events, events_in(desk.store.path))
    assert killed > 1
    run()

    with contextlib.closing(desk.store):
        rows = desk.store.episodes()
        counts = [len(desk.store.events(row.row)) for row in rows]
    assert [(row.status, row.reason) for row in rows] == [("ended", "finished")] * EPISODES
    assert [row.fingerprint for row in rows] == [row.fingerprint for row in whole]
    assert counts == [TURNS * 10 + 1] * EPISODES, "no row is lost, none is there twice"
    assert len(once.lines()) == len(set(once.lines())) == EPISODES * TURNS, (
        "paid once, however often it was killed"
    )
    assert len(set(idempotent.lines())) == EPISODES * TURNS
    desk.replay(*plays(ask, once, idempotent), models={"agent": echo()})
