"""The one writer: in order, all or nothing, and a failure that is told once and loses nothing that was written."""

import asyncio
import contextlib
import sqlite3
import traceback
import types

import pytest

from worldloom.core.content import Blob
from worldloom.core.errors import RecordError
from worldloom.core.event import Event
from worldloom.runs import writer as module
from worldloom.runs.store import put_episode, put_value


def test_later_rows_may_change_earlier_ones_of_the_same_batch(desk):
    """Rows of one table are never moved past statements that name them."""
    desk.create(2)
    with contextlib.closing(desk.store), desk.store.writing() as writer:
        writer.event((0, ""), Event(b"a", "x.1", b"{}"))
        put_episode(writer, 0, status="running")
        put_episode(writer, 0, status="ended", reason="finished")
        writer.put("DELETE FROM events WHERE episode = ? AND key = ?", (0, b"a"))
        writer.event((0, ""), Event(b"a", "x.1", b'{"n":2}'))
        put_episode(writer, 1, status="ended", reason="finished")
        put_episode(writer, 1, status="running")
    with contextlib.closing(desk.store):
        assert [row.status for row in desk.store.episodes()] == ["ended", "running"]
        assert desk.store.events(0)[b"a"].data == b'{"n":2}'


def test_what_is_durable_is_on_disk_when_the_wait_is_over(desk):
    desk.create(1)

    async def run(writer, reader):
        for n in range(5):
            writer.event((0, ""), Event(bytes([n]), "x.1", b"{}"))
            await writer.durable()
            assert reader.execute("SELECT count(*) FROM events").fetchone() == (n + 1,)

    with desk.store.writing() as writer, contextlib.closing(sqlite3.connect(desk.store.path)) as reader:
        asyncio.run(run(writer, reader))


def test_many_waiters_and_no_waiter_left_behind(desk):
    desk.create(1)

    async def run(writer):
        async with asyncio.TaskGroup() as group:
            for n in range(200):
                writer.event((0, ""), Event(n.to_bytes(2, "big"), "x.1", b"{}"))
                group.create_task(writer.durable())

    with desk.store.writing() as writer:
        asyncio.run(asyncio.wait_for(run(writer), 30))
    assert len(desk.store.events(0)) == 200
    desk.store.close()


def test_what_is_handed_over_together_is_on_disk_all_at_once(desk, monkeypatch):
    """The writer looks for rows as often as it can."""
    monkeypatch.setattr(module, "BATCH_S", 0)
    desk.create(1)
    with desk.store.writing() as writer, contextlib.closing(sqlite3.connect(desk.store.path)) as reader:
        with writer.together():
            for n in range(2000):
                writer.event((0, ""), Event(n.to_bytes(2, "big"), "x.1", b"{}"))
                assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        asyncio.run(writer.durable())
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (2000,)


def break_after(store, rows):
    """From then on, every insertion of an event fails as a full disk would."""
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events WHEN (SELECT count(*) FROM events) >= "
            f"{rows} BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
        )


def chatter(ask, turns=30):
    async def play(ctx):
        for n in range(turns):
            await ctx.model("agent", ask(f"{n} of {ctx.seed}"))
            await ctx.map(pause, range(2))

    async def pause(ctx, item):
        await asyncio.sleep(0)

    return play


def integrity(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_write_that_fails_is_told_once_and_what_was_written_stays(desk, new_desk, echo, ask, concurrency):
    plays = [chatter(ask)] * 20
    desk.create(20)
    break_after(desk.store, 200)
    with pytest.raises(RecordError, match="database or disk is full") as told:
        desk.play(*plays, models={"agent": echo()}, concurrency=concurrency)
    assert "resume the run" in str(told.value)
    assert "".join(traceback.format_exception(told.value)).count("RecordError: cannot write") == 1
    with contextlib.closing(desk.store):
        assert desk.store.value("status") == "failed"
        rows = desk.store.episodes()
        ended = [row for row in rows if row.status == "ended"]
        for row in ended:
            assert row.reason == "finished", "no other episode was ended by the failure"
            assert len(desk.store.events(row.row)) == 31
            assert len(desk.store.scores()[row.row]) == 1
    assert integrity(desk.store.path) == "ok"

    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection:
        connection.execute("DROP TRIGGER full")
    rows = desk.play(*plays, models={"agent": echo()})
    whole = new_desk("whole").play(*plays, models={"agent": echo()})
    assert [row.fingerprint for row in rows] == [row.fingerprint for row in whole], (
        "and the run can be resumed"
    )


def test_a_disk_that_is_really_full_is_told_in_its_own_words(desk, monkeypatch):
    real = sqlite3.connect

    def connect(*args, **kwargs):
        connection = real(*args, **kwargs)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    monkeypatch.setattr(module, "sqlite3", types.SimpleNamespace(connect=connect, Error=sqlite3.Error))

    class Tool:
        """Waits before every call until the record is on disk."""

        name, parameters, effect_class = "tool", {}, "idempotent"

        async def call(self, arguments, idempotency_key):
            return "x" * 1000

    async def play(ctx):
        for _ in range(200):
            await ctx.tool(Tool(), {})

    with pytest.raises(RecordError, match="database or disk is full"):
        desk.play(play)
    monkeypatch.undo()
    with contextlib.closing(desk.store):
        assert desk.store.value("status") == "failed"
        assert 20 < len(desk.store.events(0)) < 200
    assert integrity(desk.store.path) == "ok"


def test_a_store_that_cannot_be_opened_is_told_before_anything_is_played(desk, monkeypatch):
    def connect(*args, **kwargs):
        raise sqlite3.OperationalError("unable to open database file")

    desk.create(1)
    monkeypatch.setattr(module, "sqlite3", types.SimpleNamespace(connect=connect, Error=sqlite3.Error))
    with pytest.raises(RecordError, match="unable to open database file"), desk.store.writing():
        raise AssertionError("must not begin")


def test_a_folder_in_which_nothing_can_be_written_is_named(desk, tmp_path):
    desk.create(1)
    (desk.store.folder / "run.lock").mkdir()
    with pytest.raises(RecordError, match="cannot write the record in"), desk.store.writing():
        raise AssertionError("must not begin")


def test_an_error_of_the_caller_is_not_buried_under_one_of_the_writer(desk):
    desk.create(1)
    break_after(desk.store, 0)
    with pytest.raises(KeyError) as told, desk.store.writing() as writer:
        writer.event((0, ""), Event(b"a", "x.1", b"{}"))
        raise KeyError("mine")
    assert told.value.__context__ is None
    with pytest.raises(RecordError), desk.store.writing() as writer:
        writer.event((0, ""), Event(b"a", "x.1", b"{}"))


def test_waiting_for_a_failed_write_raises_and_does_not_hang(desk):
    desk.create(1)
    break_after(desk.store, 0)

    async def run(writer):
        writer.blob(Blob(b"x", "text/plain"))
        writer.event((0, ""), Event(b"a", "x.1", b"{}"))
        with pytest.raises(RecordError):
            await writer.durable()
        with pytest.raises(RecordError):
            put_value(writer, "status", "completed")
        with pytest.raises(RecordError):
            await writer.durable()

    with pytest.raises(RecordError), desk.store.writing() as writer:
        asyncio.run(asyncio.wait_for(run(writer), 30))
    with contextlib.closing(desk.store), pytest.raises(RecordError, match="blob"):
        desk.store.blob(Blob(b"x", "").sha256)
