"""Plan: which episodes a run has, as a manifest that can be stored, and how each of them is built.

The same manifest gives the same plan, so `resume` and `replay` start from what the record holds and from nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from worldloom.api.plans.cast import REPLAY, CastSpec, WorldSpec, called, model_to_json, references
from worldloom.core.canonical import Json, digest
from worldloom.core.content import Blob
from worldloom.core.errors import DocumentError, Problem, UsageError
from worldloom.core.registry import Registry, Room
from worldloom.core.scenario import Scenario
from worldloom.core.secrets import secrets_of
from worldloom.core.study import StudySpec
from worldloom.graphs.config import GraphConfig
from worldloom.models.spec import ModelSpec
from worldloom.runs.cost import Prices
from worldloom.runs.executor import Planned
from worldloom.runs.limits import Limits
from worldloom.runs.program import EpisodeProgram
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.scorer import Chosen, Scorer

JUDGE = "judge"
"""Name under which `ctx.model` knows the judge."""


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A graph that a run plays in place of the scenarios' own.

    Attributes:
        name: of its room.
        options: its settings.
    """

    name: str
    options: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "options": dict(self.options)}


@dataclass(frozen=True, slots=True)
class ForkSpec:
    """Which episode of which run a run of a single episode goes back to.

    Attributes:
        run: name of the parent's folder.
        episode: its number there.
        at: key, in its readable form, from which on it is played live.
        answer: digest of the answer that was put in at `at`; None if none was.
        scenario, cast_name, seed, epoch: what the episode plays.
    """

    run: str
    episode: int
    at: str
    answer: str | None
    scenario: str
    cast_name: str
    seed: int
    epoch: int

    def plays(self, row: EpisodeRow) -> bool:
        """Whether a planned row is that of the episode."""
        names = ("scenario", "cast_name", "seed", "epoch")
        return all(getattr(row, name) == getattr(self, name) for name in names)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will play.

    Attributes:
        scenarios: in the order in which they were given.
        contestant: who is evaluated; references are added where a scenario has their paths.
        epochs: how often the contestant plays each scenario.
        seed: seed of the first epoch; epoch e has seed + e.
        limits: of each episode; a scenario's own `limits` are stricter where both say something.
        title: what is run, for people.
        world: what simulates the worlds.
        judge: who judges criteria that cannot be checked; None leaves them unscored.
        graph: what plays in place of the scenarios' own graph; None for that.
        also: scenario id -> who plays it once beside contestant and references.
        fork: the one episode that is played, with the past of another; None for all.
        prices: of `models`, as they were when the run was planned.
        study: whose variants the scenarios are; None for other runs.
    """

    scenarios: tuple[Scenario, ...]
    contestant: CastSpec
    epochs: int
    seed: int
    limits: Limits
    title: str
    world: WorldSpec = WorldSpec()
    judge: ModelSpec | None = None
    graph: GraphSpec | None = None
    also: Mapping[str, CastSpec] = field(default_factory=dict)
    fork: ForkSpec | None = None
    prices: Prices = Prices()
    study: StudySpec | None = None

    @property
    def models(self) -> dict[str, ModelSpec]:
        """name -> model of all that the run asks, as `ctx.model` knows them."""
        judge = {} if self.judge is None else {JUDGE: self.judge}
        return {**self.contestant.models, **self.world.models, **judge}

    def manifest(self) -> dict[str, Any]:
        """Everything the run can be built from again, but the text of the scenarios, which are blobs."""
        return {
            "title": self.title,
            "scenarios": [
                {"id": one.id, "digest": one.digest, "file": one.file, "text": text_of(one).ref}
                for one in self.scenarios
            ],
            "contestant": self.contestant.to_json(),
            "epochs": self.epochs,
            "seed": self.seed,
            "limits": asdict(self.limits),
            "world": self.world.to_json(),
            "judge": None if self.judge is None else model_to_json(self.judge),
            "graph": None if self.graph is None else self.graph.to_json(),
            "also": {scenario: who.to_json() for scenario, who in self.also.items()},
            "fork": None if self.fork is None else asdict(self.fork),
            "prices": self.prices.to_json(),
            "study": None if self.study is None else self.study.to_json(),
        }

    def room_of(self, scenario: Scenario, registry: Registry) -> Room:
        """The graph that plays a scenario.

        Raises:
            UsageError: there is no such graph, or it plays another kind.
        """
        return _room_of(scenario, self.graph, registry)

    def entries(self) -> Iterator[tuple[EpisodeRow, Scenario, CastSpec]]:
        """All episodes: the references first, which take no time, then epoch by epoch."""
        if self.fork is None:
            yield from self._entries()
            return
        for row, scenario, who in self._entries():
            if self.fork.plays(row):
                yield replace(row, row=0), scenario, who

    def _entries(self) -> Iterator[tuple[EpisodeRow, Scenario, CastSpec]]:
        row = 0
        for scenario in self.scenarios:
            once = [
                one
                for one in references(scenario)
                if one.agent != self.contestant.agent and self.world.engine != REPLAY
            ]
            if scenario.id in self.also:
                once.append(self.also[scenario.id])
            for who in once:
                yield self._row(row, scenario, who, 0), scenario, who
                row += 1
        for epoch in range(self.epochs):
            for scenario in self.scenarios:
                yield self._row(row, scenario, self.contestant, epoch), scenario, self.contestant
                row += 1

    def _row(self, row: int, scenario: Scenario, who: CastSpec, epoch: int) -> EpisodeRow:
        seed = self.seed + epoch
        parts: dict[str, Json] = {
            "scenario": scenario.digest,
            "cast": who.identity,
            "seed": seed,
            "epoch": epoch,
        }
        graph: dict[str, Json] = {} if self.graph is None else {"graph": self.graph.to_json()}
        fork: dict[str, Json] = {} if self.fork is None else {"fork": asdict(self.fork)}
        identity = digest({**parts, **self.world.identity, **graph, **fork})
        return EpisodeRow(row, identity, scenario.id, scenario.category or "", who.name, seed, epoch)


def text_of(scenario: Scenario) -> Blob:
    """A scenario's text as the blob that a record keeps."""
    return Blob(scenario.source_text.reveal().encode("utf-8"), "application/yaml")


def refuse_secrets(scenarios: Sequence[Scenario]) -> None:
    """Raise `DocumentError` if a scenario holds the value of a secret of the environment: it would be recorded."""
    problems = []
    for name, secret in secrets_of().items():
        for one in scenarios:
            before, found, _ = one.source_text.reveal().partition(secret)
            if found or secret in str(one.document.value):
                line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
                what = f"the value of the environment variable {name}, which is taken for a secret"
                allowed = "no secrets; unset the variable for the run if it is none"
                problems.append(
                    Problem(one.file, line if found else 0, column if found else 0, what, allowed)
                )
    if problems:
        raise DocumentError(problems)


def form_of(plan: Plan, registry: Registry) -> str:
    """Digest of the texts with which the graphs of a plan ask a judge."""
    rooms = {room.name: room for room in (plan.room_of(one, registry) for one in plan.scenarios)}
    asking = {name: getattr(room.load("scorer"), "judge_form", None) for name, room in rooms.items()}
    return digest({name: form() for name, form in asking.items() if form is not None})


_IDENTITY = ("id", "scenario", "category", "cast_name", "seed", "epoch")


class Builder:
    """Builds what an episode needs; graphs are compiled once for each scenario and cast."""

    def __init__(self, plan: Plan, registry: Registry) -> None:
        self._plan = plan
        self._registry = registry
        self._built: dict[tuple[str, str], tuple[EpisodeProgram, Scorer]] = {}

    def planned(self, rows: Sequence[EpisodeRow]) -> Iterator[Planned]:
        """The episodes of `rows`, in their order.

        Raises:
            UsageError: a row is not what the plan says now: scenario, cast, seed or epoch have another digest.
        """
        wanted = {row.row: row for row in rows}
        for fresh, scenario, who in self._plan.entries():
            row = wanted.get(fresh.row)
            if row is None:
                continue
            if any(getattr(row, name) != getattr(fresh, name) for name in _IDENTITY):
                raise UsageError(
                    f"episode {row.row} ({row.scenario}, {row.cast_name}) was planned with other digests than now"
                )
            program, scorer = self._build(scenario, who)
            # A floor and a ceiling that the run's limits cut short would be neither; in another graph they are neither.
            whole = who.reference and self._plan.graph is None
            limits = Limits() if whole else limits_for(scenario, self._plan.limits)
            judge, prices = judge_identity(self._plan.judge), self._plan.prices
            yield Planned(row, program, scorer, limits, judge, prices)

    def _build(self, scenario: Scenario, who: CastSpec) -> tuple[EpisodeProgram, Scorer]:
        place = (scenario.digest, who.identity)
        if place not in self._built:
            judge, graph = None if self._plan.judge is None else JUDGE, self._plan.graph
            config = config_of(scenario, who, self._registry, self._plan.world, judge)
            self._built[place] = build_program(config, self._registry, graph)
        return self._built[place]


def config_of(
    scenario: Scenario,
    who: CastSpec,
    registry: Registry,
    world: WorldSpec = WorldSpec(),
    judge: str | None = None,
) -> GraphConfig:
    """A scenario, its world and its agent, ready for a graph.

    Raises:
        UsageError: the world or the agent cannot be built from this scenario.
    """
    return GraphConfig(scenario, world.build(scenario, registry), who.build(scenario, registry), judge)


def build_program(
    config: GraphConfig, registry: Registry, graph: GraphSpec | None = None
) -> tuple[EpisodeProgram, Scorer]:
    """Program and scorer of a scenario with its world and its agent.

    Args:
        graph: what plays in place of the scenario's own graph; a scenario's `metrics` are not those of its scorer.

    Raises:
        UsageError: there is no such graph, it plays another kind, or it cannot be built.
    """
    from worldloom.graphs.program import GraphProgram  # noqa: PLC0415  # brings langgraph: 0.9 s

    scenario = config.scenario
    room = _room_of(scenario, graph, registry)
    if graph is not None:
        config = replace(config, options=graph.options)
    program = GraphProgram(room.name, called(room.load())(config))
    scorer = cast(Scorer, called(room.load("scorer"))(config))
    own = graph is not None or scenario.metrics is None
    return program, scorer if own else Chosen(scorer, scenario.metrics or ())


def _room_of(scenario: Scenario, graph: GraphSpec | None, registry: Registry) -> Room:
    if graph is None:
        return registry.get("graph", scenario.graph) if scenario.graph else registry.graph_of(scenario.kind)
    room = registry.get("graph", graph.name)
    if room.kind != scenario.kind:
        raise UsageError(
            f"{scenario.file}: a scenario of kind {scenario.kind!r}, which the graph {graph.name!r} cannot play"
            f"\n  allowed: kind {room.kind}"
        )
    return room


def judge_identity(judge: ModelSpec | None) -> str:
    """Digest of what makes a judge judge as it does, but for its texts; empty if there is none."""
    if judge is None:
        return ""
    return digest({"model": judge.model, "parameters": dict(judge.parameters)})


def limits_for(scenario: Scenario, run: Limits) -> Limits:
    """The stricter of the run's limits and the scenario's own."""
    own = scenario.limits
    return Limits(
        steps=min(run.steps, own.steps or run.steps),
        model_calls=_stricter(run.model_calls, own.model_calls),
        tokens=_stricter(run.tokens, own.tokens),
        wall_s=_stricter(run.wall_s, own.wall_s),
        repeats=run.repeats,
        cost=run.cost,
    )


def _stricter(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else min(one, other)
