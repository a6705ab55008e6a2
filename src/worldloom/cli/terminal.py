"""Terminal: what worldloom prints, safe to look at.

Ids, model text and messages of servers come from strangers: controls, bidi marks and other characters that a terminal
would obey are spelt out, and nothing is read as markup. JSON is plain ASCII, so that it is safe in a terminal too.
"""

import json
import os
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120
"""Columns where there is no terminal that could say, as in the log of a CI job."""

NARROWEST = 20
"""Columns below which a table is of no use to anyone; a narrower terminal breaks the lines itself."""

T = TypeVar("T")

_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")


class Screen(Console):
    """A console that leaves a broken pipe to the boundary, where rich would end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout() -> Screen:
    """Where results go."""
    return _screen(stderr=False)


def stderr() -> Screen:
    """Where progress, remarks and errors go."""
    return _screen(stderr=True)


def _screen(*, stderr: bool) -> Screen:
    streams = (sys.stdin, sys.stdout, sys.stderr)
    columns = os.environ.get("COLUMNS", "")
    zero = columns.isdecimal() and int(columns) == 0  # rich would print nothing
    known = "COLUMNS" in os.environ or any(_is_terminal(stream) for stream in streams)
    width = None if known and not zero else PIPE_WIDTH
    screen = Screen(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)
    if screen.width < NARROWEST:
        screen.width = NARROWEST
    return screen


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def visible(text: str, *, lines: bool = False) -> str:
    """The text with everything spelt out that a terminal would obey or hide; `lines` keeps line breaks."""
    if text.isprintable():
        return text
    return "".join(
        char
        if (lines and char == "\n") or unicodedata.category(char) not in _OBEYED
        else f"<U+{ord(char):04X}>"
        for char in text
    )


def shortened(text: str, most: int) -> str:
    """The text, or if it is longer than `most` characters its beginning, how long it is, and its end."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}… ({len(text):,} characters) …{text[len(text) - most // 2 :]}"


def say(screen: Console, text: str, style: str = "", *, wrap: bool = True) -> None:
    """Print a paragraph. Without `wrap`, lines stay whole however long: for paths, commands and carets."""
    screen.print(Text(visible(text, lines=True), style), soft_wrap=not wrap)


def cell(value: object, style: str = "") -> Text:
    """A cell of a table; what is not there is a dash, numbers have thousands marked."""
    if value is None:
        return Text("–", "dim")
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}", style)
    return Text(visible(str(value), lines=True), style)


def table(*columns: str, right: Sequence[str] = (), dense: bool = False) -> Table:
    """An empty table; the columns named in `right` hold numbers. A dense one has one blank between columns."""
    gap = (0, 0 if dense else 1, 0, 0)  # the box adds a blank of its own
    made = Table(box=SIMPLE_HEAD, show_edge=False, padding=gap, pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(cell(name), justify="right" if name in right else "left", overflow="fold")
    return made


def excess(screen: Console, made: Table) -> int:
    """Columns that a table would need beyond those of the screen, so that no word and no number is cut."""
    return Measurement.get(screen, screen.options.update(width=10_000), made).maximum - screen.width


def fitting(screen: Console, columns: Sequence[T], make: Callable[[Sequence[T]], Table]) -> Iterator[Table]:
    """Tables with as many of the columns at a time as fit on the screen, and with one at least.

    Args:
        columns: what is spread over the tables.
        make: a table with some of them, beside what stands in each table.
    """
    start = 0
    while True:
        end = start + 1
        while end < len(columns) and excess(screen, make(columns[start : end + 1])) <= 0:
            end += 1
        yield make(columns[start:end])
        start = end
        if start >= len(columns):
            return


def counted(noun: str, count: int, many: str = "") -> str:
    """So many of something: `1 scenario`, `1,200 scenarios`; `many` is the plural where an s does not make it."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def with_interval(
    value: float | None,
    low: float | None,
    high: float | None,
    style: str = "",
    *,
    sign: str = "",
    between: str = " ",
) -> Text:
    """A number with its interval, if it has one, as a cell; `sign` as in a format."""
    if value is None:
        return cell(None)
    shown = Text(f"{value:{sign}z.2f}", style)
    if low is not None and high is not None:
        shown.append(f"{between}[{low:{sign}z.2f}, {high:{sign}z.2f}]", "dim")
    return shown


def command(*words: str | Path) -> str:
    """A command as it can be typed."""
    return shlex.join(["worldloom", *(str(word) for word in words)])


def near(path: Path) -> Path:
    """A path as short as it can be typed here: relative if it lies below the working directory."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path


def put_json(value: Any) -> None:
    """Print JSON on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
