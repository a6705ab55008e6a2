"""The random agent: a seeded baseline. It stops with probability 1/8 a turn, so it takes 8 turns on average."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.agents.agent import AgentConfig, Decision
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.view import View
from worldloom.runs.context import Context

_STOP = 1 / 8
_WORDS = ("", "a", "on", "off", "main", "default")


@dataclass(frozen=True, slots=True)
class RandomAgent:
    """Draws from the actions in view; draws depend on the seed and the place in the episode only."""

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        rng = ctx.rng("random-agent")
        if not view.actions or rng.random() < _STOP:
            return Decision(None)
        spec = view.actions[int(rng.integers(len(view.actions)))]
        arguments = _value(spec.parameters, rng)
        return Decision(Action(spec.name, arguments))


def _value(schema: Any, rng: np.random.Generator) -> Any:
    """A random value that fits a JSON Schema as far as type, enum, bounds and required keys go."""
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", ())
        return {
            name: _value(inner, rng)
            for name, inner in schema.get("properties", {}).items()
            if name in required or rng.random() < 0.5
        }
    if kind == "array":
        return [_value(schema.get("items", {}), rng) for _ in range(int(rng.integers(3)))]
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind in ("integer", "number"):
        low, high = float(schema.get("minimum", 0)), float(schema.get("maximum", 100))
        drawn = low + (high - low) * float(rng.random())
        return round(drawn) if kind == "integer" else drawn
    return _WORDS[int(rng.integers(len(_WORDS)))]


def build(config: AgentConfig) -> RandomAgent:
    """The random agent; it takes no settings."""
    return RandomAgent()
