"""Steps per second of a replay against inspect-ai's live loop on mockllm: is it cheaper to replay than to run again?

worldloom replays a recorded run of the episodes of framework_steps.py, 64 at once, with everything that a replay
checks; inspect-ai, which has no replay, plays its own live, as framework_steps.py has it. worldloom's live loop stands
beside them. All run on one core, a batch of each in turns. Goal: at least 5 times inspect-ai's steps/s.

    python benchmarks/replay.py [--inspect-python PYTHON] [--rounds 5] [--episodes 64]
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from framework_steps import ACTIONS, CONCURRENCY, MORE, Play, Side, measure, spread, worldloom_side

from worldloom import api

GOAL = 5.0


def replayed(run: Path, episodes: int, folder: Path) -> int:
    """Replay a run of so many episodes; returns the number of its actions."""
    found = api.replay(run, concurrency=CONCURRENCY)
    assert len(found) == episodes, f"{len(found)} episodes replayed of {episodes}"
    assert all(one.problem is None for one in found), next(one.problem for one in found if one.problem)
    return sum(one.episode.steps for one in found)


def batch(play: Play, episodes: int) -> dict[str, float]:
    """What a batch in this process measures."""
    with tempfile.TemporaryDirectory() as folder:
        return measure(play, episodes, Path(folder) / "log")


def batch_of(side: Side) -> dict[str, float]:
    """What a batch in the side's own process measures."""
    side.play()
    return side.rounds[-1]


def report(rounds: dict[str, list[dict[str, float]]]) -> None:
    """Print the figures; the replay, which is the first, is compared with each of the others."""
    print(
        f"n = {len(next(iter(rounds.values())))} rounds; episodes of {ACTIONS} actions, {CONCURRENCY} at once, one core"
    )
    print(f"{'':26}{'steps/s: median (min to max)':30}of CPU time")
    for name, found in rounds.items():
        wall, cpu = ([one[clock] for one in found] for clock in ("wall", "cpu"))
        print(f"{name:26}{spread(wall, '.0f'):30}{spread(cpu, '.0f')}")
    ours, *others = rounds
    for name in others:
        for clock, words in (("wall", "wall clock"), ("cpu", "CPU time")):
            ratios = [
                mine[clock] / other[clock] for mine, other in zip(rounds[ours], rounds[name], strict=True)
            ]
            print(f"{ours} / {name} by {words}: {spread(ratios, '.2f')}")
    print(f"goal: at least {GOAL:.0f} times inspect-ai, by the wall clock")
    print(f"Python {sys.version.split()[0]}")


def main() -> int:
    """Record a run, play the rounds, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inspect-python", default=sys.executable, help="Python that has inspect-ai")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=64, help=f"of inspect-ai; worldloom plays {MORE} x")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    live, episodes = worldloom_side(), MORE * given.episodes
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        live(episodes, Path(folder) / "runs")
        (run,) = (Path(folder) / "runs").iterdir()
        batches = {
            "worldloom replay": partial(batch, partial(replayed, run), episodes),
            "worldloom live": partial(batch, live, episodes),
        }
        if subprocess.run(
            [given.inspect_python, "-c", "import inspect_ai"], stderr=subprocess.DEVNULL
        ).returncode:
            print(f"{given.inspect_python} has no inspect-ai: worldloom alone")
        else:
            side = stack.enter_context(
                contextlib.closing(Side("inspect-ai", given.inspect_python, folder, given.episodes))
            )
            batches[f"inspect-ai {side.version} live"] = partial(batch_of, side)
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in batches}
        for number in range(given.rounds):
            for name in batches if number % 2 == 0 else reversed(batches):
                rounds[name].append(batches[name]())
    report(rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
