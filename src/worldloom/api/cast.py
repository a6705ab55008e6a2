"""Cast: who plays and on which models, by name, and as what a run's manifest says of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from worldloom.agents.agent import Agent, AgentConfig
from worldloom.core.canonical import Json, digest
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.project import ModelEntry
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario
from worldloom.models.spec import Limits, ModelSpec

SHORT_ANSWERS: Mapping[str, Json] = {"max_tokens": 64, "thought_characters": 60}
"""Options of the llm agent on the small embedded model, which would never finish or stop at once."""


@dataclass(frozen=True)  # no slots: `identity` is kept, since every episode of a run asks for it
class CastSpec:
    """One agent at the seat `agent`.

    Attributes:
        agent: name of its room.
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
        models = ",".join(spec.model for spec in self.models.values())
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
        """The cast that a manifest names.

        Raises:
            RecordError: the manifest is damaged.
        """
        try:
            models = {name: model_from_json(spec) for name, spec in value["models"].items()}
            return CastSpec(value["agent"], value["argument"], value["options"], models, value["reference"])
        except (KeyError, TypeError, AttributeError) as damage:
            raise RecordError(f"the cast in the manifest is damaged: {damage!r}") from damage

    @cached_property
    def identity(self) -> str:
        """Digest of everything that makes the cast play as it does; hosts and limits are no part of it."""
        shown = self.to_json()
        shown["models"] = {
            name: {"model": spec.model, "parameters": dict(spec.parameters)}
            for name, spec in self.models.items()
        }
        return digest(shown)

    def build(self, scenario: Scenario, registry: Registry) -> Agent:
        """The agent of one scenario.

        Raises:
            UsageError: there is no such agent, or it cannot play this scenario.
        """
        factory = registry.get("agent", self.agent).load()
        if not callable(factory):
            raise UsageError(f"the room of agent {self.agent!r} names a factory that cannot be called")
        return cast(Agent, factory(AgentConfig(scenario, self.argument, self.options)))


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
    return ModelSpec(value["model"], value["base_url"], value["parameters"], Limits(**value["limits"]))


def model_of(entry: ModelEntry | None, model: str | None, base_url: str | None) -> ModelSpec:
    """The model of a purpose: flags override the project file, and without either it is the embedded one.

    Raises:
        UsageError: the model's name is empty.
    """
    if model is not None and not model.strip():
        raise UsageError("the model's name is empty; allowed: a model string, e.g. hosted_vllm/NAME")
    if entry is None or (model is not None and model != entry.model):
        return ModelSpec("embedded" if model is None else model, base_url)
    limits = Limits(concurrency=entry.limits.concurrency)
    return ModelSpec(entry.model, base_url or entry.base_url, entry.parameters, limits)


def cast_of(agent: str, model: ModelSpec) -> CastSpec:
    """The contestant that `--agent NAME[:ARGUMENT]` and `--model` name; only `llm` talks to a model."""
    name, _, argument = agent.partition(":")
    if name != "llm":
        return CastSpec(name, argument)
    return CastSpec(name, argument, SHORT_ANSWERS if is_small(model) else {}, {"agent": model})


def is_small(model: ModelSpec) -> bool:
    """Whether a model is the one that comes along; any other GGUF file is taken to be able to stop."""
    return model.model in ("embedded", "embedded:smollm2")


def references(scenario: Scenario) -> list[CastSpec]:
    """Floor and ceiling: the reference agents for which the scenario has a path."""
    paths = scenario.paths.reveal()
    named = (("literal", paths.literal), ("careful", paths.careful))
    return [CastSpec(name, reference=True) for name, path in named if path]
