"""Rescoring: the command `runs rescore`, its options and its help; what it does is imported on use."""

from pathlib import Path
from typing import Annotated

import typer

from worldloom.cli.options import AsJson, Concurrency, JudgeBaseUrl, RunName, RunsDir

Judge = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        envvar="WORLDLOOM_JUDGE",
        help="Model that judges what cannot be checked, as --model of `run`. Default: nobody, only checks.",
        show_default=False,
    ),
]
PassName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What the new pass is called. Default: after the judge's model, or checks.",
        show_default=False,
    ),
]
Against = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="The pass to compare with; default is the one made when the episodes ended."
    ),
]


def rescore(
    run: RunName,
    judge: Judge = None,
    judge_base_url: JudgeBaseUrl = None,
    name: PassName = None,
    against: Against = "default",
    concurrency: Concurrency = 8,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Score the ended episodes of a run again, with the present scorers, and say what that changes.

    The new pass is kept in the run under a name of its own, and changes nothing else there: `runs show`, `compare` and
    `export` take it with --scoring NAME. After Ctrl-C the same command goes on, and asks nothing twice. With a complete
    pass it asks nobody, and checks that the scores are what was said.
    """
    from worldloom.api import rescoring  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.boundary import FAILED  # noqa: PLC0415
    from worldloom.cli.locating import find_run  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.progress import judging  # noqa: PLC0415 (brings rich)
    from worldloom.cli.pulling import have_weights  # noqa: PLC0415 (brings what opens models)
    from worldloom.cli.reports.rescoring import print_rescored  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.terminal import put_json, stdout  # noqa: PLC0415 (brings rich)
    from worldloom.core.project import find_project  # noqa: PLC0415 (brings pydantic)
    from worldloom.core.registry import Registry  # noqa: PLC0415 (brings pydantic)

    project = find_project(Path.cwd())
    who = rescoring.judge_given(project, judge, judge_base_url)
    folder, registry = find_run(run, runs_dir), Registry.discover(project)
    have_weights([] if who is None else [who])
    found = judging(
        "episodes scored",
        lambda seen: rescoring.rescore(
            folder, registry, who, name=name, against=against, concurrency=concurrency, seen=seen
        ),
    )
    if as_json:
        put_json(found.to_json())
    else:
        print_rescored(stdout(), found)
    return 0 if found.untouched else FAILED
