"""Listing: `runs list` and `runs show`: what was run, and what came of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from worldloom.api.plans.cast import WorldSpec
from worldloom.api.plans.manifest import contestant_of, graph_of
from worldloom.api.results.passes import further, scoring_of
from worldloom.api.results.result import RunResult
from worldloom.cli.locating import find_run, run_folders, runs_place
from worldloom.cli.reports.run import print_report, shown_json
from worldloom.cli.terminal import cell, command, fitting, near, put_json, say, stderr, stdout, table
from worldloom.core.errors import WorldloomError
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import DEFAULT_SCORING, RunStore

_EPISODES = 50  # of a run that are shown; the export has all


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in a listing.

    Attributes:
        status: as in `RunResult`; `unreadable` if there is a problem.
        started: seconds since 1970 of the first episode; None if none has begun.
        problem: why the record cannot be read; None if it can.
        scorings: passes of scoring beside the one that was made when the episodes ended.
    """

    name: str
    path: str
    status: str
    title: str = ""
    contestant: str = ""
    episodes: int = 0
    ended: int = 0
    started: float | None = None
    problem: str | None = None
    scorings: tuple[str, ...] = ()


def list_runs(*, place: Path | None, as_json: bool) -> None:
    """Print the runs of a folder, the newest last."""
    folder = runs_place(place)
    runs = [listed(each) for each in run_folders(folder)]
    if as_json:
        put_json([asdict(run) for run in runs])
        return
    if not runs:
        say(stderr(), f"There is no run in {folder} yet; `worldloom run` makes one.")
        return
    again = ("scored again",) if any(run.scorings for run in runs) else ()
    made = table("run", "what", "contestant", "episodes", "status", *again, right=("episodes",))
    made.columns[0].no_wrap = True  # it is there to be typed
    for run in runs:
        episodes = f"{run.ended:,}" if run.ended == run.episodes else f"{run.ended:,} of {run.episodes:,}"
        state = f"{run.status}: {run.problem}" if run.problem else run.status
        values = [run.name, run.title, run.contestant, episodes, state]
        made.add_row(*(cell(value) for value in (*values, *[", ".join(run.scorings)] * len(again))))
    stdout().print(made)
    say(stdout(), f"Look closer: {command('runs', 'show', 'last')}", wrap=False)


def listed(folder: Path) -> Listed:
    """What a listing says of a run."""
    try:
        with RunStore(folder) as store:
            title, status, rows = store.manifest("title", str), store.status(), store.episodes()
            contestant, graph, scorings = contestant_of(store).name, graph_of(store), tuple(further(store))
            if graph is not None:  # who is measured is then the world
                models = store.read_manifest("world", WorldSpec.from_json).models.values()
                title = f"{graph.name}: {title}"
                contestant = ", ".join(spec.model for spec in models) or contestant
    except WorldloomError as error:
        return Listed(folder.name, str(folder), "unreadable", problem=str(error))
    begun = [row.started_at for row in rows if row.started_at is not None]
    return Listed(
        folder.name,
        str(folder),
        status,
        title,
        contestant,
        len(rows),
        sum(row.status == "ended" for row in rows),
        min(begun, default=None),
        scorings=scorings,
    )


def show_run(name: str, *, scoring: str | None, place: Path | None, as_json: bool) -> None:
    """Print the report of a run and its episodes, by the scores of one pass.

    Raises:
        UsageError: there is no such run or pass.
    """
    with RunStore(find_run(name, place)) as store:
        shown, others = scoring_of(store, scoring or DEFAULT_SCORING), further(store)
        result = RunResult.of(store, shown.name)
    if as_json:
        put_json(
            {
                **shown_json(result),
                "scoring": shown.name,
                "scorings": {one.name: one.to_json() for one in others.values()},
            }
        )
        return
    screen = stdout()
    if shown.name != DEFAULT_SCORING:
        say(screen, f"Scores of the pass {shown.name}, {shown.who}")
    print_report(screen, result, full=True)
    if others:
        say(screen, f"Scored again: {'; '.join(f'{one.name} ({one.who})' for one in others.values())}.")
        say(screen, f"  {command('runs', 'show', near(result.folder), '--scoring', 'NAME')}", wrap=False)
    _print_episodes(screen, result)


def _print_episodes(screen: Console, result: RunResult) -> None:
    # As many metrics as fit; `--episode` and the export have all.
    made = next(fitting(screen, result.metrics, partial(_episodes_table, result)))
    screen.print()
    screen.print(made)
    say(
        screen,
        f"One of them, event by event: {command('runs', 'show', near(result.folder), '--episode', 'NO')}",
        wrap=False,
    )
    if len(result.episodes) > _EPISODES:
        rest = len(result.episodes) - _EPISODES
        say(
            screen,
            f"… and {rest:,} more: {command('runs', 'export', near(result.folder), '--format', 'csv')}",
            wrap=False,
        )


def _shown(result: RunResult) -> list[EpisodeRow]:
    """As many episodes as are shown, in their order: those of the contestant go before floors and ceilings."""
    last = result.episodes[-1].cast_name if result.episodes else ""
    first = sorted(result.episodes, key=lambda row: (row.cast_name != last, row.row))[:_EPISODES]
    return sorted(first, key=lambda row: row.row)


def _episodes_table(result: RunResult, metrics: Sequence[str]) -> Table:
    asked = any(row.prompt_tokens for row in result.episodes)
    numbers = ["seed", *metrics, "steps", *(["tokens"] if asked else [])]
    made = table("no.", "scenario", "cast", "ended", *numbers, right=("no.", *numbers))
    for row in _shown(result):
        scores = result.scores.get(row.row, ())
        scored = {score.name: score.value for score in scores if not score.is_criterion}
        values = [None if scored.get(name) is None else f"{scored[name]:z.2f}" for name in metrics]
        tokens = row.prompt_tokens + row.completion_tokens
        texts = [
            row.row,
            row.scenario,
            row.cast_name,
            row.reason or row.status,
            row.seed,
            *values,
            row.steps,
            *([tokens] if asked else []),
        ]
        made.add_row(*(cell(text) for text in texts))
    return made
