"""The model world over the whole library, with a simulator that does what the rules say: the same record comes out."""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from worldloom.api import load_suite
from worldloom.core.action import Action
from worldloom.core.canonical import canonical
from worldloom.core.scenario import Scenario
from worldloom.models.model import Request
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.context import Context
from worldloom.worlds.aaw.parameters import Refused
from worldloom.worlds.aaw.simulated.world import ModelWorld
from worldloom.worlds.aaw.state import AawState, Surroundings, same
from worldloom.worlds.aaw.world import RulesWorld

LIBRARY = {scenario.id: scenario for scenario in load_suite("everyday")}
each = pytest.mark.parametrize("name", LIBRARY)


def text_of(request: Request) -> str:
    return "\n\n".join(part.text for message in request.messages for part in message.content)  # type: ignore[union-attr]


class Oracle:
    """Simulates a scenario by its rules, from nothing but the request; `seen` is what it was sent."""

    def __init__(self, scenario: Scenario) -> None:
        self.seen: list[Request] = []
        self._rules = RulesWorld(scenario)

    def __call__(self, request: Request) -> str:
        self.seen.append(request)
        turn: str = request.messages[1].content[0].text  # type: ignore[union-attr]
        state, _, action = turn.removeprefix("# Present state\n").partition("\n\n# Action\n")
        entities = {
            name: json.loads(rest) for name, _, rest in (line.partition(": ") for line in state.splitlines())
        }
        name, _, arguments = action.partition(" with ")
        surroundings = self._rules.initial(0).surroundings
        _, fact = self._rules.apply(AawState(entities, surroundings), Action(name, json.loads(arguments)))
        shown = {"thought_process": "", "success": fact["success"], "message": fact["message"]}
        return json.dumps({**shown, "state_changes": fact["changes"]})


def walks(scenario: Scenario, shown: Surroundings, count: int) -> Iterator[list[Action]]:
    """The reference paths, and random ones whose texts come from the state."""
    paths = scenario.paths.reveal()
    yield from ([*paths.literal], [*paths.careful])
    texts = [
        text
        for entity in scenario.body.entities.values()  # type: ignore[attr-defined]
        for text in json.dumps(entity.state.reveal()).split('"')[1::2]
    ]
    for seed in range(count):
        rng = random.Random(seed)
        yield [action_of(rng.choice(shown.actions), texts, rng) for _ in range(12)]


def action_of(spec: Any, texts: list[str], rng: random.Random) -> Action:
    draw = {
        "boolean": lambda one: rng.random() < 0.5,
        "integer": lambda one: rng.randint(one.get("minimum", 0), one.get("maximum", 20)),
        "number": lambda one: rng.randint(0, 40) / 2,
        "string": lambda one: rng.choice(one.get("enum", texts)),
        "array": lambda one: [rng.choice(one.get("items", {}).get("enum", texts))],
        "object": lambda one: {},
    }
    properties, required = spec.parameters["properties"], spec.parameters["required"]
    return Action(
        spec.name,
        {
            name: draw[schema["type"]](schema)
            for name, schema in properties.items()
            if name in required or rng.random() < 0.7
        },
    )


@each
def test_what_the_rules_do_is_never_refused_and_gives_the_same_record(name: str) -> None:
    scenario = LIBRARY[name]
    oracle, rules, world = Oracle(scenario), RulesWorld(scenario), ModelWorld(scenario)
    ctx = Context.null({"world": ScriptedModel(oracle)})

    async def play(path: list[Action]) -> None:
        state, wanted = world.initial(0), rules.initial(0)
        for action in path:
            done = await world.step(state, {"agent": action}, ctx)
            wanted, fact = rules.apply(wanted, action)
            (found,) = done.facts
            assert same(dict(found), fact), (action, found, fact)
            assert same(done.state.to_json(), wanted.to_json())
            assert done.state.view("agent") == wanted.view("agent")
            state = done.state

    for path in walks(scenario, rules.initial(0).surroundings, 12):
        asyncio.run(play(path))
    assert oracle.seen


@each
def test_the_first_view_is_that_of_the_rules_world_and_shows_no_state(name: str) -> None:
    scenario = LIBRARY[name]
    first, rules = ModelWorld(scenario).initial(0), RulesWorld(scenario).initial(7)
    assert first.view("agent") == rules.view("agent")
    assert first.fingerprint() == rules.fingerprint()


@each
def test_the_simulator_is_sent_nothing_of_rubric_paths_summary_and_rules(name: str) -> None:
    scenario = LIBRARY[name]
    oracle, world = Oracle(scenario), ModelWorld(scenario)
    ctx = Context.null({"world": ScriptedModel(oracle)})

    async def play() -> None:
        state = world.initial(0)
        for action in scenario.paths.reveal().careful:
            state = (await world.step(state, {"agent": action}, ctx)).state

    asyncio.run(play())
    prose = {rule.strip() for rule in scenario.execution_rules.reveal()}
    hidden = [scenario.summary.reveal() or ""]
    for criterion in scenario.evaluation_rubric.reveal():
        hidden += [criterion.criterion, criterion.pass_condition or "", criterion.check or ""]
    for entity in scenario.body.entities.values():  # type: ignore[attr-defined]
        hidden += entity.invariants.reveal()
        for action in entity.actions:
            hidden += [guard.that for guard in action.requires.reveal()]
            hidden += [effect.when or "" for effect in action.effects.reveal()]
    shown = "\n".join(text_of(request) for request in oracle.seen)
    for text in hidden:
        if len(text.strip()) >= 12 and text.strip() not in prose:
            assert text.strip() not in shown, f"the simulator is sent {text!r}"


@each
def test_the_scenario_stands_first_and_is_the_same_in_every_request(name: str) -> None:
    scenario = LIBRARY[name]
    world = ModelWorld(scenario)
    requests = []
    for spec in world.initial(0).surroundings.actions:
        rng = random.Random(3)
        try:
            call = world.simulator.call(action_of(spec, ["a"], rng))
        except Refused:
            continue
        requests.append(world.simulator.request(world.initial(0).entities, call))
    assert len({canonical(request.messages[0].to_json()) for request in requests}) == 1
    system = text_of(requests[0]).partition("\n\n# Present state")[0]
    for entity in scenario.body.entities.values():  # type: ignore[attr-defined]
        for action in entity.actions:
            assert all(line.strip() in system for line in action.returns.reveal().splitlines())
    assert all(rule in system for rule in scenario.execution_rules.reveal())
