"""An agent that changes whatever it gets hold of changes nothing that it, or anybody else, sees later."""

import asyncio
import copy
import dataclasses
import json
from typing import Any

import pytest

from worldloom.agents.agent import Decision
from worldloom.api.plans.cast import CastSpec
from worldloom.api.plans.plan import config_of
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, parse_scenario
from worldloom.core.view import View
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.program import GraphProgram
from worldloom.runs.context import Context
from worldloom.runs.limits import Limits
from worldloom.testing import Trial, live

BOX = """
id: box
category: accessibility
user_prompt: Fill the box.
world:
  context: {date: '2026-03-01', people: [{name: Ada, likes: [tea]}]}
  entities:
    box:
      type: device
      name: Box
      state: {things: [], open: true}
      actions:
        - name: fill
          description: Put things in.
          parameters:
            things: {type: array, items: {type: string, enum: [cup, pot]}, required: true}
          requires: [{that: "never('box.fill', {'things': ['pot']})", else: The pot is in.}]
          effects: [{set: {box.things: =args.things}}]
          result: =box
evaluation_rubric: [{criterion: It is full., check: size(box.things) > 0}]
"""


def vandalise(value: Any) -> None:
    """Change a value, and all that can be reached from it, in every way there is."""
    for name in value.__slots__ if dataclasses.is_dataclass(value) else ():
        vandalise(getattr(value, name))
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    ):
        vandalise(part)
    for name, arguments in (("update", ({"x": "x"},)), ("append", ("x",)), ("clear", ())):
        try:
            getattr(value, name, lambda *_: None)(*arguments)
        except TypeError:
            continue


class Vandal:
    """Fills the box twice, and changes what it was shown and what it had said before."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.said: list[Action] = []

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        self.seen.append(json.dumps(dataclasses.asdict(view)))
        vandalise(view)
        for action in self.said:
            vandalise(action.arguments)
        if len(self.seen) % 3 == 0:
            return Decision(None)
        self.said.append(Action("box.fill", {"things": ["pot"]}))
        return Decision(self.said[-1])


def play(config: GraphConfig, registry: Registry) -> None:
    graph = registry.graph_of("aaw").load()(config)  # type: ignore[operator]
    trial = Trial(lambda: GraphProgram("aaw", graph), lambda: {}, limits=Limits(steps=50))
    assert asyncio.run(live(trial)).end.reason == "completed"


@pytest.fixture
def box() -> Scenario:
    return parse_scenario(BOX, "box.yaml", Registry.discover())


def test_what_an_agent_does_to_its_view_and_to_its_actions_changes_no_episode(box: Scenario) -> None:
    registry, vandal = Registry.discover(), Vandal()
    config = dataclasses.replace(config_of(box, CastSpec("random"), registry), agents={"agent": vandal})
    play(config, registry)
    first = copy.copy(vandal.seen)
    vandalise(box.body.context)  # type: ignore[attr-defined]  # as its factory was handed it
    play(config, registry)
    assert vandal.seen == [*first, *first] and len(first) == 3
    assert "The pot is in." in first[2]
