"""Fidelity: `fidelity`: put a model to the calls of known worlds, and show how often it says what the rules do."""

from collections.abc import Sequence
from pathlib import Path

from worldloom.api import fidelity as measuring
from worldloom.api import playing
from worldloom.api.fidelity import Trajectories
from worldloom.cli.locating import runs_place
from worldloom.cli.pulling import have_weights
from worldloom.cli.running import play
from worldloom.core.project import find_project
from worldloom.core.registry import Registry


def fidelity(
    paths: Sequence[str],
    trajectories: Trajectories,
    *,
    suite: str | None,
    model: tuple[str | None, str | None],
    repeats: int,
    concurrency: int,
    place: Path | None,
    as_json: bool,
) -> int:
    """Measure a simulator as a new run; returns the exit code.

    Args:
        model: the simulator and its server.

    Raises:
        WorldloomError: it could not begin, or could not go on.
    """
    project = find_project(Path.cwd())
    registry = Registry.discover(project)
    plan = measuring.plan(
        paths, suite=suite, world_model=model[0], world_base_url=model[1], trajectories=trajectories,
        repeats=repeats, project=project, registry=registry,
    )  # fmt: skip
    have_weights(plan.models.values())
    runs_dir = runs_place(place)
    return play(
        lambda watch: playing.start(plan, registry, runs_dir=runs_dir, concurrency=concurrency, watch=watch),
        as_json=as_json,
    )
