"""Labels: what people have said of criteria of a run, as a YAML or CSV file.

An entry names an episode by its number or id, a criterion by its number from 0 or its text, and whether it passed.
Every bad entry is told with its line, up to as many as a person reads at once; nothing is guessed and nothing is left
out.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from worldloom.core.errors import DocumentError, Problem, nearest
from worldloom.core.files import read_bytes
from worldloom.core.yamlio import MAX_BYTES, read, validate
from worldloom.core.yamlio.decoding import decode
from worldloom.core.yamlio.reader import MAX_PROBLEMS

_COLUMNS = ("episode", "criterion", "passed")
_TRUTHS: Mapping[str, bool] = {"true": True, "false": False}
_SHOWN = 60


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    episode: int | str
    criterion: int | str
    passed: bool = Field(strict=True)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    labels: tuple[_Entry, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Rubric:
    """An episode that may be labelled: its number, its id, and the texts of its criteria."""

    number: int
    id: str
    criteria: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Line:
    """An entry and how to tell of a problem in it."""

    line: int
    column: int
    episode: int | str
    criterion: int | str
    passed: bool


def read_labels(path: Path, rubrics: Sequence[Rubric]) -> dict[tuple[int, int], bool]:
    """(number of an episode, number of a criterion) -> whether a person says that it passed.

    Args:
        path: `NAME.csv` with the columns episode, criterion and passed, or YAML with the list `labels`.

    Raises:
        DocumentError: it cannot be read, or entries of it cannot be used.
    """
    problems: list[Problem] = []
    episodes: dict[int | str, Rubric] = {rubric.number: rubric for rubric in rubrics}
    episodes |= {rubric.id: rubric for rubric in rubrics}
    found: dict[tuple[int, int], _Line] = {}
    for line in _csv(path) if path.suffix.lower() == ".csv" else _yaml(path):
        if len(problems) >= MAX_PROBLEMS:
            break
        if isinstance(line, Problem):
            problems.append(line)
            continue
        try:
            key = _key(line, episodes)
            if key in found:
                twice = f"a second label for criterion {key[1]} of episode {key[0]}"
                raise _UnusableError(twice, f"one; the first is in line {found[key].line}")
            found[key] = line
        except _UnusableError as fault:
            problems.append(Problem(str(path), line.line, line.column, *fault.words, fault.near))
    if problems:
        raise DocumentError(sorted(problems, key=lambda one: (one.line, one.column)))
    return {key: line.passed for key, line in found.items()}


class _UnusableError(Exception):
    """An entry cannot be used: what it says, and what is allowed."""

    def __init__(self, found: str, allowed: str, near: str | None = None) -> None:
        self.words, self.near = (found, allowed), near
        super().__init__(found)


def _key(line: _Line, episodes: Mapping[int | str, Rubric]) -> tuple[int, int]:
    """The numbers of episode and criterion that an entry means."""
    rubric = episodes.get(line.episode)
    if rubric is None:
        numbers = sorted(one for one in episodes if isinstance(one, int))
        allowed = "the number or the id of an episode of the run that has ended and has criteria"
        if numbers:
            allowed += f"; numbers are {numbers[0]} to {numbers[-1]}"
        near = nearest(str(line.episode), [str(one) for one in episodes])
        raise _UnusableError(f"the episode {_short(line.episode)}, which is not there", allowed, near)
    texts, criterion = list(rubric.criteria), line.criterion
    if isinstance(criterion, int) and 0 <= criterion < len(texts):
        return rubric.number, criterion
    if isinstance(criterion, str) and texts.count(criterion) == 1:
        return rubric.number, texts.index(criterion)
    if isinstance(criterion, str) and criterion in texts:
        raise _UnusableError(f"the criterion {_short(criterion)}, which stands there twice", "its number")
    allowed = f"0 to {len(texts) - 1}, or the text of a criterion of episode {rubric.number}"
    raise _UnusableError(f"the criterion {_short(criterion)}", allowed, nearest(str(criterion), texts))


def _short(value: int | str) -> str:
    return repr(value) if len(str(value)) <= _SHOWN else repr(f"{str(value)[:_SHOWN]}…")


def _yaml(path: Path) -> Iterator[_Line]:
    document = read(path)
    for number, entry in enumerate(validate(document, _File).labels):
        yield _Line(*document.locate(("labels", number)), entry.episode, entry.criterion, entry.passed)


def _csv(path: Path) -> Iterator[_Line | Problem]:
    """Entries of a table, and what is wrong with others; rows without text are passed over."""
    text = decode(read_bytes(path, MAX_BYTES), str(path))
    rows = csv.reader(io.StringIO(text, newline=None), strict=True)  # every line end is one, as in YAML
    header: list[str] | None = None
    line = 1
    try:
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                pass
            elif header is None:
                header = [cell.strip() for cell in cells]
                if sorted(header) != sorted(_COLUMNS):
                    found = f"the columns {_short(', '.join(header))}"
                    raise DocumentError([Problem(str(path), line, 1, found, ", ".join(_COLUMNS))])
            else:
                yield _entry(path, line, header, cells)
            line = rows.line_num + 1
    except csv.Error as error:
        found = f"a line that is no CSV: {error}"
        yield Problem(str(path), line, 1, found, "cells with commas between")
        return
    if header is None:
        raise DocumentError(
            [Problem(str(path), 0, 0, "an empty file", f"a line {','.join(_COLUMNS)}, then labels")]
        )


def _entry(path: Path, line: int, header: Sequence[str], cells: Sequence[str]) -> _Line | Problem:
    if len(cells) != len(header):
        return Problem(str(path), line, 1, f"{len(cells)} cells", f"{len(header)}: {', '.join(header)}")
    values = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    truth = _TRUTHS.get(values["passed"].lower())
    if truth is None:
        return Problem(str(path), line, 1, f"passed is {_short(values['passed'])}", "true or false")
    return _Line(line, 1, _number(values["episode"]), _number(values["criterion"]), truth)


def _number(cell: str) -> int | str:
    return int(cell) if cell.isascii() and cell.isdecimal() and len(cell) < 19 else cell
