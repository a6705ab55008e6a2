"""Runs of every release, which must replay for ever after, byte for byte."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import worldloom as wl

RUNS = sorted(Path(__file__).parent.glob("*/*.sqlite"))


@pytest.fixture
def golden(request, tmp_path):
    """A copy of a run, since reading one lays files beside it."""
    shutil.copy(request.param, tmp_path / "run.sqlite")
    return tmp_path


@pytest.mark.parametrize("golden", RUNS, ids=lambda file: f"{file.parent.name}-{file.stem}", indirect=True)
def test_a_run_of_a_release_replays(golden):
    found = wl.replay(golden)
    assert [one.problem for one in found] == [None] * len(found)
    assert found


def test_they_hold_what_can_come_from_outside():
    types = set()
    for file in RUNS:
        with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as record:
            types |= set(record.execute("SELECT DISTINCT type, scoring FROM events"))
    assert {("model.1", ""), ("model.1", "default"), ("stepped.1", ""), ("decided.1", "")} <= types
