"""Sweep report: a row for each variant of a study, and, where one number varies, a picture of it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from worldloom.api.sweeping import OverSeeds, Sweep, SweepRow
from worldloom.cli.reports.scores import PART
from worldloom.cli.terminal import cell, fitting, say, table, with_interval
from worldloom.core.errors import meant
from worldloom.core.study import short_paths, short_value

_VALUES = 4  # varied paths that have columns beside the names of variants; --json has all
_PICTURES = 4
_PICTURE = 60  # columns of a picture at most


def print_sweep(screen: Console, found: Sweep, *, full: bool) -> None:
    """Print what a study came to, however far it has come.

    Args:
        full: say how variants differ from the first as well.
    """
    study, metrics = found.study, _shown(found)
    seeds = sorted({row.seed for row in found.result.episodes})
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    variants = "1 variant" if len(found.rows) == 1 else f"{len(found.rows):,} variants"
    say(screen, f"{study.name}: {variants} of {study.base}, {span}, {found.result.status}", "bold")
    if study.summary:
        say(screen, study.summary)
    _print(screen, fitting(screen, metrics, partial(_means, found)))
    for metric in metrics[:_PICTURES]:
        _picture(screen, found, metric)
    if full and len(found.rows) > 1:
        say(screen, f"Against {study.variants[0].name}, seed by seed:")
        _print(screen, fitting(screen, metrics, partial(_differences, found)))
    for text in _remarks(found, metrics):
        say(screen, text)


def _shown(found: Sweep) -> list[str]:
    """The metrics that the study names, or all but those of single groups."""
    if found.study.metrics:
        return [name for name in found.study.metrics if name in found.metrics]
    return [name for name in found.metrics if PART not in name]


def _print(screen: Console, tables: Iterable[Table]) -> None:
    for made in tables:
        screen.print(made)
        screen.print()


def _variants(found: Sweep) -> list[list[str]]:
    """The columns that tell variants apart: their headings, then those of each variant."""
    study = found.study
    short = short_paths(study.paths)
    paths = study.paths if not study.named or len(study.paths) <= _VALUES else ()
    rows = [[*(["variant"] if study.named else []), *(short[path] for path in paths)]]
    for one in study.variants:
        values = [short_value(one.values[path]) if path in one.values else "default" for path in paths]
        rows.append([*([one.name] if study.named else []), *values])
    return rows


def _means(found: Sweep, metrics: Sequence[str]) -> Table:
    headings, *names = _variants(found)
    numbers = [*metrics, "seeds", "failed"]
    made = table(*headings, *numbers, right=numbers)
    for row, texts in zip(found.rows, names, strict=True):
        cells = [_estimate(row.metrics.get(metric)) for metric in metrics]
        ended = f"{row.ended:,}" if row.ended == row.episodes else f"{row.ended:,} of {row.episodes:,}"
        failed = cell(row.failed, "red" if row.failed else "")
        made.add_row(*(cell(text) for text in texts), *cells, cell(ended), failed)
    return made


def _differences(found: Sweep, metrics: Sequence[str]) -> Table:
    headings, _, *names = _variants(found)
    made = table(*headings, *metrics, right=metrics)
    for row, texts in zip(found.rows[1:], names, strict=True):
        cells = [cell(text) for text in texts]
        for metric in metrics:
            one = row.against_first.get(metric)
            told = (None,) * 3 if one is None else (one.difference, one.low, one.high)
            cells.append(with_interval(*told, sign="+"))
        made.add_row(*cells)
    return made


def _estimate(one: OverSeeds | None) -> Text:
    if one is None:
        return cell(None)
    shown = with_interval(one.mean, one.low, one.high)
    return shown.append(f"\n{one.unscored:,} unscored", "dim") if one.unscored else shown


def _picture(screen: Console, found: Sweep, metric: str) -> None:
    """Mean and interval by the one number that varies; nothing where several vary, or nothing differs."""
    drawn = sorted(_points(found, metric), key=lambda point: point[0])
    bounds = [bound for _, one in drawn for bound in _bounds(one)]
    if len(drawn) < 2 or min(bounds) == max(bounds):
        return
    low, high = min(bounds), max(bounds)
    labels = [f"{value:g}" for value, _ in drawn]
    margin = max(map(len, labels)) + 2
    width = max(10, min(_PICTURE, screen.width - margin - 2))
    say(screen, f"{metric} by {found.study.paths[0]}")
    for label, (_, one) in zip(labels, drawn, strict=True):
        start, mean, end = (round((at - low) / (high - low) * (width - 1)) for at in _bounds(one))
        line = " " * start + "─" * (mean - start) + "●" + "─" * (end - mean)
        say(screen, f"{label.rjust(margin - 2)}  {line}", wrap=False)
    left, right = f"{low:z.2f}", f"{high:z.2f}"
    say(screen, f"{' ' * margin}{left}{right.rjust(width - len(left))}\n", "dim", wrap=False)


def _points(found: Sweep, metric: str) -> Iterator[tuple[float, OverSeeds]]:
    for row in found.rows:
        value, one = _number(found, row), row.metrics.get(metric)
        if value is not None and one is not None and one.mean is not None:
            yield value, one


def _number(found: Sweep, row: SweepRow) -> float | None:
    """The one number that varies; None where it is none."""
    value = row.variant.values.get(found.study.paths[0]) if len(found.study.paths) == 1 else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bounds(one: OverSeeds) -> tuple[float, float, float]:
    assert one.mean is not None, "only means are drawn"
    return (
        one.mean if one.low is None else min(one.low, one.mean),
        one.mean,
        one.mean if one.high is None else max(one.high, one.mean),
    )


def _remarks(found: Sweep, metrics: Sequence[str]) -> Iterator[str]:
    for name in found.study.metrics:
        if found.metrics and name not in found.metrics:
            yield f"No metric {name!r} was scored{meant(name, found.metrics)}: there are {', '.join(found.metrics)}."
    rest = len([name for name in found.metrics if name not in metrics])
    if rest:
        yield f"Not shown, but in --json: {rest:,} more metrics; a study names those it wants under `metrics`."
    yield (
        "Each variant is one scenario. Means are over its seeds, with 95 % intervals over seeds: bootstraps, or "
        "Wilson's where all seeds agree on a share. They say nothing about other scenarios."
    )
    if len(found.rows) > 1:
        yield "Of many differences between variants, some come by chance."
