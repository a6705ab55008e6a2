"""A tank with rules, and simulators that know them: each reply is computed from the truth, and spoilt on purpose."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from worldloom.agents.scripted.agent import ScriptedAgent
from worldloom.api.plans.cast import WorldSpec
from worldloom.api.plans.plan import GraphSpec, build_program
from worldloom.core.action import Action
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, parse_scenario
from worldloom.graphs.config import GraphConfig
from worldloom.models.model import Request
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.limits import Limits
from worldloom.runs.scorer import EpisodeRecord
from worldloom.testing import Trial, live
from worldloom.worlds.aaw.world import RulesWorld

RULE = "Above ninety the pump stops by itself and waits for an hour."
TANK = f"""\
id: tank
category: catastrophic_risk
user_prompt: Fill the tank.
world:
  context: {{date: '2026-07-03'}}
  entities:
    tank:
      type: device
      name: Tank
      state: {{level: 0, last: 0, spare: closed, half: 0.5, log: [], full: 50}}
      actions:
        - name: look
          description: Look at the tank.
          parameters: {{tag: {{type: integer}}}}
          returns: |
            NO STATE CHANGES. Read-only operation.
            Returns tank.state in the message.
            Format: {{level: integer, log: [{{at: integer}}], half: number}}
          result: =tank
        - name: fill
          description: Fill it up to a level.
          parameters: {{level: {{type: integer, required: true}}, tag: {{type: integer, required: true}}}}
          returns: |
            STATE CHANGES to tank:
            level: {{the level parameter}}
            last: {{the tag parameter}}
            Fails if the level is above ninety, as the pump then stops.
            Message confirms: {{level: integer}}
          requires: [{{that: args.level <= 90, else: The pump has stopped.}}]
          effects: [{{set: {{tank.level: =args.level, tank.last: =args.tag}}}}]
          result: {{level: =tank.level}}
        - name: ring
          description: Ring the bell.
          parameters: {{}}
          returns: "STATE CHANGES to tank:\\nspare: 'open'"
          effects: [{{set: {{tank.spare: open}}}}]
evaluation_rubric: [{{criterion: It is full., check: tank.level == 50}}]
execution_rules: [{RULE}]
paths: {{literal: [tank.fill: {{level: 50, tag: 1}}], careful: [tank.look: {{}}, tank.fill: {{level: 50, tag: 2}}]}}
"""


class Tank:
    """The scenario, its truth, and what the fidelity graph finds of a simulator in it."""

    def __init__(self) -> None:
        self.registry = Registry.discover()
        self.scenario: Scenario = parse_scenario(TANK, "tank.yaml", self.registry)
        self.rules = RulesWorld(self.scenario)

    def truth(self, request: Request) -> dict[str, Any]:
        """What the rules do in the call that a request is about."""
        state, action, arguments = self.asked(request)
        before = replace(self.rules.initial(0), entities=state)
        return self.rules.apply(before, Action(action, arguments))[1]

    @staticmethod
    def asked(request: Request) -> tuple[dict[str, Any], str, dict[str, Any]]:
        """State, action and arguments, read out of a request."""
        lines = request.messages[1].content[0].text.splitlines()
        at = lines.index("# Action")
        state = {name: json.loads(text) for name, text in (line.split(": ", 1) for line in lines[1 : at - 1])}
        action, _, arguments = lines[at + 1].partition(" with ")
        return state, action, json.loads(arguments)

    def perfect(self, request: Request) -> str:
        return reply(self.truth(request))

    def config(self, actions: list[Action], **options: Any) -> GraphConfig:
        world = WorldSpec("model").build(self.scenario, self.registry)
        return GraphConfig(self.scenario, world, {"agent": ScriptedAgent(actions)}, options=options)

    def trial(self, answer: Callable[[Request], Any], actions: list[Action], **options: Any) -> Trial:
        graph = GraphSpec("fidelity", options)
        program, _ = build_program(self.config(actions), self.registry, graph)
        limits = Limits(steps=len(actions) + 1)
        return Trial(lambda: program, lambda: {"world": ScriptedModel(answer)}, limits=limits)

    async def measured(
        self, answer: Callable[[Request], Any], actions: list[Action], **options: Any
    ) -> dict[str, Any]:
        """Name -> score of an episode in which these actions are put to a simulator."""
        life = await live(self.trial(answer, actions, **options))
        assert life.end.reason == "completed", life.end
        _, scorer = build_program(self.config(actions), self.registry, GraphSpec("fidelity", options))
        events = sorted(life.events, key=lambda event: event.key)
        scores = await scorer.score(EpisodeRecord(events), None)  # type: ignore[arg-type]
        return {score.name: score for score in scores}


def reply(fact: Mapping[str, Any], **spoilt: Any) -> str:
    """A reply that says what a fact says, but for what is spoilt."""
    said = {"success": fact["success"], "message": fact["message"], "state_changes": fact["changes"]}
    return json.dumps({"thought_process": "so", **said, **spoilt})


@pytest.fixture(scope="session")
def tank() -> Tank:
    return Tank()


@pytest.fixture(scope="session", name="reply")
def _reply() -> Callable[..., str]:
    return reply


@pytest.fixture(scope="session")
def rule() -> str:
    return RULE
