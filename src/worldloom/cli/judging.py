"""Judging: `judge calibrate`: how often is a judge right, and how is its pass rate to be corrected?"""

from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from worldloom.api import judging
from worldloom.api.judging import Calibration
from worldloom.api.plans.cast import model_of
from worldloom.api.plans.manifest import judge_of
from worldloom.cli import progress
from worldloom.cli.locating import find_run
from worldloom.cli.pulling import have_weights
from worldloom.cli.terminal import cell, counted, near, put_json, say, stdout, table, with_interval
from worldloom.core.errors import UsageError
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.models.spec import ModelSpec
from worldloom.runs.agreement import Measure
from worldloom.runs.store import RunStore

_MEASURES = (
    ("agreement", "verdicts that are right"),
    ("kappa", "agreement beyond chance (Cohen)"),
    ("sensitivity", "of what passed, judged to have passed"),
    ("specificity", "of what failed, judged to have failed"),
    ("unparseable", "asked twice, and no verdict could be read"),
    ("order", "the verdict changed with the order of the evidence"),
    ("cannot_tell", "the judge said that it cannot tell"),
    ("failed", "the judge's server did not answer"),
    ("pass_rate", "passed, as the judge has it"),
    ("true_rate", "passed, in truth"),
)


def calibrate(
    name: str,
    *,
    judge: str | None,
    base_url: str | None,
    labels: Path | None,
    limit: int | None,
    concurrency: int,
    place: Path | None,
    as_json: bool,
) -> int:
    """Put a judge to criteria whose verdict is known, and print how it did; returns the exit code.

    Raises:
        WorldloomError: there is no such run, nothing to judge, or no judge that answers.
    """
    project = find_project(Path.cwd())
    registry, folder = Registry.discover(project), find_run(name, place)
    own, entry = _of_run(folder), project.models.get("judge") if project else None
    if own is not None and judge is None:
        who = replace(own, base_url=base_url or own.base_url)
    elif judge is not None or entry is not None:
        who = model_of(entry, judge, base_url)
    else:
        raise UsageError(
            "name the judge with --judge, or in worldloom.yaml under models: judge:; e.g. --judge embedded, to try it"
        )
    have_weights([who])
    found, file = progress.judging(
        "criteria judged",
        lambda seen: judging.calibrate(
            folder, registry, who, labels=labels, limit=limit, concurrency=concurrency, seen=seen
        ),
    )
    if as_json:
        put_json({**found.summary(), "file": str(file)})
    else:
        _print(stdout(), found, file)
    return 0


def _of_run(folder: Path) -> ModelSpec | None:
    """The judge of a run, which is who is meant if nobody is named."""
    with RunStore(folder) as store:
        return judge_of(store)


def _print(screen: Console, found: Calibration, file: Path) -> None:
    known = found.agreement()
    source = "what was computed" if found.labels is None else f"the labels of {found.labels}"
    say(screen, f"{found.model} against {source}, run {found.run}", "bold")
    scenarios, asked = counted("scenario", known.scenarios), counted("criterion", known.asked, "criteria")
    say(screen, f"{asked} in {scenarios}, {known.judged:,} of them with a verdict")
    made = table("", "value", "n", "what", right=("n",))
    for name, what in _MEASURES:
        measure: Measure = getattr(known, name)
        made.add_row(*_row(name, measure, what))
    made.add_row(*_row("corrected", found.corrected(), "passed, by Rogan and Gladen"))
    screen.print(made)
    say(
        screen,
        "Intervals: 95 %, bootstrap over scenarios. corrected: what the judge's pass rate comes to once its errors are "
        "taken out, as if the truth of this sample were not known.",
    )
    if known.scenarios < _FEW:
        verb = "is" if known.scenarios == 1 else "are"
        say(screen, f"{scenarios} {verb} too few for intervals to be trusted; calibrate on {_FEW} or more.")
    say(screen, f"Kept: {near(file)}", wrap=False)


_FEW = 10
"""Scenarios below which a bootstrap over them is known to give intervals that are too narrow."""


def _row(name: str, measure: Measure, what: str) -> tuple[Text, ...]:
    value = with_interval(measure.value, measure.low, measure.high)
    told = "; ".join(filter(None, (what, measure.why)))
    return cell(name.replace("_", " ")), value, cell(measure.n), cell(told)
