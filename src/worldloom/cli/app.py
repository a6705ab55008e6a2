"""The commands, their options and their help. What they do is imported on use: it brings numpy, graphs and models."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import worldloom
from worldloom.cli.boundary import CommandLine
from worldloom.cli.comparing import compare
from worldloom.cli.draw import draw
from worldloom.cli.going_on import answer, fork, replay, resume
from worldloom.cli.hosting import PassingCommand, plan, serve
from worldloom.cli.looking import export_run, list_runs, show_run
from worldloom.cli.options import (
    Agent,
    AsJson,
    BaseUrl,
    Concurrency,
    CriteriaLimit,
    Judge,
    JudgeBaseUrl,
    Labels,
    Limit,
    Model,
    RunLimit,
    RunName,
    RunsDir,
    World,
    WorldBaseUrl,
    WorldModel,
)
from worldloom.cli.rescoring import rescore
from worldloom.cli.sweeping import sweep
from worldloom.cli.terminal import visible
from worldloom.core.errors import WorldloomError

_PLAIN: dict[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "invoke_without_command": True,
}

app = typer.Typer(
    name="worldloom",
    cls=CommandLine,
    help="Agents in worlds written as YAML, on models you serve yourself, with a record that can be replayed.",
    epilog="First steps: `worldloom doctor`, `worldloom run`, `worldloom init`. "
    "Exit codes: 0 done, 1 failed, 2 wrong use, 130 interrupted.",
    add_completion=False,
    pretty_exceptions_enable=False,
    **_PLAIN,
)
runs = typer.Typer(help="Look at runs and take them elsewhere.", **_PLAIN)
models = typer.Typer(help="The small models that run inside the process.", **_PLAIN)
judges = typer.Typer(help="Models that judge what cannot be checked.", **_PLAIN)
app.add_typer(runs, name="runs")
app.add_typer(models, name="models")
app.add_typer(judges, name="judge")


class RunCommand(TyperCommand):
    """Adds to the help of `run` and `sweep` which agents and suites there are; only then are their cards read."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from worldloom.cli.rooms import choices  # noqa: PLC0415 (brings pydantic)

        try:
            for heading, entries in choices():
                if entries:
                    with formatter.section(heading):
                        formatter.write_dl([(visible(name), visible(summary)) for name, summary in entries])
        except WorldloomError:  # a faulty project file must not stop help; `run` will say what is wrong
            return


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"worldloom {worldloom.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from; anywhere on the line.")
    ] = False,
) -> None:
    _help_if_alone(ctx)


@runs.callback()
@models.callback()
@judges.callback()
def _group(ctx: typer.Context) -> None:
    _help_if_alone(ctx)


def _help_if_alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(cls=RunCommand)
def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Scenario files, suite files, folders of them.", show_default=False
        ),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help="A suite of the library. Without PATH: starter.")
    ] = None,
    agent: Agent = None,
    model: Model = None,
    base_url: BaseUrl = None,
    world: World = "rules",
    world_model: WorldModel = None,
    world_base_url: WorldBaseUrl = None,
    judge: Judge = None,
    judge_base_url: JudgeBaseUrl = None,
    epochs: Annotated[int, typer.Option(min=1, metavar="N", help="How often each scenario is played.")] = 1,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the first epoch; the next has one more.")
    ] = 0,
    concurrency: Concurrency = 8,
    max_steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Actions in an episode. Default: 50; 10 for the suite starter and for the small embedded model.",
            show_default=False,
        ),
    ] = None,
    limit: Limit = None,
    run_limit: RunLimit = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Play scenarios and show how the agent did.

    Beside it stand the floor and the ceiling: the scenario's own literal and careful paths. Everything is recorded;
    Ctrl-C ends a run cleanly, and `resume` goes on with it. Exits with 0 when the run came to its end, whatever the
    score.
    """
    from worldloom.cli import running  # noqa: PLC0415 (brings numpy)

    wanted = running.Wanted(
        suite, agent, model, base_url, world, world_model, world_base_url, judge, judge_base_url, epochs, seed,
        max_steps,
    )  # fmt: skip
    return running.run(
        paths or (), wanted, concurrency=concurrency, limits=limit or (), run_limits=run_limit or (),
        place=runs_dir, as_json=as_json,
    )  # fmt: skip


@app.command(short_help="How faithfully does a model simulate?")
def fidelity(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Scenario files with rules, suite files, folders.", show_default=False
        ),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help="A suite of the library. Without PATH: starter.")
    ] = None,
    world_model: WorldModel = None,
    world_base_url: WorldBaseUrl = None,
    random: Annotated[
        int, typer.Option(min=0, metavar="N", help="Random trajectories on each scenario.")
    ] = 2,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take the actions of this record as well.", show_default=False),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="How often each call is put to it.")] = 3,
    max_steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Actions in a trajectory, as in `run`.", show_default=False),
    ] = None,
    concurrency: Concurrency = 8,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Measure how faithfully a language model simulates worlds whose rules are known.

    The scenarios' own paths and random trajectories are played by the rules; each of their calls is put to the model
    from the same state, and what it says is compared. It is a run like others: it can be resumed, replayed and shown.
    """
    from worldloom.api.fidelity import Trajectories  # noqa: PLC0415 (brings numpy)
    from worldloom.cli import fidelity as measuring  # noqa: PLC0415 (brings numpy)

    return measuring.fidelity(
        paths or (), Trajectories(random, record, max_steps), suite=suite, model=(world_model, world_base_url),
        repeats=repeats, concurrency=concurrency, place=runs_dir, as_json=as_json,
    )  # fmt: skip


app.command(short_help="Play what a run has left.")(resume)
app.command(short_help="Answer what a run asks a person.")(answer)
app.command(short_help="Play an episode again from one of its events.")(fork)
app.command(short_help="Is a run reproduced from its record?")(replay)


@models.command("list")
def list_models(
    verify: Annotated[bool, typer.Option("--verify", help="Check the SHA-256 of what is here.")] = False,
    as_json: AsJson = False,
) -> int:
    """List the models that can be pulled, and those that are here."""
    from worldloom.cli import models as catalogue  # noqa: PLC0415 (brings what opens models)

    return catalogue.list_models(check=verify, as_json=as_json)


@models.command("pull")
def pull_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of the list.")] = "smollm2",
) -> None:
    """Pull the weights of a model and check them."""
    from worldloom.cli import models as catalogue  # noqa: PLC0415 (brings what opens models)

    catalogue.pull_model(name)


@judges.command("calibrate", short_help="How often is a judge right?")
def calibrate_judge(
    run: RunName,
    judge: Judge = None,
    judge_base_url: JudgeBaseUrl = None,
    labels: Labels = None,
    limit: CriteriaLimit = None,
    concurrency: Concurrency = 8,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Put a judge to the criteria of a run whose verdict is known, and show how often it is right.

    Without --judge it is the run's own judge, else the project's. It does not see how the criteria were checked. What
    is found is kept beside the runs, and reports of runs with this judge say it.
    """
    from worldloom.cli import judging  # noqa: PLC0415 (brings numpy)

    return judging.calibrate(
        run, judge=judge, base_url=judge_base_url, labels=labels, limit=limit, concurrency=concurrency,
        place=runs_dir, as_json=as_json,
    )  # fmt: skip


app.command(cls=RunCommand, short_help="Play a scenario in several variants.")(sweep)
runs.command("list")(list_runs)
runs.command("show")(show_run)
runs.command("draw")(draw)
runs.command("export")(export_run)
runs.command(short_help="Is run B better than run A?")(compare)
runs.command(short_help="Score an ended run again, with another judge or new scorers.")(rescore)
app.command(cls=PassingCommand, short_help="Serve models with vLLM.")(serve)
app.command(short_help="Does a model fit on this machine?")(plan)


@app.command()
def rooms(as_json: AsJson = False) -> None:
    """List worlds, graphs and agents."""
    from worldloom.cli import rooms as found  # noqa: PLC0415 (brings pydantic)

    found.list_rooms(as_json=as_json)


@app.command(short_help="Is everything there? What to do next.")
def doctor(model: Model = None, base_url: BaseUrl = None, as_json: AsJson = False) -> int:
    """Look whether everything is there: packages, weights, project file, models and their servers.

    Exits with 1 if something is in the way, and says what to do next.
    """
    from worldloom.cli import doctor as doctors  # noqa: PLC0415 (brings numpy)

    return doctors.doctor(model=model, base_url=base_url, as_json=as_json)


@app.command(short_help="Write a project file and a first scenario.")
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where; it is made if it is not there.")
    ] = Path(),
) -> None:
    """Write a project file, an example scenario and the schema for editors. Overwrites nothing."""
    from worldloom.cli import starting  # noqa: PLC0415 (brings pydantic)

    starting.init(folder)
