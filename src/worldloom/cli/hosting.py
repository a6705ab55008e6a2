"""Hosting: the commands `serve` and `plan`, their options and their help; what they do is imported on use."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from worldloom.cli.options import AsJson

PASSED = "worldloom.passed"
"""Where a command finds the words that followed `--`."""


class PassingCommand(TyperCommand):
    """Keeps what follows `--` aside, unread, for another program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = args.index("--") if "--" in args else len(args)
        ctx.meta[PASSED] = tuple(args[own + 1 :])
        return super().parse_args(ctx, args[:own])


def serve(
    context: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="OWNER/NAME at the hub, a folder, or a purpose that the project file names, e.g. agent.",
            show_default=False,
        ),
    ],
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            metavar="N",
            help="Port of the first model. Default: free, from 8000 on.",
            show_default=False,
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start a server again that has crashed.")
    ] = False,
    no_plan: Annotated[
        bool, typer.Option("--no-plan", help="Do not look whether it fits; vLLM sizes itself.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the command line; start nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Serve models with vLLM on 127.0.0.1 until Ctrl-C, each on a port of its own.

    What follows `--` goes to vLLM as it is, and wins: worldloom serve DIR -- --max-model-len 4096
    """
    from worldloom.cli import serving  # noqa: PLC0415 (brings httpx2)

    passed = context.meta.get(PASSED, ())
    return serving.serve(
        models, passed, port=port, restart=restart, planned=not no_plan, dry=dry_run, as_json=as_json
    )


def plan(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="As for serve.", show_default=False)],
    context: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Tokens of context that have to fit. Default: 2048.", show_default=False
        ),
    ] = None,
    tokens: Annotated[
        int, typer.Option(min=1, metavar="N", help="Length of the sequences that are counted.")
    ] = 4096,
    as_json: AsJson = False,
) -> int:
    """Say before it is loaded whether a model fits, with what context and how many sequences at once.

    Exits with 1 if it does not fit.
    """
    from worldloom.cli import serving  # noqa: PLC0415 (brings httpx2)

    return serving.show_plan(model, context=context, tokens=tokens, as_json=as_json)
