"""What the record costs: one program played with its record on disk, with a record that nobody keeps, and with none.

All three play the episodes of framework_steps.py, 64 at once, in turns in one process on one core, and score nothing:
on disk as a run plays them, projections and fingerprints included; `nowhere`, the same with what would be written
thrown away; without, on the null ledger, as a graph plays that was built without a run. Printed are steps/s, and round
by round the share of them that the record leaves. Goal: at least 0.85 of the steps/s without.

    python benchmarks/recording.py [--rounds 15] [--episodes 256]
"""

import argparse
import asyncio
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from worldloom import api
from worldloom.api.plans.plan import Builder
from worldloom.core.registry import Registry
from worldloom.runs.context import Context
from worldloom.runs.episode import Episode
from worldloom.runs.executor import Executor, Planned
from worldloom.runs.ledger import NullLedger
from worldloom.runs.program import play
from worldloom.runs.rows import Score
from worldloom.runs.scorer import EpisodeRecord
from worldloom.runs.store import RunStore
from worldloom.runs.writer import Writer

ACTIONS, CONCURRENCY, GOAL = 10, 64, 0.85
HERE = Path(__file__).parent
Side: TypeAlias = Callable[[Sequence[Planned], Path], Coroutine[Any, Any, None]]


class Unscored:
    """A scorer that scores nothing, for there is nothing to score without a record."""

    async def score(self, episode: EpisodeRecord, ctx: Context) -> list[Score]:
        """No scores."""
        return []


class Nowhere(Writer):
    """A writer that is never started, takes everything and writes nothing."""

    def put(self, sql: str, values: Sequence[Any]) -> None:
        """Forget it."""


async def on_disk(planned: Sequence[Planned], folder: Path) -> None:
    """As a run plays them."""
    store = RunStore.create(folder, {}, [one.row for one in planned])
    with store, store.writing() as writer:
        await Executor(store, writer, {}, CONCURRENCY).run(planned)


async def nowhere(planned: Sequence[Planned], folder: Path) -> None:
    """With ledgers, fingerprints and projections, and no disk."""
    await Executor(RunStore(folder), Nowhere(""), {}, CONCURRENCY).run(planned)


async def without(planned: Sequence[Planned], folder: Path) -> None:
    """Without a record."""
    waiting = iter(planned)

    async def work() -> None:
        for one in waiting:
            await play(one.program, Episode(NullLedger(), one.row.id, one.row.seed, limits=one.limits))

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(work())


SIDES: dict[str, Side] = {"on disk": on_disk, "nowhere": nowhere, "without": without}


def episodes_of(count: int) -> list[Planned]:
    """So many episodes, ready to be played."""
    registry = Registry.discover(None)
    agent = f"scripted:{HERE / 'framework_steps.yaml'}"
    plan = api.plan([HERE / "rules_world.yaml"], agent=agent, epochs=count, registry=registry)
    rows = [row for row, _, _ in plan.entries()]
    return [replace(one, scorer=Unscored()) for one in Builder(plan, registry).planned(rows)]


def measure(side: Side, planned: Sequence[Planned]) -> tuple[float, float]:
    """Steps per second by the wall clock and by the processor time of all threads, the writer's too."""
    with tempfile.TemporaryDirectory() as folder:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        asyncio.run(side(planned, Path(folder) / "run"))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return len(planned) * ACTIONS / wall, len(planned) * ACTIONS / cpu


def shown(values: Sequence[float], form: str) -> str:
    """Median, minimum and maximum."""
    return "{} ({} to {})".format(*(format(f(values), form) for f in (statistics.median, min, max)))


def main() -> int:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--episodes", type=int, default=256, help="in a batch")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    planned = episodes_of(given.episodes)
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in SIDES}
    for side in SIDES.values():
        measure(side, planned[:CONCURRENCY])
    for number in range(given.rounds):
        for name in SIDES if number % 2 == 0 else reversed(SIDES):
            rates[name].append(measure(SIDES[name], planned))
    print(
        f"n = {given.rounds} rounds of {given.episodes} episodes of {ACTIONS} actions, {CONCURRENCY} at once"
    )
    print(f"{'':10}{'steps/s: median (min to max)':30}of CPU time")
    for name, found in rates.items():
        print(
            f"{name:10}{shown([wall for wall, _ in found], '.0f'):30}{shown([cpu for _, cpu in found], '.0f')}"
        )
    for clock, words in enumerate(("wall clock", "CPU time")):
        for name in ("on disk", "nowhere"):
            left = [one[clock] / none[clock] for one, none in zip(rates[name], rates["without"], strict=True)]
            print(f"{name} / without by {words}: {shown(left, '.3f')}; goal for the disk: at least {GOAL}")
    print(f"Python {sys.version.split()[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
