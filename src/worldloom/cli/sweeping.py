"""Sweeping: the command `sweep`, its options and its help; what it does is imported on use."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from worldloom.cli.options import (
    Agent,
    AsJson,
    BaseUrl,
    Concurrency,
    Judge,
    JudgeBaseUrl,
    Limit,
    Model,
    RunLimit,
    RunsDir,
    World,
    WorldBaseUrl,
    WorldModel,
)


def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The file of a study.", show_default=False)],
    agent: Agent = None,
    model: Model = None,
    base_url: BaseUrl = None,
    world: World = "rules",
    world_model: WorldModel = None,
    world_base_url: WorldBaseUrl = None,
    judge: Judge = None,
    judge_base_url: JudgeBaseUrl = None,
    concurrency: Concurrency = 8,
    max_steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Actions in an episode, as in `run`.", show_default=False),
    ] = None,
    limit: Limit = None,
    run_limit: RunLimit = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Play one scenario in several variants, each with the same seeds, and show what each came to.

    The study names the scenario, what varies and the seeds. It is a run like others: it can be resumed, replayed, shown
    and exported; `runs show` says as well how the variants differ from the first.
    """
    from worldloom.api import playing, sweeping  # noqa: PLC0415 (brings numpy)
    from worldloom.cli import limiting  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.locating import runs_place  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.pulling import have_weights  # noqa: PLC0415 (brings what opens models)
    from worldloom.cli.running import play  # noqa: PLC0415 (brings numpy)
    from worldloom.core.project import find_project  # noqa: PLC0415 (brings pydantic)
    from worldloom.core.registry import Registry  # noqa: PLC0415 (brings pydantic)

    project = find_project(Path.cwd())
    registry = Registry.discover(project)
    whole = limiting.run_limits(run_limit or ())
    plan = sweeping.plan(
        study, agent=agent, model=model, base_url=base_url, max_steps=max_steps, world=world,
        world_model=world_model, world_base_url=world_base_url, judge=judge, judge_base_url=judge_base_url,
        project=project, registry=registry,
    )  # fmt: skip
    # The plan knows how many steps are usual.
    plan = replace(plan, limits=replace(plan.limits, **limiting.episode_limits(limit or ())))
    have_weights(plan.models.values())
    place = runs_place(runs_dir)
    return play(
        lambda watch: playing.start(
            plan, registry, runs_dir=place, concurrency=concurrency, run_limits=whole, watch=watch
        ),
        as_json=as_json,
    )
