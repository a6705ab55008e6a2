"""Steps per second of a whole framework: worldloom against inspect-ai, and a bare LangGraph loop for orientation.

Each side plays episodes of ten actions, 64 at once, with an agent that takes no time, and logs every event to disk:
worldloom a scripted agent in rules_world.yaml, inspect-ai its `react` agent on mockllm with one trivial tool and its
default `.eval` log, LangGraph two nodes that write to SQLite. Each side is a process of its own on the same core,
warmed up before it is measured. A round is one batch of each, in turns; the two fast ones play ten times as many
episodes in theirs, so that all batches last about as long and meet the same noise. Printed are the steps per second
and, round by round, the ratio of worldloom to inspect-ai. Goal: at least 10.

    python benchmarks/framework_steps.py [--inspect-python PYTHON] [--rounds 5] [--episodes 64]

inspect-ai may live in an environment of its own. It needs no network: the scripted answers say how many tokens they
have, as a server's do, so that its tokenizer, which it would download, is never asked.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

ACTIONS = 10
CONCURRENCY = 64
WARM_UP = 8
MORE = 10
"""Times as many episodes as inspect-ai that the other sides play in a batch."""
GOAL = 10.0
HERE = Path(__file__).parent
MISSING = """inspect-ai cannot be imported by {python}. Give it an environment of its own and name its Python:

    python3 -m venv inspect-env && inspect-env/bin/pip install inspect-ai
    python benchmarks/framework_steps.py --inspect-python inspect-env/bin/python
"""

Play: TypeAlias = Callable[[int, Path], int]
"""Plays so many episodes with the log in a folder; returns the number of actions."""


# The sides. Each imports its framework when it is called, because the others need not have it.


def worldloom_side() -> Play:
    """worldloom through its public API."""
    from worldloom import api  # noqa: PLC0415

    scenario, actions = HERE / "rules_world.yaml", HERE / "framework_steps.yaml"

    def play(episodes: int, folder: Path) -> int:
        result = api.run(
            [scenario], agent=f"scripted:{actions}", epochs=episodes, concurrency=CONCURRENCY, runs_dir=folder
        )
        assert result.reasons() == {"completed": episodes}, result.reasons()
        return sum(row.steps for row in result.episodes)

    return play


def inspect_side(*, live: bool = True) -> Play:
    """inspect-ai as its documentation writes such a task; `live` is its view of running samples, on by default."""
    import inspect_ai as ai  # noqa: PLC0415
    from inspect_ai import agent, dataset, model, scorer, tool  # noqa: PLC0415

    def set_volume() -> Any:
        async def execute(value: float) -> str:
            """Set the volume.

            Args:
                value: from 0 to 1.
            """
            return json.dumps({"volume": value})

        return execute

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        done = sum(message.role == "assistant" for message in messages)
        if done < ACTIONS:
            output = model.ModelOutput.for_tool_call("mockllm/model", "set_volume", {"value": done / ACTIONS})
        else:
            output = model.ModelOutput.from_content("mockllm/model", "done")
        output.usage = model.ModelUsage(input_tokens=200, output_tokens=12, total_tokens=212)
        return output

    def play(episodes: int, folder: Path) -> int:
        samples = [dataset.Sample("Get the flat ready.", target="done", id=i) for i in range(episodes)]
        solver = agent.react(tools=[tool.tool(set_volume)()], submit=False)
        task = ai.Task(dataset=samples, solver=solver, scorer=scorer.includes())
        mock = model.get_model("mockllm/model", custom_outputs=answer)
        options: dict[str, Any] = {} if live else {"log_realtime": False}
        (log,) = ai.eval(
            task, model=mock, display="none", log_dir=str(folder), log_format="eval",
            max_samples=CONCURRENCY, max_connections=CONCURRENCY, **options,
        )  # fmt: skip
        assert log.status == "success", log.error
        return sum(message.role == "tool" for sample in log.samples or () for message in sample.messages)

    return play


def langgraph_side() -> Play:
    """Two nodes in a loop, each of which logs one event: nothing but LangGraph and SQLite."""
    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

    class State(TypedDict, total=False):
        episode: int
        step: int

    def play(episodes: int, folder: Path) -> int:
        folder.mkdir()
        with contextlib.closing(EventLog(folder / "log.sqlite")) as log:
            asyncio.run(loop(episodes, log))
            return log.steps

    async def loop(episodes: int, log: "EventLog") -> None:
        async def decide(state: State) -> State:
            log.put(
                state["episode"], "decided", {"action": "set_volume", "arguments": {"value": state["step"]}}
            )
            return {"step": state["step"]}

        async def act(state: State) -> State:
            log.put(state["episode"], "stepped", {"success": True, "message": '{"volume":0.5}'})
            return {"step": state["step"] + 1}

        async def route(state: State) -> str:
            return "decide" if state["step"] < ACTIONS else END

        graph = StateGraph(State)
        graph.add_node("decide", decide)
        graph.add_node("act", act)
        graph.add_edge(START, "decide")
        graph.add_edge("decide", "act")
        graph.add_conditional_edges("act", route, ["decide", END])
        compiled, waiting = graph.compile(), iter(range(episodes))

        async def work() -> None:
            for episode in waiting:
                await compiled.ainvoke({"episode": episode, "step": 0})

        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(work())

    return play


class EventLog:
    """Every event as a row, 256 to a transaction."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(
            "CREATE TABLE events (seq INTEGER PRIMARY KEY, episode INTEGER, type TEXT, body TEXT)"
        )
        self._pending: list[tuple[int, str, str]] = []
        self.steps = 0

    def put(self, episode: int, type: str, body: dict[str, Any]) -> None:
        """Log one event."""
        self.steps += type == "stepped"
        self._pending.append((episode, type, json.dumps(body)))
        if len(self._pending) >= 256:
            self._write()

    def close(self) -> None:
        """Write what is pending."""
        self._write()
        self._database.close()

    def _write(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO events (episode, type, body) VALUES (?, ?, ?)", self._pending)
        self._database.execute("COMMIT")
        self._pending.clear()


SIDES: dict[str, tuple[str, Callable[[], Play]]] = {
    "worldloom": ("worldloom", worldloom_side),
    "inspect-ai": ("inspect-ai", inspect_side),
    "inspect-ai (no view)": ("inspect-ai", partial(inspect_side, live=False)),
    "bare LangGraph": ("langgraph", langgraph_side),
}
"""Name -> distribution and side."""


def serve(name: str) -> None:
    """Be one side: warm up, then play a batch for every number read from stdin and report it as a line of JSON."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a framework prints is not to be taken for an answer
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    distribution, side = SIDES[name]
    try:
        play = side()
    except ModuleNotFoundError as missing:
        answers.write(json.dumps({"missing": missing.name}) + "\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        play(WARM_UP, Path(folder) / "warm-up")
    answers.write(json.dumps({"version": version(distribution)}) + "\n")
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            answers.write(json.dumps(measure(play, int(line), Path(folder) / "log")) + "\n")


def measure(play: Play, episodes: int, folder: Path) -> dict[str, float]:
    """Steps per second by the wall clock and by the processor time of the process, and bytes of log a step."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    steps = play(episodes, folder)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert steps == episodes * ACTIONS, f"{steps} steps in {episodes} episodes"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {"wall": steps / wall, "cpu": steps / cpu, "bytes": size / steps}


class Side:
    """A side as the parent sees it: a process that plays when it is asked."""

    def __init__(self, name: str, python: str, data: str, episodes: int) -> None:
        self.name, self.episodes = name, episodes
        command = [python, __file__, "--side", name]
        # inspect-ai keeps traces and running samples in the user's data folder.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_DATA_HOME": data},
        )
        self.rounds: list[dict[str, float]] = []
        found = self._read()
        if "missing" in found:
            what = f"{python} has no module {found['missing']}, which the side {name} needs"
            sys.exit(MISSING.format(python=python) if found["missing"] == "inspect_ai" else what)
        self.version: str = found["version"]

    def play(self) -> None:
        """Play a batch and keep what it measured."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self.episodes}\n")
        self._process.stdin.flush()
        self.rounds.append(self._read())

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"the side {self.name} ended with status {self._process.wait()}; what it said is above")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def sides(inspect_python: str, inspect: str, episodes: int) -> Iterator[list[Side]]:
    """The sides, warm: worldloom, inspect-ai as the side `inspect` has it, LangGraph."""
    with contextlib.ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory())
        here, more = sys.executable, MORE * episodes
        chosen = (
            ("worldloom", here, more),
            (inspect, inspect_python, episodes),
            ("bare LangGraph", here, more),
        )
        yield [
            stack.enter_context(contextlib.closing(Side(name, python, data, count)))
            for name, python, count in chosen
        ]


def spread(values: list[float], form: str) -> str:
    """Median, minimum and maximum."""
    median, low, high = (
        format(value, form) for value in (statistics.median(values), min(values), max(values))
    )
    return f"{median:>7} ({low} to {high})"


def report(found: list[Side]) -> float:
    """Print the figures; returns the median ratio by the wall clock."""
    print(
        f"n = {len(found[0].rounds)} rounds; episodes of {ACTIONS} actions, {CONCURRENCY} at once, on one core"
    )
    print(f"{'':30}{'episodes':>9}  {'steps/s: median (min to max)':30}{'of CPU time':26}bytes/step")
    for side in found:
        wall, cpu = ([one[key] for one in side.rounds] for key in ("wall", "cpu"))
        size = statistics.median(one["bytes"] for one in side.rounds)
        name = f"{side.name} {side.version}"
        print(f"{name:30}{side.episodes:9}  {spread(wall, '.0f'):30}{spread(cpu, '.0f'):26}{size:10.0f}")
    ours, theirs = found[:2]
    medians = {}
    for clock, words in (("wall", "wall clock"), ("cpu", "CPU time")):
        ratios = [mine[clock] / other[clock] for mine, other in zip(ours.rounds, theirs.rounds, strict=True)]
        medians[clock] = statistics.median(ratios)
        shown = " ".join(f"{ratio:.1f}" for ratio in ratios)
        print(f"ratio by {words}: {shown}; median {medians[clock]:.1f}, goal: at least {GOAL:.0f}")
    print(f"Python {sys.version.split()[0]}")
    return medians["wall"]


def main() -> int:
    """Start the sides, play the rounds, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inspect-python", default=sys.executable, help="Python that has inspect-ai")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--episodes", type=int, default=64, help=f"in a batch of inspect-ai; the others play {MORE} x"
    )
    parser.add_argument("--no-view", action="store_true", help="inspect-ai with log_realtime=False")
    parser.add_argument(
        "--floor", type=float, default=0.0, help="exit with 1 if the median ratio is below this"
    )
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        serve(given.side)
        return 0
    inspect = "inspect-ai (no view)" if given.no_view else "inspect-ai"
    with sides(given.inspect_python, inspect, given.episodes) as found:
        for number in range(given.rounds):
            for side in found if number % 2 == 0 else found[::-1]:
                side.play()
    return int(report(found) < given.floor)


if __name__ == "__main__":
    raise SystemExit(main())
