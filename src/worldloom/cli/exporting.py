"""Exporting: `runs export`: a run in a form that other programs read.

json and csv are the kernel's and hold every episode; formats of one kind of scenario come from its own room.
"""

import csv
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path

from worldloom.api.result import RunResult
from worldloom.cli.locating import find_run
from worldloom.cli.terminal import say, stderr, visible
from worldloom.core.errors import UsageError
from worldloom.runs.store import EpisodeRow, RunStore


def as_json(result: RunResult) -> str:
    """The table, and every episode with its scores."""
    return json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n"


def as_csv(result: RunResult) -> str:
    """One line an episode, with its metrics; single criteria are in the JSON."""
    metrics = list(
        dict.fromkeys(
            score.name for scores in result.scores.values() for score in scores if score.unit != "criterion"
        )
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*EpisodeRow.__dataclass_fields__, *metrics])
    for row in result.episodes:
        values = {score.name: score.value for score in result.scores.get(row.row, ())}
        writer.writerow([*asdict(row).values(), *(values.get(name) for name in metrics)])
    return text.getvalue()


FORMATS = {"json": as_json, "csv": as_csv}


def export_run(name: str, *, format: str, output: Path | None, place: Path | None) -> None:
    """Write a run to a file that does not exist yet, or to stdout.

    Raises:
        UsageError: there is no such run or format, or the file is there already.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}\n  allowed: {', '.join(FORMATS)}")
    store = RunStore(find_run(name, place))
    result = RunResult.of(store)
    store.close()
    text = FORMATS[format](result)
    if output is None:
        # A person looks at it: what servers and models said must not reach the terminal raw.
        sys.stdout.write(visible(text, lines=True) if sys.stdout.isatty() else text)
        return
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{output} is there already; export to another file, or remove it") from None
    say(stderr(), f"written: {output}", wrap=False)
