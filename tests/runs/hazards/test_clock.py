"""A wall clock that jumps, as one that is set does."""

import random
import time
import types

import pytest

from worldloom.runs.limits import Limits


@pytest.fixture
def clock(monkeypatch):
    """Sets the wall clock of episodes; what measures how long they take is left as it is."""
    return lambda now: monkeypatch.setattr(
        "worldloom.runs.executor.time", types.SimpleNamespace(time=now, perf_counter=time.perf_counter)
    )


def test_a_wall_clock_that_jumps_changes_nothing_but_what_episodes_have_read_from_it(
    desk, new_desk, clock, stamp, sound
):
    chance, stops, limits = random.Random(1), [], Limits(wall_s=3600)

    async def play(ctx):
        for n in range(20):
            if n == 10 and stops:
                stops.pop()("cancelled")
            if ctx.seed % 2:
                ctx.emit("read.1", {"at": await ctx.wall()})
            await ctx.tool(stamp, {"text": str(n)})

    def read():
        return {(episode, key): data for episode, key, data in sound(desk) if b'"answer"' in data}

    several = [play] * 12
    clock(lambda: 1e9)
    still = new_desk("still").play(*several, limits=limits)
    clock(lambda: chance.choice((0.0, -1e9, 1e9, 4e9)) + chance.random())
    stops.append(lambda reason: desk.executor.stop(reason))
    halted = desk.play(*several, limits=limits, concurrency=4)
    assert {row.status for row in halted} == {"cancelled", "planned"}
    before = read()
    rows = desk.play(*several, limits=limits)
    assert before
    assert before.items() <= read().items(), "what was read is not read again"
    assert {row.reason for row in rows} == {"finished"}, "no limit was reached by a jump"
    assert all(0 <= row.seconds < 600 for row in rows)
    same = [one.fingerprint == other.fingerprint for one, other in zip(rows, still, strict=True)]
    assert same == [True, False] * 6, "only what was read differs"
    desk.replay(*several, limits=limits)
