"""Bindings, guards, effects, invariants, results: what each does, and what a fault in one is called."""

from typing import Any

import pytest

from worldloom.core.action import Action
from worldloom.core.errors import DocumentError
from worldloom.worlds.aaw.state import AawState
from worldloom.worlds.aaw.world import RulesWorld

DEVICES = [
    {"device_id": "kitchen", "name": "Kitchen speaker", "paired": True},
    {"device_id": "buds", "name": "Earbuds", "paired": False},
]


def entity(state: dict[str, Any], *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "app", "name": "Thing", "state": state, "actions": list(actions), **more}


def action(name: str, **rules: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does it.", **rules}


@pytest.fixture
def play(scenario_of: Any) -> Any:
    """Makes a world of entities and takes actions in it: [(name, arguments), …] -> (state, last fact)."""

    def run(
        entities: dict[str, Any], *calls: tuple[str, dict[str, Any]]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        world = RulesWorld(scenario_of(entities, context={"night": True}))
        state: AawState = world.initial(0)
        fact: dict[str, Any] = {}
        for name, arguments in calls:
            state, fact = world.apply(state, Action(name, arguments))
        return state.to_json(), fact

    return run


def one(state: dict[str, Any], **rules: Any) -> dict[str, Any]:
    """A world of one entity `e` with one action `go`."""
    more = {"invariants": rules.pop("invariants")} if "invariants" in rules else {}
    return {"e": entity(state, action("go", **rules), **more)}


TEXT = {"id": {"type": "string", "required": True}}
GO: tuple[str, dict[str, Any]] = ("e.go", {})


def test_effects_run_in_order_each_on_what_the_one_before_left(play: Any) -> None:
    effects = [{"set": {"e.a": "=e.a + 1"}}, {"set": {"e.b": "=e.a * 10", "e.a": "=e.b"}}]
    state, fact = play(one({"a": 1, "b": 5}, effects=effects, result="=e"), GO)
    assert state["e"] == {"a": 20, "b": 20}
    assert fact["message"] == '{"a":20,"b":20}' and fact["changes"] == {"e": {"a": 20, "b": 20}}


def test_an_effect_with_a_condition_runs_only_if_it_holds(play: Any) -> None:
    effects = [
        {"set": {"e.a": 2}, "when": "context.night"},
        {"set": {"e.b": 2}, "when": "e.a == 1"},
        {"set": {"e.c": 2}, "when": "e.a == 2"},
    ]
    state, _ = play(one({"a": 1, "b": 1, "c": 1}, effects=effects), GO)
    assert state["e"] == {"a": 2, "b": 1, "c": 2}


def test_values_are_literal_unless_they_begin_with_an_equals_sign(play: Any) -> None:
    value = {"text": "e.a", "sum": "=e.a + 1", "list": ["=e.a", "a", 3, None], "on": True, "sign": "='=x'"}
    state, _ = play(one({"a": 1, "b": None}, effects=[{"set": {"e.b": value}}]), GO)
    assert state["e"]["b"] == {"text": "e.a", "sum": 2, "list": [1, "a", 3, None], "on": True, "sign": "=x"}


def test_a_path_selects_items_by_their_fields(play: Any) -> None:
    world = one(
        {"devices": DEVICES},
        parameters=TEXT,
        effects=[{"set": {"e.devices[device_id == args.id].paired": True}}],
    )
    state, fact = play(world, ("e.go", {"id": "buds"}))
    assert [device["paired"] for device in state["e"]["devices"]] == [True, True]
    assert fact["changes"]["e"]["devices"] == state["e"]["devices"], "a list is told whole"
    assert DEVICES[1]["paired"] is False


def test_a_path_that_selects_nothing_is_a_failure_and_nothing_changes(play: Any) -> None:
    effects = [{"set": {"e.n": 1}}, {"set": {"e.devices[device_id == args.id].paired": True}}]
    world = one({"n": 0, "devices": DEVICES}, parameters=TEXT, effects=effects)
    state, fact = play(world, ("e.go", {"id": "car"}))
    assert state["e"] == {"n": 0, "devices": DEVICES}
    assert fact["message"] == "There is no such item." and "fault" not in fact
    world["e"]["actions"][0]["error"] = "= 'Unknown device ' + args.id"
    assert play(world, ("e.go", {"id": "car"}))[1]["message"] == "Unknown device car"


def test_every_item_that_fits_is_changed_and_the_value_may_use_it(play: Any) -> None:
    items = [{"n": 1}, {"n": 5}, {"n": 7}]
    world = one({"items": items}, effects=[{"set": {"e.items[n > 2].n": "=item.n * 10"}}])
    assert play(world, GO)[0]["e"]["items"] == [{"n": 1}, {"n": 50}, {"n": 70}]


def test_other_names_win_over_the_fields_of_an_item(play: Any) -> None:
    items = [{"e": 1, "k": 1}, {"e": 2, "k": 2}]
    world = one({"want": 2, "items": items}, effects=[{"set": {"e.items[item.e == e.want].k": 9}}])
    assert play(world, GO)[0]["e"]["items"] == [{"e": 1, "k": 1}, {"e": 2, "k": 9}]


def test_a_path_selects_by_index_by_key_and_more_than_once(play: Any) -> None:
    state = {"locks": {"front": "open", "back": "open"}, "rows": [[{"v": 1}, {"v": 2}], [{"v": 3}]]}
    effects = [{"set": {"e.locks[args.id]": "closed", "e.rows[0][v == 2].v": 20, "e.rows[1][0].v": 30}}]
    made, _ = play(one(state, parameters=TEXT, effects=effects), ("e.go", {"id": "back"}))
    assert made["e"]["locks"] == {"front": "open", "back": "closed"}
    assert made["e"]["rows"] == [[{"v": 1}, {"v": 20}], [{"v": 30}]]


def test_a_key_may_be_new_at_the_end_of_a_path_and_nowhere_else(play: Any) -> None:
    state = {"scores": {"ann": 1}, "rooms": {"hall": {"on": False}}}
    _, fact = play(
        one(state, parameters=TEXT, effects=[{"set": {"e.scores[args.id]": 2}}]), ("e.go", {"id": "bo"})
    )
    assert fact["changes"] == {"e": {"scores": {"ann": 1, "bo": 2}}}
    world = one(state, parameters=TEXT, effects=[{"set": {"e.rooms[args.id].on": True}}])
    assert play(world, ("e.go", {"id": "hall"}))[1]["success"]
    _, fact = play(world, ("e.go", {"id": "attic"}))
    assert fact["message"] == "There is no such item." and "fault" not in fact


def test_items_are_appended_and_removed(play: Any) -> None:
    notes = entity(
        {"open": [], "tags": ["a", "b", "a"]},
        action(
            "add", parameters=TEXT, effects=[{"append": {"notes.open": {"id": "=args.id", "by": "agent"}}}]
        ),
        action("drop", parameters=TEXT, effects=[{"remove": {"notes.open": "id == args.id"}}]),
        action("untag", parameters=TEXT, effects=[{"remove": {"notes.tags": "item == args.id"}}]),
    )
    add = [("notes.add", {"id": name}) for name in "xyz"]
    state, fact = play({"notes": notes}, *add, ("notes.drop", {"id": "y"}), ("notes.untag", {"id": "a"}))
    assert state["notes"] == {"open": [{"id": "x", "by": "agent"}, {"id": "z", "by": "agent"}], "tags": ["b"]}
    assert fact["success"]
    _, fact = play({"notes": notes}, ("notes.drop", {"id": "nobody"}))
    assert fact["success"] and fact["changes"] == {}


def test_one_action_may_change_several_entities(play: Any) -> None:
    world = one({"a": 1}, effects=[{"set": {"e.a": 2, "other.b": "=e.a"}}])
    world["other"] = entity({"b": 0, "c": 0})
    state, fact = play(world, GO)
    assert fact["changes"] == {"e": {"a": 2}, "other": {"b": 2}}
    assert state["other"] == {"b": 2, "c": 0}


def test_a_binding_is_the_value_before_the_effects(play: Any) -> None:
    world = one(
        {"a": 1},
        let={"old": "=e.a", "next": "=old + 1"},
        effects=[{"set": {"e.a": "=next"}}],
        result={"old": "=old", "new": "=e.a"},
    )
    assert play(world, GO)[1]["message"] == '{"new":2,"old":1}'


def test_a_guard_protects_a_look_up_that_later_rules_use(play: Any) -> None:
    world = one(
        {"devices": DEVICES},
        parameters=TEXT,
        let={"device": "=e.devices.filter(d, d.device_id == args.id)[0]"},
        requires=[
            {"that": "e.devices.exists(d, d.device_id == args.id)", "else": "Unknown device."},
            {"that": "!device.paired", "else": "=device.name + ' is paired already.'"},
        ],
        result="=device.name",
    )
    assert play(world, ("e.go", {"id": "car"}))[1]["message"] == "Unknown device."
    assert play(world, ("e.go", {"id": "kitchen"}))[1]["message"] == "Kitchen speaker is paired already."
    assert play(world, ("e.go", {"id": "buds"}))[1]["message"] == "Earbuds"


def test_a_look_up_that_fails_says_the_error_of_the_action(play: Any) -> None:
    rules: dict[str, Any] = {"let": {"x": "=e.list[5]"}, "result": "=x"}
    _, fact = play(one({"list": []}, error="Nothing there.", **rules), GO)
    assert fact["message"] == "Nothing there." and "fault" not in fact
    _, fact = play(one({"list": []}, **rules), GO)
    assert fact["message"] == "The action could not be carried out." and "no item 5" in fact["fault"]


def test_an_invariant_that_would_break_is_a_failure_and_nothing_changes(play: Any) -> None:
    effects = [{"set": {"e.ml": "=e.ml - 400"}}]
    world = one({"ml": 1000, "n": 0}, invariants=["e.ml >= 0"], effects=effects)
    state, fact = play(world, GO, GO, GO)
    assert state["e"]["ml"] == 200
    assert fact["message"] == "This is not possible in the current state." and "fault" not in fact
    world["e"]["actions"][0]["error"] = "=string(e.ml) + ' ml are not enough.'"
    assert play(world, GO, GO, GO)[1]["message"] == "200 ml are not enough."


@pytest.mark.parametrize(
    "rules",
    [
        {"effects": [{"set": {"e.a": 5}}, {"set": {"e.b": "=e.a / e.zero"}}]},
        {"effects": [{"set": {"e.a": 5}}], "result": "=e.list[0]"},
        {"effects": [{"set": {"e.a": 5}, "when": "e.list[0]"}]},
        {"effects": [{"set": {"e.a": 5}}, {"append": {"e.none": 1}}]},
        {"effects": [{"set": {"e.a": 5}}, {"set": {"e.none.x": 1}}]},
        {"effects": [{"set": {"e.a": 5}}], "requires": [{"that": "e.a"}]},
        {"effects": [{"set": {"e.a": 5}}], "requires": [{"that": "false", "else": "=e.list[0]"}]},
        {"effects": [{"set": {"e.a": 5}}, {"set": {"e.b": "=timestamp('2026-01-01T00:00:00Z')"}}]},
    ],
)
def test_a_rule_without_value_is_a_fault_of_the_scenario_and_nothing_changes(play: Any, rules: Any) -> None:
    start = {"a": 1, "b": 1, "zero": 0, "list": [], "none": None}
    state, fact = play(one(start, **rules), GO)
    assert state["e"] == start
    assert (fact["success"], fact["changes"]) == (False, {})
    assert fact["message"] == "The action could not be carried out." and fact["fault"]


def test_a_state_cannot_grow_without_bound(play: Any) -> None:
    world = one({"text": "x" * 1_000}, effects=[{"set": {"e.text": "=e.text + e.text"}}])
    state, fact = play(world, *[GO] * 20)
    assert len(state["e"]["text"]) < 200_000 and fact["fault"]
    world = one({"list": ["x" * 100]}, effects=[{"set": {"e.list": ["=e.list", "=e.list"]}}])
    state, fact = play(world, *[GO] * 30)
    assert "more than 200000 characters" in fact["fault"]


def test_the_message_is_text_as_it_is_and_all_else_compact_json(play: Any) -> None:
    for result, message in (
        ("Done.", "Done."),
        ("=e.name", "Zoë"),
        ({"b": "=e.name", "a": [1, 0.5, None, True]}, '{"a":[1,0.5,null,true],"b":"Zoë"}'),
        ("=e.n", "1"),
        (7, "7"),
    ):
        assert play(one({"name": "Zoë", "n": 1}, result=result), GO)[1]["message"] == message


def test_rules_may_ask_for_the_steps_so_far(play: Any) -> None:
    world = one({"on": False}, requires=[{"that": "called('e.look')", "else": "Look first."}], result="Ok.")
    world["e"]["actions"].append(action("look", requires=[{"that": "count('e.look') < 2"}], result="=e.on"))
    assert play(world, GO)[1]["message"] == "Look first."
    assert play(world, ("e.look", {}), GO)[1]["message"] == "Ok."
    look = ("e.look", {})
    assert play(world, look, look, look)[1]["success"] is False


def problem_of(scenario_of: Any, world: dict[str, Any]) -> Any:
    with pytest.raises(DocumentError) as caught:
        RulesWorld(scenario_of(world))
    (problem,) = caught.value.problems
    line = scenario_of(world).document.lines[problem.line - 1]
    return problem, line[problem.column - 1 :]


@pytest.mark.parametrize(
    ("rules", "found", "near", "at"),
    [
        ({"requires": [{"that": "e.levl > 1"}], "result": 1}, "e has no 'levl'", "level", "levl > 1"),
        ({"result": "=ee.level"}, "unknown name 'ee'", "e", "ee.level"),
        ({"result": "=args.idd", "parameters": TEXT}, "args has no 'idd'", "id", "idd"),
        ({"result": "=context.nite"}, "context has no 'nite'", None, "nite"),
        ({"result": {"a": ["=e.level +"]}}, "the expression ends too early", None, '"'),
        ({"result": "=sise(e.items)"}, "unknown function 'sise', did you mean 'size'?", None, "sise"),
        ({"result": "=called('e.goo')"}, "'e.goo' is no action of this world", "e.go", "'e.goo'"),
        ({"effects": [{"set": {"e.levle": 1}}]}, "e has no 'levle'", "level", '"e.levle"'),
        ({"effects": [{"set": {"e.map.colr": 1}}]}, "e.map has no 'colr'", "color", '"e.map.colr"'),
        ({"effects": [{"set": {"e.level.x": 1}}]}, "e.level has no parts", None, '"e.level.x"'),
        ({"effects": [{"set": {"e.items.n": 1}}]}, "e.items is a list", None, '"e.items.n"'),
        ({"effects": [{"set": {"e.items[m == 1].n": 1}}]}, "unknown name 'm'", None, "m == 1"),
        ({"effects": [{"set": {"e.items[n == 1].k": 1}}]}, "e.items[n == 1] has no 'k'", None, '"e.items'),
        (
            {"effects": [{"set": {"e.items[n == 1": 1}}]},
            "'e.items[n == 1' has an unclosed '['",
            None,
            '"e.items',
        ),
        ({"effects": [{"set": {"e": 1}}]}, "'e' names no property", None, '"e"'),
        ({"effects": [{"set": {"e[0]": 1}}]}, "'e[0]' names no property", None, '"e[0]"'),
        ({"effects": [{"append": {"e.level": 1}}]}, "e.level is no list", None, '"e.level"'),
        ({"effects": [{"set": {"e.items['x'].n": 1}}]}, "['x'] is neither true nor false", None, '"e.items'),
        ({"effects": [{"set": {"e.items[1.5].n": 1}}]}, "[1.5] is neither true nor false", None, '"e.items'),
        (
            {"effects": [{"set": {"e.items[n + 1].n": 1}}]},
            "[n + 1] is neither true nor false",
            None,
            '"e.items',
        ),
        ({"effects": [{"set": {"e.items[1].n": 1}}]}, "[1] in e.items, a list of 1", None, '"e.items'),
        ({"effects": [{"set": {"e.items[-1].n": 1}}]}, "[-1] in e.items, a list of 1", None, '"e.items'),
        ({"effects": [{"set": {"e.map[0]": 1}}]}, "[0] in the mapping e.map", None, '"e.map'),
        ({"effects": [{"remove": {"e.items": "n - 1"}}]}, "`n - 1` is neither true nor false", None, "n - 1"),
        (
            {"effects": [{"set": {"e.level": 1}, "when": "'x'"}]},
            "`'x'` is neither true nor false",
            None,
            "'x'",
        ),
        (
            {"requires": [{"that": "e.level > 1 ? [1] : {}"}], "result": 1},
            "`e.level > 1 ? [1] : {}` is neither true nor false",
            None,
            "e.level",
        ),
        ({"effects": [{"remove": {"e.items": "k == 1"}}]}, "unknown name 'k'", None, "k == 1"),
        ({"effects": [{"set": {"e.level": 1}, "when": "e.x"}]}, "e has no 'x'", None, "x"),
        ({"let": {"args": 1}, "result": 1}, "the name 'args' in `let`", None, '"args"'),
        ({"let": {"a b": 1}, "result": 1}, "the name 'a b' in `let`", None, '"a b"'),
        ({"let": {"a": "=b", "b": 1}, "result": 1}, "unknown name 'b'", None, "b"),
        ({"error": "=e.x", "result": 1}, "e has no 'x'", None, "x"),
        (
            {"effects": [{"set": {"e.level": 1}}], "returns": "NO STATE CHANGES. Read-only operation."},
            "effects in e.go, whose `returns` says NO STATE CHANGES",
            None,
            '"effects"',
        ),
    ],
)
def test_a_slip_in_a_rule_is_a_problem_at_its_place(
    scenario_of: Any, rules: Any, found: str, near: str | None, at: str
) -> None:
    state = {"level": 1, "items": [{"n": 1}], "map": {"color": "red"}}
    problem, there = problem_of(scenario_of, one(state, **rules))
    assert problem.found == found
    assert problem.nearest == near
    assert there.startswith(at)


def test_an_initial_state_that_breaks_an_invariant_is_a_problem(scenario_of: Any) -> None:
    problem, there = problem_of(scenario_of, one({"ml": 1}, invariants=["true", "e.ml > 1"], result=1))
    assert problem.found == "the initial state breaks this invariant" and there.startswith('"e.ml > 1"')
    problem, _ = problem_of(scenario_of, one({"ml": None}, invariants=["e.ml > 1"], result=1))
    assert "cannot order null and a whole number" in problem.found


def test_all_faults_are_told_at_once_in_file_order(scenario_of: Any) -> None:
    world = one(
        {"a": 1},
        requires=[{"that": "e.b"}],
        result="=e.c",
        parameters={"p": {"type": "string", "pattern": "x"}},
    )
    with pytest.raises(DocumentError) as caught:
        RulesWorld(scenario_of(world))
    assert len(caught.value.problems) == 3
    assert [problem.line for problem in caught.value.problems] == sorted(
        p.line for p in caught.value.problems
    )


def test_variables_of_macros_are_their_own(scenario_of: Any) -> None:
    RulesWorld(scenario_of(one({"a": [{"z": 1}]}, result="=e.a.map(e, e.z) + e.a.filter(args, args.z > 0)")))


@pytest.mark.parametrize(
    "effects",
    [
        [{"append": {"e.items": {"n": 2}}}, {"set": {"e.items[1].n": 3}}],
        [{"set": {"e.items": [{"n": 1}, {"n": 2}]}}, {"set": {"e.items[1].n": 3}}],
        [{"set": {"e.map.sub[0]": 3}}],
    ],
)
def test_an_index_into_a_list_that_may_grow_is_no_problem(play: Any, effects: Any) -> None:
    _, fact = play(one({"items": [{"n": 1}], "map": {"sub": [1]}}, effects=effects), GO)
    assert fact["success"]


@pytest.mark.parametrize("selector", ["args.id", "n", "args.id.trim()"])
def test_a_selector_that_turns_out_to_be_no_condition_is_a_fault_of_the_scenario(
    play: Any, selector: str
) -> None:
    world = one({"items": [{"n": 1}]}, parameters=TEXT, effects=[{"set": {f"e.items[{selector}].n": 3}}])
    _, fact = play(world, ("e.go", {"id": "x"}))
    assert (
        fact["fault"].startswith(f"the effect on e.items[{selector}].n")
        and "not true or false" in fact["fault"]
    )
