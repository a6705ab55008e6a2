"""Memory and size of the log: many short episodes in one run, and single episodes that grow long.

First a run of 1,000 and one of 10,000 episodes of ten actions through the public API, 64 at once, each in a process of
its own: peak resident memory (goal: at most 600 MB at 10,000) and bytes of the record per step. Then one episode of
50, 100, 200 and 400 steps of the llm agent on a scripted model, with every prompt recorded: what a further step adds
must stay the same, though the prompts grow with every turn.

    python benchmarks/many_episodes.py [--episodes 1000 10000] [--steps 50 100 200 400]
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from worldloom import api
from worldloom.api.plans.plan import Builder, text_of
from worldloom.core.canonical import Json
from worldloom.core.registry import Registry
from worldloom.models.model import Request
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.executor import Executor
from worldloom.runs.store import RunStore

CONCURRENCY = 64
GOAL_MB = 600
HERE = Path(__file__).parent
SCENARIO, ACTIONS = HERE / "rules_world.yaml", HERE / "framework_steps.yaml"
CHOICES: tuple[tuple[str, str, dict[str, Json]], ...] = (
    ("bluetooth", "list_devices", {}),
    ("heating", "set_room", {"room": "bath", "celsius": 23}),
    ("media", "set_volume", {"value": 0.5}),
    ("heating", "status", {}),
)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def peak_mb() -> float:
    """Peak resident memory of this process, in MB of 10^6 bytes; the system counts in KiB, on macOS in bytes."""
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    )


def play_many(episodes: int) -> dict[str, float]:
    """One run of so many episodes in this process."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        result = api.run(
            [SCENARIO], agent=f"scripted:{ACTIONS}", epochs=episodes, concurrency=CONCURRENCY, runs_dir=folder
        )
        seconds = time.perf_counter() - begun
        assert result.reasons() == {"completed": episodes}, result.reasons()
        steps = sum(row.steps for row in result.episodes)
        return {"mb": peak_mb(), "bytes": size_of(Path(folder)), "steps": steps, "seconds": seconds}


def answer(request: Request) -> str:
    """The reply of a model that acts for ever; it depends on the request alone."""
    turn = len(request.messages) // 2
    entity, action, arguments = CHOICES[turn % len(CHOICES)]
    thought = f"Turn {turn}: before anything is changed it is worth a look at how things stand in the flat."
    call = {"entity_id": entity, "action_name": action, "arguments": arguments}
    return json.dumps({"thought_process": thought, "action": call})


async def play_long(steps: int, folder: Path) -> tuple[int, int]:
    """One episode of so many steps; returns the bytes of its record and those of all prompts together."""
    registry, sent = Registry.discover(None), 0

    def reply(request: Request) -> str:
        nonlocal sent
        sent += sum(len(json.dumps(message.to_json())) for message in request.messages)
        return answer(request)

    plan = api.plan([SCENARIO], agent="llm", model="hosted_vllm/scripted", max_steps=steps, registry=registry)
    rows = [row for row, _, _ in plan.entries()]
    store = RunStore.create(folder, plan.manifest(), rows, [text_of(one) for one in plan.scenarios])
    with store.writing() as writer:
        executor = Executor(store, writer, {"agent": ScriptedModel(reply)})
        await executor.run(list(Builder(plan, registry).planned(rows)))
    (row,) = store.episodes()
    assert (row.reason, row.steps, row.model_calls) == ("step_limit", steps, steps), row
    store.close()
    return size_of(folder), sent


def many(counts: Sequence[int]) -> float:
    """Print the table of runs; returns the peak memory of the last, in MB."""
    print(f"{'episodes':>9}{'steps':>9}{'peak RSS':>12}{'record':>12}{'bytes/step':>12}{'steps/s':>9}")
    peak = 0.0
    for episodes in counts:
        command = [sys.executable, __file__, "--play", str(episodes)]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        steps, peak = found["steps"], found["mb"]
        print(
            f"{episodes:9,}{steps:9,}{peak:9.0f} MB{found['bytes'] / 1e6:9.1f} MB{found['bytes'] / steps:12.0f}"
            f"{steps / found['seconds']:9.0f}"
        )
    print(f"goal at 10,000 episodes: at most {GOAL_MB} MB")
    return peak


def long(lengths: Sequence[int]) -> float:
    """Print the table of long episodes; returns what a further step adds at the end over what it adds at first."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = {steps: asyncio.run(play_long(steps, Path(folder) / str(steps))) for steps in lengths}
    print(f"{'steps':>9}{'prompts':>12}{'record':>12}{'a further step adds':>22}")
    added: list[float] = []
    before: tuple[int, int] | None = None
    for steps, (size, sent) in sizes.items():
        if before is not None:
            added.append((size - before[1]) / (steps - before[0]))
        shown = f"{added[-1]:.0f} bytes" if added else ""
        print(f"{steps:9}{sent / 1e6:9.2f} MB{size / 1e6:9.2f} MB{shown:>22}")
        before = (steps, size)
    return added[-1] / added[0]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument(
        "--steps", type=int, nargs="+", default=[50, 100, 200, 400], help="at least two lengths"
    )
    parser.add_argument("--play", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        print(json.dumps(play_many(given.play)))
        return 0
    many(given.episodes)
    print()
    growth = long(given.steps)
    print(f"growth from the first to the last: {growth:.2f} (1.00 is a log linear in steps)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
