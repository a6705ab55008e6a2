"""What a machine does to a run, at the command line: one error, exit code 1, and `resume` completes it."""

import asyncio
import contextlib
import json
import sqlite3
import types

import pytest

from worldloom.runs import writer as module
from worldloom.runs.store import RunStore, put_value


@contextlib.contextmanager
def full(use, folder):
    """A disk without room for more than the run takes already."""
    use("PRAGMA max_page_count = 1")
    yield "disk is full"


@contextlib.contextmanager
def read_only(use, folder):
    use("PRAGMA query_only = 1")
    yield "attempt to write a readonly database"


@contextlib.contextmanager
def locked(use, folder):
    """Longer than a writer waits, which is made short."""
    use("PRAGMA busy_timeout = 50")
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield "database is locked"


@pytest.fixture
def unplayed(project, command):
    """The folder of a run that is laid out, and of which nothing has been played; its fingerprint once it is."""
    whole = json.loads(command("run", "scenarios", "--agent", "random", "--epochs", "8", "--json").stdout)
    (folder,) = (project / "runs").iterdir()
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite", isolation_level=None)) as record:
        for table in ("events", "telemetry", "scores"):
            record.execute(f"DELETE FROM {table}")
        record.execute("UPDATE episodes SET status = 'planned'")
        record.execute("VACUUM")
    return folder, whole["fingerprint"]


@pytest.mark.parametrize("hazard", [full, read_only, locked])
def test_what_keeps_a_run_from_being_written_is_one_error_and_the_run_goes_on_without_it(
    unplayed, command, monkeypatch, hazard
):
    folder, fingerprint = unplayed

    def use(pragma):
        def connect(*place, **settings):
            connection = sqlite3.connect(*place, **settings)
            connection.execute(pragma)
            return connection

        patch.setattr(module, "sqlite3", types.SimpleNamespace(connect=connect, Error=sqlite3.Error))

    with monkeypatch.context() as patch, hazard(use, folder) as wording:
        failed = command("resume", "last")
    assert failed.exit_code == 1
    assert failed.stderr.count("error:") == 1
    assert wording in failed.stderr
    assert "mend the cause and resume the run" in failed.stderr
    assert "Traceback" not in failed.stderr + failed.stdout
    resumed = json.loads(command("resume", "last", "--json").stdout)
    assert (resumed["status"], resumed["fingerprint"]) == ("completed", fingerprint)
    assert command("replay", "last").exit_code == 0


def test_a_run_that_another_process_writes_is_refused_with_one_error_and_listed_as_running(unplayed, command):
    folder, _ = unplayed
    with RunStore(folder).writing() as writer:
        put_value(writer, "status", "running")
        asyncio.run(writer.durable())
        refused = command("resume", "last")
        assert json.loads(command("runs", "list", "--json").stdout)[0]["status"] == "running"
    assert (refused.exit_code, refused.stderr.count("error:")) == (2, 1)
    assert "another process is writing the run" in refused.stderr
    assert command("resume", "last").exit_code == 0
