"""Score tables: the metrics of a run, in the shape that fits: a column for each, or, of many, a row for each."""

from collections.abc import Iterator

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from worldloom.api.result import Line, RunResult
from worldloom.cli.terminal import cell, table
from worldloom.runs.statistics import Estimate

ROLES = {"literal": "floor", "careful": "ceiling"}
"""What the reference agents stand for."""


_SHORTEST_NAME = 12  # columns that are left to names in a narrow terminal
_COLUMNS = 8  # metrics that still can be columns
PART = ":"
"""In the name of a metric, between what is measured and of whom: `reward:group`."""


def print_scores(screen: Console, result: RunResult, lines: list[Line]) -> None:
    """Print the metrics of each line."""
    if len(_metrics(lines)) > _COLUMNS:
        for each in _tall_tables(result, lines):
            screen.print(each)
            screen.print()
        return
    made = _wide_table(result, lines)
    if _excess(screen, made) > 0:
        made = _narrow_table(result, lines)
        longest = max((len(name) for _, name, _ in _named(lines)), default=0)
        # Names give way before numbers do.
        made.columns[0].max_width = max(_SHORTEST_NAME, longest - max(0, _excess(screen, made)))
    screen.print(made)
    screen.print()


def _tall_tables(result: RunResult, lines: list[Line]) -> Iterator[Table]:
    """A row for each metric and a column for each line; then a row for each part, a column for what is measured."""
    named = list(_named(lines))
    made = table("", *(name for _, name, _ in named), right=[name for _, name, _ in named])
    made.add_row(cell("episodes"), *(cell(_episodes(result, line)) for line, _, _ in named))
    for metric in _metrics(lines):
        if PART not in metric:
            made.add_row(
                cell(metric), *(_estimate(line.metrics.get(metric), style) for line, _, style in named)
            )
    yield made
    for line, name, _ in named:
        parts: dict[str, dict[str, Estimate]] = {}
        for metric, found in line.metrics.items():
            measured, mark, part = metric.partition(PART)
            if mark:
                parts.setdefault(part, {})[measured] = found
        if parts:
            numbers = list(dict.fromkeys(measured for one in parts.values() for measured in one))
            made = table(name, *numbers, right=numbers, dense=True)
            for part, of in parts.items():
                made.add_row(cell(part), *(_estimate(of.get(each), "", between="\n") for each in numbers))
            yield made


def _excess(screen: Console, made: Table) -> int:
    """Columns that a table would need beyond those of the screen."""
    return Measurement.get(screen, screen.options.update(width=10_000), made).maximum - screen.width


def _metrics(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.metrics))


def _wide_table(result: RunResult, lines: list[Line]) -> Table:
    """A column for everything."""
    metrics, unscored = _metrics(lines), any(line.unscored for line in lines)
    numbers = ["episodes", *metrics, "steps", "tokens", "failed", *(["unscored"] if unscored else [])]
    made = table("", *numbers, right=numbers)
    for line, name, style in _named(lines):
        values = [cell(name, style), cell(_episodes(result, line), style)]
        values += [_estimate(line.metrics.get(metric), style) for metric in metrics]
        values += [cell(mean(line.steps, 1), style), cell(mean(line.tokens, 0), style)]
        values.append(cell(line.failed, "red" if line.failed else style))
        made.add_row(*values, *([cell(line.unscored, style)] if unscored else []))
    return made


def _narrow_table(result: RunResult, lines: list[Line]) -> Table:
    """Intervals below their means, and what is rarely asked below what is often asked."""
    metrics = _metrics(lines)
    numbers = ["episodes", *metrics, "steps\ntokens"]
    made = table("", *numbers, right=numbers, dense=True)
    for line, name, style in _named(lines):
        episodes = cell(_episodes(result, line), style)
        if line.failed:
            episodes.append(f"\n{line.failed:,} failed", "red")
        if line.unscored:
            episodes.append(f"\n{line.unscored:,} unscored", "")
        values = [_estimate(line.metrics.get(metric), style, between="\n") for metric in metrics]
        spent = f"{mean(line.steps, 1) or '–'}\n{mean(line.tokens, 0) or '–'}"
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
    if found is None or found.mean is None:
        return cell(None)
    shown = Text(f"{found.mean:.2f}", style)
    if found.low is not None:
        shown.append(f"{between}[{found.low:.2f}, {found.high:.2f}]", "dim")
    return shown
