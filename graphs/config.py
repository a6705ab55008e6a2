"""What a graph is built from: a scenario, its world, and the agents at its seats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worldloom.agents.agent import Agent
from worldloom.core.canonical import Json
from worldloom.core.scenario import Scenario
from worldloom.worlds.world import World


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """Attributes:
    scenario: what is played.
    world: where; built from the scenario.
    agents: seat -> who.
    judge: name of the model that judges what cannot be checked; None if there is none.
    options: settings of the graph, if the run names one with any.
    """

    scenario: Scenario
    world: World[Any]
    agents: Mapping[str, Agent]
    judge: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict)
