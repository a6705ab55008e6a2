"""All that one action does is paid from one meter: guards, bindings, effects, selectors, invariants and answers."""

import json
from typing import Any

import pytest

from worldloom.core.action import Action
from worldloom.core.canonical import canonical
from worldloom.core.errors import DocumentError
from worldloom.worlds.aaw.world import RulesWorld

ITEMS = [{"n": n} for n in range(3_000)]
WIDE = {f"k{n}": n for n in range(20_000)}
SLOW = "e.some.all(x, e.some.all(y, x >= 0))"  # 4,000 steps or so
STATE = {"a": 1, "items": ITEMS, "wide": WIDE, "some": list(range(40)), "text": "x" * 400_000}

HOSTILE = {
    # what is hostile: (rules, where the fault is)
    "a selector that goes through a list once for each item": (
        {"effects": [{"set": {f"e.items[{SLOW}].n": 1}}]},
        "the effect on e.items[",
    ),
    "a condition to remove by": ({"effects": [{"remove": {"e.items": SLOW}}]}, "the effect on e.items"),
    "many effects on a long list": (
        {"effects": [{"set": {"e.items[n >= 0].n": n}} for n in range(500)]},
        "the effect on e.items[n >= 0].n",
    ),
    "many effects on one item": (
        {"effects": [{"set": {"e.items[0].n": n}} for n in range(500)]},
        "the effect on e.items[0].n",
    ),
    "many effects in a wide mapping": (
        {"effects": [{"set": {"e.wide.k0": n}} for n in range(500)]},
        "the effect on e.wide.k0",
    ),
    "many appends": ({"effects": [{"append": {"e.items": 1}}] * 500}, "the effect on e.items"),
    "many guards": ({"requires": [{"that": SLOW}] * 500, "result": 1}, "`e.some.all"),
    "many bindings": ({"let": {f"x{n}": f"={SLOW}" for n in range(500)}, "result": 1}, "`e.some.all"),
    "bindings with an error of their own": (
        {"let": {f"x{n}": f"={SLOW}" for n in range(500)}, "error": "Not found.", "result": 1},
        "`e.some.all",
    ),
    "many conditions of effects": ({"effects": [{"set": {"e.a": 1}, "when": SLOW}] * 500}, "`e.some.all"),
    "a result of many parts": ({"result": [f"={SLOW}"] * 500}, "`e.some.all"),
    "a result that shows much again and again": ({"result": ["=e.items"] * 500}, "a message"),
    "bindings that double what they bind": (
        {"let": {"x0": [1], **{f"x{n + 1}": [f"=x{n}"] * 2 for n in range(60)}}, "result": "=x60"},
        "a message",
    ),
    "effects that double what they set": ({"effects": [{"set": {"e.a": ["=e.a"] * 2}}] * 60}, "e.a: "),
    "effects that nest what they set": ({"effects": [{"set": {"e.a": {"a": "=e.a"}}}] * 5_000}, "e.a: "),
    "long texts compared": ({"requires": [{"that": "e.items.all(i, e.text + '' == e.text)"}]}, "`e.items"),
    "invariants": (
        {"effects": [{"set": {"e.a": 2}}], "invariants": [f"e.a == 1 || {SLOW}"] * 500},
        "`e.a == 1 ||",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_action_of_a_hostile_scenario_is_stopped_as_the_scenario_s_fault(
    scenario_of: Any, what: str
) -> None:
    rules, place = HOSTILE[what]
    more = {"invariants": rules["invariants"]} if "invariants" in rules else {}
    go = {"name": "go", "description": "Go.", **{key: rules[key] for key in rules if key != "invariants"}}
    begin = {key: value for key, value in STATE.items() if f"e.{key}" in json.dumps(rules)}
    world = RulesWorld(
        scenario_of({"e": {"type": "t", "name": "E", "state": begin, "actions": [go], **more}})
    )
    state, fact = world.apply(world.initial(0), Action("e.go"))
    fault: Any = fact["fault"]
    assert fault.startswith(place)
    assert "more than" in fault or "nested too deeply" in fault
    assert state.to_json() == {"e": begin} and len(canonical(fact)) < 2_000


def test_an_ordinary_action_on_a_list_of_a_thousand_items_is_well_within_the_limit(scenario_of: Any) -> None:
    effects = [{"set": {"e.items[n == args.n].n": 0}}, {"remove": {"e.items": "n > 990"}}]
    parameters = {"n": {"type": "integer", "required": True}}
    go = {"name": "go", "description": "Go.", "parameters": parameters, "effects": effects, "result": "=e"}
    state = {"items": ITEMS[:1_000]}
    world = RulesWorld(scenario_of({"e": {"type": "t", "name": "E", "state": state, "actions": [go]}}))
    _, fact = world.apply(world.initial(0), Action("e.go", {"n": 5}))
    assert fact["success"] and len(fact["changes"]["e"]["items"]) == 991  # type: ignore[index, call-overload]


def test_invariants_of_the_initial_state_are_paid_together(scenario_of: Any) -> None:
    entity = {"type": "t", "name": "E", "state": {"some": STATE["some"]}, "invariants": [SLOW] * 500}
    with pytest.raises(DocumentError, match="more than the 100,000 steps"):
        RulesWorld(scenario_of({"e": entity}))
