"""Ctrl-C and SIGTERM end a run cleanly, `kill -9` does not lose it, and `resume` completes either."""

import json
import os
import signal
import subprocess
import time

import pytest

from worldloom.runs.store import RunStore


@pytest.fixture
def start(project, python, serve, careful):
    """Starts a run in a process of its own whose model does not answer its third request."""
    server = serve(careful, hold=frozenset({3}))
    words = [
        "run",
        "scenarios",
        "--model",
        "m",
        "--base-url",
        server.url,
        "--epochs",
        "2",
        "--concurrency",
        "1",
    ]
    process = subprocess.Popen(
        [*python, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert server.held.wait(60)
    yield server, process
    process.kill()
    process.communicate()


def wait_for_answers(folder, count):
    """Return once so many answers are on disk: what was said in the last 50 ms may still be on its way there."""
    for _ in range(600):
        with RunStore(folder) as store:
            events = [event for row in store.episodes() for event in store.events(row.row).values()]
        if sum(event.type == "model.1" for event in events) >= count:
            return
        time.sleep(0.1)
    raise AssertionError("the answers were not written")


def finish(server, project, command):
    """Resume the one run of the project, and replay it."""
    server.release.set()
    folder = next((project / "runs").iterdir())
    asked = server.chats
    resumed = command("resume", "last", "--json")
    assert resumed.exit_code == 0, resumed.stderr
    result = json.loads(resumed.stdout)
    assert result["status"] == "completed"
    assert {row["status"] for row in result["episodes"]} == {"ended"}
    assert server.chats - asked == 6, "what was answered before is not asked again"
    assert command("replay", folder.name).exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_ends_with_130_a_partial_table_and_how_to_go_on(start, project, command, number):
    server, process = start
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    folder = next((project / "runs").iterdir())
    assert RunStore(folder).value("status") == "cancelled"
    assert "Traceback" not in stderr
    row = next(line for line in stdout.splitlines() if line.startswith("m "))
    assert "0 of 2" in row
    assert "cancelled 1 (the run was interrupted); planned 1 (not begun)" in stdout
    assert f"Resume: worldloom resume runs/{folder.name}" in stdout
    finish(server, project, command)


@pytest.mark.slow
def test_a_killed_run_is_listed_as_interrupted_and_can_be_completed(start, project, command):
    server, process = start
    assert json.loads(command("runs", "list", "--json").stdout)[0]["status"] == "running"
    wait_for_answers(next((project / "runs").iterdir()), 2)
    process.kill()
    process.wait(60)
    assert json.loads(command("runs", "list", "--json").stdout)[0]["status"] == "interrupted"
    finish(server, project, command)


def test_resuming_a_complete_run_plays_nothing(played, command):
    before = (played / "run.sqlite").read_bytes()
    done = command("resume", "last")
    assert done.exit_code == 0
    assert "nothing is left to play" in done.stderr
    assert "careful" in done.stdout
    assert (played / "run.sqlite").read_bytes() == before


def test_ctrl_c_before_a_run_has_begun_leaves_nothing_behind(project, command, monkeypatch):
    def interrupt(specs):
        raise KeyboardInterrupt

    monkeypatch.setattr("worldloom.cli.running.have_weights", interrupt)
    done = command("run", "scenarios")
    assert (done.exit_code, done.stderr) == (130, "interrupted\n")
    assert not (project / "runs").exists()
