"""Nothing that is hidden reaches what an agent is shown: over the whole library, and with canaries."""

import ast
import asyncio
import json
import re
from pathlib import Path

import pytest

from worldloom.api import load_suite
from worldloom.api.plans.cast import CastSpec
from worldloom.api.plans.plan import config_of
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, parse_scenario
from worldloom.graphs.program import GraphProgram
from worldloom.models.model import Request
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.limits import Limits
from worldloom.testing import Trial, live

CANARY = """
id: canary
category: privacy_security
summary: CANARY-summary
user_prompt: Close the box.
execution_rules: [CANARY-rule]
world:
  context: {date: '2026-03-01'}
  entities:
    box:
      type: device
      name: Box
      state: {lid: open, secret: CANARY-state, told: seen}
      invariants: ["box.lid != 'CANARY-invariant'"]
      actions:
        - name: look
          description: Look at the lid.
          parameters: {}
          returns: "NO STATE CHANGES. Read-only operation. CANARY-returns"
          result: {lid: =box.lid}
        - name: close
          description: Close the lid.
          parameters: {}
          returns: "STATE CHANGES to box:\\nlid: closed CANARY-returns"
          requires: [{that: "box.secret != 'CANARY-guard'", else: CANARY-else}]
          let: {unused: "='CANARY-let'"}
          effects: [{set: {box.lid: closed}, when: "box.lid != 'CANARY-when'"}]
          result: {lid: =box.lid}
evaluation_rubric:
  - {criterion: CANARY-criterion, pass_condition: "box.state.lid == 'CANARY-pass'", check: "box.lid == 'CANARY-check'"}
paths:
  literal: [box.look: {}]
  careful: [box.look: {}, box.close: {}]
"""


def shown_to_the_agent(scenario: Scenario, registry: Registry, path: str) -> str:
    """All that a model is sent while it plays the reference path."""
    steps = list(getattr(scenario.paths.reveal(), path))
    sent: list[Request] = []

    def answer(request: Request) -> str:
        sent.append(request)
        turn = len(sent) - 1
        if turn >= len(steps):
            return '{"thought_process": "", "action": "TASK_COMPLETE"}'
        entity_id, _, name = steps[turn].name.partition(".")
        action = {"entity_id": entity_id, "action_name": name, "arguments": dict(steps[turn].arguments)}
        return json.dumps({"thought_process": "", "action": action})

    config = config_of(scenario, CastSpec("llm"), registry)
    graph = registry.graph_of("aaw").load()(config)  # type: ignore[operator]
    trial = Trial(
        lambda: GraphProgram("aaw", graph), lambda: {"agent": ScriptedModel(answer)}, limits=Limits(steps=50)
    )
    life = asyncio.run(live(trial))
    assert life.end.reason == "completed"
    return json.dumps([[m.to_json() for m in request.messages] + [request.parameters()] for request in sent])


def test_no_canary_of_a_hidden_part_is_ever_shown() -> None:
    registry = Registry.discover()
    scenario = parse_scenario(CANARY, "canary.yaml", registry)
    shown = shown_to_the_agent(scenario, registry, "careful")
    assert re.findall("CANARY-[a-z]+", shown) == []
    assert "closed" in shown, "what a result tells is told"


@pytest.mark.parametrize("scenario", load_suite("everyday"), ids=lambda scenario: scenario.id)
def test_no_rule_rubric_text_or_prose_of_the_library_is_shown(scenario: Scenario) -> None:
    registry = Registry.discover()
    shown = "\n".join(shown_to_the_agent(scenario, registry, path) for path in ("literal", "careful"))
    hidden = [scenario.summary.reveal() or "", *scenario.execution_rules.reveal()]
    for criterion in scenario.evaluation_rubric.reveal():
        hidden += [criterion.criterion, criterion.pass_condition or "", criterion.check or ""]
    for entity in scenario.body.entities.values():  # type: ignore[attr-defined]
        hidden += entity.invariants.reveal()
        for action in entity.actions:
            hidden += [line for line in action.returns.reveal().splitlines() if line.strip()]
            hidden += [guard.that for guard in action.requires.reveal()]
            hidden += [effect.when or "" for effect in action.effects.reveal()]
    for text in hidden:
        bare = text.strip()
        if len(bare) >= 12:
            assert json.dumps(bare)[1:-1] not in shown, f"the agent is shown {bare!r}"


def test_before_anything_is_read_no_value_of_the_state_is_shown() -> None:
    registry = Registry.discover()
    scenario = parse_scenario(CANARY, "canary.yaml", registry)
    view = config_of(scenario, CastSpec("random"), registry).world.initial(0).view("agent")
    assert "seen" not in repr(view)


def test_only_the_reference_agents_reveal_anything() -> None:
    import worldloom.agents

    (root,) = worldloom.agents.__path__
    revealing = set()
    for file in Path(root).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "reveal":
                revealing.add(file.name)
    assert revealing == {"reference.py"}
