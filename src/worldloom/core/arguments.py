"""Arguments: what a caller hands in, checked before anything begins."""

import operator
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from worldloom.core.errors import UsageError

PathLike = str | os.PathLike[str]
_SHOWN = 200  # characters of a value that an error shows


def shown(value: object) -> str:
    """A value as an error quotes it: all of it if it is short, else its beginning and how long it is."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of so many digits
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number in a range; `name` is what the caller knows it by.

    Raises:
        UsageError: it is none, or out of range.
    """
    allowed = f"a whole number from {least}" + ("" if most is None else f" to {most}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # what has no index is refused below
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least or (most is not None and number > most):
        raise UsageError(f"{name} is {shown(value)}; allowed: {allowed}")
    return number


def text(name: str, value: object, allowed: str) -> str:
    """A text that is not blank; `name` is what the caller knows it by.

    Raises:
        UsageError: it is none, or blank.
    """
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name} is {shown(value)}; allowed: {allowed}")
    return value


def path_of(value: PathLike) -> Path:
    """A path as the file system can take it.

    Raises:
        UsageError: it is empty, holds a null character, or is no path at all.
    """
    allowed = "the name of a file or folder"
    text = value if isinstance(value, str) else os.fspath(value) if isinstance(value, os.PathLike) else None
    if not isinstance(text, str):
        raise UsageError(f"{shown(value)} is no path; allowed: {allowed}")
    if not text.strip() or "\0" in text:
        raise UsageError(f"the path {shown(text)} names nothing; allowed: {allowed}")
    return Path(text)


def paths_of(values: PathLike | Sequence[PathLike]) -> list[Path]:
    """One path or several, each as `path_of`."""
    if isinstance(values, str | os.PathLike) or not isinstance(values, Iterable):
        return [path_of(values)]
    return [path_of(value) for value in values]
