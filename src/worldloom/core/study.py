"""Study: one scenario in several variants, each a scenario of its own, played with the same seeds.

    study: capacity
    scenario: gig.yaml
    vary: {world.mechanism.capacity: [1, 3, 8]}
    seeds: 30

`vary` takes every combination of the values, or with `design: list` the first of each, the second, and so on;
`variants` names them one by one. What is wrong with a variant is told at its place in the study.
"""

import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import DocumentError, Problem
from worldloom.core.registry import Registry
from worldloom.core.scenario import Name, Prose, Scenario, load_scenario
from worldloom.core.suite import confined, library_file, refusal
from worldloom.core.variant import find_path, node_at, varied
from worldloom.core.yamlio import Document, Fault, Faults, Path, check_faults, read, validate
from worldloom.core.yamlio.decoding import invisible
from worldloom.core.yamlio.reader import MAX_PROBLEMS

MAX_VARIANTS = 10_000
MAX_EPISODES = 100_000
"""Episodes of one run: each is planned, in memory and on disk, before the first is played."""
_LONGEST_VALUE = 24  # characters of a value in the name of a variant
_STRICT = ConfigDict(extra="forbid", frozen=True)
_Values: TypeAlias = Annotated[tuple[JsonValue, ...], Field(min_length=1)]


class _Seeds(BaseModel):
    model_config = _STRICT
    first: int = Field(default=0, ge=0, le=2**62)
    count: int = Field(ge=1, le=2**62)


class _StudyFile(BaseModel):
    model_config = _STRICT
    study: Name
    summary: Prose | None = None
    scenario: str = Field(min_length=1, description="a file below this file's folder, or of the library")
    vary: Annotated[dict[str, _Values], Field(min_length=1)] | None = None
    design: Literal["grid", "list"] | None = Field(default=None, description="of `vary`; default grid")
    variants: Annotated[dict[Name, dict[str, JsonValue]], Field(min_length=1)] | None = None
    seeds: Annotated[int, Field(ge=1, le=2**62)] | _Seeds = Field(
        description="how many from 0 on, or {first, count}"
    )
    metrics: tuple[Name, ...] = Field(default=(), description="what tables show; default all")

    @model_validator(mode="after")
    def _says_what_varies(self) -> "_StudyFile":
        if (self.vary is None) == (self.variants is None):
            found = "neither `vary` nor `variants`" if self.vary is None else "both `vary` and `variants`"
            raise Faults(Fault(("study",), found, "one of them", key=True))
        if self.variants is not None and self.design is not None:
            raise Faults(Fault(("design",), "`design` beside `variants`", "`design` beside `vary`", key=True))
        return self


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of the scenario.

    Attributes:
        scenario: its id.
        name: what tells it from the others, e.g. `capacity=8`.
        values: varied path -> what stands there; a path is missing where the variant leaves it to its default.
    """

    scenario: str
    name: str
    values: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class StudySpec:
    """What a run's manifest says of the study whose variants it plays.

    Attributes:
        base: id of the scenario that is varied.
        paths: all that is varied, as the study spells it.
        metrics: what tables show; empty for all.
        named: whether the variants have names of their own, and not those of their values.
    """

    name: str
    summary: str | None
    base: str
    paths: Sequence[str]
    metrics: Sequence[str]
    named: bool
    variants: Sequence[Variant]

    def to_json(self) -> dict[str, Any]:
        lists = {"paths": [*self.paths], "metrics": [*self.metrics]}
        return {**asdict(self), **lists, "variants": [asdict(one) for one in self.variants]}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "StudySpec":
        """The study that a manifest names."""
        return StudySpec(**{**value, "variants": [Variant(**one) for one in value["variants"]]})


@dataclass(frozen=True, slots=True)
class Study:
    """A study that was read, with a sound scenario for each variant.

    Attributes:
        scenarios: of the variants, in their order.
        seed: of the first episode of each.
        epochs: how many seeds in a row each is played with.
    """

    spec: StudySpec
    scenarios: tuple[Scenario, ...]
    seed: int
    epochs: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A variant as the study writes it.

    Attributes:
        cells: path, as it is spelt -> value, and its place in the study.
        place: of the row as a whole: that of a key.
    """

    name: str
    cells: Mapping[str, tuple[Json, Path]]
    place: Path


def load_study(path: str | os.PathLike[str], registry: Registry) -> Study:
    """Read a study and make its variants.

    Raises:
        DocumentError: the study, its scenario or a variant has problems.
    """
    document = read(FilePath(path))
    if "world" in document.value:
        allowed = "a study: study, scenario, vary, seeds; for a scenario: worldloom run"
        raise DocumentError(
            [document.problem(("world",), "this is a scenario and no study", allowed, key=True)]
        )
    content = validate(document, _StudyFile)
    faults = list(_faults(content))
    if faults:
        raise DocumentError(check_faults(document, faults))
    base = load_scenario(_base_file(document, content.scenario), registry)
    rows = _rows(content)
    paths = _paths(document, rows, base, registry)
    variants, scenarios, problems = [], [], list[Problem]()
    for row in rows:
        changes = {paths[text]: value for text, (value, _) in row.cells.items()}
        scenario, unsound = varied(base, row.name, changes, registry)
        problems += [_in_study(document, row, paths, *one) for one in unsound]
        if scenario is not None:
            variants.append(Variant(scenario.id, row.name, _values(row, paths, base)))
            scenarios.append(scenario)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        told = {(one.line, one.column, one.found): one for one in problems}
        raise DocumentError(sorted(told.values(), key=lambda one: (one.line, one.column))[:MAX_PROBLEMS])
    seeds = _seeds(content)
    named = content.variants is not None
    spec = StudySpec(content.study, content.summary, base.id, [*paths], content.metrics, named, variants)
    return Study(spec, tuple(scenarios), seeds.first, seeds.count)


def _faults(content: _StudyFile) -> Iterator[Fault]:
    """Variants that are too many, the same, or have no value for a path; seeds that are too many for them."""
    vary, variants = content.vary or {}, content.variants or {}
    lengths = [len(values) for values in vary.values()]
    if content.design == "list":
        for path, values in vary.items():
            if len(values) != lengths[0]:
                allowed = f"a list of {lengths[0]}, as for {next(iter(vary))}"
                yield Fault(("vary", path), f"a list of {len(values)}", allowed)
        rows = [[*each] for each in zip(*vary.values(), strict=False)]
        yield from _twice((("vary", [*vary][-1], place), row) for place, row in enumerate(rows))
    elif math.prod(lengths) > MAX_VARIANTS:
        found = f"{math.prod(lengths):,} combinations"
        yield Fault(("vary",), found, f"at most {MAX_VARIANTS:,}; `design: list` combines nothing", key=True)
    else:
        for path, values in vary.items():
            yield from _twice((("vary", path, place), value) for place, value in enumerate(values))
    yield from _twice((("variants", name), dict(changes)) for name, changes in variants.items())
    count = len(variants) or (lengths[0] if content.design == "list" else math.prod(lengths))
    seeds = _seeds(content).count
    if count <= MAX_VARIANTS and count * seeds > MAX_EPISODES:
        found = f"{seeds:,} seeds of {count:,} variant{'s' if count > 1 else ''}"
        yield Fault(
            ("seeds",), found, f"at most {MAX_EPISODES:,} episodes: the seeds of all variants together"
        )


def _seeds(content: _StudyFile) -> _Seeds:
    return _Seeds(count=content.seeds) if isinstance(content.seeds, int) else content.seeds


def _twice(values: Iterable[tuple[Path, Json]]) -> Iterator[Fault]:
    seen = set()
    for path, value in values:
        known = canonical(value)
        if known in seen:
            yield Fault(path, "the same as before", "each variant once")
        seen.add(known)


def _base_file(document: Document, name: str) -> FilePath:
    folder = FilePath(document.file).parent
    file = confined(folder, name)
    if file is None:
        raise DocumentError(
            [document.problem(("scenario",), f"{name!r} leads out of the folder", "a path below it")]
        )
    if reason := refusal(file):
        found = f"a path that cannot be looked up: {reason}"
        raise DocumentError([document.problem(("scenario",), found, "a file below the study's folder")])
    return file if file.exists() else library_file(name) or file


def _rows(content: _StudyFile) -> list[_Row]:
    if content.variants is not None:
        return [
            _Row(
                name,
                {text: (value, ("variants", name, text)) for text, value in changes.items()},
                ("variants", name),
            )
            for name, changes in content.variants.items()
        ]
    assert content.vary is not None
    columns = [
        [(text, value, ("vary", text, place)) for place, value in enumerate(values)]
        for text, values in content.vary.items()
    ]
    combined = zip(*columns, strict=True) if content.design == "list" else itertools.product(*columns)
    tails, names, rows = short_paths([*content.vary]), set[str](), list[_Row]()
    for cells in combined:
        name = " ".join(f"{tails[text]}={short_value(value)}" for text, value, _ in cells)
        name = name if name not in names else f"{name} #{len(rows) + 1}"
        names.add(name)
        rows.append(_Row(name, {text: (value, place) for text, value, place in cells}, ("vary",)))
    return rows


def short_paths(paths: Sequence[str]) -> dict[str, str]:
    """The shortest end of each path that no other has and that begins with a word."""
    found = {}
    for path in paths:
        parts = path.split(".")
        ends = [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
        found[path] = next(
            (
                end
                for end in ends
                if not end[:1].isdigit() and sum(f".{other}".endswith(f".{end}") for other in paths) == 1
            ),
            path,
        )
    return found


def short_value(value: Json) -> str:
    """A value as part of a name: short, on one line, without what nobody sees."""
    plain = isinstance(value, str) and value.strip() == value != "" and not invisible(value)
    text = str(value) if plain else json.dumps(value, separators=(",", ":"))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1].rstrip()}…"


def _paths(document: Document, rows: Sequence[_Row], base: Scenario, registry: Registry) -> dict[str, Path]:
    """Path as it is spelt -> path in the scenario's file.

    Raises:
        DocumentError: one leads nowhere, or into what another one replaces.
    """
    spelt = {text: _key(place) for row in reversed(rows) for text, (_, place) in row.cells.items()}
    paths: dict[str, Path] = {}
    faults: dict[Fault, None] = {}
    for text in dict.fromkeys(text for row in rows for text in row.cells):
        try:
            paths[text] = find_path(base, text, registry)
        except Faults as error:
            faults |= {replace(fault, path=spelt[text], key=True): None for fault in error.faults}
    for row in rows:
        for one, other in itertools.permutations([text for text in row.cells if text in paths], 2):
            if paths[other][: len(paths[one])] == paths[one]:
                found = f"a part of {one}, which changes too"
                faults[Fault(_key(row.cells[other][1]), found, "paths apart", key=True)] = None
    if faults:
        raise DocumentError(check_faults(document, faults))
    return paths


def _key(place: Path) -> Path:
    """The place of a varied path, from that of one of its values."""
    return place[:2] if place[0] == "vary" else place


def _values(row: _Row, paths: Mapping[str, Path], base: Scenario) -> dict[str, Json]:
    """Path -> what stands there in a variant."""
    values = {}
    for text, path in paths.items():
        node = node_at(base.document, path)
        if text in row.cells:
            values[text] = row.cells[text][0]
        elif node is not None:
            values[text] = node.value
    return values


def _in_study(
    document: Document, row: _Row, paths: Mapping[str, Path], about: Path | None, problem: Problem
) -> Problem:
    """A problem of a variant, at the place in the study that made it."""
    text = next((text for text in row.cells if paths[text] == about), None)
    if text is None and len(row.cells) == 1:
        text = next(iter(row.cells))
    if text is None:
        found = f"in the variant {row.name}: {problem.found}"
        return document.problem(row.place, found, problem.allowed, problem.nearest, key=True)
    place = row.cells[text][1]
    return document.problem(place, f"{text}: {problem.found}", problem.allowed, problem.nearest)
