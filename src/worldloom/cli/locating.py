"""Locating: which run a person means: a folder, its name below the runs' folder, the start of its name, or `last`."""

import re
import time
from pathlib import Path

from worldloom.api import runs_folder
from worldloom.core.errors import UsageError, meant
from worldloom.core.project import find_project
from worldloom.runs.store import RunStore

LAST = "last"
_NAME = re.compile(r"\d{8}-\d{6}-")


def runs_place(given: Path | None) -> Path:
    """The folder that holds the runs: the one given, else the project's, else `runs`."""
    return given if given is not None else runs_folder(find_project(Path.cwd()))


def run_folders(place: Path) -> list[Path]:
    """The runs in a folder, the one most recently begun last."""
    if not place.is_dir():
        return []
    found = [folder for folder in place.iterdir() if _holds_run(folder)]
    return sorted(found, key=lambda folder: (*_begun(folder), folder.name))


def find_run(name: str, given: Path | None) -> Path:
    """The folder of the run that `name` means.

    Raises:
        UsageError: none is meant, or several could be.
    """
    path = Path(name)
    if path.name == RunStore(path).path.name:
        path = path.parent
    if _holds_run(path):
        return path
    place = runs_place(given)
    folders = run_folders(place)
    if not folders:
        raise UsageError(f"no run {name!r}: there is no run in {place} yet; `worldloom run` makes one")
    if name == LAST:
        return folders[-1]
    names = {folder.name: folder for folder in folders}
    if name in names:
        return names[name]
    begun = [known for known in names if name and known.startswith(name)]
    if len(begun) == 1:
        return names[begun[0]]
    if begun:
        raise UsageError(f"{len(begun)} runs in {place} begin with {name!r}: {_few(begun)}")
    raise UsageError(
        f"no run {name!r} in {place}{meant(name, names)}\n  allowed: the path of a run, {LAST}, {_few(list(names))}"
    )


def _few(names: list[str]) -> str:
    newest = names[-5:][::-1]
    return ", ".join(newest) + (f" and {len(names) - 5} older ones" if len(names) > 5 else "")


def _holds_run(folder: Path) -> bool:
    try:
        return RunStore(folder).path.is_file()
    except OSError:  # a name too long, a folder that may not be read
        return False


def _begun(folder: Path) -> tuple[str, float]:
    """When a run was begun, to the second, as its name says; of one that was renamed, when it was last written."""
    written = RunStore(folder).path.stat().st_mtime
    named = _NAME.match(folder.name)
    return named[0] if named else time.strftime("%Y%m%d-%H%M%S-", time.localtime(written)), written
