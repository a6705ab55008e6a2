"""Looking: the commands `runs list`, `runs show` and `runs export`; what they do is imported on use."""

from pathlib import Path
from typing import Annotated

import typer

from worldloom.cli.options import AsJson, RunName, RunsDir, Scoring


def list_runs(runs_dir: RunsDir = None, as_json: AsJson = False) -> None:
    """List the runs, the newest last."""
    from worldloom.cli import listing  # noqa: PLC0415 (brings numpy)

    listing.list_runs(place=runs_dir, as_json=as_json)


def show_run(
    run: RunName,
    episode: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="One episode by its number: what was decided, on which answer, and how it was scored.",
            show_default=False,
        ),
    ] = None,
    scoring: Scoring = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one of its episodes."""
    from worldloom.cli import episode as one  # noqa: PLC0415
    from worldloom.cli import listing  # noqa: PLC0415 (brings numpy)

    if episode is not None:
        one.show_episode(run, episode, scoring=scoring, place=runs_dir, as_json=as_json)
    else:
        listing.show_run(run, scoring=scoring, place=runs_dir, as_json=as_json)


def export_run(
    run: RunName,
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="json, csv, or one of the kind of scenario: paper for aaw."
        ),
    ] = "json",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A new file. Default: stdout.", show_default=False
        ),
    ] = None,
    scoring: Scoring = None,
    runs_dir: RunsDir = None,
) -> None:
    """Write a run as a file that other programs read."""
    from worldloom.cli import exporting  # noqa: PLC0415 (brings numpy)

    exporting.export_run(run, format=format, output=output, scoring=scoring, place=runs_dir)
