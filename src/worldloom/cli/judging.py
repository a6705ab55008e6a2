"""Judging: `judge calibrate`: how often is a judge right, and how is its pass rate to be corrected?"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from worldloom.api import judging
from worldloom.api.cast import model_of
from worldloom.api.judging import Calibration
from worldloom.api.stored import judge_of
from worldloom.cli.locating import find_run
from worldloom.cli.progress import LINE_S
from worldloom.cli.pulling import have_weights
from worldloom.cli.terminal import cell, near, put_json, say, stderr, stdout, table
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
    with counted(stderr(), "criteria judged") as seen:
        work = judging.calibrate(
            folder, registry, who, labels=labels, limit=limit, concurrency=concurrency, seen=seen
        )
        try:
            found, file = asyncio.run(work)
        except KeyboardInterrupt as interrupt:
            interrupt.add_note("what was judged is kept; the same command goes on with the rest")
            raise
    if as_json:
        put_json({**found.summary(), "file": str(file)})
    else:
        _print(stdout(), found, file)
    return 0


def _of_run(folder: Path) -> ModelSpec | None:
    """The judge of a run, which is who is meant if nobody is named."""
    with RunStore(folder) as store:
        return judge_of(store)


@contextmanager
def counted(screen: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """What is to be told how many of `what` are done: it draws a bar in a terminal, elsewhere a line now and then."""
    if not screen.is_terminal:
        told = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal told
            if done == total or time.monotonic() - told >= LINE_S:
                told = time.monotonic()
                say(screen, f"{done:,} of {total:,} {what}")

        yield tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(screen: Console, found: Calibration, file: Path) -> None:
    known = found.agreement()
    source = "what was computed" if found.labels is None else f"the labels of {found.labels}"
    say(screen, f"{found.model} against {source}, run {found.run}", "bold")
    scenarios = "1 scenario" if known.scenarios == 1 else f"{known.scenarios:,} scenarios"
    say(screen, f"{known.asked:,} criteria in {scenarios}, {known.judged:,} of them with a verdict")
    made = table("", "value", "95 % interval", "n", "what", right=("value", "n"))
    for name, what in _MEASURES:
        measure: Measure = getattr(known, name)
        made.add_row(*(cell(text) for text in _row(name, measure, what)))
    made.add_row(
        *(cell(text) for text in _row("corrected", found.corrected(), "passed, by Rogan and Gladen"))
    )
    screen.print(made)
    say(
        screen,
        "Intervals: bootstrap over scenarios. corrected: what the judge's pass rate comes to once its errors are "
        "taken out, as if the truth of this sample were not known.",
    )
    if known.scenarios < _FEW:
        verb = "is" if known.scenarios == 1 else "are"
        say(screen, f"{scenarios} {verb} too few for intervals to be trusted; calibrate on {_FEW} or more.")
    say(screen, f"Kept: {near(file)}", wrap=False)


_FEW = 10
"""Scenarios below which a bootstrap over them is known to give intervals that are too narrow."""


def _row(name: str, measure: Measure, what: str) -> tuple[object, ...]:
    value = None if measure.value is None else f"{measure.value:.2f}"
    low, high = measure.low, measure.high
    interval = None if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
    return name.replace("_", " "), value, interval, measure.n, "; ".join(filter(None, (what, measure.why)))
