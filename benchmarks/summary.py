"""How long the summary of a large run takes to open, and in how much memory: does it read the events?

Of runs made by copied_run.py, with 10,000 events and with 1,000,000, each in a process of its own, in turns:
`worldloom runs show` from start to end, and `RunResult.of` from Python. If inspect-ai is there, beside them its log of
fewer samples, likewise made by copying: its header, the summaries of its samples, and all of it. Printed are the
seconds of the process, those of reading alone, and peak memory. Goal: a command under a second with 1,000,000 events,
in the memory that it takes for as many episodes with a hundredth of the events.

    python benchmarks/summary.py [--inspect-python PYTHON] [--rounds 5] [--episodes 10000] [--samples 250]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

EVENTS = 100
HERE = Path(__file__).parent
WAYS = {"header": "of its header", "summaries": "header and summaries", "all": "all of it"}


# Worldloom and inspect-ai are imported by the processes that are measured alone: on Linux the peak memory of a process
# is at least that of the one which started it.


def read_worldloom(run: Path) -> None:
    """Open a run from Python and print the seconds that reading took."""
    from worldloom.api.results.result import RunResult  # noqa: PLC0415
    from worldloom.runs.store import RunStore  # noqa: PLC0415

    begun = time.perf_counter()
    with RunStore(run) as store:
        RunResult.of(store).lines()
    print(time.perf_counter() - begun)


def read_inspect(log: Path, way: str) -> None:
    """Open a log of inspect-ai and print the seconds that reading took."""
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries  # noqa: PLC0415

    begun = time.perf_counter()
    read_eval_log(str(log), header_only=way != "all")
    if way == "summaries":
        read_eval_log_sample_summaries(str(log))
    print(time.perf_counter() - begun)


def output(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def measured(command: Sequence[str | Path]) -> tuple[float, float, float | None, float]:
    """Seconds of a process, its processor time, seconds of reading if it says them, and peak memory in MB (10^6)."""
    with tempfile.TemporaryFile("w+") as said:
        begun = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"a process that should have been measured failed: {command}")
        said.seek(0)
        text = said.read().strip()
    reading = float(text) if text.count("\n") == 0 else None
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    return seconds, used.ru_utime + used.ru_stime, reading, memory


def cases(place: Path, episodes: int, samples: int, inspect: str) -> dict[str, list[str | Path]]:
    """Make the runs and the log; name -> command that opens one of them."""
    found: dict[str, list[str | Path]] = {}
    for count, events in ((episodes // EVENTS, EVENTS), (episodes, 1), (episodes, EVENTS)):
        run = place / f"{count}-{events}"
        output(sys.executable, HERE / "copied_run.py", run, "--episodes", str(count), "--events", str(events))
        what = f"{count * events:,} events, {count:,} episodes"
        found[f"runs show: {what}"] = [sys.executable, "-m", "worldloom.cli", "runs", "show", run]
        found[f"RunResult.of: {what}"] = [sys.executable, __file__, "--read", "worldloom", "--path", run]
    if subprocess.run(
        [inspect, "-c", "import inspect_ai"], stderr=subprocess.DEVNULL, check=False
    ).returncode:
        print(f"{inspect} has no inspect-ai: worldloom alone")
        return found
    log = place / "copied.eval"
    events = int(output(inspect, HERE / "inspect_log.py", "make", log, str(samples), str(samples)))
    for way, words in WAYS.items():
        name = f"inspect-ai, {words}: {events:,} events, {samples:,} samples"
        found[name] = [inspect, __file__, "--read", way, "--path", log]
    return found


def report(took: dict[str, list[tuple[float, float, float | None, float]]]) -> None:
    """Print the figures: medians, and the range of the first."""
    rounds = f"n = {len(next(iter(took.values())))} rounds"
    print(f"{rounds:66}{'process':>24}{'CPU time':>10}{'reading':>10}{'memory':>9}")
    for name, found in took.items():
        wall, cpu, reading, memory = zip(*found, strict=True)
        shown = f"{statistics.median(wall):.2f} s ({min(wall):.2f} to {max(wall):.2f})"
        alone = "" if reading[0] is None else f"{statistics.median(reading):.3f} s"
        print(
            f"{name:66}{shown:>24}{statistics.median(cpu):8.2f} s{alone:>10}{statistics.median(memory):6.0f} MB"
        )


def main() -> int:
    """Make what is read, read it in turns, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inspect-python", default=sys.executable, help="Python that has inspect-ai")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--episodes", type=int, default=10_000, help=f"of the largest run, with {EVENTS} events each"
    )
    parser.add_argument("--samples", type=int, default=250, help="of inspect-ai's log")
    parser.add_argument("--read", choices=("worldloom", *WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read_worldloom(given.path) if given.read == "worldloom" else read_inspect(given.path, given.read)
    else:
        with tempfile.TemporaryDirectory() as place:
            os.environ["XDG_DATA_HOME"] = place  # inspect-ai keeps traces in the user's data folder
            commands = cases(Path(place), given.episodes, given.samples, given.inspect_python)
            took = {name: [measured(command)] for name, command in commands.items()}
            for number in range(1, given.rounds):
                for name in commands if number % 2 == 0 else reversed(commands):
                    took[name].append(measured(commands[name]))
        report(took)
        print(
            f"goal: runs show of {given.episodes * EVENTS:,} events under 1 s; memory as with 1 event an episode"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
