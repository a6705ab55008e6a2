"""Running: `run` and `resume`: play, watch, show what came of it.

The exit code tells whether the run came to its end, never how well the agent did.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worldloom import api
from worldloom.api import playing
from worldloom.api.plans.manifest import models_of
from worldloom.api.results.result import RunResult
from worldloom.cli import limiting
from worldloom.cli.boundary import FAILED, INTERRUPTED
from worldloom.cli.locating import find_run, runs_place
from worldloom.cli.progress import Progress
from worldloom.cli.pulling import have_weights
from worldloom.cli.reports.run import print_report, shown_json
from worldloom.cli.terminal import command, near, put_json, say, stderr, stdout
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.runs.store import RunStore

_EXIT_CODES = {"completed": 0, "cancelled": INTERRUPTED}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `run` was told to play; each as in `worldloom.api.run`."""

    suite: str | None
    agent: str | None
    model: str | None
    base_url: str | None
    world: str
    world_model: str | None
    world_base_url: str | None
    judge: str | None
    judge_base_url: str | None
    epochs: int
    seed: int
    max_steps: int | None


def run(
    paths: Sequence[str],
    wanted: Wanted,
    *,
    concurrency: int,
    limits: Sequence[str],
    run_limits: Sequence[str],
    place: Path | None,
    as_json: bool,
) -> int:
    """Play scenarios as a new run; returns the exit code.

    Args:
        limits, run_limits: each as NAME=VALUE.

    Raises:
        WorldloomError: it could not begin, or could not go on.
    """
    project = find_project(Path.cwd())
    registry = Registry.discover(project)
    whole = limiting.run_limits(run_limits)
    plan = api.plan(paths, **asdict(wanted), project=project, registry=registry)
    # The plan knows how many steps are usual.
    plan = replace(plan, limits=replace(plan.limits, **limiting.episode_limits(limits)))
    have_weights(plan.models.values())
    runs_dir = runs_place(place)
    return play(
        lambda watch: playing.start(
            plan, registry, runs_dir=runs_dir, concurrency=concurrency, run_limits=whole, watch=watch
        ),
        as_json=as_json,
    )


def resume(
    name: str,
    *,
    concurrency: int,
    accept_changes: bool,
    retry_failed: bool,
    run_limits: Sequence[str],
    place: Path | None,
    as_json: bool,
) -> int:
    """Play what a run has left; returns the exit code.

    Raises:
        WorldloomError: there is no such run, or it cannot go on.
    """
    whole = limiting.run_limits(run_limits)
    folder = find_run(name, place)
    registry = Registry.discover(find_project(Path.cwd()))
    with RunStore(folder) as store:
        if playing.left(store, retry_failed=retry_failed)[0]:
            have_weights(models_of(store).values())
        else:
            say(stderr(), f"nothing is left to play in {near(folder)}")
    return play(
        lambda watch: playing.resume(
            folder,
            registry,
            concurrency=concurrency,
            accept_changes=accept_changes,
            retry_failed=retry_failed,
            run_limits=whole,
            watch=watch,
        ),
        as_json=as_json,
    )


def play(
    begin: Callable[[Progress], Coroutine[Any, Any, RunResult]],
    *,
    as_json: bool,
    first: Callable[[RunResult], None] = lambda result: None,
) -> int:
    """Play what `begin` gives, show how far it is and what came of it; returns the exit code.

    Args:
        first: prints what stands above the report for people.

    Raises:
        WorldloomError: it could not begin, or could not go on.
    """
    progress = Progress(stderr())
    try:
        result = asyncio.run(begin(progress))
    except (Exception, KeyboardInterrupt) as error:
        if progress.folder is not None and progress.folder.is_dir():
            error.add_note(f"what was played is kept; go on with: {command('resume', near(progress.folder))}")
        raise
    if as_json:
        put_json(shown_json(result))
    else:
        first(result)
        print_report(stdout(), result)
    return _EXIT_CODES.get(result.status, FAILED)
