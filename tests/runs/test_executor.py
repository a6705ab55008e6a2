"""The executor: so many at a time, each closed as a whole, and told to whoever watches."""

import asyncio
import contextlib

import pytest

from worldloom.core.errors import Divergence
from worldloom.runs.writer import Writer


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_no_more_episodes_are_under_way_than_allowed_and_all_are_played(desk, concurrency):
    seen = []

    async def play(ctx):
        for _ in range(5):
            seen.append(len(desk.executor.active))
            await asyncio.sleep(0)

    rows = desk.play(*[play] * 10, concurrency=concurrency)
    assert max(seen) == min(concurrency, 10)
    assert desk.executor.active == {}
    assert {row.reason for row in rows} == {"finished"}


def test_that_an_episode_has_ended_is_the_last_thing_that_is_written_of_it(desk, monkeypatch):
    """Wherever a crash cuts: an episode that says it has ended has all its events and scores."""
    written = []
    real = Writer.put
    monkeypatch.setattr(
        Writer, "put", lambda self, sql, values: (written.append(sql.split()[:3]), real(self, sql, values))
    )

    async def play(ctx):
        ctx.emit("x.1", {})

    desk.play(play)
    assert written == [
        ["UPDATE", "episodes", "SET"],
        ["INSERT", "INTO", "events"],
        ["INSERT", "INTO", "events"],
        ["INSERT", "OR", "REPLACE"],
        ["UPDATE", "episodes", "SET"],
    ]


def test_every_end_is_told_with_the_row_as_it_is_on_disk(desk, monkeypatch):
    told = {}

    async def play(ctx):
        desk.executor.on_end = lambda row, scores: told.update(
            {row.row: (row, [score.name for score in scores])}
        )
        ctx.usage.steps += 3

    rows = desk.play(*[play] * 4)
    assert {number: row for number, (row, _) in told.items()} == {row.row: row for row in rows}
    assert {tuple(names) for _, names in told.values()} == {("ended",)}
    assert {row.steps for row in rows} == {3}
    assert all(row.seconds is not None and row.started_at is not None for row in rows)


def test_an_episode_that_diverges_is_raised_at_the_end_and_stops_no_other(desk, echo, ask):
    async def play(ctx):
        for n in range(5):
            await ctx.model("agent", ask(str(n)))
            if ctx.seed == 3 and n == 2:
                desk.executor.stop("cancelled")

    async def changed(ctx):
        ctx.emit("x.1", {})
        await play(ctx)

    rows = desk.play(*[play] * 6, models={"agent": echo()}, concurrency=2)
    assert rows[3].status == "cancelled"
    plays = [play] * 6
    plays[3] = changed
    with pytest.raises(Divergence):
        desk.play(*plays, models={"agent": echo()}, concurrency=2)
    with contextlib.closing(desk.store):
        status = {row.row: row.status for row in desk.store.episodes()}
    assert status == {n: "running" if n == 3 else "ended" for n in range(6)}


def test_after_a_stop_no_new_episode_begins(desk):
    async def play(ctx):
        desk.executor.stop("cancelled")

    rows = desk.play(*[play] * 5, concurrency=1)
    assert [row.status for row in rows] == ["ended", *["planned"] * 4]
