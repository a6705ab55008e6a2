"""Many scenarios at once: files, folders and suites.

A suite is a folder of scenarios, or a document `{suite, summary, scenarios: [files and folders below it]}`.
Those of the library are found by name. No scenario is read twice, and no two may have the same id.
"""

import os
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from worldloom.core.errors import DocumentError, Problem, UsageError, offer
from worldloom.core.project import FILE_NAME
from worldloom.core.registry import CARD, Registry
from worldloom.core.scenario import Scenario, scenario_from
from worldloom.core.yamlio import Document, read, validate

_YAML = (".yaml", ".yml")


class _SuiteFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    suite: str = Field(min_length=1)
    summary: str | None = None
    scenarios: tuple[str, ...] = Field(min_length=1, description="files and folders below this file's folder")


def load_scenarios(paths: Iterable[str | os.PathLike[str]], registry: Registry) -> tuple[Scenario, ...]:
    """Read scenarios from files, suites and folders (with all below them), in that order and by name.

    Raises:
        DocumentError: some have problems, or two have one id; holds the problems of all files.
    """
    scenarios: dict[str, Scenario] = {}
    problems: list[Problem] = []
    seen: set[str] = set()
    for path in paths:
        for entry in _documents(Path(path), seen):
            if isinstance(entry, Problem):
                problems.append(entry)
                continue
            try:
                scenario = scenario_from(entry, registry)
            except DocumentError as error:
                problems += error.problems
                continue
            first = scenarios.setdefault(scenario.id, scenario)
            if first is not scenario:
                place = f"{first.file}:{first.document.locate(('id',))[0]}"
                found = f"the id {scenario.id!r} is already that of {place}"
                problems.append(entry.problem(("id",), found, "each id once"))
    if problems:
        raise DocumentError(problems)
    return tuple(scenarios.values())


def library_suites() -> tuple[str, ...]:
    """Names of the suites that come with worldloom."""
    return tuple(_suites())


def library_suite(name: str) -> list[Path]:
    """The files of a suite that comes with worldloom, for `load_scenarios`.

    Raises:
        UsageError: there is no such suite.
    """
    suites = _suites()
    if not isinstance(name, str) or name not in suites:
        raise UsageError(f"there is no suite {name!r}{offer(name, suites)}")
    return _found(suites[name]) if suites[name].is_dir() else [suites[name]]


def confined(folder: Path, relative: str) -> Path | None:
    """The path that `relative` names below a folder; None if it would lead out of it, links included."""
    try:
        path = folder / relative
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return None
    return path if inside and not os.path.isabs(relative) else None


def refusal(path: Path) -> str | None:
    """Why the system would not even look for a path, e.g. a name that is too long; None if it would."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror
    return None


def library_file(relative: str) -> Path | None:
    """A file of the library by its path there, e.g. `everyday/fridays-dinner.yaml`; None if there is none."""
    file = confined(_library(), relative)
    return file if file is not None and file.is_file() else None


def _library() -> Path:
    return Path(str(files("worldloom").joinpath("worlds", "library")))


def _suites() -> dict[str, Path]:
    """Folder or file of each suite of the library, by name."""
    library = _library()
    places = {path.relative_to(library).parts[0] for path in _found(library)}
    return {Path(place).stem: library / place for place in sorted(places)}


def _documents(path: Path, seen: set[str]) -> Iterator[Document | Problem]:
    """Scenario documents at a path that have not been seen; problems where one cannot be read."""
    if os.path.isdir(path):  # which refuses no name, as long as it may be
        found = _found(path)
        if not found:
            yield Problem(str(path), 0, 0, "there is no YAML file in this folder", "a folder with scenarios")
        for file in found:
            yield from _documents(file, seen)
        return
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.add(real)
    try:
        document = read(path)
        members = _members(document) if "suite" in document.value and "world" not in document.value else None
    except DocumentError as error:
        yield from error.problems
        return
    if members is None:
        yield document
    for member in members or ():
        yield from _documents(member, seen)


def _found(folder: Path) -> list[Path]:
    """YAML files in a folder and below it, by name; hidden ones and those of projects and rooms left out."""
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(root, n) for n in names if n.endswith(_YAML) and not n.startswith(".")]
    return sorted((path for path in found if path.name not in (FILE_NAME, CARD)), key=lambda path: path.parts)


def _members(suite: Document) -> list[Path]:
    content = validate(suite, _SuiteFile)
    folder = Path(suite.file).parent
    members = [confined(folder, entry) for entry in content.scenarios]
    problems = [
        suite.problem(
            ("scenarios", index), f"{content.scenarios[index]!r} leads out of the folder", "a path below it"
        )
        for index, member in enumerate(members)
        if member is None
    ]
    problems += [
        suite.problem(("scenarios", index), f"a path that cannot be looked up: {reason}", "a path below it")
        for index, member in enumerate(members)
        if member is not None and (reason := refusal(member))
    ]
    if problems:
        raise DocumentError(problems)
    return [member for member in members if member is not None]
