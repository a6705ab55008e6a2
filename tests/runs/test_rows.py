"""Projections are read back as they were written, or one error names the episode and what is wrong with it."""

import contextlib
import math
import sqlite3

import pytest

from worldloom.core.content import Blob
from worldloom.core.errors import RecordError
from worldloom.runs.rows import Score


async def play(ctx):
    ctx.emit("said.1", {"n": 1})


def changed(desk, sql, *values):
    desk.store.close()
    with contextlib.closing(sqlite3.connect(desk.store.path)) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


@pytest.fixture
def played(desk):
    """A run of two episodes that have ended."""
    desk.play(play, play)
    yield desk
    desk.store.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(
            (column, value)
            for column in ("models", "scoring_models")
            for value in (
                5,
                "x",
                "null",
                "[]",
                '{"agent":1}',
                '{"agent":[1,2,3]}',
                '{"agent":[1,2,3,0,0,0]}',
                '{"agent":["a",2,3,0,0]}',
                '{"agent":[true,2,3,0,0]}',
                '{"agent":[-1,2,3,0,0]}',
                '{"agent":[1e308,2,3,0,0]}',
                '{"agent":[9223372036854775808,2,3,0,0]}',
                '{"agent":[1,2,3,2,0]}',
                '{"agent":[1,2,3,0,2]}',
            )
        ),
        *((column, "x") for column in ("steps", "prompt_tokens", "started_at", "seconds", "making", "seed")),
        *((column, b"x") for column in ("scenario", "category", "cast_name", "reason", "detail", "id")),
        *((column, -1) for column in ("steps", "model_calls", "seconds", "making", "seed", "epoch")),
        *((column, 1e999) for column in ("started_at", "seconds")),
        ("started_at", 1e12),
        ("making", 1),
        ("row", 7),
        ("status", "done"),
        ("fault", "nobody"),
    ],
)
def test_an_episode_that_is_not_as_it_was_written_is_named(played, column, value):
    changed(played, f"UPDATE episodes SET {column} = ? WHERE row = 1", value)
    with pytest.raises(RecordError, match=f"run.sqlite is damaged: episode 1 has {column} "):
        played.store.episodes()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("value", value) for value in ("x", b"x", 1e308, -1e308, 1e999)),
        *(("n", value) for value in ("", 1.5, 1e999, -1)),
        *((column, b"x") for column in ("name", "unit", "how", "detail")),
    ],
)
def test_a_score_that_is_not_as_it_was_written_is_named(played, column, value):
    changed(played, f"UPDATE scores SET {column} = ? WHERE episode = 1", value)
    with pytest.raises(RecordError, match=f"run.sqlite is damaged: a score of episode 1 has {column} "):
        played.store.scores()


@pytest.mark.parametrize("data", [b"", b"other", "text", 5])
def test_a_blob_whose_bytes_are_not_those_of_its_digest_is_named(played, data):
    blob = Blob(b"bytes", "text/plain")
    with played.store.writing() as writer:
        writer.blob(blob)
    changed(played, "UPDATE blobs SET data = ? WHERE sha256 = ?", data, blob.sha256)
    with pytest.raises(RecordError, match=f"is damaged: blob {blob.sha256} is not as it was written"):
        played.store.blob(blob.sha256)


@pytest.mark.parametrize("value", [2**70, "\ud800"])
def test_a_question_that_a_database_cannot_take_is_an_error_of_the_record(played, value):
    with pytest.raises(RecordError, match="cannot be read as the record of a run"):
        played.store.blob(value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "the scorer gave None; allowed: a list of Score"),
        ((Score("a", 1.0, 1, "share", "check"),), "allowed: a list of Score"),
        ([("a", 1.0)], "allowed: a list of Score"),
        *(
            ([Score("a", value, 1, "share", "check")], "value is")
            for value in (math.nan, math.inf, "x", 1e308)
        ),
        ([Score("a", 1.0, 1.5, "share", "check")], "n is 1.5"),
        ([Score(None, 1.0, 1, "share", "check")], "name is None"),
        ([Score("a", 1.0, 1, "share", "check", "\ud800")], "surrogates not allowed"),
    ],
)
def test_what_a_scorer_must_not_give_costs_the_episode_its_scores_and_no_other_anything(desk, given, said):
    class Wrong:
        async def score(self, record, ctx):
            return given if record.events[0].body["n"] else [Score("a", 1, 1, "share", "check")]

    async def sound(ctx):
        ctx.emit("said.1", {"n": 0})

    rows = desk.play(play, sound, scorer=Wrong())
    assert [row.status for row in rows] == ["ended", "ended"]
    assert rows[0].detail.startswith("not scored: ")
    assert said in rows[0].detail
    assert desk.store.scores() == {1: [Score("a", 1.0, 1, "share", "check")]}
    desk.replay(play, sound, scorer=Wrong())
