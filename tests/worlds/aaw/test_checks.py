"""Criteria: judged by `check`, else by the published idiom, else not at all."""

from typing import Any

import pytest

from worldloom.core.errors import DocumentError
from worldloom.worlds.aaw.checks import CompiledCriterion, Verdict, compile_rubric

STATE = {
    "lamp": {
        "on": True,
        "level": 3,
        "mode": "warm",
        "limit": 3.0,
        "room": None,
        "nested": {"deep": {"x": 1}},
    },
    "bluetooth": {
        "enabled": False,
        "devices": [
            {"device_id": "buds", "name": "Earbuds", "paired": True},
            {"device_id": "car", "name": "Car", "paired": False},
        ],
        "by_room": {"hall": {"on": True}},
        "lamp": "also a property",
    },
}
ACTIONS = {"lamp": ["get_status", "turn_on", "reset"], "bluetooth": ["get_status", "pair"]}


def call(action: str, success: bool = True, **arguments: Any) -> dict[str, Any]:
    return {"action": action, "arguments": arguments, "success": success, "message": "", "changes": {}}


TRACE = [
    call("lamp.get_status"),
    call("bluetooth.pair", success=False, device="car"),
    call("lamp.turn_on", level=3, mode="warm"),
    call("lamp.get_status"),
]


@pytest.fixture
def judge(scenario_of: Any) -> Any:
    def run(state: Any = STATE, trace: Any = TRACE, **criterion: str) -> Verdict:
        return compiled(scenario_of, **criterion).evaluate(state, {"night": True}, trace)

    return run


def compiled(scenario_of: Any, **criterion: str) -> CompiledCriterion:
    entities = {
        name: {
            "type": "app",
            "name": name,
            "state": state,
            "actions": [{"name": action, "description": "Does it."} for action in ACTIONS[name]],
        }
        for name, state in STATE.items()
    }
    (made,) = compile_rubric(
        scenario_of(entities, [{"criterion": "It is so.", **criterion}], {"night": True})
    )
    return made


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ("lamp.on && lamp.level == 3 && context.night", True),
        ("lamp.level > 3", False),
        ("bluetooth.devices.exists(d, d.device_id == 'buds' && d.paired)", True),
        ("called('lamp.turn_on')", True),
        ("called('lamp.turn_on', {'level': 3.0})", True),
        ("called('lamp.turn_on', {'level': 4})", False),
        ("called('lamp.turn_on', {'other': 4})", False),
        ("called('bluetooth.pair')", False),
        ("never('bluetooth.pair')", True),
        ("never('lamp.turn_on')", False),
        ("never('lamp.turn_on', {'mode': 'cold'})", True),
        ("count('lamp.get_status') == 2 && count('lamp.reset') == 0", True),
        ("count('lamp.turn_on', {'mode': 'warm'}) == 1", True),
        ("before('lamp.get_status', 'lamp.turn_on')", True),
        ("before('lamp.turn_on', 'lamp.get_status')", False),
        ("before('lamp.get_status', 'lamp.reset')", True),
        ("before('lamp.reset', 'lamp.turn_on')", False),
        ("before('lamp.reset', 'bluetooth.get_status')", False),
        ("trace.exists(s, s.action == 'bluetooth.pair' && !s.success)", True),
        ("trace.size() == 4", True),
    ],
)
def test_a_check_is_judged_on_final_state_context_and_trace(judge: Any, check: str, passed: bool) -> None:
    verdict = judge(check=check)
    assert (verdict.passed, verdict.how) == (passed, "check")
    assert verdict.why == ("" if passed else f"`{check}` is false")


def test_a_check_wins_over_the_prose_beside_it(judge: Any) -> None:
    assert judge(check="lamp.on", pass_condition="lamp.state.on == false") == Verdict(True, "check")


@pytest.mark.parametrize(
    "check", ["lamp.room > 3", "lamp.level", "bluetooth.devices[7].paired", "1 / 0 == 1"]
)
def test_a_check_without_value_is_unscored_and_says_why(judge: Any, check: str) -> None:
    verdict = judge(check=check)
    assert verdict.passed is None and verdict.how == "unscored"
    assert check in verdict.why


@pytest.mark.parametrize(
    ("check", "found", "near"),
    [
        ("lmap.on", "unknown name 'lmap'", "lamp"),
        ("lamp.onn", "lamp has no 'onn'", "on"),
        ("args.x == 1", "unknown name 'args'", None),
        ("called('lamp.turn_of')", "'lamp.turn_of' is no action of this world", "lamp.turn_on"),
        ("before('lamp.turn_on', 3)", "3 is no action of this world", None),
        ("called()", "'called' with 0 arguments", None),
        ("lamp.on ==", "the expression ends too early", None),
    ],
)
def test_a_check_that_cannot_be_right_is_a_problem_of_the_file(
    scenario_of: Any, check: str, found: str, near: str | None
) -> None:
    with pytest.raises(DocumentError) as caught:
        compiled(scenario_of, check=check)
    (problem,) = caught.value.problems
    assert (problem.found, problem.nearest) == (found, near)
    assert '"check"' in problem.source


@pytest.mark.parametrize(
    ("condition", "passed"),
    [
        ("lamp.state.on == true", True),
        ("lamp.on == true.", True),
        ('lamp.state.mode == "warm" AND lamp.state.level == 3', True),
        ("lamp.state.on == true AND level == 4", False),
        ("lamp.state.on == true and state.mode == 'warm'", True),
        ("lamp.level == state.limit", True),
        ("lamp.level != lamp.state.limit", False),
        ("lamp.level >= 3 AND level < 3.5", True),
        ("lamp.level is between 2 and 3 (inclusive)", True),
        ("lamp.level is between 3.5 and 9 (inclusive) AND lamp.on == true", False),
        ("lamp.room == null", True),
        ("lamp.room is between 0 and 1 (inclusive)", False),
        ("lamp.mode < 3", False),
        ("lamp.on == 1", False),
        ("lamp.nested.deep.x == 1", True),
        ("bluetooth.state.devices['buds'].paired == true", True),
        ("bluetooth.enabled == false AND devices['car'].paired == true", False),
        ("bluetooth.by_room['hall'].on == true", True),
        ("bluetooth.devices['gone'].paired != true", False),
        ("Agent called lamp.get_status before lamp.turn_on", True),
        ("Agent called lamp.get_status before any lamp.turn_on.", True),
        ("agent called lamp.get_status before calling turn_on", True),
        ("Agent called lamp.get_status() before any call to lamp.turn_on()", True),
        ("Agent called lamp.turn_on before lamp.get_status", False),
        ("The agent called lamp.turn_on", True),
        ("Agent called bluetooth.pair", False),
        ("Agent never called lamp.reset", True),
        ("Agent never called lamp.turn_on", False),
        ("Agent did not call lamp.reset AND lamp.on == true", True),
        ("lamp.turn_on was called", True),
        ("lamp.get_status was called before lamp.turn_on", True),
        ("lamp.turn_on was never called", False),
        ("reset was not called", True),
    ],
)
def test_the_published_idiom_is_read(judge: Any, condition: str, passed: bool) -> None:
    verdict = judge(pass_condition=condition)
    assert (verdict.passed, verdict.how) == (passed, "idiom"), verdict.why
    assert bool(verdict.why) is not passed


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("fourteen doses fit into the tank", "'fourteen' is no entity"),
        ("The lamp is on", "'The' is no entity"),
        ("lamp.on == true OR lamp.level == 3", "'OR' after a complete clause"),
        ("lamp.on == true, and nothing else changed", "', and nothing else changed' is not in the idiom"),
        ("lamp.on is true", "'is' after the path lamp.on"),
        ("lamp.on = true", "'= true' is not in the idiom"),
        ("lamp.on == on", "'on' could be a property or a text without quotes"),
        ("lamp.mode == warm", "'warm' could be"),
        ("lamp.mode == lamp.warm", "lamp.warm is no property"),
        ("lamp.brightness == 3", "lamp.brightness is no property"),
        ("lamp.nested.deep.y == 1", "there is no 'y'"),
        ("lamp.level.x == 1", "has no parts"),
        ("level == 3", "'level' is no entity"),
        ("lamp == 3", "lamp is no property"),
        ("bluetooth.enabled == false AND lamp.on == true", "an entity and a property"),
        ("lamp.level is between 2 and 3", "'(inclusive)' must stand there"),
        ("lamp.level is between 2 and 3 (exclusive)", "'(inclusive)'"),
        ("lamp.level == 3 AND", "the end"),
        ("lamp.level ==", "the end where a name is needed"),
        ("bluetooth.devices[0].paired == true", "['id'] is needed"),
        ("bluetooth.devices.paired == true", "of a list"),
        ("Agent called lamp.explode", "'lamp.explode' is no action"),
        ("Agent called get_status", "'get_status' is several actions"),
        ("Agent called lamp.get_status after lamp.turn_on", "'after' after a complete clause"),
        ("Agent called lamp.get_status(level)", "in the brackets of a call"),
        ("Agent asked for permission", "'asked' after 'agent'"),
        ("lamp.level == 3 lamp.on == true", "'lamp' after a complete clause"),
        ("lamp.level == 3ml", "is not in the idiom"),
    ],
)
def test_what_is_not_in_the_idiom_is_unscored_and_says_why(
    scenario_of: Any, judge: Any, condition: str, why: str
) -> None:
    assert compiled(scenario_of, pass_condition=condition).how == "unscored"
    verdict = judge(pass_condition=condition)
    assert verdict.passed is None and verdict.how == "unscored"
    assert why in verdict.why


def test_a_rubric_of_too_many_criteria_is_a_problem_of_the_file(scenario_of: Any) -> None:
    with pytest.raises(DocumentError) as caught:
        scenario_of({"e": {"type": "t", "name": "E"}}, [{"criterion": "So.", "check": "true"}] * 101)
    (problem,) = caught.value.problems
    assert (problem.found, problem.allowed) == ("101 criteria", "at most 100")


def test_a_criterion_without_either_is_a_problem_of_the_file(scenario_of: Any) -> None:
    with pytest.raises(DocumentError) as caught:
        scenario_of({"e": {"type": "t", "name": "E"}}, [{"criterion": "So."}])
    (problem,) = caught.value.problems
    assert problem.found == "a criterion without anything to judge it by"
    assert "pass_condition" in problem.allowed and problem.line > 1


def test_what_is_gone_in_the_end_fails_and_is_not_unscored(judge: Any) -> None:
    state = {**STATE, "bluetooth": {**STATE["bluetooth"], "devices": []}}
    for condition in ("bluetooth.devices['buds'].paired == true", "bluetooth.devices['buds'].paired != true"):
        verdict = judge(state, pass_condition=condition)
        assert verdict.passed is False and "not there any more" in verdict.why


def test_an_id_that_fits_two_items_names_neither(judge: Any) -> None:
    twice = [{"device_id": "a", "owner_id": "x", "on": True}, {"device_id": "b", "owner_id": "a", "on": True}]
    state = {**STATE, "bluetooth": {**STATE["bluetooth"], "devices": twice}}
    assert judge(state, pass_condition="bluetooth.devices['a'].on == true").passed is False


def test_every_problem_of_a_rubric_is_told(scenario_of: Any, lamp_entity: Any) -> None:
    rubric = [
        {"criterion": str(n), "check": check} for n, check in enumerate(("lamp.x", "lamp.on", "lamp.y"))
    ]
    with pytest.raises(DocumentError) as caught:
        compile_rubric(scenario_of({"lamp": lamp_entity}, rubric))
    assert len(caught.value.problems) == 2
