"""Comparing: the command `runs compare`, its options and its help; what it does is imported on use."""

from typing import Annotated

import typer

from worldloom.cli.options import AsJson, RunsDir, Scoring


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A run, named as in `show`.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The run that may be better.", show_default=False)],
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the verdict is about, e.g. NSS. Default: the first that both score.",
            show_default=False,
        ),
    ] = None,
    scoring: Scoring = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Say whether run B is better than run A, by how much, and what it would take to tell.

    Scenario by scenario, with a 95 % interval and a test over scenarios. There is no verdict where something else than
    the contestant differs: worlds, judge, graph, a limit that was reached, or a run that is not finished.
    """
    from worldloom.api import comparing  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.locating import find_run  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.reports.comparison import print_comparison  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.terminal import put_json, stdout  # noqa: PLC0415 (brings rich)

    found = comparing.compare(find_run(a, runs_dir), find_run(b, runs_dir), metric=metric, scoring=scoring)
    if as_json:
        put_json(found.to_json())
    else:
        print_comparison(stdout(), found)
