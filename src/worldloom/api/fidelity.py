"""Fidelity: how faithfully a language model simulates worlds whose rules are known, as an ordinary recorded run.

The graph room `fidelity` plays trajectories by the rules and puts each of their calls to the model; here is which
trajectories a run has, and how the counts of its episodes become rates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worldloom import api
from worldloom.api.plans.cast import CastSpec, called
from worldloom.api.plans.manifest import graph_of
from worldloom.api.plans.plan import GraphSpec, Plan
from worldloom.api.plans.request import refuse_many
from worldloom.api.results.result import RunResult
from worldloom.core.arguments import PathLike, whole
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.core.project import Project
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.statistics import Rate, rate
from worldloom.runs.store import RunStore

GRAPH = "fidelity"
"""Name of the graph's room."""
PUBLISHED: Mapping[str, float] = {"self_exact": 0.933, "self_type": 0.986}
"""The best simulator of arXiv 2602.20424, on other scenarios than ours."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How a simulator did on some trajectories.

    Attributes:
        name: of the trajectories.
        measures: name -> rate, as the room's scorer names them.
    """

    name: str
    measures: Mapping[str, Rate]

    def to_json(self) -> dict[str, Any]:
        return {
            "trajectories": self.name,
            "measures": {name: asdict(one) for name, one in self.measures.items()},
        }


@dataclass(frozen=True, slots=True)
class FidelityReport:
    """What a fidelity run found.

    Attributes:
        simulator: the model.
        repeats: how often each call was put to it.
        all: over all trajectories.
        parts: the same, by who chose the actions.
        failed: episodes that ended by a fault which is not the simulator's; they are left out.
    """

    simulator: str
    repeats: int
    all: Fidelity
    parts: Sequence[Fidelity]
    failed: int

    def to_json(self) -> dict[str, Any]:
        return {
            "simulator": self.simulator,
            "repeats": self.repeats,
            "all": self.all.to_json()["measures"],
            "by_trajectory": [part.to_json() for part in self.parts],
            "failed": self.failed,
            "published_best_on_other_scenarios": dict(PUBLISHED),
        }


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Who chooses the actions, beside the scenarios' own paths.

    Attributes:
        random: seeds of the random agent, on each scenario.
        record: a record in the published format, whose actions are taken.
        max_steps: limit on the actions of each; None as in `api.run`.
    """

    random: int = 2
    record: Path | None = None
    max_steps: int | None = None


def plan(
    paths: PathLike | Sequence[PathLike] = (),
    *,
    suite: str | None = None,
    world_model: str | None = None,
    world_base_url: str | None = None,
    trajectories: Trajectories = Trajectories(),
    repeats: int = 3,
    project: Project | None = None,
    registry: Registry | None = None,
) -> Plan:
    """The plan of a fidelity run, for `worldloom.api.playing.start`.

    Args:
        paths, suite: as in `api.run`; the scenarios need rules.
        world_model: the simulator; without one, that of `worldloom.yaml`, else `embedded`.
        repeats: how often each call is put to it.

    Raises:
        UsageError: something given cannot be used, or the record has no episode of these scenarios.
    """
    registry = registry or Registry.discover(project)
    base = api.plan(
        paths, suite=suite, agent="random", max_steps=trajectories.max_steps, world="model",
        world_model=world_model, world_base_url=world_base_url, project=project, registry=registry,
    )  # fmt: skip
    also = {} if trajectories.record is None else _recorded(trajectories.record, base.scenarios, registry)
    graph = GraphSpec(GRAPH, {"repeats": whole("repeats", repeats, 1)})
    epochs = whole("random", trajectories.random, 0)
    refuse_many("random", epochs, base.scenarios)
    return replace(base, epochs=epochs, graph=graph, also=also, judge=None)


def _recorded(file: Path, scenarios: Sequence[Scenario], registry: Registry) -> dict[str, CastSpec]:
    """Scenario id -> who plays the actions that a record holds for it."""
    options = called(registry.world_of(scenarios[0].kind).load("options"))("replay", str(file))
    episodes: Mapping[str, list[Mapping[str, Json]]] = options["episodes"]
    found = {one.id: episodes[one.id] for one in scenarios if one.id in episodes}
    if not found:
        raise UsageError(
            f"{file}: the record has no episode of these scenarios\n"
            f"  found: {', '.join(episodes) or 'none'}\n  allowed: {', '.join(one.id for one in scenarios)}"
        )
    return {
        name: CastSpec("scripted", file.name, {"actions": _script(steps)}) for name, steps in found.items()
    }


def _script(steps: Sequence[Mapping[str, Json]]) -> list[Json]:
    return [{str(step["action"]): step["arguments"]} for step in steps]


def report(result: RunResult) -> FidelityReport | None:
    """What a run found; None if it is no fidelity run."""
    with RunStore(result.folder) as store:
        graph, simulator = graph_of(store), _simulator(store)
    if graph is None or graph.name != GRAPH:
        return None
    ended = [row for row in result.episodes if row.status == "ended"]
    sound = [row for row in ended if row.counts]
    casts = dict.fromkeys(row.cast_name for row in result.episodes)
    parts = [
        Fidelity(name, _measures(result, [row for row in sound if row.cast_name == name])) for name in casts
    ]
    repeats = graph.options.get("repeats")
    assert isinstance(repeats, int), "the graph was built with it"
    everything = Fidelity("all", _measures(result, sound))
    return FidelityReport(simulator, repeats, everything, parts, len(ended) - len(sound))


def _simulator(store: RunStore) -> str:
    return str(store.manifest("model_ids", dict).get("world", ""))


def _measures(result: RunResult, rows: Sequence[EpisodeRow]) -> dict[str, Rate]:
    """name -> rate over episodes; their shares are turned back into the counts that they are of."""
    counts: dict[str, list[tuple[str, int, int]]] = {}
    for row in rows:
        for score in result.scores.get(row.row, ()):
            hits = round((score.value or 0.0) * score.n)
            counts.setdefault(score.name, []).append((row.scenario, hits, score.n))
    return {name: rate(found) for name, found in counts.items()}
