"""Score tables: the metrics of a run, in the shape that fits: a column for each, or, of many, a row for each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from worldloom.api.results.result import Line, RunResult
from worldloom.cli.terminal import cell, excess, fitting, table, with_interval
from worldloom.runs.statistics import Estimate

ROLES = {"literal": "floor", "careful": "ceiling"}
"""What the reference agents stand for."""


_SHORTEST_NAME = 12  # columns that are left to names in a narrow terminal
PART = ":"
"""In the name of a metric, between what is measured and of whom: `reward:group`."""


def print_scores(screen: Console, result: RunResult, lines: list[Line]) -> None:
    """Print the metrics of each line."""
    for each in _tables(screen, result, lines):
        screen.print(each)
        screen.print()


def _tables(screen: Console, result: RunResult, lines: list[Line]) -> Iterator[Table]:
    """The widest form that fits: no word and no number is cut; what is of parts has tables of its own."""
    if not any(PART in metric for metric in _metrics(lines)):
        made = _wide_table(result, lines)
        if excess(screen, made) > 0:
            made = _narrow_table(result, lines)
            longest = max((len(name) for _, name, _ in _named(lines)), default=0)
            # Names give way before numbers do.
            made.columns[0].max_width = max(_SHORTEST_NAME, longest - max(0, excess(screen, made)))
        if excess(screen, made) <= 0:
            yield made
            return
    named = list(_named(lines))
    yield from fitting(screen, named, partial(_tall_table, result, lines))
    for line, name, _ in named:
        parts = _parts(line)
        measured = list(dict.fromkeys(each for one in parts.values() for each in one))
        if parts:
            yield from fitting(screen, measured, partial(_parts_table, name, parts))


def _tall_table(result: RunResult, lines: list[Line], named: Sequence[tuple[Line, str, str]]) -> Table:
    """A row for each metric, and a column for each of the lines that are named."""
    titles = [name if line.category is None else f"{line.cast_name}\n{name}" for line, name, _ in named]
    made = table("", *titles, right=titles)

    def row(title: str, values: Iterable[Text]) -> None:
        made.add_row(cell(title), *values)

    row("episodes", (cell(_episodes(result, line), style) for line, _, style in named))
    for metric in _metrics(lines):
        if PART not in metric:
            row(metric, (_estimate(line.metrics.get(metric), style) for line, _, style in named))
    row("steps", (cell(mean(line.steps, 1), style) for line, _, style in named))
    if _asked(lines):
        row("tokens", (cell(mean(line.tokens, 0), style) for line, _, style in named))
    if any(line.failed for line in lines):
        row("failed", (cell(line.failed, "red" if line.failed else style) for line, _, style in named))
    if any(line.unscored for line in lines):
        row("unscored", (cell(line.unscored, style) for line, _, style in named))
    return made


def _parts(line: Line) -> dict[str, dict[str, Estimate]]:
    """Part -> what is measured of it -> its estimate."""
    parts: dict[str, dict[str, Estimate]] = {}
    for metric, found in line.metrics.items():
        measured, mark, part = metric.partition(PART)
        if mark:
            parts.setdefault(part, {})[measured] = found
    return parts


def _parts_table(name: str, parts: Mapping[str, Mapping[str, Estimate]], measured: Sequence[str]) -> Table:
    """A row for each part, and a column for each of what is measured."""
    made = table(name, *measured, right=measured, dense=True)
    for part, of in parts.items():
        made.add_row(cell(part), *(_estimate(of.get(each), "", between="\n") for each in measured))
    return made


def _metrics(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.metrics))


def _asked(lines: list[Line]) -> bool:
    """Whether any agent asked a model: without, tokens say nothing."""
    return any(line.tokens for line in lines)


def _wide_table(result: RunResult, lines: list[Line]) -> Table:
    """A column for everything."""
    metrics, unscored, asked = _metrics(lines), any(line.unscored for line in lines), _asked(lines)
    numbers = ["episodes", *metrics, "steps", *(["tokens"] if asked else [])]
    numbers += ["failed", *(["unscored"] if unscored else [])]
    made = table("", *numbers, right=numbers)
    for line, name, style in _named(lines):
        values = [cell(name, style), cell(_episodes(result, line), style)]
        values += [_estimate(line.metrics.get(metric), style) for metric in metrics]
        values += [cell(mean(line.steps, 1), style)]
        values += [cell(mean(line.tokens, 0), style)] if asked else []
        values.append(cell(line.failed, "red" if line.failed else style))
        made.add_row(*values, *([cell(line.unscored, style)] if unscored else []))
    return made


def _narrow_table(result: RunResult, lines: list[Line]) -> Table:
    """Intervals below their means, and what is rarely asked below what is often asked."""
    metrics, asked = _metrics(lines), _asked(lines)
    numbers = ["episodes", *metrics, "steps\ntokens" if asked else "steps"]
    made = table("", *numbers, right=numbers, dense=True)
    for line, name, style in _named(lines):
        episodes = cell(_episodes(result, line), style)
        if line.failed:
            episodes.append(f"\n{line.failed:,} failed", "red")
        if line.unscored:
            episodes.append(f"\n{line.unscored:,} unscored", "")
        values = [_estimate(line.metrics.get(metric), style, between="\n") for metric in metrics]
        spent = mean(line.steps, 1) or "–"
        spent += f"\n{mean(line.tokens, 0) or '–'}" if asked else ""
        made.add_row(cell(name, style), episodes, *values, cell(spent, style))
    return made


def _named(lines: list[Line]) -> Iterator[tuple[Line, str, str]]:
    """Each line with its name and style; the contestant, who comes last, is marked."""
    last = lines[-1].cast_name if lines else ""
    for line in lines:
        if line.category is not None:
            yield line, f" {line.category or '(no category)'}", ""
        elif line.cast_name in ROLES and line.cast_name != last:
            yield line, f"{line.cast_name} ({ROLES[line.cast_name]})", ""
        else:
            yield line, line.cast_name, "bold" if line.cast_name == last else ""


def _episodes(result: RunResult, line: Line) -> str:
    ended = sum(
        row.cast_name == line.cast_name and line.category in (None, row.category) and row.status == "ended"
        for row in result.episodes
    )
    return f"{ended:,}" if ended == line.episodes else f"{ended:,} of {line.episodes:,}"


def mean(value: float | None, digits: int) -> str | None:
    """A number with so many digits after the point; None stays None."""
    return None if value is None else f"{value:,.{digits}f}"


def _estimate(found: Estimate | None, style: str, between: str = " ") -> Text:
    if found is None:
        return cell(None)
    return with_interval(found.mean, found.low, found.high, style, between=between)
