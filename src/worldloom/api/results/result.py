"""RunResult: a run that was played, as Python and the command line hand it out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldloom.api.plans.cast import WORLD, WorldSpec
from worldloom.api.plans.manifest import check_scenarios, prices_of
from worldloom.api.results.attribution import Attribution, attribution_of
from worldloom.core.canonical import Json, digest
from worldloom.runs.cost import Cost, Prices, cost_of
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.statistics import Estimate, estimate
from worldloom.runs.store import DEFAULT_SCORING, RunStore
from worldloom.runs.usage import Asked, asked


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a run's table: one cast, over all scenarios or one category.

    Attributes:
        metrics: name -> estimate over the episodes whose end was not someone else's fault.
        unit: what they are means over: scenarios, or the seeds of a run that has one scenario only.
        steps, tokens: means over episodes that have ended; tokens are those of prompt and answer together, without
            those of a model that simulates the world.
        failed: episodes that ended by a fault that is not the agent's; they are left out of the metrics.
        unscored: criteria that could not be judged, over the episodes in the metrics.
    """

    cast_name: str
    category: str | None
    episodes: int
    failed: int
    unscored: int
    metrics: Mapping[str, Estimate]
    steps: float | None
    tokens: float | None
    unit: str = "scenario"


@dataclass(frozen=True, slots=True)
class Simulator:
    """The model that simulated the worlds of a run.

    Attributes:
        calls, tokens: means over all episodes that have ended, floors and ceilings included; tokens are those of
            prompt and answer together. None if none has ended.
        unusable: replies that could not be used, in all these episodes.
    """

    model: str
    calls: float | None
    tokens: float | None
    unusable: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of a run.

    Attributes:
        folder: where its record is.
        status: `completed`, `cancelled`, `run_limit`, `waiting`, `failed`, `planned`, `running` while a process plays
            it, or `interrupted` if that process was killed.
        episodes: the projection of every episode.
        scores: episode row -> scores.
        world_model: the model that simulates the worlds; None without one, and where no agent plays in them.
        scoring: the pass that the scores are of.
        prices: what its models cost when it was planned.
    """

    folder: Path
    title: str
    status: str
    episodes: Sequence[EpisodeRow]
    scores: Mapping[int, Sequence[Score]]
    world_model: str | None = None
    scoring: str = DEFAULT_SCORING
    prices: Prices = Prices()

    @staticmethod
    def of(store: RunStore, scoring: str = DEFAULT_SCORING) -> "RunResult":
        """Read a run from its store, with the scores of one pass of scoring."""
        title, status = store.manifest("title", str), store.status()
        models = store.read_manifest("world", WorldSpec.from_json).models
        plays = WORLD in models and store.manifest("graph", object) is None
        name = models[WORLD].model if plays else None
        rows = store.episodes()
        check_scenarios(store, rows)
        return RunResult(
            store.folder,
            title,
            status,
            rows,
            store.scores(scoring),
            name,
            scoring,
            prices_of(store),
        )

    @property
    def metrics(self) -> list[str]:
        """What is scored, by name, in the order of the scorers; criteria are left out."""
        scores = (score for found in self.scores.values() for score in found)
        return list(dict.fromkeys(score.name for score in scores if not score.is_criterion))

    def lines(self, *, by_category: bool = True) -> list[Line]:
        """The table: casts in the order of the plan, the contestant last; categories below each cast."""
        casts = list(dict.fromkeys(row.cast_name for row in self.episodes))
        found = []
        for name in casts:
            rows = [row for row in self.episodes if row.cast_name == name]
            found.append(self._line(name, None, rows))
            categories = sorted({row.category for row in rows})
            if by_category and len(categories) > 1:
                found += [
                    self._line(name, each, [row for row in rows if row.category == each])
                    for each in categories
                ]
        return found

    def _line(self, cast_name: str, category: str | None, rows: Sequence[EpisodeRow]) -> Line:
        ended = [row for row in rows if row.status == "ended"]
        sound = [row for row in ended if row.counts]
        metrics = {name: estimate(values) for name, values in self._values(rows, sound).items()}
        count = len(ended)
        return Line(
            cast_name,
            category,
            len(rows),
            count - len(sound),
            sum(
                score.is_criterion and score.value is None
                for row in sound
                for score in self.scores.get(row.row, ())
            ),
            metrics,
            sum(row.steps for row in ended) / count if count else None,
            sum(_own_tokens(row) for row in ended) / count if count else None,
            self._unit,
        )

    @property
    def _unit(self) -> str:
        return "seed" if len({row.scenario for row in self.episodes}) == 1 else "scenario"

    def _values(
        self, rows: Sequence[EpisodeRow], sound: Sequence[EpisodeRow]
    ) -> dict[str, list[tuple[str, float | None]]]:
        """(unit, value) of each metric that any of the rows has, over the sound ones."""
        by_scenario = self._unit == "scenario"
        named = {
            row.row: {one.name: one.value for one in self.scores.get(row.row, ()) if not one.is_criterion}
            for row in rows
        }
        return {
            name: [(row.scenario if by_scenario else str(row.row), named[row.row].get(name)) for row in sound]
            for name in dict.fromkeys(name for metrics in named.values() for name in metrics)
        }

    def attributions(self) -> list[Attribution]:
        """How episodes ended and by whose fault: one for each cast, the contestant last."""
        by_cast: dict[str, list[EpisodeRow]] = {}
        for row in self.episodes:
            by_cast.setdefault(row.cast_name, []).append(row)
        return [attribution_of(rows, self.scores) for rows in by_cast.values()]

    @property
    def cost(self) -> Cost:
        """What the models cost, with the default scoring pass; episodes that have not come to a stop are not in it."""
        return cost_of(self.episodes, self.prices)

    @property
    def simulator(self) -> Simulator | None:
        """What the model did that simulates the worlds; None without one."""
        if self.world_model is None:
            return None
        ended = [row for row in self.episodes if row.status == "ended"]
        spent, count = [_of_world(row) for row in ended], len(ended)
        return Simulator(
            self.world_model,
            sum(one.calls for one in spent) / count if count else None,
            sum(one.tokens for one in spent) / count if count else None,
            sum(one.unusable for one in spent),
        )

    @property
    def fingerprint(self) -> str | None:
        """SHA-256 over (id, fingerprint) of all episodes, sorted; None until all have ended."""
        pairs: list[Json] = [[row.id, row.fingerprint] for row in self.episodes]
        if any(row.status != "ended" for row in self.episodes):
            return None
        return digest(sorted(pairs, key=str))

    def reasons(self) -> dict[str, int]:
        """Why the contestant's episodes ended: reason -> count, most frequent first."""
        counts: dict[str, int] = {}
        last = self.episodes[-1].cast_name if self.episodes else ""
        for row in self.episodes:
            if row.cast_name == last:
                reason = row.reason or row.status
                counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def to_json(self) -> dict[str, Any]:
        """Everything above, for `--json`."""
        return {
            "run": str(self.folder),
            "title": self.title,
            "status": self.status,
            "fingerprint": self.fingerprint,
            "simulator": None if self.simulator is None else asdict(self.simulator),
            "cost": self.cost.to_json(),
            "table": [asdict(line) for line in self.lines()],
            "attribution": [one.to_json() for one in self.attributions()],
            "episodes": [
                {
                    **asdict(row),
                    "cost": cost_of([row], self.prices).value,
                    "scores": [asdict(score) for score in self.scores.get(row.row, ())],
                }
                for row in self.episodes
            ],
        }

    def __str__(self) -> str:
        return json.dumps(self.to_json()["table"], indent=2)


def _of_world(row: EpisodeRow) -> Asked:
    return asked(row.models).get(WORLD, Asked())


def _own_tokens(row: EpisodeRow) -> int:
    return row.prompt_tokens + row.completion_tokens - _of_world(row).tokens
