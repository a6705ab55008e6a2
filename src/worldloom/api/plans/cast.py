"""Cast: who plays and on which models, by name, and as what a run's manifest says of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from worldloom.agents.agent import Agent, AgentConfig
from worldloom.core.arguments import text
from worldloom.core.canonical import Json, digest
from worldloom.core.errors import UsageError, offer
from worldloom.core.project import ModelEntry
from worldloom.core.registry import RULES, Registry
from worldloom.core.scenario import Scenario, Seat
from worldloom.models.spec import EndpointLimits, ModelSpec
from worldloom.worlds.world import World

SEAT = "agent"
"""The seat of the one who plays alone, and the name under which `ctx.model` knows its model."""
OWN = "cast"
"""In place of an agent's name: those whom a scenario's `cast` names."""
WORLD = "world"
"""Name under which `ctx.model` knows the model that simulates the world."""
REPLAY = "replay"
"""The engine that plays a record back: in it, nobody can play but who was recorded."""
A_MODEL = "a model string, e.g. hosted_vllm/NAME"
"""What may name a model, for those who name something else."""
SHORT_ANSWERS: Mapping[str, Json] = {"max_tokens": 64, "thought_characters": 60}
"""Options of the llm agent on the small embedded model, which would never finish or stop at once."""


@dataclass(frozen=True)  # no slots: `identity` is kept, since every episode of a run asks for it
class CastSpec:
    """Who plays: one agent at the seat `agent`, or whoever a scenario itself names for its groups of seats.

    Attributes:
        agent: name of its room; `OWN` for the scenarios' own casts.
        argument: what followed the name after a colon.
        options: settings of the agent.
        models: name -> model, as `ctx.model` will know it; empty if it needs none.
        reference: it is no contestant but a floor or a ceiling, and is played once.
    """

    agent: str
    argument: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)
    models: Mapping[str, ModelSpec] = field(default_factory=dict)
    reference: bool = False

    @property
    def name(self) -> str:
        """As tables call it."""
        models = ",".join(dict.fromkeys(spec.model for spec in self.models.values()))
        if self.agent == OWN:
            return f"{OWN} ({models})" if models else OWN
        return models or (f"{self.agent}:{self.argument}" if self.argument else self.agent)

    def to_json(self) -> dict[str, Json]:
        return {
            "agent": self.agent,
            "argument": self.argument,
            "options": dict(self.options),
            "models": {name: model_to_json(spec) for name, spec in self.models.items()},
            "reference": self.reference,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "CastSpec":
        """The cast that a manifest names."""
        models = {name: model_from_json(spec) for name, spec in value["models"].items()}
        return CastSpec(value["agent"], value["argument"], value["options"], models, value["reference"])

    @cached_property
    def identity(self) -> str:
        """Digest of everything that makes the cast play as it does; hosts and limits are no part of it."""
        shown = self.to_json()
        shown["models"] = _parameters(self.models)
        if self.options:  # what the argument stands for; the name of a file says nothing of its content
            shown["argument"] = ""
        return digest(shown)

    def build(self, scenario: Scenario, registry: Registry) -> dict[str, Agent]:
        """The agents of one scenario, by seat or group of seats.

        Raises:
            UsageError: there is no such agent, or it cannot play this scenario.
        """
        if self.agent != OWN:
            config = AgentConfig(scenario, self.argument, self.options)
            return {SEAT: _built(self.agent, config, registry)}
        agents = {}
        for group, who in scenario.cast.items():
            name, _, argument = who.agent.partition(":")
            config = AgentConfig(scenario, argument, _options(name, argument, registry), who.model or SEAT)
            agents[group] = _built(name, config, registry)
        return agents


@dataclass(frozen=True)
class WorldSpec:
    """What simulates the world.

    Attributes:
        engine: `rules`, or another engine of the world's room.
        argument: what followed the name after a colon.
        options: what the argument stands for.
        models: name -> model, as `ctx.model` will know it; empty if it needs none.
    """

    engine: str = RULES
    argument: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)
    models: Mapping[str, ModelSpec] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        return {
            "engine": self.engine,
            "argument": self.argument,
            "options": dict(self.options),
            "models": {name: model_to_json(spec) for name, spec in self.models.items()},
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "WorldSpec":
        """The world that a manifest names."""
        models = {name: model_from_json(spec) for name, spec in value["models"].items()}
        return WorldSpec(value["engine"], value["argument"], value["options"], models)

    @cached_property
    def identity(self) -> dict[str, Json]:
        """What makes the world answer as it does, as part of an episode's id; nothing for the rules."""
        if self.engine == RULES:
            return {}
        models = _parameters(self.models)
        return {"world": {"engine": self.engine, "options": dict(self.options), "models": models}}

    def build(self, scenario: Scenario, registry: Registry) -> World[Any]:
        """The world of one scenario.

        Raises:
            UsageError: there is no such engine, or it cannot simulate this scenario.
        """
        room = registry.world_of(scenario.kind)
        if self.engine == RULES:
            return cast(World[Any], called(room.load())(scenario))
        return cast(World[Any], called(room.load_engine(self.engine))(scenario, self.options))


def _built(name: str, config: AgentConfig, registry: Registry) -> Agent:
    return cast(Agent, called(registry.get("agent", name).load())(config))


def _options(name: str, argument: str, registry: Registry) -> Mapping[str, Json]:
    """What an agent's argument stands for."""
    room = registry.get("agent", name)
    return cast(Mapping[str, Json], called(room.load("options"))(argument)) if room.options else {}


def called(factory: object) -> Callable[..., Any]:
    """A factory that a room names.

    Raises:
        UsageError: it cannot be called.
    """
    if not callable(factory):
        raise UsageError(f"a room names {factory!r}, which cannot be called")
    return factory


def _parameters(models: Mapping[str, ModelSpec]) -> dict[str, Json]:
    """What of models makes them answer as they do; hosts and limits are no part of it."""
    return {name: {"model": spec.model, "parameters": dict(spec.parameters)} for name, spec in models.items()}


def model_to_json(spec: ModelSpec) -> dict[str, Json]:
    """A model as a manifest names it; keys are no part of a spec."""
    return {
        "model": spec.model,
        "base_url": spec.base_url,
        "parameters": dict(spec.parameters),
        "limits": {"concurrency": spec.limits.concurrency, "timeout_s": spec.limits.timeout_s},
    }


def model_from_json(value: Mapping[str, Any]) -> ModelSpec:
    """The model that a manifest names."""
    return ModelSpec(
        value["model"], value["base_url"], value["parameters"], EndpointLimits(**value["limits"])
    )


def model_of(entry: ModelEntry | None, model: str | None, base_url: str | None) -> ModelSpec:
    """The model of a purpose: flags override the project file, and without either it is the embedded one.

    Raises:
        UsageError: the model's name is blank.
    """
    if model is not None:
        text("the model's name", model, A_MODEL)
    if entry is None or (model is not None and model != entry.model):
        return ModelSpec("embedded" if model is None else model, base_url)
    limits = EndpointLimits(entry.limits.concurrency, entry.limits.timeout_s)
    return ModelSpec(entry.model, base_url or entry.base_url, entry.parameters, limits)


def cast_of(agent: str, model: ModelSpec, registry: Registry) -> CastSpec:
    """The contestant that `--agent NAME[:ARGUMENT]` and `--model` name.

    Raises:
        UsageError: there is no such agent, or its argument cannot be used.
    """
    name, _, argument = agent.partition(":")
    if not registry.get("agent", name).asks_model:
        return CastSpec(name, argument, _options(name, argument, registry))
    short = SHORT_ANSWERS if name == "llm" and is_small(model) else {}
    return CastSpec(name, argument, short, {SEAT: model})


def contestant_of(
    scenarios: Sequence[Scenario],
    agent: str | None,
    model: str | None,
    base_url: str | None,
    entry: ModelEntry | None,
    registry: Registry,
) -> CastSpec:
    """Who plays scenarios: the agent that is named, else the one that their `cast` names, or all those it names.

    Args:
        model, base_url, entry: of the agents that ask a model, as in `model_of`; a `cast` may name others.

    Raises:
        UsageError: an agent is named for scenarios that seat their own, they differ in that, or as `cast_of`.
    """
    own = [one for one in scenarios if one.body.seats is None]
    if not own:
        seat = _seat_of(scenarios) if agent is None else Seat(agent=agent)
        _fits(seat.agent.partition(":")[0], scenarios, registry)
        player = model_of(entry, seat.model if model is None else model, base_url)
        return cast_of(seat.agent, player, registry)
    other = next((one for one in scenarios if one.body.seats is not None), None)
    if other is not None:
        raise UsageError(
            f"{own[0].file} names who plays in it, and {other.file} does not\n  allowed: one run for each"
        )
    if agent is not None:
        raise UsageError(
            f"agent is given, and {own[0].file} names who plays in `cast`; allowed: only a model"
        )
    return _own_cast(own, model_of(entry, model, base_url), registry)


def _fits(agent: str, scenarios: Iterable[Scenario], registry: Registry) -> None:
    """Raise `UsageError` if an agent cannot play the kind of one of the scenarios, or is not there."""
    registry.get("agent", agent)
    for one in scenarios:
        if agent not in registry.agents(one.kind):
            raise UsageError(
                f"the agent {agent!r} cannot play {one.file}, a scenario of kind {one.kind!r}"
                f"{offer(agent, registry.agents(one.kind))}"
            )


def _own_cast(scenarios: Iterable[Scenario], model: ModelSpec, registry: Registry) -> CastSpec:
    models: dict[str, ModelSpec] = {}
    for who in (who for one in scenarios for who in one.cast.values()):
        if registry.get("agent", who.agent.partition(":")[0]).asks_model:
            named = model if who.model in (None, model.model) else ModelSpec(who.model or "", model.base_url)
            models[who.model or SEAT] = named
    return CastSpec(OWN, models=models)


def _seat_of(scenarios: Iterable[Scenario]) -> Seat:
    """The agent that the `cast` of scenarios names for the seat `agent`; `llm` if none does.

    Raises:
        UsageError: they name different ones.
    """
    seats = {one.cast[SEAT]: one for one in scenarios if SEAT in one.cast}
    if len(seats) > 1:
        named = ", ".join(f"{seat.agent} in {one.file}" for seat, one in seats.items())
        raise UsageError(
            f"these scenarios name different agents in `cast`: {named}\n  allowed: --agent, for all"
        )
    return next(iter(seats), Seat(agent="llm"))


def world_of(engine: str, model: ModelSpec, kinds: Iterable[str], registry: Registry) -> WorldSpec:
    """The world that `--world NAME[:ARGUMENT]` and `--world-model` name; only `model` talks to a model.

    Raises:
        UsageError: a kind has no such engine, or the argument cannot be used.
    """
    name, _, argument = engine.partition(":")
    if name == RULES and argument:
        raise UsageError(
            f"the world `{RULES}` takes no argument, and was given {argument!r}; allowed: {RULES}"
        )
    options: Mapping[str, Json] = {}
    for kind in sorted(set(kinds)) if name != RULES else ():
        room = registry.world_of(kind)
        room.load_engine(name)
        if room.options:
            options = called(room.load("options"))(name, argument)
    return WorldSpec(name, argument, options, {WORLD: model} if name == "model" else {})


def is_small(model: ModelSpec) -> bool:
    """Whether a model is the one that comes along; any other GGUF file is taken to be able to stop."""
    return model.model in ("embedded", "embedded:smollm2")


def references(scenario: Scenario) -> list[CastSpec]:
    """Floor and ceiling: the reference agents for which the scenario has a path."""
    paths = scenario.paths.reveal()
    named = (("literal", paths.literal), ("careful", paths.careful))
    return [CastSpec(name, reference=True) for name, path in named if path]
