"""Exporting: `runs export`: a run in a form that other programs read.

json and csv are the kernel's and hold every episode; formats of one kind of scenario come from its own room.
"""

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias, cast

from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import Plan
from worldloom.api.results.passes import scoring_of
from worldloom.api.results.result import RunResult
from worldloom.cli.locating import find_run
from worldloom.cli.terminal import say, stderr, visible
from worldloom.core.errors import UsageError
from worldloom.core.event import Event
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import DEFAULT_SCORING, RunStore

Exporter: TypeAlias = Callable[[EpisodeRow, Sequence[Event], Sequence[Score], Scenario], Mapping[str, Any]]


def as_json(result: RunResult) -> str:
    """The table, and every episode with its scores."""
    return json.dumps({**result.to_json(), "scoring": result.scoring}, indent=2, allow_nan=False) + "\n"


def as_csv(result: RunResult) -> str:
    """One line an episode, with its metrics; single criteria are in the JSON."""
    metrics = result.metrics
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*EpisodeRow.__dataclass_fields__, *metrics])
    for row in result.episodes:
        scores = result.scores.get(row.row, ())
        values = {score.name: score.value for score in scores if not score.is_criterion}
        writer.writerow([*asdict(row).values(), *(values.get(name) for name in metrics)])
    return text.getvalue()


FORMATS = {"json": as_json, "csv": as_csv}


def as_list(store: RunStore, plan: Plan, exporters: Mapping[str, Exporter], scoring: str) -> str:
    """The contestant's ended episodes in the format of their rooms; `exporters` by scenario."""
    scenarios, scores = {one.id: one for one in plan.scenarios}, store.scores(scoring)
    entries = [
        exporters[row.scenario](
            row, list(store.events(row.row).values()), scores.get(row.row, []), scenarios[row.scenario]
        )
        for row in store.episodes()
        if row.status == "ended" and row.cast_name == plan.contestant.name
    ]
    return json.dumps(entries, indent=2, allow_nan=False) + "\n"


def export_run(
    name: str, *, format: str, output: Path | None, scoring: str | None, place: Path | None
) -> None:
    """Write a run, with the scores of one pass, to a file that does not exist yet, or to stdout.

    Raises:
        UsageError: there is no such run, format or pass, or the file is there already.
    """
    with RunStore(find_run(name, place)) as store:
        scoring = scoring_of(store, scoring or DEFAULT_SCORING).name
        if format in FORMATS:
            text = FORMATS[format](RunResult.of(store, scoring))
        else:
            registry = Registry.discover(find_project(Path.cwd()))
            plan = plan_of(store, registry)
            text = as_list(store, plan, _exporters(plan, registry, format), scoring)
    if output is None:
        # A person looks at it: what servers and models said must not reach the terminal raw.
        sys.stdout.write(visible(text, lines=True) if sys.stdout.isatty() else text)
        return
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{output} is there already; export to another file, or remove it") from None
    except OSError as failure:
        raise UsageError(f"{output} cannot be written: {failure.strerror}") from failure
    say(stderr(), f"written: {output}", wrap=False)


def _exporters(plan: Plan, registry: Registry, format: str) -> dict[str, Exporter]:
    """Scenario -> what exports its episodes in a format that all graphs of the run know."""
    rooms = {one.id: plan.room_of(one, registry) for one in plan.scenarios}
    known = set.intersection(*(set(room.exports) for room in rooms.values()))
    if format not in known:
        raise UsageError(f"there is no format {format!r}\n  allowed: {', '.join([*FORMATS, *sorted(known)])}")
    return {scenario: cast(Exporter, room.load_export(format)) for scenario, room in rooms.items()}
