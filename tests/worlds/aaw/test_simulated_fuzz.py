"""Whatever a simulator says, the world answers; and what it applies is lawful."""

import asyncio
import json
import random
from typing import Any

import pytest

from worldloom.core.action import Action
from worldloom.core.canonical import canonical
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.models.model import Completion, ToolCall
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.context import Context
from worldloom.worlds.aaw.simulated.world import ModelWorld

ROUNDS = 2_000
BOX = """
id: box
category: accessibility
user_prompt: Do it.
world:
  entities:
    box:
      type: app
      name: Box
      state:
        {open: false, level: 0.5, count: 3, note: null, name: Box, tags: [a], at: {h: 1},
         slots: [{slot_id: s1, on: true}]}
      invariants: [box.count >= 0, "box.level <= 1.0", "size(box.slots) == 1"]
      actions:
        - {name: look, description: Looks., parameters: {}, returns: NO STATE CHANGES. Read-only operation.}
        - {name: open, description: Opens., parameters: {}, returns: "STATE CHANGES to box:\\nopen: true"}
        - {name: free, description: Does it., parameters: {}, returns: It changes.}
        - name: switch
          description: Switches.
          parameters: {slot_id: {type: string, required: true}, on: {type: boolean, required: true}}
          returns: "STATE CHANGES to box:\\nslots[slot_id].on: {the on parameter}"
    other: {type: app, name: Other, state: {x: 1}}
evaluation_rubric: [{criterion: Done., pass_condition: It is.}]
"""
MOVES = [
    Action("box.look"),
    Action("box.open"),
    Action("box.free"),
    Action("box.switch", {"slot_id": "s1", "on": False}),
]
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2.5, -0.0, 1e308, 10**18, 10**30, float("nan"), float("inf"), "", "x", "\ud800",
    "\x00", "a" * 5_000, [], [None], [[]], {}, {"": {}}, {"h": "1"}, {"slot_id": "s1"}, [{"slot_id": "s1", "on": 1}],
]  # fmt: skip
WORDS = [
    "box",
    "other",
    "lamp",
    "open",
    "level",
    "count",
    "note",
    "name",
    "tags",
    "slots",
    "at",
    "x",
    "\ud800",
    "",
]
KINDS = {"open": bool, "level": float, "count": int, "name": str, "tags": list, "slots": list, "at": dict}


def odd_value(rng: random.Random, depth: int = 0) -> Any:
    draw = rng.random()
    if draw < 0.6 or depth > 3:
        return rng.choice(ODD)
    if draw < 0.7:
        return [odd_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if draw < 0.8:
        return {rng.choice(WORDS): odd_value(rng, depth + 1) for _ in range(rng.randint(0, 3))}
    nested: Any = "deep"
    for _ in range(rng.choice([5, 40, 400])):
        nested = [nested]
    return nested


def odd_changes(rng: random.Random) -> Any:
    if rng.random() < 0.15:
        return odd_value(rng)
    likely = {"open": True, "level": 0.25, "count": 4, "note": "n", "slots": [{"slot_id": "s1", "on": False}]}
    properties: Any = {
        rng.choice(WORDS): odd_value(rng) if rng.random() < 0.5 else rng.choice(list(likely.values()))
        for _ in range(rng.choice([0, 0, 1, 3]))
    }
    properties |= {key: likely[key] for key in rng.sample(list(likely), rng.choice([1, 1, 1, 2]))}
    return {rng.choice(["box", "box", "box", "other", "lamp"]): properties}


def odd_reply(rng: random.Random) -> Completion:
    reply: Any = {"thought_process": "t", "success": rng.random() < 0.8, "message": "m"}
    if rng.random() < 0.8:
        reply["state_changes"] = odd_changes(rng)
    if rng.random() < 0.1:
        reply[rng.choice(["success", "message", "thought_process", "more"])] = odd_value(rng)
    if rng.random() < 0.1:
        del reply[rng.choice(list(reply))]
    text = json.dumps(reply, ensure_ascii=rng.random() < 0.5)
    draw = rng.random()
    if draw < 0.1:  # a piece lost, doubled or replaced
        at, end = sorted(rng.randrange(len(text)) for _ in range(2))
        text = (
            text[:at]
            + rng.choice(["", text[at:end] * 2, "}", '"', "{", "\\u", "é", "[" * 5_000])
            + text[end:]
        )
    elif draw < 0.15:
        text = rng.choice([f"```json\n{text}\n```", f"Sure: {text}", text + text, f"{text}\nDone.", "", " "])
    if draw > 0.95:
        return Completion("", tool_calls=(ToolCall("1", "answer", text),), finish_reason="tool_calls")
    return Completion(text, finish_reason="length" if draw > 0.93 else "stop")


def assert_lawful(state: dict[str, Any], before: dict[str, Any], fact: dict[str, Any], name: str) -> None:
    assert (
        state.keys() == before.keys() and state["other"].keys() == {"x"} and type(state["other"]["x"]) is int
    )
    box = state["box"]
    assert set(box) == {*KINDS, "note"}
    assert all(type(box[key]) is kind for key, kind in KINDS.items())
    assert box["count"] >= 0 and box["level"] <= 1 and len(box["slots"]) == 1
    assert set(box["slots"][0]) == {"slot_id", "on"}
    if name == "box.look" or not fact["success"]:
        assert state == before and fact["changes"] == {}
    elif name == "box.open":
        assert {**before["box"], "open": True} == box and state["other"] == before["other"]
    elif name == "box.switch":
        assert box == {**before["box"], "slots": [{"slot_id": "s1", "on": False}]}
    assert ("fault" in fact) <= (not fact["success"])


@pytest.mark.parametrize("seed", range(4))
def test_no_reply_breaks_the_world_or_a_law(seed: int) -> None:
    world = ModelWorld(parse_scenario(BOX, "box.yaml", Registry.discover()))
    rng = random.Random(seed)
    ctx = Context.null({"world": ScriptedModel(lambda _: odd_reply(rng))})

    async def play() -> int:
        applied, state = 0, world.initial(0)
        for _ in range(ROUNDS // 4):
            action = rng.choice(MOVES)
            done = await world.step(state, {"agent": action}, ctx)
            (fact,) = done.facts
            canonical(dict(fact))
            assert_lawful(done.state.to_json(), state.to_json(), dict(fact), action.name)
            applied += bool(fact["changes"])
            # What may be anything (it was null at first) must not stay, or it would grow from step to step.
            state = done.state if rng.random() < 0.5 else world.initial(0)
        return applied

    applied = asyncio.run(play())
    assert applied > ROUNDS // 4 // 20, "too few proposals were lawful to prove anything"
