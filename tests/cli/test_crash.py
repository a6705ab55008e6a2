"""The command line killed at any instant, from its first import on: what has begun is completed by `resume`."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import time

import pytest

pytestmark = pytest.mark.slow

KILLS = 4
WORDS = ("--suite", "starter", "--epochs", "20")


@pytest.fixture
def begin(python):
    """Starts a command in a process and a session of its own."""
    running = []

    def start(*words):
        command = [*python, *(str(word) for word in words)]
        running.append(
            subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def run_in(folder):
    """The one run there; None if none has begun."""
    return next((file.parent for file in folder.glob("*/run.sqlite")), None)


def events_in(run):
    if run is None:
        return -1
    with contextlib.closing(sqlite3.connect(run / "run.sqlite")) as record:
        return int(record.execute("SELECT count(*) FROM events").fetchone()[0])


def instant(chance, runs):
    """When to kill the next process: some time after its start, or once a run or more of its events are on disk."""
    if chance.random() < 0.5:
        end = time.monotonic() + chance.uniform(0, 2)
        return lambda: time.monotonic() > end
    events = events_in(run_in(runs)) + chance.choice((1, chance.randrange(1, 600)))
    return lambda: events_in(run_in(runs)) >= events


def is_killed(process, now):
    """Kill a process as soon as `now` says so; False if it came to its end before."""
    deadline = time.monotonic() + 120
    while process.poll() is None and not now():
        assert time.monotonic() < deadline, "the command has hung"
        time.sleep(0.002)
    process.kill()
    assert process.wait() in (0, -signal.SIGKILL), process.stderr.read()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return process.returncode != 0


@pytest.mark.parametrize(
    ("seed", "agent"), [(1, "random"), (2, "careful"), (3, "literal"), (4, "random"), (5, "careful")]
)
def test_a_command_that_is_killed_again_and_again_is_completed_by_resume_as_if_nobody_had(
    here, command, begin, seed, agent
):
    chance, killed, runs = random.Random(seed), 0, []
    words = ("run", *WORDS, "--agent", agent)
    whole = json.loads(command(*words, "--runs-dir", "whole", "--json").stdout)
    while killed < KILLS:
        runs.append(here / f"runs-{len(runs)}")
        place = ("--concurrency", chance.choice((1, 8, 64)), "--runs-dir", runs[-1])
        while killed < KILLS:
            begun = ("resume", "last") if run_in(runs[-1]) else words
            if not is_killed(begin(*begun, *place), instant(chance, runs[-1])):
                break
            killed += 1
            listed = json.loads(command("runs", "list", "--runs-dir", runs[-1], "--json").stdout)
            assert {run["status"] for run in listed} <= {"planned", "interrupted", "completed"}
            assert len(listed) == (run_in(runs[-1]) is not None), "what was not laid out is no run"
        begun = ("resume", "last") if run_in(runs[-1]) else words
        resumed = json.loads(command(*begun, *place, "--json").stdout)
        assert (resumed["status"], resumed["fingerprint"]) == ("completed", whole["fingerprint"])
        replayed = command("replay", "last", "--runs-dir", runs[-1])
        assert (replayed.exit_code, replayed.stderr) == (0, ""), replayed.stdout
