"""Going on: the commands `resume`, `answer`, `fork` and `replay`, their options and their help."""

from pathlib import Path
from typing import Annotated

import typer

from worldloom.cli.options import Answer, AsJson, Concurrency, RunLimit, RunName, RunsDir


def resume(
    run: RunName,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Go on as well where servers, tools or the program failed, from there."
        ),
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes",
            help="Go on although code, versions or models have changed; what was begun begins anew.",
        ),
    ] = False,
    concurrency: Concurrency = 8,
    run_limit: RunLimit = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Play what a run has left after Ctrl-C, a limit, a crash or a question; episodes that have ended are kept."""
    from worldloom.cli import running  # noqa: PLC0415 (brings numpy)

    return running.resume(
        run, concurrency=concurrency, accept_changes=accept_changes, retry_failed=retry_failed,
        run_limits=run_limit or (), place=runs_dir, as_json=as_json,
    )  # fmt: skip


def answer(
    run: RunName,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]", help="The answer. Without it, what is asked is listed.", show_default=False
        ),
    ] = None,
    episode: Annotated[
        int | None, typer.Option(metavar="N", help="The episode that asks.", show_default=False)
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Where it asks, if it asks several things.", show_default=False),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer what a run asks a person, or list what is asked. `resume` then goes on with the answers."""
    from worldloom.cli import asking  # noqa: PLC0415 (brings numpy)

    asking.answer(run, text, episode=episode, at=at, place=runs_dir, as_json=as_json)


def fork(
    run: RunName,
    episode: Annotated[int, typer.Option(metavar="N", help="The episode, by its number.")],
    at: Annotated[
        str, typer.Option(metavar="KEY", help="Key of an event, as `runs show RUN --episode N` prints it.")
    ],
    answer: Answer = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The scenario with other rules, state or texts.", show_default=False
        ),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Play an episode again from one of its events: its record up to there, then live, as a run of its own.

    Without --answer, what was asked at KEY is asked anew. What was recorded before KEY must still follow from a changed
    scenario; if it does not, the first key that differs is named.
    """
    from worldloom.cli import forking  # noqa: PLC0415 (brings numpy)

    return forking.fork(
        run, episode=episode, at=at, answer=answer, scenario=scenario, place=runs_dir, as_json=as_json
    )


def replay(
    run: RunName,
    verify_effects: Annotated[
        bool,
        typer.Option(
            "--verify-effects", help="Ask models and tools again as well: how often do they say the same?"
        ),
    ] = False,
    concurrency: Concurrency = 8,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Play a run again from its record alone, asking no model, and compare byte for byte.

    Exits with 1 if an episode is not reproduced, and shows the first key that differs. What --verify-effects finds is
    shown beside that and changes no exit code.
    """
    from worldloom.cli import replaying  # noqa: PLC0415 (brings numpy)

    return replaying.replay(
        run, concurrency=concurrency, verify_effects=verify_effects, place=runs_dir, as_json=as_json
    )
