"""A large run in seconds: an episode is played, and its rows are written for all others as well.

So the record has the shape of a played one, down to keys and sizes; only the events of its episodes are alike. Its
scenarios are one under many names, and its scores differ, since a report does less where they do not. It is what
summary.py and resume.py read.

    python benchmarks/copied_run.py FOLDER [--episodes 10000] [--events 100] [--ended N]
"""

import argparse
import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from worldloom import api
from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import text_of
from worldloom.api.results.result import RunResult
from worldloom.core.event import Event
from worldloom.core.key import child_scope
from worldloom.core.registry import Registry
from worldloom.runs.rows import Score
from worldloom.runs.store import RunStore, put_episode, put_scores, put_value

HERE = Path(__file__).parent
SCENARIO, ACTIONS = HERE / "rules_world.yaml", HERE / "framework_steps.yaml"
TOLD = (
    "status", "reason", "fault", "fingerprint", "steps", "model_calls", "prompt_tokens", "completion_tokens",
    "models", "started_at", "seconds",
)  # fmt: skip
"""What the projection of an ended episode tells beside what was planned."""
SCENARIOS = 100


def copied_run(folder: Path, episodes: int, events: int, *, ended: int | None = None) -> None:
    """Make a run: the first `ended` of its episodes, else all, have ended, with `events` events each."""
    ended, count = episodes if ended is None else ended, min(SCENARIOS, episodes)
    with tempfile.TemporaryDirectory() as place:
        result = _played(Path(place), count)
        with RunStore(result.folder) as store:
            plan = replace(plan_of(store, Registry.discover(None)), epochs=episodes // count)
            title = f"{episodes:,} copied episodes"
            manifest = {**store.value("manifest"), "epochs": plan.epochs, "title": title}
            pattern = store.arrivals(0)
    told = {name: value for name, value in asdict(result.episodes[0]).items() if name in TOLD}
    rows = [row for row, _, _ in plan.entries()]
    made = RunStore.create(folder, manifest, rows, [text_of(one) for one in plan.scenarios])

    async def write() -> None:
        with made.writing() as writer:
            for row in rows[:ended]:
                for event in itertools.islice(_repeated(pattern), events):
                    writer.event((row.row, ""), event)
                put_scores(writer, row.row, [_varied(score, row.row) for score in result.scores[0]])
                put_episode(writer, row.row, **told)
                if row.row % 100 == 0:  # what waits for the disk stays small
                    await writer.durable()
            put_value(writer, "status", "completed" if ended == episodes else "cancelled")

    with made:
        asyncio.run(write())


def _played(place: Path, scenarios: int) -> RunResult:
    """A run of one scenario under so many names."""
    text = SCENARIO.read_text("utf-8")
    files = [place / f"{number}.yaml" for number in range(scenarios)]
    for number, file in enumerate(files):
        file.write_text(text.replace("id: benchmark-evening", f"id: evening-{number}"), "utf-8")
    return api.run(files, agent=f"scripted:{ACTIONS}", runs_dir=place / "runs")


def _varied(score: Score, row: int) -> Score:
    """The score with a value that differs from episode to episode, if it is a metric."""
    return score if score.unit == "criterion" else replace(score, value=row * 7919 % 101 / 100)


def _repeated(events: list[Event]) -> Iterator[Event]:
    """The events again and again, each time under keys of their own."""
    for turn in itertools.count():
        scope = child_scope(b"", turn, "aaw")
        for event in events:
            yield replace(event, key=scope + event.key)


def main() -> None:
    """Make a run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the run's own folder, which must not be there yet")
    parser.add_argument(
        "--episodes", type=int, default=10_000, help=f"a multiple of {SCENARIOS}, or fewer than that"
    )
    parser.add_argument("--events", type=int, default=100, help="of each episode that has ended")
    parser.add_argument("--ended", type=int, help="episodes that have ended (default: all)")
    given = parser.parse_args()
    copied_run(given.folder, given.episodes, given.events, ended=given.ended)


if __name__ == "__main__":
    main()
