"""Doctor: what is installed, served and reachable, and what to do about what is not.

Each check says how things stand, and what to do next where something stands in the way. Nothing is changed, nothing
is pulled; servers are asked what they list, and for a model that they do not list. A model that the flags name is
also tried: what it obeys, refuses or ignores.
"""

import asyncio
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from worldloom.api.plans.cast import model_of
from worldloom.cli.boundary import FAILED
from worldloom.cli.locating import run_folders, runs_place
from worldloom.cli.models import kept
from worldloom.cli.pulling import weights_of
from worldloom.cli.terminal import cell, put_json, say, stdout, table
from worldloom.core.errors import UsageError, WorldloomError
from worldloom.core.project import FILE_NAME, Project, find_project
from worldloom.core.registry import FOLDERS, Registry
from worldloom.core.suite import library_suites
from worldloom.models.capabilities import Capability, capabilities
from worldloom.models.factory import open_model
from worldloom.models.probe import Probe, probe
from worldloom.models.spec import ModelSpec
from worldloom.models.weights import CATALOGUE

State = Literal["ok", "note", "bad"]
_STYLES: Mapping[State, str] = {"ok": "green", "note": "yellow", "bad": "bold red"}
_NAMED = 5  # models of a server that are listed by name


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        state: `note` is for what is worth knowing and stands in nobody's way.
        said: how it stands.
        next: what to do; empty if nothing.
    """

    name: str
    state: State
    said: str
    next: str = ""


def doctor(*, model: str | None, base_url: str | None, as_json: bool) -> int:
    """Look at everything; returns the exit code: 1 if something stands in the way."""
    checks = [*_installation(), *_weights()]
    project, found = _project()
    checks += [found, *_rooms(project), _runs(), *asyncio.run(_models(project, model, base_url))]
    bad = [check for check in checks if check.state == "bad"]
    if as_json:
        put_json([asdict(check) for check in checks])
        return FAILED if bad else 0
    screen = stdout()
    made = table("", "", "")
    made.show_header = False
    for check in checks:
        after = f"\n→ {check.next}" if check.next else ""
        made.add_row(cell(check.state, _STYLES[check.state]), cell(check.name), cell(check.said + after))
    screen.print(made)
    if bad:
        say(screen, f"In the way: {', '.join(check.name for check in bad)}.", "red")
    else:
        say(
            screen, "Nothing is in the way. Next: worldloom run, or worldloom init for scenarios of your own."
        )
    return FAILED if bad else 0


def _installation() -> Iterator[Check]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Check("python", "ok", f"{version}, {sys.executable}")
    root = files("worldloom")
    missing = [name for name in FOLDERS if not root.joinpath(name).is_dir()]
    if missing:
        told = "check out with symbolic links (git config core.symlinks true), or install the wheel"
        yield Check("links", "bad", f"links missing in {root}: {', '.join(missing)}", told)
    try:
        distribution = importlib.metadata.distribution("worldloom")
    except importlib.metadata.PackageNotFoundError:
        told = "pip install -e . in the checkout"
        yield Check("worldloom", "note", f"not installed; imported from {root}", told)
        return
    yield Check("worldloom", "ok" if not missing else "note", f"{distribution.version}, {root}")
    yield from _packages(distribution)


def _packages(distribution: importlib.metadata.Distribution) -> Iterator[Check]:
    """The packages that are needed, and those of each extra."""
    needed: dict[str, list[str]] = {"": []}
    for line in distribution.requires or ():
        name = re.split(r"[^A-Za-z0-9._-]", line)[0]
        only_for = re.search(r"extra *== *['\"]([^'\"]+)", line)
        needed.setdefault(only_for[1] if only_for else "", []).append(name)
    needed.pop("dev", None)  # of no use to who runs things
    for extra, names in needed.items():
        versions = {name: _version(name) for name in names}
        missing = [name for name, version in versions.items() if version is None]
        title = f"extra {extra}" if extra else "packages"
        if not missing:
            yield Check(title, "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))
        else:
            told = f"pip install 'worldloom[{extra}]'" if extra else "pip install worldloom"
            yield Check(title, "note" if extra else "bad", f"not installed: {', '.join(missing)}", told)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _weights() -> Iterator[Check]:
    for wanted in CATALOGUE.values():
        here = kept(wanted, check=True)
        told = f"worldloom models pull {wanted.name}"
        if here.path is None:
            said = f"{wanted.title} ({wanted.size / 1e6:,.0f} MB) is not here; it is pulled when it is first used"
            yield Check("embedded model", "note", said, told)
        elif here.sound:
            yield Check("embedded model", "ok", f"{wanted.title}, SHA-256 right, {here.path}")
        else:
            yield Check("embedded model", "bad", f"{wanted.title} is damaged: {here.path}", told)


def _project() -> tuple[Project | None, Check]:
    try:
        project = find_project(Path.cwd())
    except UsageError as error:
        return None, Check("project", "bad", str(error), "mend the file")
    if project is None:
        return None, Check("project", "note", f"no {FILE_NAME} here or above", "worldloom init writes one")
    named = ", ".join(f"{purpose}: {entry.model}" for purpose, entry in project.models.items())
    return project, Check("project", "ok", f"{project.file} ({named or 'no models named'})")


def _rooms(project: Project | None) -> Iterator[Check]:
    try:
        rooms = Registry.discover(project).rooms()
    except UsageError as error:
        yield Check("rooms", "bad", str(error), f"mend the room, or leave it out of {FILE_NAME}")
        return
    roles = [room.role for room in rooms]
    counts = ", ".join(f"{roles.count(role)} {role}s" for role in dict.fromkeys(roles))
    yield Check("rooms", "ok", counts)
    suites = library_suites()
    if suites:
        yield Check("suites", "ok", ", ".join(suites))
    else:
        yield Check("suites", "bad", "the library is not there", "install worldloom anew")


def _runs() -> Check:
    try:
        place = runs_place(None)
    except UsageError:
        place = Path("runs")
    nearest = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    if not os.access(nearest, os.W_OK | os.X_OK) or not nearest.is_dir():
        return Check(
            "runs", "bad", f"{place} cannot be written", "--runs-dir DIR, or runs_dir in the project file"
        )
    return Check("runs", "ok", f"{len(run_folders(place)):,} in {place}")


async def _models(project: Project | None, model: str | None, base_url: str | None) -> list[Check]:
    """The models that would be used: those of the project, and the agent's as the flags name it."""
    entries = dict(project.models) if project else {}
    specs = {"agent": model_of(entries.get("agent"), model, base_url)}
    specs |= {
        purpose: model_of(entry, None, None) for purpose, entry in entries.items() if purpose != "agent"
    }
    flagged = model is not None or base_url is not None
    found: list[Check] = []
    for purpose, spec in specs.items():
        found += await _model(purpose, spec, tried=flagged and purpose == "agent")
    return found


async def _model(purpose: str, spec: ModelSpec, *, tried: bool) -> list[Check]:
    name, shown = f"model {purpose}", f"{spec.model} at {spec.base_url}" if spec.base_url else spec.model
    wanted = weights_of(spec.model)
    try:
        model = open_model(spec)
    except WorldloomError as error:
        return [Check(name, "bad", str(error), "mend the name, the base URL or the environment")]
    try:
        if wanted is not None and kept(wanted, check=False).path is None:
            return [Check(name, "note", f"{shown}: its weights are pulled when it is first used")]
        found = await probe(model)
        checks = [_probed(name, shown, spec, found)]
        if tried and found.reachable and found.problem is None:
            checks += [_tried(purpose, ability) for ability in await capabilities(model)]
        return checks
    except WorldloomError as error:
        return [Check(name, "bad", f"{shown}: {error}", _mend(spec))]
    finally:
        await model.aclose()


def _tried(purpose: str, found: Capability) -> Check:
    name, said = f"{purpose}: {found.name}", f"{found.state}: {found.said}"
    if found.state == "obeyed":
        return Check(name, "ok", said)
    decisions = found.name == "json_schema" and found.state in ("ignored", "refused")
    told = (
        "decisions are asked for so: only a model that writes exact JSON by itself will do"
        if decisions
        else ""
    )
    return Check(name, "note", said, told)


def _probed(name: str, shown: str, spec: ModelSpec, found: Probe) -> Check:
    takes = f", {found.context_tokens:,} tokens of context" if found.context_tokens else ""
    if found.problem is not None:
        told = "see what the server says" if found.reachable else _mend(spec)
        return Check(name, "bad", f"{shown}: {found.problem}", told)
    if found.reachable is None:
        told = "its first call will tell; keys come from the environment"
        return Check(name, "note", f"{shown}: a provider's, not asked here", told)
    served = ", ".join(found.served[:_NAMED]) + ("" if len(found.served) <= _NAMED else ", …")
    bare = spec.model.partition("/")[2]
    if spec.base_url and not {spec.model, bare} & set(found.served):
        told = "see that the name is what is meant"
        return Check(name, "note", f"{shown}: reachable{takes}; not refused, but listed is {served}", told)
    return Check(name, "ok", f"{shown}: reachable{takes}")


def _mend(spec: ModelSpec) -> str:
    if spec.model.startswith("embedded"):
        return "worldloom models list --verify; another file is embedded:FILE.gguf"
    return "start the server, or mend the base URL"
