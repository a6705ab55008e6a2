"""Side: one of the runs of a comparison: its contestant's scores, and what else had a part in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.api.plans.cast import CastSpec, WorldSpec
from worldloom.api.plans.manifest import contestant_of, graph_of, limits_of
from worldloom.api.plans.plan import GraphSpec
from worldloom.api.results.passes import Scoring, scoring_of
from worldloom.api.results.result import RunResult
from worldloom.core.arguments import PathLike, path_of
from worldloom.core.errors import UsageError
from worldloom.runs.agreement import outcome_of
from worldloom.runs.comparison import Scored
from worldloom.runs.limits import Limits
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.statistics import Rate, rate
from worldloom.runs.store import DEFAULT_SCORING, RunStore


@dataclass(frozen=True, slots=True)
class Side:
    """One of the runs: its contestant, and what else made its scores.

    Attributes:
        name: `A` or `B`.
        scoring: the pass that the scores are of, and who judged in it.
        digests: scenario -> digest.
        episodes: of the contestant; floors and ceilings are no part of a comparison.
    """

    name: str
    folder: Path
    title: str
    status: str
    contestant: CastSpec
    world: WorldSpec
    scoring: Scoring
    graph: GraphSpec | None
    limits: Limits
    epochs: int
    digests: Mapping[str, str]
    episodes: Sequence[EpisodeRow]
    scores: Mapping[int, Sequence[Score]]

    @property
    def sound(self) -> list[EpisodeRow]:
        """Episodes that ended by no fault but the agent's."""
        return [row for row in self.episodes if row.counts]

    @property
    def metrics(self) -> dict[str, str]:
        """What is scored, by name, and how it is judged; criteria are left out."""
        scores = (score for row in self.episodes for score in self.scores.get(row.row, ()))
        return {score.name: score.how for score in scores if not score.is_criterion}

    @property
    def judged(self) -> bool:
        """Whether a judge was asked about anything."""
        return any(outcome_of(score) for row in self.episodes for score in self.scores.get(row.row, ()))

    @property
    def simulator(self) -> str:
        """What simulates the worlds, for people."""
        detail = ", ".join(spec.model for spec in self.world.models.values()) or self.world.argument
        return f"{self.world.engine} ({detail})" if detail else self.world.engine

    def unjudged(self, scenarios: Iterable[str]) -> int:
        """Criteria of sound episodes that could not be judged."""
        wanted = set(scenarios)
        return sum(
            score.is_criterion and score.value is None
            for row in self.sound
            if row.scenario in wanted
            for score in self.scores.get(row.row, ())
        )

    def values(self, metric: str, scenarios: Iterable[str]) -> list[Scored]:
        """Scores of the episodes of some scenarios; None where there is none that counts."""
        wanted = set(scenarios)
        found: list[Scored] = []
        for row in self.episodes:
            if row.scenario in wanted:
                scores = self.scores.get(row.row, ()) if row.counts else ()
                named = (score.value for score in scores if not score.is_criterion and score.name == metric)
                found.append((row.scenario, row.seed, next(named, None)))
        return found

    def failures(self, scenarios: Iterable[str]) -> list[Scored]:
        """1 for each ended episode that failed by no fault of the agent, 0 for the others."""
        wanted = set(scenarios)
        return [
            (row.scenario, row.seed, float(not row.counts))
            for row in self.episodes
            if row.scenario in wanted and row.status == "ended"
        ]

    def failure_rate(self, scenarios: Iterable[str]) -> Rate:
        """The share of ended episodes that failed by no fault of the agent."""
        return rate((scenario, int(failed or 0), 1) for scenario, _, failed in self.failures(scenarios))

    def to_json(self) -> dict[str, Any]:
        failed = sum(row.status == "ended" for row in self.episodes) - len(self.sound)
        return {
            "run": str(self.folder),
            "title": self.title,
            "status": self.status,
            "contestant": self.contestant.name,
            "scoring": self.scoring.name,
            "world": self.simulator,
            "scenarios": len(self.digests),
            "epochs": self.epochs,
            "episodes": len(self.episodes),
            "failed": failed,
        }


def side_of(name: str, run: RunResult | PathLike, *, scoring: str | None = None, forks: bool = False) -> Side:
    """A run as a side of a comparison.

    Args:
        scoring: the pass whose scores are taken; None for that of a result, and `default` for a folder.
        forks: whether a fork will do: it is one episode with the past of another.

    Raises:
        UsageError: there is no such run or pass, or it is a fork.
        RecordError: its record cannot be read.
    """
    given, folder = (run, run.folder) if isinstance(run, RunResult) else (None, path_of(run))
    with RunStore(folder) as store:
        one = scoring_of(store, scoring or (given.scoring if given else DEFAULT_SCORING))
        found = given if given and given.scoring == one.name else RunResult.of(store, one.name)
        digests = store.read_manifest("scenarios", lambda all: {each["id"]: each["digest"] for each in all})
        if not forks and store.manifest("fork", object) is not None:
            raise UsageError(
                f"{found.folder} is a fork: one episode with the past of another cannot be compared"
            )
        epochs = store.manifest("epochs", int)
        # The plan has the contestant's episodes last; a name would not tell it from a floor that is called the same.
        count = epochs * len(digests)
        return Side(
            name,
            found.folder,
            found.title,
            store.status(),
            contestant_of(store),
            store.read_manifest("world", WorldSpec.from_json),
            one,
            graph_of(store),
            limits_of(store),
            epochs,
            digests,
            found.episodes[-count:] if count else (),
            found.scores,
        )
