"""`resume` with what has failed, and with something else than the run was made with."""

import contextlib
import json
import sqlite3

import pytest


def change(folder, sql, *values):
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as record, record:
        assert record.execute(sql, values).rowcount > 0


@pytest.fixture
def left(played):
    """A run with one episode left, made with another numpy."""
    change(played, "UPDATE episodes SET status = 'planned', reason = NULL, fault = NULL WHERE row = 1")
    change(played, "DELETE FROM events WHERE episode = 1")
    change(
        played, "UPDATE run SET value = json_set(value, '$.made_with.numpy', '1.0') WHERE name = 'manifest'"
    )
    return played


def test_something_else_is_refused_by_name_and_accepted_by_a_flag_which_the_report_tells(left, command):
    refused = command("resume", "last")
    assert refused.exit_code == 2
    assert "was made with something else than there is now:\n  numpy: 1.0 → " in refused.stderr
    assert "--accept-changes" in refused.stderr
    done = command("resume", "last", "--accept-changes")
    assert done.exit_code == 0, done.stderr
    assert "Not all of one make: 1 of 2 episodes" in " ".join(done.stdout.split())
    assert command("replay", "last").exit_code == 0
    assert command("resume", "last").exit_code == 0, "nothing is left"


def test_where_nothing_is_left_nothing_is_refused(played, command):
    change(
        played, "UPDATE run SET value = json_set(value, '$.made_with.numpy', '1.0') WHERE name = 'manifest'"
    )
    assert command("resume", "last", "--retry-failed").exit_code == 0


def test_what_failed_goes_on_only_if_that_is_wanted(project, command, serve, careful):
    server = serve([careful[0], None])
    words = ("run", "scenarios", "--model", "m", "--base-url", server.url, "--json")
    failed = json.loads(command(*words).stdout)["episodes"][-1]
    assert failed["fault"] == "infrastructure"
    server.said = careful
    asked = server.chats
    assert json.loads(command("resume", "last", "--json").stdout)["episodes"][-1] == failed
    assert server.chats == asked
    done = json.loads(command("resume", "last", "--retry-failed", "--json").stdout)
    assert (done["status"], done["episodes"][-1]["fault"]) == ("completed", "none")
    assert command("replay", "last").exit_code == 0
