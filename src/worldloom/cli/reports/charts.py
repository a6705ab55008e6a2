"""Drawing: pictures in the terminal, as text.

Every series has a sign of its own, so that no colour is needed; those that share a place take turns. What is not known
leaves a gap. Of a picture that has parts, the first is drawn. Bands are not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from worldloom.cli.terminal import Screen, cell, say, table, visible
from worldloom.core.picture import Bars, Lines, Network, Picture, Scatter, Series, Table

WIDEST, HEIGHT, LABEL, HEADER, ROWS = 120, 12, 20, 10, 10
"""Columns and rows of a chart, columns of a name beside it, rows of a name above it, rows of a table in brief."""

_SIGNS = "●○×+◆◇▲△abcdefghijklmnopqrstuvwxyz"
_FILLS = "█▓▒░"
_STYLES = ("cyan", "yellow", "magenta", "green", "red", "blue")


def draw(screen: Screen, picture: Picture, *, whole: bool = False) -> None:
    """Print a picture.

    Args:
        whole: all rows of a table, and what the picture is about.
    """
    width = min(screen.width, WIDEST)
    say(screen, picture.title, "bold")
    if whole:
        say(screen, picture.about)
    if isinstance(picture, Table):
        _draw_table(screen, picture, whole)
    elif isinstance(picture, Lines | Scatter):
        _draw_chart(screen, picture, width)
    elif isinstance(picture, Bars):
        _draw_bars(screen, picture, width)
    elif isinstance(picture, Network):
        _draw_network(screen, picture, width)
    if len(picture.parts) > 1:
        first, second, *_, last = *picture.parts, picture.parts[-1]
        names = f"{first}, {second}, … {last}" if len(picture.parts) > 2 else f"{first}, {second}"
        say(screen, f"One of {len(picture.parts)}: --only {picture.name}:NAME, NAME one of {names}", "dim")


def _style(place: int) -> str:
    return _STYLES[place % len(_STYLES)]


def _print(screen: Screen, lines: Iterable[Text]) -> None:
    for line in lines:
        screen.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _fitted(name: str, width: int) -> str:
    """The name in so many columns; of a long one the end stays, where numbers stand."""
    shown = visible(name)
    if cell_len(shown) > width and width > 4:
        shown = f"{set_cell_size(shown, width - 4).rstrip()}…{shown[-3:]}"
    return set_cell_size(shown, width)


# Charts


@dataclass(frozen=True, slots=True)
class _Axis:
    """A range of numbers that is spread over places from 0 on."""

    low: float
    high: float
    places: int

    @staticmethod
    def of(values: Iterable[float | None], places: int) -> "_Axis":
        """An axis for these numbers; 0 is on it if it is not far below them."""
        known = [value for value in values if value is not None] or [0.0]
        low, high = min(known), max(known)
        if 0 < low < high / 2:
            low = 0.0
        if low == high:
            low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
        return _Axis(low, high, places)

    def place(self, value: float) -> int:
        part = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: no overflow
        return round(part * (self.places - 1))

    def value(self, place: int) -> float:
        part = place / (self.places - 1)
        return self.low * (1 - part) + self.high * part


def _draw_chart(screen: Screen, picture: Lines | Scatter, width: int) -> None:
    rows = _Axis.of((y for one in picture.series for y in one.y), HEIGHT)
    ticks = {row: _short(rows.value(row)) for row in (0, HEIGHT // 2, HEIGHT - 1)}
    margin = max(len(tick) for tick in ticks.values())
    columns = _Axis.of((x for one in picture.series for x in one.x), max(2, width - margin - 2))
    grid: dict[tuple[int, int], list[int]] = {}
    for number, series in enumerate(picture.series):
        places = _curve if isinstance(picture, Lines) else _points
        for place in set(places(series, columns, rows)):
            grid.setdefault(place, []).append(number)
    say(screen, picture.y, "dim")
    lines = []
    for row in reversed(range(HEIGHT)):
        line = Text(f"{ticks.get(row, ''):>{margin}} {'┤' if row in ticks else '│'}")
        for column in range(columns.places):
            here = grid.get((column, row))
            line.append(*_sign(here[column % len(here)]) if here else " ")
        lines.append(line)
    low, high = _short(columns.low), _short(columns.high)
    name = visible(picture.x)[: max(0, columns.places - len(low) - len(high) - 2)]
    lines.append(Text(f"{'':>{margin}} └{'─' * columns.places}"))
    lines.append(Text(f"{'':>{margin}}  {low}{name:^{max(0, columns.places - len(low) - len(high))}}{high}"))
    _print(screen, lines)
    told = (
        Text.assemble(_sign(number), f" {visible(_told(picture, one))}")
        for number, one in enumerate(picture.series)
    )
    screen.print(Text("   ").join(told))


def _sign(number: int) -> tuple[str, str]:
    return _SIGNS[number % len(_SIGNS)], _style(number)


def _told(picture: Lines | Scatter, series: Series) -> str:
    """A series in the legend; for curves with the last value."""
    known = [y for y in series.y if y is not None]
    if not known:
        return f"{series.name} –"
    return f"{series.name} {_short(known[-1])}" if isinstance(picture, Lines) else series.name


def _points(series: Series, columns: _Axis, rows: _Axis) -> Iterable[tuple[int, int]]:
    for x, y in zip(series.x, series.y, strict=True):
        if x is not None and y is not None:
            yield columns.place(x), rows.place(y)


def _curve(series: Series, columns: _Axis, rows: _Axis) -> Iterable[tuple[int, int]]:
    """Places of a curve: the mean where several points share a column, a line between neighbours, gaps left open."""
    shared: dict[int, list[tuple[int, float]]] = {}
    for number, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        if x is not None and y is not None:
            shared.setdefault(columns.place(x), []).append((number, y))
    means = {column: sum(y for _, y in points) / len(points) for column, points in shared.items()}
    for column, mean in means.items():
        yield column, rows.place(mean)
    for here, there in pairwise(sorted(means)):
        if shared[there][0][0] == shared[here][-1][0] + 1:
            for column in range(here + 1, there):
                part = (column - here) / (there - here)
                yield column, rows.place(means[here] + part * (means[there] - means[here]))


# Bars, networks, tables


def _draw_bars(screen: Screen, picture: Bars, width: int) -> None:
    values = [_short(bar.value) if bar.value is not None else "–" for bar in picture.bars]
    label = min(LABEL, max((cell_len(visible(bar.name)) for bar in picture.bars), default=0))
    margin = max((len(value) for value in values), default=0)
    axis = _Axis.of([0.0, *(bar.value for bar in picture.bars)], max(2, width - label - margin - 2))
    say(screen, picture.y, "dim")
    lines = []
    for bar, value in zip(picture.bars, values, strict=True):
        line = Text(f"{_fitted(bar.name, label)} {value:>{margin}} ")
        if bar.value is not None:
            first, last = sorted((axis.place(0.0), axis.place(bar.value)))
            group = picture.groups.index(bar.group)
            line.append(" " * first + _FILLS[group % len(_FILLS)] * (last - first), _style(group))
        lines.append(line)
    _print(screen, lines)
    if len(picture.groups) > 1:
        shown = [
            Text.assemble((_FILLS[number % len(_FILLS)], _style(number)), f" {visible(name)}")
            for number, name in enumerate(picture.groups)
        ]
        screen.print(Text("   ").join(shown))


def _draw_network(screen: Screen, picture: Network, width: int) -> None:
    """A matrix: a row for each node on the left, a column for each on the right."""
    if not picture.frames:
        return
    frame = picture.frames[0]
    label = min(LABEL, max((cell_len(visible(node.name)) for node in picture.lefts), default=0))
    wide = 2 if 2 * len(picture.rights) <= width - label - 1 else 1
    shown = picture.rights[: (width - label - 1) // wide]
    most = max((edge.thick for edge in frame.edges), default=0)
    cells = {(edge.left, edge.right): _density(edge.thin, edge.thick, most) for edge in frame.edges}
    names = [_fitted(node.name, HEADER).rstrip().rjust(HEADER) for node in shown]
    lines = [Text(visible(f"{frame.name}: {picture.left} down, {picture.right} across"), "dim")]
    for row in range(HEADER):
        line = "".join(f"{name[row] if row < len(name) else '':<{wide}}" for name in names)
        if line.strip():
            lines.append(Text(f"{'':<{label}} {line}"))
    for left, node in enumerate(picture.lefts):
        line = "".join(f"{cells.get((left, right), ''):<{wide}}" for right in range(len(shown)))
        lines.append(Text(f"{_fitted(node.name, label)} {line}"))
    scale = f"█ {picture.thick}" if most <= 1 else f"░▒▓█ {picture.thick}, up to {most:,} times"
    lines.append(Text(visible(f"· {picture.thin} only   {scale}")))
    if len(shown) < len(picture.rights):
        lines.append(Text(f"… and {len(picture.rights) - len(shown)} more {visible(picture.right)}"))
    _print(screen, lines)


def _density(thin: int, thick: int, most: int) -> str:
    if not thick:
        return "·" if thin else ""
    return "░▒▓█"[-(-4 * thick // most) - 1]


def _draw_table(screen: Screen, picture: Table, whole: bool) -> None:
    if not picture.pages:
        return
    page = picture.pages[0]
    rows = page.rows if whole else page.rows[:ROWS]
    numeric = [
        name
        for place, name in enumerate(picture.columns)
        if all(isinstance(row[place], int | float | None) for row in page.rows)
    ]
    made = table(*picture.columns, right=numeric, dense=True)
    for row in rows:
        made.add_row(*(cell(f"{one:,.2f}" if isinstance(one, float) else one) for one in row))
    say(screen, page.name, "dim")
    screen.print(made)
    if len(rows) < len(page.rows):
        say(screen, f"… and {len(page.rows) - len(rows):,} more rows: --only {picture.name}", "dim")
