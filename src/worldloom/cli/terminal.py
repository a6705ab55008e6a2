"""Terminal: what worldloom prints, safe to look at.

Ids, model text and messages of servers come from strangers: controls, bidi marks and other characters that a terminal
would obey are spelt out, and nothing is read as markup. JSON is plain ASCII, so that it is safe in a terminal too.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120
"""Columns where there is no terminal that could say, as in the log of a CI job."""

NARROWEST = 20
"""Columns below which a table is of no use to anyone; a narrower terminal breaks the lines itself."""

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


def near(path: Path) -> Path:
    """A path as short as it can be typed here: relative if it lies below the working directory."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path


def put_json(value: Any) -> None:
    """Print JSON on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
