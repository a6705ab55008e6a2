"""One run on disk: one writer, any number of readers, and a clear word where something is not what it should be."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from worldloom.core.content import Blob
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.event import Event
from worldloom.runs.ending import RESUMABLE, Fault
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import FORMAT, RunStore, put_episode, put_scores, put_value, reopen


@pytest.fixture
def store(desk):
    """A run of three planned episodes."""
    desk.create(3)
    yield desk.store
    desk.store.close()


def test_a_new_run_reads_back_as_it_was_laid_out(tmp_path):
    rows = [
        EpisodeRow(0, "a" * 64, "lamp", "x", "llm", 7, 0),
        EpisodeRow(1, "b" * 64, "lamp", "x", "llm", 8, 1),
    ]
    blob = Blob(b"id: lamp", "application/yaml")
    with contextlib.closing(
        RunStore.create(tmp_path / "deep" / "run", {"b": 1, "a": "ä"}, rows, [blob, blob])
    ) as store:
        assert store.value("manifest") == {"a": "ä", "b": 1}
        assert (store.value("format"), store.value("status"), store.value("nothing")) == (
            FORMAT,
            "planned",
            None,
        )
        assert store.episodes() == rows
        assert store.blob(blob.sha256) == b"id: lamp"
        assert (store.events(0), store.telemetry(0), store.intents(0), store.scores()) == ({}, [], {}, {})


def test_a_folder_that_is_there_is_never_written_over(store):
    with pytest.raises(RecordError, match="cannot create the run folder"):
        RunStore.create(store.folder, {}, [])
    assert len(store.episodes()) == 3


def test_a_place_where_nothing_can_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot create the run folder .*file/run"):
        RunStore.create(tmp_path / "file" / "run", {}, [])


def test_two_episodes_with_one_id_are_refused(tmp_path):
    with pytest.raises(RecordError, match="UNIQUE"):
        RunStore.create(tmp_path / "run", {}, [EpisodeRow(n, "same", "s", "", "c", 0, 0) for n in range(2)])


def test_a_folder_without_a_run_is_a_mistake_of_the_person_who_named_it(tmp_path):
    with pytest.raises(UsageError, match="holds no run"):
        RunStore(tmp_path).episodes()


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database, but long enough to be read as one" * 50, b"SQLite format 3\0" + b"\0" * 4000],
)
def test_a_file_that_is_no_record_is_named(store, content):
    store.close()
    for file in store.folder.iterdir():
        file.unlink()
    store.path.write_bytes(content)
    for read in (store.episodes, lambda: store.value("status"), lambda: store.events(0), store.scores):
        with pytest.raises(RecordError, match=r"run\.sqlite cannot be read as the record of a run"):
            read()


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_truncated_file_is_an_error_and_never_a_shorter_run(store, kept):
    with store.writing() as writer:
        for n in range(500):
            writer.blob(Blob(b"%d" % n * 500, "text/plain"))
    store.close()
    data = store.path.read_bytes()
    store.path.write_bytes(data[: int(len(data) * kept) // 4096 * 4096])
    with pytest.raises(RecordError, match="cannot be read as the record of a run"):
        [store.blob(Blob(b"%d" % n * 500, "").sha256) for n in range(500)]


@pytest.mark.parametrize(
    ("format", "said"),
    [
        ("1", "has record format 1; this"), ('"old"', "has record format 'old'; this"),
        (f"{FORMAT}.0", rf"has record format {FORMAT}\.0; this"),
        (f'"{FORMAT}"', f"has record format '{FORMAT}'; this"),
        ("true", "has record format True; this"), ("null", "it names no record format"),
    ],
)  # fmt: skip
def test_a_record_of_another_format_is_refused_by_name_however_often_it_is_asked(store, format, said):
    store.close()
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE run SET value = ? WHERE name = 'format'", (format,))
    for _ in range(2):
        with pytest.raises(RecordError, match=said):
            store.episodes()


def test_a_blob_that_is_not_there_is_named(store):
    with pytest.raises(RecordError, match="blob 0000"):
        store.blob("0" * 64)


def test_a_second_writer_in_this_process_is_refused_and_the_first_goes_on(store):
    with store.writing() as writer:
        with pytest.raises(UsageError, match="another process is writing"), store.writing():
            raise AssertionError("two writers")
        put_value(writer, "status", "running")
    assert store.value("status") == "running"


def test_a_run_that_nobody_writes_any_more_is_not_running(store):
    assert store.status() == "planned"
    with store.writing() as writer:
        put_value(writer, "status", "running")
        asyncio.run(writer.durable())
        assert store.status() == "running"
    assert (store.status(), store.value("status")) == ("interrupted", "running")
    with store.writing() as writer:
        put_value(writer, "status", "completed")
    assert store.status() == "completed"


@pytest.mark.parametrize("number", [-1, 3])
def test_an_episode_that_is_not_there_is_refused_with_those_that_are(store, number):
    assert [store.episode(each).row for each in range(3)] == [0, 1, 2]
    with pytest.raises(UsageError, match=rf"has no episode {number}; allowed: 0 to 2"):
        store.episode(number)


@pytest.mark.parametrize("fault", get_args(Fault))
@pytest.mark.parametrize("status", ["ended", "running", *RESUMABLE])
def test_an_episode_counts_once_it_has_ended_by_no_fault_but_the_agents(fault, status):
    row = EpisodeRow(0, "", "", "", "", 0, 0, status, fault=fault)
    assert row.counts is (status == "ended" and fault in ("none", "agent"))


def test_a_second_writing_process_is_refused_until_the_first_has_gone(store):
    code = (
        "import sys; from pathlib import Path; from worldloom.runs.store import RunStore\n"
        "with RunStore(Path(sys.argv[1])).writing():\n"
        "    print('writing', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(store.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"writing\n"
        with pytest.raises(UsageError, match="another process is writing"), store.writing():
            raise AssertionError("two writers")
        assert len(store.episodes()) == 3, "reading is free"
        other.kill()
    with store.writing() as writer:
        put_value(writer, "status", "running")
    assert store.value("status") == "running"


def test_a_reader_in_the_middle_of_its_work_neither_stops_the_writer_nor_sees_what_comes_after(
    desk, echo, ask
):
    async def play(ctx):
        for n in range(20):
            await ctx.model("agent", ask(str(n)))

    desk.create(8)
    with contextlib.closing(sqlite3.connect(desk.store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        rows = desk.play(*[play] * 8, models={"agent": echo()})
        assert {row.reason for row in rows} == {"finished"}
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (8 * 21,)


def test_projections_and_scores_are_read_back_in_their_order(store):
    scores = [
        Score("SPR", 1.0, 3, "share", "rubric"),
        Score("it is off", None, 1, "criterion", "unscored", "why"),
    ]
    with store.writing() as writer:
        put_episode(writer, 1, status="ended", reason="finished", steps=4, seconds=0.5)
        put_scores(writer, 1, scores)
        put_scores(writer, 2, scores[:1], scoring="again")
    assert [row.status for row in store.episodes()] == ["planned", "ended", "planned"]
    assert store.episodes()[1].seconds == 0.5
    assert store.scores() == {1: scores}
    assert store.scores("again") == {2: scores[:1]}


def test_an_episode_that_is_reopened_loses_its_end_and_its_scores_and_nothing_else(desk, echo, ask):
    async def play(ctx):
        await ctx.model("agent", ask("hello"))

    desk.play(play, models={"agent": echo()})
    with desk.store.writing() as writer:
        reopen(
            writer, 0, [("", key) for key, event in desk.store.events(0).items() if event.type == "ended.1"]
        )
    (row,) = desk.store.episodes()
    assert (row.status, row.reason, row.fault, row.fingerprint) == ("running", None, None, None)
    assert [event.type for event in desk.store.events(0).values()] == ["model.1"]
    assert desk.store.scores() == {}
    desk.store.close()


def damage(store, sql, *values):
    store.close()
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(sql, values)


@pytest.mark.parametrize("value", ["{", "", "null", "[]", "3", '{"title": 5}', '{"title": null}'])
def test_a_damaged_manifest_is_named(store, value):
    damage(store, "UPDATE run SET value = ? WHERE name = 'manifest'", value)
    with pytest.raises(RecordError, match=r"run\.sqlite is damaged: its manifest"):
        store.manifest("title", str)


def test_a_missing_manifest_is_named(store):
    damage(store, "DELETE FROM run WHERE name = 'manifest'")
    with pytest.raises(RecordError, match=r"run\.sqlite is damaged: its manifest has no usable 'title'"):
        store.manifest("title", str)


@pytest.mark.parametrize(
    ("column", "value"), [("key", "text"), ("data", "{}"), ("data", 5), ("type", b"decided.1")]
)
def test_an_event_of_another_type_than_was_written_is_named(store, column, value):
    with store.writing() as writer:
        writer.event((0, ""), Event(b"key", "decided.1", b"{}"))
    damage(store, f"UPDATE events SET {column} = ?", value)
    for read in (store.events, store.arrivals):
        with pytest.raises(RecordError, match=r"run\.sqlite is damaged: the event under key"):
            read(0)


@pytest.fixture
def unwritable(monkeypatch):
    """As on a read-only medium; root may write wherever permissions forbid it."""
    monkeypatch.setattr("worldloom.runs.store.os.access", lambda path, mode: False)


def test_a_run_on_a_read_only_medium_is_read_and_nothing_is_laid_beside_it(store, unwritable):
    store.close()
    before = {file.name for file in store.folder.iterdir()}
    assert len(store.episodes()) == 3
    assert {file.name for file in store.folder.iterdir()} == before
    with pytest.raises(RecordError, match="cannot be read"):
        store._rows("DELETE FROM episodes")


def test_what_a_crash_left_in_the_log_is_read_on_a_read_only_medium_too(store, unwritable):
    store.close()
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as writer:
        writer.execute("UPDATE run SET value = '\"running\"' WHERE name = 'status'")
        assert store.path.with_name("run.sqlite-wal").stat().st_size
        assert store.value("status") == "running"
        store.close()


def test_a_log_that_is_put_away_while_a_run_is_opened_is_no_log(store, monkeypatch):
    store.close()
    monkeypatch.setattr(Path, "exists", lambda self: True)  # as it was a moment ago
    assert store.episodes() is not None
