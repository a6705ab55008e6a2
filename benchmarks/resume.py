"""How long `worldloom resume` takes to be back at work on a large run of which half has been played.

From the start of the command to the first new event in the record, each time on a fresh copy of a run made by
copied_run.py; a run of 100 episodes beside it shows what has nothing to do with the size. The command is then stopped
as by Ctrl-C. If inspect-ai is there: its retry of a smaller log in turns with these, from the start of the process to
that of its first sample. Goal: under 5 s with 10,000 episodes.

    python benchmarks/resume.py [--inspect-python PYTHON] [--rounds 3] [--episodes 10000] [--samples 400]
"""

import argparse
import contextlib
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

GOAL_S, EVENTS, FEW, POLL_S, PATIENCE_S = 5.0, 100, 100, 0.005, 120.0
BEGUN = 42
"""Exit status of a retry whose first sample has begun."""
HERE = Path(__file__).parent
INSPECT = HERE / "inspect_log.py"


def half_played(place: Path, episodes: int) -> Path:
    """Make a run, half of whose episodes have ended, in a folder below this one."""
    run = place / "run"
    counts = ("--episodes", str(episodes), "--events", str(EVENTS), "--ended", str(episodes // 2))
    subprocess.run([sys.executable, HERE / "copied_run.py", run, *counts], check=True)
    return run


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, float]:
    """Exit status and processor time of a process that is about to end."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def worldloom(run: Path) -> tuple[float, float]:
    """Seconds from the start of `resume` to its first event, and its processor time up to its end."""
    database = f"{(run / 'run.sqlite').as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(database, uri=True, timeout=30)) as record:

        def last() -> int:
            (found,) = record.execute("SELECT max(seq) FROM events").fetchone()
            return int(found)

        before, begun = last(), time.perf_counter()
        command = [sys.executable, "-m", "worldloom.cli", "resume", run]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while last() == before:
            if process.poll() is not None or time.perf_counter() - begun > PATIENCE_S:
                process.kill()
                said = process.communicate()[1].decode("utf-8", "replace")
                sys.exit(f"resume of {run} played nothing; status {process.returncode}\n{said}")
            time.sleep(POLL_S)
        seconds = time.perf_counter() - begun
    process.send_signal(signal.SIGINT)
    return seconds, ended(process)[1]


def inspect_ai(python: str, log: Path) -> tuple[float, float]:
    """Seconds from the start of a retry to its first sample, with which it ends, and its processor time."""
    begun = time.perf_counter()
    status, cpu = ended(subprocess.Popen([python, INSPECT, "retry", log], stdout=subprocess.DEVNULL))
    if status != BEGUN:
        sys.exit(f"the retry of {log} ended with status {status} before a sample began")
    return time.perf_counter() - begun, cpu


def on_a_copy(measure: Callable[[Path], tuple[float, float]], record: Path) -> tuple[float, float]:
    """Measure with a copy of a run, or of a log in its folder, of its own."""
    copy = Path(shutil.copytree(record.parent, record.parent.with_name("copy")))
    try:
        return measure(copy / record.name)
    finally:
        shutil.rmtree(copy)


def main() -> int:
    """Make the runs, resume them in turns, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inspect-python", default=sys.executable, help="Python that has inspect-ai")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=400, help="of inspect-ai's log, half of them ended")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["XDG_DATA_HOME"] = folder  # inspect-ai keeps traces in the user's data folder
        cases = {
            f"worldloom, {count:,} episodes": partial(
                on_a_copy, worldloom, half_played(place / str(count), count)
            )
            for count in (FEW, given.episodes)
        }
        if subprocess.run(
            [given.inspect_python, "-c", "import inspect_ai"], stderr=subprocess.DEVNULL
        ).returncode:
            print(f"{given.inspect_python} has no inspect-ai: worldloom alone")
        else:
            log = place / "inspect" / "half.eval"
            sizes = (str(given.samples), str(given.samples // 2))
            make = [given.inspect_python, INSPECT, "make", log, *sizes]
            subprocess.run(make, stdout=subprocess.DEVNULL, check=True)
            retry = partial(inspect_ai, given.inspect_python)
            cases[f"inspect-ai, {given.samples:,} samples"] = partial(on_a_copy, retry, log)
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
        for number in range(given.rounds):
            for name in cases if number % 2 == 0 else reversed(cases):
                took[name].append(cases[name]())
    print(f"n = {given.rounds} rounds; half of each has ended; seconds until something new begins")
    for name, found in took.items():
        wall, cpu = zip(*found, strict=True)
        shown = f"{statistics.median(wall):.2f} s ({min(wall):.2f} to {max(wall):.2f})"
        print(f"{name:30}{shown:28}CPU time {statistics.median(cpu):.2f} s")
    print(f"goal with 10,000 episodes: under {GOAL_S:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
