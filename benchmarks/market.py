"""The gig market: how long rounds take, how that grows, and how it compares with the same market written for mesa.

All markets of worldloom are played by the real graph and executor with their record on disk: five skills, a job for ten
agents, the defaults of the rest. Half of the agents are `greedy_price`, half `fixed_list`, each half one cohort.

- 16 agents, all `greedy_price`, 20 jobs, 100 rounds, beside the same asked one by one; goal: at most 0.2 s as a cohort.
- 1,000 agents, 100 rounds, in turns with market_mesa.py on the same core; goal: at least 10 times faster than mesa as
  its tutorials write models. mesa records no bids, so worldloom without a record stands there too. What the markets
  come to is compared as well, for it has to be the same market. The same with 10,000 agents and 10 rounds.
- From 100 to 10,000 agents: time a round, for each agent, and for each agent and listing.
- 10,000 agents, 100 rounds; goal: at most 60 s.

    python benchmarks/market.py [--mesa-python PYTHON] [--rounds 10] [--small 16] [--middle 1000] [--large 10000]
"""

import argparse
import asyncio
import contextlib
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from worldloom import api
from worldloom.agents.agent import Decision
from worldloom.agents.bidding.lists import GreedyPrice
from worldloom.api.plans.plan import Builder, config_of
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.registry import Registry
from worldloom.core.view import View
from worldloom.graphs.market.graph import build
from worldloom.graphs.program import GraphProgram
from worldloom.runs.chance import uniforms
from worldloom.runs.context import Context
from worldloom.runs.episode import Episode
from worldloom.runs.executor import Executor, Planned
from worldloom.runs.ledger import NullLedger
from worldloom.runs.program import play
from worldloom.runs.store import RunStore

SKILLS, MAX_BIDS = 5, 5
HERE = Path(__file__).parent
SMALL_GOAL_S, LARGE_GOAL_S, MESA_GOAL = 0.2, 60.0, 10.0
ALIKE = 4.0
"""Standard errors that means of the same market may differ; eight of them, at n = 10, all do in 99 runs of 100."""
MISSING = """{python} has no mesa: worldloom alone. To compare, give mesa an environment of its own and name its Python:

    python3 -m venv mesa-env && mesa-env/bin/pip install 'mesa>=3.3,<3.4'
    python benchmarks/market.py --mesa-python mesa-env/bin/python
"""
FIGURES = ("unemployment", "price_ratio", "output", "gini")


@dataclass(frozen=True)
class Size:
    """Of a market.

    Attributes:
        policies: of the agents, in equal parts, each a cohort.
    """

    agents: int
    jobs: int
    rounds: int
    policies: tuple[str, ...] = ("greedy_price", "fixed_list")

    def __str__(self) -> str:
        return f"{self.agents:,} agents, {self.jobs:,} jobs, {self.rounds} rounds"

    def document(self) -> dict[str, Any]:
        """The market as a scenario."""
        each = self.agents // len(self.policies)
        return {
            "kind": "market",
            "id": "market",
            "cast": {policy: {"agent": policy, "count": each} for policy in self.policies},
            "world": {
                "rounds": self.rounds,
                "skills": [f"s{number}" for number in range(SKILLS)],
                "jobs": {"per_skill": self.jobs // SKILLS},
            },
        }


def jobs_for(agents: int) -> int:
    """A job for ten agents, as many in each skill."""
    return max(SKILLS, agents // 10 // SKILLS * SKILLS)


@dataclass(frozen=True)
class GreedySeat:
    """greedy_price as an agent that is asked seat by seat: reads the view, answers with an action.

    Attributes:
        jobs, seats: name -> number.
    """

    jobs: Mapping[str, int]
    seats: Mapping[str, int]
    policy: GreedyPrice = GreedyPrice()

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        shown: Any = view.context
        listings = sorted(shown["listings"], key=lambda one: (-one["budget"], self.jobs[one["job"]]))
        if not listings:
            return Decision(None)
        seat = np.array([self.seats[shown["seat"]]], dtype=np.uint64)
        if uniforms(ctx.seed, "greedy_price.train", shown["round"], seat)[0] < self.policy.training:
            return Decision(Action("train", {"skill": listings[0]["skill"]}))
        bids: Json = [
            {"job": one["job"], "price": self.policy.ratio * one["budget"]} for one in listings[:MAX_BIDS]
        ]
        return Decision(Action("bid", {"bids": bids}))


# worldloom


class Ours:
    """A market, ready to be played with a record on disk."""

    def __init__(self, size: Size, *, one_by_one: bool = False) -> None:
        registry = Registry.discover(None)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "market.yaml"
            file.write_text(json.dumps(size.document()), "utf-8")
            self._plan = api.plan([file], registry=registry)
        ((row, scenario, who),) = self._plan.entries()
        (self._planned,) = Builder(self._plan, registry).planned([row])
        if one_by_one:
            config = config_of(scenario, who, registry)
            rules = config.world.rules  # type: ignore[attr-defined]  # a market has them
            agents = {"greedy_price": GreedySeat(rules.job_numbers, rules.seat_numbers)}
            self._planned = replace(
                self._planned, program=GraphProgram("market", build(replace(config, agents=agents)))
            )

    def play(self, seed: int) -> dict[str, float]:
        """Play it once; what it took, and what it came to."""
        planned = replace(self._planned, row=replace(self._planned.row, seed=seed))
        with tempfile.TemporaryDirectory() as folder:
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            with RunStore.create(Path(folder) / "run", {}, [planned.row]) as store:
                asyncio.run(recorded(store, planned))
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                (scores,) = store.scores().values()
                (row,) = store.episodes()
            assert row.reason == "finished", row
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        found = {score.name: score.value for score in scores if score.name in FIGURES}
        return {"wall": wall, "cpu": cpu, "bytes": size, **found}  # type: ignore[dict-item]


class Unrecorded(Ours):
    """The same without a record, as mesa plays; nothing is scored."""

    def play(self, seed: int) -> dict[str, float]:
        """Play it once; what it took."""
        row = self._planned.row
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        asyncio.run(play(self._planned.program, Episode(NullLedger(), row.id, seed)))
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


async def recorded(store: RunStore, planned: Planned) -> None:
    """Play as a run plays."""
    with store.writing() as writer:
        await Executor(store, writer, {}, 1).run([planned])


# mesa


class Mesa:
    """A market in a process of its own."""

    def __init__(self, python: str, kind: str, size: Size) -> None:
        command = [
            python,
            str(HERE / "market_mesa.py"),
            kind,
            *map(str, (size.agents, size.jobs, size.rounds)),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.version: str = self._read()["version"]

    def play(self, seed: int) -> dict[str, float]:
        """Play it once; what it took, and what it came to."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seed}\n")
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"mesa's side ended with status {self._process.wait()}; what it said is above")
        found: dict[str, Any] = json.loads(line)
        return found


@contextlib.contextmanager
def rivals(python: str, size: Size) -> Iterator[dict[str, Mesa]]:
    """mesa's sides by name; none where there is no mesa."""
    if subprocess.run([python, "-c", "import mesa"], stderr=subprocess.DEVNULL).returncode:
        print(MISSING.format(python=python))
        yield {}
        return
    with contextlib.ExitStack() as stack:
        kinds = {"as in its tutorials": "plain", "sharing work": "shared", "with numpy": "vector"}
        found = {
            name: stack.enter_context(contextlib.closing(Mesa(python, kind, size)))
            for name, kind in kinds.items()
        }
        yield {f"mesa {side.version} {name}": side for name, side in found.items()}


# Figures


def spread(values: Sequence[float], form: str = ".3f") -> str:
    """Median, minimum and maximum."""
    return "{} ({} to {})".format(*(format(f(values), form) for f in (statistics.median, min, max)))


def small(size: Size, rounds: int) -> None:
    """The small market, as a cohort and one by one."""
    sides = {"as a cohort": Ours(size), "agents asked one by one": Ours(size, one_by_one=True)}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for side in sides.values():
        side.play(0)  # warm
    for number in range(rounds):
        for name in sides if number % 2 == 0 else reversed(sides):
            found[name].append(sides[name].play(number))
    print(f"{size}; n = {rounds}")
    for name, rows in found.items():
        wall, cpu = ([row[clock] for row in rows] for clock in ("wall", "cpu"))
        print(f"  {name:28}{spread(wall)} s; CPU {spread(cpu)} s")
    alike = all(one[name] == two[name] for one, two in zip(*found.values(), strict=True) for name in FIGURES)
    print(
        f"  both come to the same market: {'yes' if alike else 'NO'}; goal as a cohort: at most {SMALL_GOAL_S} s\n"
    )


def against_mesa(size: Size, rounds: int, python: str) -> bool:
    """The market against mesa; whether all came to the same."""
    with rivals(python, size) as sides:
        own: dict[str, Ours | Mesa] = {
            "worldloom": Ours(size),
            "worldloom without a record": Unrecorded(size),
        }
        players = {**own, **sides}
        found: dict[str, list[dict[str, float]]] = {name: [] for name in players}
        for player in players.values():
            player.play(0)  # warm
        for number in range(rounds):
            for name in players if number % 2 == 0 else reversed(players):
                found[name].append(players[name].play(1 + number))
    print(f"{size}; n = {rounds}, on one core; goal: at least {MESA_GOAL:.0f} x mesa as in its tutorials")
    for name, rows in found.items():
        wall, cpu = ([row[clock] for row in rows] for clock in ("wall", "cpu"))
        print(f"  {name:32}{spread(wall, '.2f')} s; CPU {spread(cpu, '.2f')} s")
    for name, mine in itertools.product(sides, own):
        for clock, words in (("wall", "wall clock"), ("cpu", "CPU time")):
            ratios = [two[clock] / one[clock] for one, two in zip(found[mine], found[name], strict=True)]
            print(f"  {name} / {mine} by {words}: {spread(ratios, '.2f')}")
    alike = [same(found["worldloom"], found[name], name) for name in sides]
    print()
    return all(alike)


def same(ours: Sequence[dict[str, float]], theirs: Sequence[dict[str, float]], name: str) -> bool:
    """Whether the means of two samples of markets differ by chance only; prints them."""
    within = True
    for figure in FIGURES:
        one, two = (np.array([row[figure] for row in rows]) for rows in (ours, theirs))
        difference = float(one.mean() - two.mean())
        error = float(np.sqrt(one.var(ddof=1) / len(one) + two.var(ddof=1) / len(two)))
        within &= abs(difference) <= ALIKE * error
        print(
            f"  {figure:13}{one.mean():9.4f} against {two.mean():9.4f} of {name}:"
            f" difference {difference:.4f} ± {1.96 * error:.4f} (95 %)"
        )
    print(f"  the same market, within {ALIKE} standard errors: {'yes' if within else 'NO'}")
    return within


def growth(sizes: Sequence[Size]) -> None:
    """How time grows with the market."""
    print("growth; the least of n = 3 each")
    for size in sizes:
        market = Ours(size)
        round_s = min(market.play(seed)["cpu"] for seed in range(3)) / size.rounds
        per = round_s / size.agents
        print(
            f"  {size!s:42}{round_s * 1e3:9.2f} ms of CPU a round, {per * 1e6:7.2f} µs an agent,"
            f" {per / size.jobs * 1e9:8.2f} ns an agent x listing"
        )
    print()


def main() -> int:
    """Measure and print; 1 if mesa's market is not the same."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mesa-python", default=sys.executable, help="Python that has mesa")
    parser.add_argument("--rounds", type=int, default=10, help="how often each is measured")
    parser.add_argument("--market-rounds", type=int, default=100)
    parser.add_argument("--small", type=int, default=16, help="agents of the small market")
    parser.add_argument(
        "--middle", type=int, default=1_000, help="agents of the market against mesa, an even number"
    )
    parser.add_argument(
        "--large", type=int, default=10_000, help="agents of the large market; 0 leaves it out"
    )
    given = parser.parse_args()
    large = Size(given.large, jobs_for(given.large), given.market_rounds)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {max(cores)})
    small(Size(given.small, 20, given.market_rounds, ("greedy_price",)), given.rounds)
    middle = Size(given.middle, jobs_for(given.middle), given.market_rounds)
    compared = [middle, replace(large, rounds=10)] if given.large else [middle]
    alike = [against_mesa(size, given.rounds, given.mesa_python) for size in compared]
    if given.large:
        growth([Size(count, jobs_for(count), 10) for count in (100, 1_000, 10_000) if count <= given.large])
        if cores:
            os.sched_setaffinity(0, cores)
        took = Ours(large).play(0)
        print(
            f"{large}; n = 1, on {len(cores) or 'all'} cores: {took['wall']:.1f} s, CPU {took['cpu']:.1f} s,",
            end="",
        )
        print(f" {took['bytes'] / 1e6:.0f} MB of record; goal: at most {LARGE_GOAL_S:.0f} s")
    print(f"Python {sys.version.split()[0]}")
    return int(not all(alike))


if __name__ == "__main__":
    raise SystemExit(main())
