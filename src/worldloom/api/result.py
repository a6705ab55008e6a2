"""RunResult: a run that was played, as Python and the command line hand it out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldloom.api.cast import WORLD, WorldSpec
from worldloom.core.canonical import Json, digest
from worldloom.runs.statistics import Estimate, estimate
from worldloom.runs.store import EpisodeRow, RunStore, Score


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a run's table: one cast, over all scenarios or one category.

    Attributes:
        metrics: name -> estimate over the episodes whose end was not someone else's fault.
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


@dataclass(frozen=True, slots=True)
class Simulator:
    """The model that simulated the worlds of a run.

    Attributes:
        calls, tokens: means over all episodes that have ended, floors and ceilings included; tokens are those of
            prompt and answer together. None if none has ended.
        sent_back: replies that were refused, at least: calls beyond one for each step, in the episodes that ended by
            no fault but the agent's. Steps in which it was not asked hide some.
    """

    model: str
    calls: float | None
    tokens: float | None
    sent_back: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of a run.

    Attributes:
        folder: where its record is.
        status: `completed`, `cancelled`, `failed`, `running` or `planned`.
        episodes: the projection of every episode.
        scores: episode row -> scores.
        world_model: the model that simulates the worlds; None without one, and where no agent plays in them.
    """

    folder: Path
    title: str
    status: str
    episodes: Sequence[EpisodeRow]
    scores: Mapping[int, Sequence[Score]]
    world_model: str | None = None

    @staticmethod
    def of(store: RunStore) -> "RunResult":
        """Read a run from its store."""
        title, status = store.manifest("title", str), str(store.value("status"))
        models = store.read_manifest("world", WorldSpec.from_json).models
        plays = WORLD in models and store.manifest("graph", object) is None
        name = models[WORLD].model if plays else None
        return RunResult(store.folder, title, status, store.episodes(), store.scores(), name)

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
        sound = [row for row in ended if _is_sound(row)]
        names = dict.fromkeys(
            score.name for row in rows for score in self.scores.get(row.row, ()) if score.unit != "criterion"
        )
        metrics = {name: estimate(self._values(name, sound)) for name in names}
        count = len(ended)
        return Line(
            cast_name,
            category,
            len(rows),
            count - len(sound),
            sum(
                score.unit == "criterion" and score.value is None
                for row in sound
                for score in self.scores.get(row.row, ())
            ),
            metrics,
            sum(row.steps for row in ended) / count if count else None,
            sum(_own_tokens(row) for row in ended) / count if count else None,
        )

    def _values(self, name: str, rows: Sequence[EpisodeRow]) -> list[tuple[str, float | None]]:
        found = []
        for row in rows:
            metrics = [score for score in self.scores.get(row.row, ()) if score.unit != "criterion"]
            value = next((score.value for score in metrics if score.name == name), None)
            found.append((row.scenario, value))
        return found

    @property
    def simulator(self) -> Simulator | None:
        """What the model did that simulates the worlds; None without one."""
        if self.world_model is None:
            return None
        ended = [row for row in self.episodes if row.status == "ended"]
        spent, count = [_world_calls_and_tokens(row) for row in ended], len(ended)
        beyond = [calls - row.steps for row, (calls, _) in zip(ended, spent, strict=True) if _is_sound(row)]
        return Simulator(
            self.world_model,
            sum(calls for calls, _ in spent) / count if count else None,
            sum(tokens for _, tokens in spent) / count if count else None,
            sum(max(0, more) for more in beyond),
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
            "table": [asdict(line) for line in self.lines()],
            "episodes": [
                {**asdict(row), "scores": [asdict(score) for score in self.scores.get(row.row, ())]}
                for row in self.episodes
            ],
        }

    def __str__(self) -> str:
        return json.dumps(self.to_json()["table"], indent=2)


def _is_sound(row: EpisodeRow) -> bool:
    """Whether an episode that has ended did so by no fault but the agent's."""
    return row.fault in ("none", "agent")


def _world_calls_and_tokens(row: EpisodeRow) -> tuple[int, int]:
    calls, prompt, completion = json.loads(row.models).get(WORLD, (0, 0, 0))
    return int(calls), int(prompt) + int(completion)


def _own_tokens(row: EpisodeRow) -> int:
    return row.prompt_tokens + row.completion_tokens - _world_calls_and_tokens(row)[1]
