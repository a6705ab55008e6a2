"""Every graph that ships passes the conformance suite, whoever plays."""

import hashlib
import json

import pytest

from worldloom.api import load_suite
from worldloom.api.plans.cast import CastSpec, WorldSpec
from worldloom.api.plans.plan import build_program, config_of
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.models.model import Completion, Request, Usage
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.limits import Limits
from worldloom.testing import Trial, check_room

NULL = "kind: 'null'\nid: nothing\nuser_prompt: Do nothing.\nworld: {}\n"


def wayward(request: Request) -> Completion:
    """Picks one of the choices of the schema, by the request alone; every fifth reply is no decision."""
    draw = hashlib.sha256(repr(request.messages).encode()).digest()
    assert request.schema is not None
    choices = request.schema["properties"]["action"]["anyOf"]  # type: ignore[index,call-overload]
    chosen = choices[draw[0] % len(choices)]  # type: ignore[index,arg-type]
    if draw[1] % 5 == 0:
        return Completion("I would rather not say.", usage=Usage(9, 5))
    action = chosen.get("const")  # type: ignore[union-attr]
    if action is None:
        named = {name: one.get("const") for name, one in chosen["properties"].items()}  # type: ignore[index,union-attr,call-overload]
        action = {**named, "arguments": {}}
    return Completion(json.dumps({"thought_process": "so", "action": action}), usage=Usage(9, 5))


@pytest.mark.parametrize("agent", ["llm", "random", "careful"])
def test_the_aaw_graph_conforms(agent: str) -> None:
    registry = Registry.discover()
    scenario = load_suite("starter", registry=registry)[0]
    program, _ = build_program(config_of(scenario, CastSpec(agent), registry), registry)
    models = {"agent": ScriptedModel(wayward)} if agent == "llm" else {}
    check_room(Trial(lambda: program, lambda: dict(models), limits=Limits(steps=8)))


def test_the_null_graph_conforms() -> None:
    registry = Registry.discover()
    scenario = parse_scenario(NULL, "null.yaml", registry)
    program, _ = build_program(config_of(scenario, CastSpec("random"), registry), registry)
    check_room(Trial(lambda: program, limits=Limits(steps=8)))


def moody(request: Request) -> Completion:
    """Simulates by the request alone: some actions fail, some replies are no proposal, some propose nonsense."""
    draw = hashlib.sha256(repr(request.messages).encode()).digest()[0] % 8
    if draw == 0:
        return Completion("The world is what it is.", usage=Usage(9, 5))
    nonsense = {"state_changes": {"nowhere": {"on": True}}} if draw == 1 else {}
    told = {"thought_process": "so", "success": draw < 6, "message": f"told {draw}"}
    return Completion(json.dumps({**told, **nonsense}), usage=Usage(9, 5))


@pytest.mark.parametrize("agent", ["random", "careful"])
def test_the_model_world_conforms(agent: str) -> None:
    registry = Registry.discover()
    scenario = load_suite("starter", registry=registry)[1]
    config = config_of(scenario, CastSpec(agent), registry, WorldSpec("model"))
    program, _ = build_program(config, registry)
    check_room(Trial(lambda: program, lambda: {"world": ScriptedModel(moody)}, limits=Limits(steps=8)))
