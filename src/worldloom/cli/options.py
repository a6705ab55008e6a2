"""Options that several commands share, or that are long to say: what a person may type, and its help."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and everything else on stderr.")]
RunsDir = Annotated[
    Path | None,
    typer.Option(
        "--runs-dir",
        metavar="DIR",
        envvar="WORLDLOOM_RUNS_DIR",
        help="Folder of the records. Default: the project's, else runs.",
        show_default=False,
    ),
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Folder of a run, its name or the start of its name, or `last`.",
        show_default=False,
    ),
]
Answer = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What is to have been answered there: a model's text, or JSON for anything else.",
        show_default=False,
    ),
]
Agent = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:ARGUMENT]",
        help="Who plays; see below. Default: the scenario's `cast`, else llm.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        envvar="WORLDLOOM_MODEL",
        help="Model of the agent llm: embedded, embedded:FILE.gguf, hosted_vllm/NAME with a base URL, PROVIDER/NAME. "
        "Default: the project's, else embedded.",
        show_default=False,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="WORLDLOOM_BASE_URL",
        help="Root of the OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1.",
        show_default=False,
    ),
]
World = Annotated[
    str,
    typer.Option(
        metavar="NAME[:ARGUMENT]",
        help="What simulates the worlds: rules, model (a language model), replay:FILE (a record).",
    ),
]
WorldModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        envvar="WORLDLOOM_WORLD_MODEL",
        help="Model of `--world model`, as --model. Default: the project's, else embedded.",
        show_default=False,
    ),
]
WorldBaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="WORLDLOOM_WORLD_BASE_URL",
        help="Its server, as --base-url.",
        show_default=False,
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        envvar="WORLDLOOM_JUDGE",
        help="Model that judges what cannot be checked, as --model. Default: the run's own, else the project's.",
        show_default=False,
    ),
]
JudgeBaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="WORLDLOOM_JUDGE_BASE_URL",
        help="Its server, as --base-url.",
        show_default=False,
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The pass of scoring whose scores are taken. Default: the one made when the episodes ended.",
        show_default=False,
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        help="What an episode may use: model_calls, tokens, wall_s, cost, repeats. May be repeated.",
        show_default=False,
    ),
]
RunLimit = Annotated[
    list[str] | None,
    typer.Option(
        "--run-limit",
        metavar="NAME=VALUE",
        help="What this command may use in all: model_calls, tokens, wall_s, cost. May be repeated.",
        show_default=False,
    ),
]
Concurrency = Annotated[int, typer.Option(min=1, metavar="N", help="Episodes at a time.")]
Labels = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Verdicts of people, YAML or CSV, instead of what was computed.",
        show_default=False,
    ),
]
CriteriaLimit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Criteria at most, spread over the scenarios. Default: all.",
        show_default=False,
    ),
]
