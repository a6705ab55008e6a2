"""Stored: what the manifest of a stored run says: its plan, who played, within which limits, at which prices.

The same manifest gives the same plan, so `resume` and `replay` start from what the record holds and from nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldloom.api.cast import CastSpec, WorldSpec, model_from_json
from worldloom.api.planning import JUDGE, ForkSpec, GraphSpec, Plan
from worldloom.core.errors import UsageError
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, parse_scenario
from worldloom.core.study import StudySpec
from worldloom.models.spec import ModelSpec
from worldloom.runs.cost import Prices
from worldloom.runs.limits import Limits
from worldloom.runs.store import RunStore


def plan_of(store: RunStore, registry: Registry) -> Plan:
    """The plan of a stored run, from its manifest and its own copy of the scenarios.

    Raises:
        RecordError: the manifest is damaged.
        UsageError: a scenario reads differently now: the code that reads it has changed.
    """
    stored = store.read_manifest("scenarios", lambda entries: [_Stored(**one) for one in entries])
    return Plan(
        tuple(_scenario(store, one, registry) for one in stored),
        contestant_of(store),
        store.manifest("epochs", int),
        store.manifest("seed", int),
        limits_of(store),
        store.manifest("title", str),
        store.read_manifest("world", WorldSpec.from_json),
        judge_of(store),
        graph_of(store),
        store.read_manifest("also", _casts),
        store.read_manifest("fork", lambda fork: None if fork is None else ForkSpec(**fork)),
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
    return store.read_manifest("study", lambda study: None if study is None else StudySpec.from_json(study))


def graph_of(store: RunStore) -> GraphSpec | None:
    """What played in a stored run in place of the scenarios' own graphs."""
    return store.read_manifest("graph", lambda graph: None if graph is None else GraphSpec(**graph))


def _casts(also: Mapping[str, Any]) -> dict[str, CastSpec]:
    return {scenario: CastSpec.from_json(who) for scenario, who in also.items()}


@dataclass(frozen=True, slots=True)
class _Stored:
    """A scenario as a manifest names it."""

    id: str
    digest: str
    file: str
    text: Mapping[str, Any]


def _scenario(store: RunStore, stored: _Stored, registry: Registry) -> Scenario:
    scenario = parse_scenario(store.blob(stored.text["sha256"]), stored.file, registry)
    if scenario.digest != stored.digest:
        raise UsageError(
            f"{store.folder}: the stored scenario {stored.id!r} now has digest {scenario.digest[:16]}…, "
            f"the run was made with {stored.digest[:16]}…"
        )
    return scenario
