"""Sweeping: the variants of a study, played with the same seeds as one run, and what each came to.

Such a run is resumed, replayed, exported and compared like any other. Only its table differs: it has a row for each
variant, and since a variant is one scenario, its unit is the seed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from worldloom import api
from worldloom.api import playing
from worldloom.api.plans.manifest import study_of
from worldloom.api.plans.plan import Plan
from worldloom.api.results.result import RunResult
from worldloom.core.arguments import PathLike, path_of
from worldloom.core.project import Project, find_project
from worldloom.core.registry import RULES, Registry
from worldloom.core.study import StudySpec, Variant, load_study
from worldloom.runs.comparison import difference
from worldloom.runs.limits import Limits, RunLimits
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.statistics import estimate
from worldloom.runs.store import RunStore

Scores = Mapping[int, float | None]
"""Seed -> score; None is unscored."""


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A mean over the seeds of one variant with its 95 % bootstrap interval over them.

    Attributes:
        mean: None if nothing was scored.
        low, high: None below two seeds.
        seeds: number of seeds with a score.
        unscored: number of seeds without one.
    """

    mean: float | None
    low: float | None
    high: float | None
    seeds: int
    unscored: int


@dataclass(frozen=True, slots=True)
class AgainstFirst:
    """A variant's score less that of the first variant with the same seed.

    Attributes:
        difference: mean over seeds that both have scored; None if there are none.
        low, high: its 95 % bootstrap interval over seeds; None below two.
        p: two-sided, of a test by sign flips of seeds.
        seeds: number of pairs.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    seeds: int


@dataclass(
    frozen=True
)  # no slots: the intervals of a large study take seconds, and are reckoned when asked for
class SweepRow:
    """What one variant came to.

    Attributes:
        episodes: that are planned, one for each seed.
        ended: of them, so far.
        failed: of these, by a fault that is not the agent's; they are left out of the metrics.
        scores: metric -> seed -> score.
        first: the same of the first variant; empty for that one.
    """

    variant: Variant
    episodes: int
    ended: int
    failed: int
    scores: Mapping[str, Scores] = field(repr=False)
    first: Mapping[str, Scores] = field(repr=False)

    @cached_property
    def metrics(self) -> Mapping[str, OverSeeds]:
        """name -> mean over seeds."""
        return {metric: _over_seeds(values) for metric, values in self.scores.items()}

    @cached_property
    def against_first(self) -> Mapping[str, AgainstFirst]:
        """name -> difference to the first variant, for which it is empty."""
        both = [metric for metric in self.scores if metric in self.first]
        return {metric: _against(self.first[metric], self.scores[metric]) for metric in both}

    def to_json(self) -> dict[str, Any]:
        return {
            **asdict(self.variant),
            "episodes": self.episodes,
            "ended": self.ended,
            "failed": self.failed,
            "metrics": {name: asdict(one) for name, one in self.metrics.items()},
            "against_first": {name: asdict(one) for name, one in self.against_first.items()},
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a study came to.

    Attributes:
        result: the run as others are told; its own table is over all variants.
        metrics: all that are scored, in the order of the scorer.
    """

    study: StudySpec
    result: RunResult
    rows: Sequence[SweepRow]
    metrics: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        study = self.study.to_json()
        del study["variants"]
        return {"study": study, "unit": "seed", "rows": [row.to_json() for row in self.rows]}

    def __str__(self) -> str:
        return json.dumps(self.to_json()["rows"], indent=2)


def plan(
    path: PathLike,
    *,
    agent: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    max_steps: int | None = None,
    limits: Limits | None = None,
    world: str = RULES,
    world_model: str | None = None,
    world_base_url: str | None = None,
    judge: str | None = None,
    judge_base_url: str | None = None,
    project: Project | None = None,
    registry: Registry | None = None,
) -> Plan:
    """The plan of a study, for `worldloom.api.playing.start`; see `sweep`."""
    registry = registry or Registry.discover(project)
    study = load_study(path_of(path), registry)
    planned = api.plan(
        scenarios=study.scenarios, epochs=study.epochs, seed=study.seed, agent=agent, model=model,
        base_url=base_url, max_steps=max_steps, limits=limits, world=world, world_model=world_model,
        world_base_url=world_base_url, judge=judge, judge_base_url=judge_base_url, project=project,
        registry=registry,
    )  # fmt: skip
    return replace(planned, title=study.spec.name, study=study.spec)


def sweep(
    path: PathLike,
    *,
    agent: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    concurrency: int = 8,
    max_steps: int | None = None,
    limits: Limits | None = None,
    run_limits: RunLimits | None = None,
    world: str = RULES,
    world_model: str | None = None,
    world_base_url: str | None = None,
    judge: str | None = None,
    judge_base_url: str | None = None,
    runs_dir: PathLike | None = None,
) -> Sweep:
    """Play the variants of a study and record what happened; everything but `path` as in `worldloom.run`.

    Args:
        path: the study's file.

    Raises:
        UsageError: the study has problems, or something given cannot be used; nothing has been written.
        RecordError: the record cannot be written.
    """
    project = find_project(Path.cwd())
    registry = Registry.discover(project)
    planned = plan(
        path, agent=agent, model=model, base_url=base_url, max_steps=max_steps, limits=limits, world=world,
        world_model=world_model, world_base_url=world_base_url, judge=judge, judge_base_url=judge_base_url,
        project=project, registry=registry,
    )  # fmt: skip
    place = path_of(runs_dir) if runs_dir is not None else api.runs_folder(project)
    work = playing.start(planned, registry, runs_dir=place, concurrency=concurrency, run_limits=run_limits)
    found = report(api.in_new_loop(work))
    assert found is not None, "the plan has a study"
    return found


def report(result: RunResult) -> Sweep | None:
    """What the study of a run came to; None if the run plays none, or but one episode of it, as a fork does."""
    with RunStore(result.folder) as store:
        study = study_of(store)
        if study is None or store.manifest("fork", object) is not None:
            return None
    contestant = result.episodes[-1].cast_name
    played: dict[str, list[EpisodeRow]] = {one.scenario: [] for one in study.variants}
    for row in result.episodes:
        if row.cast_name == contestant:
            played[row.scenario].append(row)
    scores = {name: _scores(result, rows) for name, rows in played.items()}
    metrics = list(dict.fromkeys(metric for found in scores.values() for metric in found))
    first = scores[study.variants[0].scenario]
    rows = [
        _row(one, played[one.scenario], scores[one.scenario], first if place else {})
        for place, one in enumerate(study.variants)
    ]
    return Sweep(study, result, rows, metrics)


def _scores(result: RunResult, rows: Sequence[EpisodeRow]) -> dict[str, Scores]:
    """metric -> seed -> score, of the episodes that count."""
    found: dict[str, dict[int, float | None]] = {}
    for row in rows:
        for score in result.scores.get(row.row, ()) if row.counts else ():
            if not score.is_criterion:
                found.setdefault(score.name, {})[row.seed] = score.value
    return dict(found)


def _row(
    variant: Variant, rows: Sequence[EpisodeRow], scores: Mapping[str, Scores], first: Mapping[str, Scores]
) -> SweepRow:
    ended = [row for row in rows if row.status == "ended"]
    failed = sum(not row.counts for row in ended)
    return SweepRow(variant, len(rows), len(ended), failed, scores, first)


def _over_seeds(values: Scores) -> OverSeeds:
    found = estimate((str(seed), value) for seed, value in values.items())
    return OverSeeds(found.mean, found.low, found.high, found.scenarios, found.unscored)


def _against(first: Scores, values: Scores) -> AgainstFirst:
    """Each seed is a unit of its own here, as a scenario is elsewhere."""
    one, other = ([(str(seed), seed, value) for seed, value in each.items()] for each in (first, values))
    found = difference(one, other)
    return AgainstFirst(found.difference, found.low, found.high, found.p, found.pairs)
