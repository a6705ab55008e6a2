"""The rules world as agents and records see it."""

import asyncio
import inspect
import json
from typing import Any

import pytest

from worldloom.core.action import Action, Feedback
from worldloom.core.canonical import canonical
from worldloom.core.errors import UsageError
from worldloom.core.scenario import Scenario
from worldloom.runs.context import Context
from worldloom.worlds.aaw.state import AawState
from worldloom.worlds.aaw.world import RulesWorld, build
from worldloom.worlds.session import WorldSession

HERE = Context.null()


@pytest.fixture
def world(scenario_of: Any, lamp_entity: Any) -> RulesWorld:
    return build(scenario_of({"lamp": lamp_entity}, context={"date": "2026-07-03"}))


def step(world: RulesWorld, state: AawState, name: str, **arguments: Any) -> tuple[AawState, Feedback, Any]:
    made = asyncio.run(world.step(state, {"agent": Action(name, arguments)}, HERE))
    (fact,) = made.facts
    return made.state, made.feedback["agent"], fact


def test_a_write_changes_the_new_state_and_leaves_the_old_one(world: RulesWorld) -> None:
    start = world.initial(0)
    state, feedback, fact = step(world, start, "lamp.turn_on")
    assert feedback == Feedback(True, '{"done":true}')
    assert fact == {
        "action": "lamp.turn_on",
        "arguments": {},
        "success": True,
        "message": '{"done":true}',
        "read_only": False,
        "changes": {"lamp": {"on": True}},
    }
    assert state.to_json()["lamp"] == {"on": True, "level": 3, "colour": None}
    assert start.to_json()["lamp"] == {"on": False, "level": 3, "colour": None}
    assert start.feedback is None and state.step == 1


def test_a_read_tells_and_changes_nothing(world: RulesWorld) -> None:
    start = world.initial(0)
    state, feedback, fact = step(world, start, "lamp.read")
    assert json.loads(feedback.message) == {"on": False, "level": 3, "colour": None}
    assert fact["read_only"] is True and fact["changes"] == {}
    assert state.to_json() == start.to_json()


def test_a_guard_that_does_not_hold_says_why_and_nothing_changes(world: RulesWorld) -> None:
    start = world.initial(0)
    state, feedback, fact = step(world, start, "lamp.dim", level=1)
    assert feedback == Feedback(False, "The lamp is off.")
    assert fact["changes"] == {} and "fault" not in fact
    assert state.to_json() == start.to_json()


def test_setting_what_is_set_already_is_no_change(world: RulesWorld) -> None:
    state, *_ = step(world, world.initial(0), "lamp.turn_on")
    _, feedback, fact = step(world, state, "lamp.turn_on")
    assert feedback.success and fact["changes"] == {}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lamp.explode", "'lamp' has no action 'explode'."),
        ("toaster.read", "There is no 'toaster' here."),
        ("lamp", "'lamp' is no action."),
        ("", "There is no '' here."),
        ("lamp.turn_on ", "'lamp' has no action 'turn_on '."),
    ],
)
def test_an_unknown_action_is_a_failure_that_names_no_other(world: RulesWorld, name: str, says: str) -> None:
    start = world.initial(0)
    state, feedback, fact = step(world, start, name)
    assert feedback == Feedback(False, says)
    assert (fact["success"], fact["read_only"], fact["changes"]) == (False, False, {})
    assert state.to_json() == start.to_json()


def test_a_name_or_arguments_that_no_record_can_hold_are_kept_out_of_it(world: RulesWorld) -> None:
    bad: Any = {"level": float("nan"), "\ud800": object()}
    for name in ("lamp.\ud800", "x" * 10_000, "lamp.dim"):
        state, fact = world.apply(world.initial(0), Action(name, bad))
        assert state.feedback is not None and not state.feedback.success
        canonical(fact)


def test_arguments_of_no_mapping_are_refused(world: RulesWorld) -> None:
    bad: Any = ["level", 3]
    state, fact = world.apply(world.initial(0), Action("lamp.dim", bad))
    assert state.feedback == Feedback(False, "The arguments are no JSON object.")
    assert fact["arguments"] == {}


def test_another_seat_is_told_that_it_is_not_there(world: RulesWorld) -> None:
    start = world.initial(0)
    made = asyncio.run(world.step(start, {"guest": Action("lamp.turn_on")}, HERE))
    assert made.state is start and made.facts == ()
    assert made.feedback == {"guest": Feedback(False, "There is no seat 'guest' here.")}


def test_the_view_holds_what_may_be_seen_and_nothing_else(world: RulesWorld) -> None:
    state, *_ = step(world, world.initial(0), "lamp.dim", level=1)
    view = state.view("agent")
    assert view.task == "Do it." and view.context == {"date": "2026-07-03"}
    assert view.places == {"lamp": "Thing (app)"}
    assert view.feedback == Feedback(False, "The lamp is off.") and view.step == 1
    assert [spec.name for spec in view.actions] == ["lamp.read", "lamp.turn_on", "lamp.dim"]
    assert [spec.read_only for spec in view.actions] == [True, False, False]
    assert view.actions[2].parameters == {
        "type": "object",
        "properties": {"level": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["level"],
        "additionalProperties": False,
    }
    shown = repr(world.initial(0).view("agent"))
    for secret in ("STATE CHANGES", "colour", "requires", "The lamp is off"):
        assert secret not in shown


def test_equal_states_have_equal_fingerprints_and_others_have_not(world: RulesWorld) -> None:
    first, *_ = step(world, world.initial(0), "lamp.turn_on")
    again, *_ = step(world, world.initial(7), "lamp.turn_on")
    other, *_ = step(world, world.initial(0), "lamp.read")
    assert first == again and first.fingerprint() == again.fingerprint()
    assert len({first.fingerprint(), other.fingerprint(), world.initial(0).fingerprint()}) == 3


def test_the_order_of_keys_in_the_file_does_not_show(scenario_of: Any, lamp_entity: Any) -> None:
    turned = {**lamp_entity, "state": dict(reversed(lamp_entity["state"].items()))}
    messages = [
        step(world := RulesWorld(scenario_of({"lamp": lamp})), world.initial(0), "lamp.read")[1].message
        for lamp in (lamp_entity, turned)
    ]
    assert messages[0] == messages[1]


def test_a_scenario_of_prose_loads_and_says_what_it_needs(scenario_of: Any) -> None:
    prose: Scenario = scenario_of(
        {
            "lamp": {
                "type": "app",
                "name": "Lamp",
                "state": {"on": False},
                "actions": [
                    {"name": "go", "description": "Go.", "returns": "STATE CHANGES to lamp:\non: true"}
                ],
            }
        }
    )
    with pytest.raises(UsageError) as caught:
        RulesWorld(prose)
    for part in (
        "made.yaml",
        "'made'",
        "has prose and no rules",
        "rules",
        "model",
        "docs/scenarios.md",
        "lamp.go",
    ):
        assert part in str(caught.value)


def test_a_scenario_with_rules_for_some_actions_names_the_others(scenario_of: Any, lamp_entity: Any) -> None:
    lamp_entity["actions"].append({"name": "blink", "description": "Blink."})
    with pytest.raises(UsageError, match=r"lacks rules for some actions(.|\n)*without rules: lamp.blink$"):
        RulesWorld(scenario_of({"lamp": lamp_entity}))


def test_nothing_is_asked_of_the_outside(world: RulesWorld) -> None:
    nothing: Any = None
    made = asyncio.run(world.step(world.initial(0), {"agent": Action("lamp.read")}, nothing))
    assert made.feedback["agent"].success
    assert inspect.iscoroutinefunction(world.step)


def test_a_session_remembers_and_can_go_back(world: RulesWorld) -> None:
    async def play() -> None:
        session = WorldSession(world)
        before = session.state
        assert (await session.act("lamp.turn_on")).success
        assert (await session.act("lamp.dim", level=1)).message == '{"level":1}'
        assert [fact["action"] for fact in session.facts] == ["lamp.turn_on", "lamp.dim"]
        assert session.view.step == 2
        session.state = before
        assert not (await session.act("lamp.dim", level=1)).success

    asyncio.run(play())
