"""Stored: what the manifest of a stored run says: its plan, who played, within which limits, at which prices.

The same manifest gives the same plan, so `resume` and `replay` start from what the record holds and from nothing else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from worldloom.api.plans.cast import CastSpec, WorldSpec, model_from_json
from worldloom.api.plans.plan import JUDGE, ForkSpec, GraphSpec, Plan
from worldloom.core.arguments import shown
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, parse_scenario
from worldloom.core.study import StudySpec
from worldloom.models.spec import ModelSpec
from worldloom.runs.cost import Prices
from worldloom.runs.limits import Limits
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import RunStore


def plan_of(store: RunStore, registry: Registry) -> Plan:
    """The plan of a stored run, from its manifest and its own copy of the scenarios.

    Raises:
        RecordError: the manifest is damaged.
        UsageError: a scenario reads differently now: the code that reads it has changed.
    """
    stored, rows, epochs = _scenarios(store), store.episodes(), store.manifest("epochs", int)
    check_scenarios(store, rows)
    fork = store.read_manifest("fork", lambda fork: None if fork is None else ForkSpec(**fork))
    if fork is None and epochs * len(stored) > len(rows):
        planned = f"{epochs:,} × {len(stored):,} episodes"
        raise RecordError(f"{store.path} is damaged: it was planned with {planned}; it holds {len(rows):,}")
    return Plan(
        tuple(_scenario(store, one, registry) for one in stored),
        contestant_of(store),
        epochs,
        store.manifest("seed", int),
        limits_of(store),
        store.manifest("title", str),
        store.read_manifest("world", WorldSpec.from_json),
        judge_of(store),
        graph_of(store),
        store.read_manifest("also", _casts),
        fork,
        prices_of(store),
        study_of(store),
    )


def models_of(store: RunStore) -> dict[str, ModelSpec]:
    """name -> model of all that a stored run asks; its scenarios are not read for it."""
    world, judge = store.read_manifest("world", WorldSpec.from_json), judge_of(store)
    return {**contestant_of(store).models, **world.models, **({} if judge is None else {JUDGE: judge})}


def contestant_of(store: RunStore) -> CastSpec:
    """Who is evaluated in a stored run."""
    return store.read_manifest("contestant", CastSpec.from_json)


def limits_of(store: RunStore) -> Limits:
    """The limits of a stored run."""
    return store.read_manifest("limits", lambda limits: Limits(**limits))


def prices_of(store: RunStore) -> Prices:
    """The prices of the models of a stored run, as they were when it was planned."""
    return store.read_manifest("prices", Prices.from_json)


def judge_of(store: RunStore) -> ModelSpec | None:
    """The judge of a stored run."""
    return store.read_manifest("judge", lambda judge: None if judge is None else model_from_json(judge))


def study_of(store: RunStore) -> StudySpec | None:
    """The study whose variants a stored run plays; None if it plays none."""
    study = store.read_manifest("study", lambda study: None if study is None else StudySpec.from_json(study))
    if study is not None and {one.scenario for one in study.variants} != {
        one.id for one in _scenarios(store)
    }:
        raise RecordError(f"{store.path} is damaged: its scenarios are not the variants of its study")
    return study


def check_scenarios(store: RunStore, rows: Iterable[EpisodeRow]) -> None:
    """Raise `RecordError` if one of the episodes plays a scenario that the run does not have."""
    known = {one.id for one in _scenarios(store)}
    for row in rows:
        if row.scenario not in known:
            raise RecordError(
                f"{store.path} is damaged: episode {row.row} has scenario {shown(row.scenario)}"
            )


def graph_of(store: RunStore) -> GraphSpec | None:
    """What played in a stored run in place of the scenarios' own graphs."""
    return store.read_manifest("graph", lambda graph: None if graph is None else GraphSpec(**graph))


def _casts(also: Mapping[str, Any]) -> dict[str, CastSpec]:
    return {scenario: CastSpec.from_json(who) for scenario, who in also.items()}


@dataclass(frozen=True, slots=True)
class _Text:
    """The blob that holds the text of a scenario."""

    sha256: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class _Stored:
    """A scenario as a manifest names it."""

    id: str
    digest: str
    file: str
    text: _Text


def _scenarios(store: RunStore) -> list[_Stored]:
    def read(entries: Any) -> list[_Stored]:
        return [_Stored(**{**one, "text": _Text(**one["text"])}) for one in entries]

    return store.read_manifest("scenarios", read)


def _scenario(store: RunStore, stored: _Stored, registry: Registry) -> Scenario:
    scenario = parse_scenario(store.blob(stored.text.sha256), stored.file, registry)
    if scenario.digest != stored.digest:
        raise UsageError(
            f"{store.folder}: the stored scenario {stored.id!r} now has digest {scenario.digest[:16]}…, "
            f"the run was made with {stored.digest[:16]}…"
        )
    return scenario
