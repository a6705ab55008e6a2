"""What a simulator may propose, and what goes back to it with the reason. Nothing unlawful is ever applied."""

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from worldloom.core.action import Action
from worldloom.core.canonical import canonical
from worldloom.core.errors import DocumentError, Ended, ModelError
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, load_scenario
from worldloom.models.model import Completion, Request
from worldloom.models.scripted import Answer, ScriptedModel
from worldloom.runs.context import Context
from worldloom.worlds.aaw.simulated.delta import GROWTH, LONGER, SPARE
from worldloom.worlds.aaw.simulated.world import RETRIES, ModelWorld
from worldloom.worlds.aaw.state import AawState
from worldloom.worlds.world import Transition

READS = "NO STATE CHANGES. Read-only operation."


def act(name: str, returns: str, **parameters: str) -> dict[str, Any]:
    declared = {key: {"type": kind, "required": True} for key, kind in parameters.items()}
    return {"name": name, "description": "Does it.", "parameters": declared, "returns": returns}


STATE: dict[str, Any] = {
    "playing": False,
    "volume": 0.5,
    "count": 3,
    "chapter": None,
    "title": "Harbour",
    "devices": [
        {"device_id": "hp", "paired": True, "name": "House", "battery": 4},
        {"device_id": "ha", "paired": False, "name": "Aid", "battery": 88},
    ],
    "tags": ["old"],
    "clock": {"hour": 7, "minute": 5},
}
GUIDE: dict[str, Any] = {
    "type": "app",
    "name": "Guide",
    "state": STATE,
    "invariants": ["guide.count >= 0"],
    "actions": [
        act("look", READS),
        act("start", "STATE CHANGES to guide:\nplaying: true\nMessage confirms: {playing: boolean}"),
        act("play", "STATE CHANGES to guide:\nchapter: {the number parameter}", number="integer"),
        act(
            "pair",
            "STATE CHANGES to guide:\ndevices[device_id].paired: true\nplaying: false (pauses playback)\n"
            "STATE CHANGES to handset:\noutput: {the device's name}",
            device_id="string",
        ),
        act("free", "Whatever is needed changes."),
        act("spend", "STATE CHANGES to guide:\ncount: falls by {the amount parameter}", amount="number"),
        act("retitle", "STATE CHANGES to guide:\ntitle: null\nfresh: {the text parameter}", text="string"),
    ],
}
HANDSET: dict[str, Any] = {"type": "system", "name": "Handset", "state": {"output": "speaker"}, "actions": []}


@pytest.fixture
def scenario(scenario_of: Callable[..., Scenario]) -> Scenario:
    return scenario_of({"guide": GUIDE, "handset": HANDSET}, context={"date": "2026-05-09"})


def step(
    world: ModelWorld, answer: Answer, name: str, state: AawState | None = None, **arguments: Any
) -> Transition[Any]:
    ctx = Context.null({"world": ScriptedModel(answer)})
    return asyncio.run(world.step(state or world.initial(0), {"agent": Action(name, arguments)}, ctx))


def always(said: str) -> Answer:
    return lambda _: said


def reply(changes: Any = None, success: Any = True, message: Any = "Done.", **more: Any) -> str:
    shown = {"thought_process": "so", "success": success, "message": message, **more}
    return json.dumps(shown if changes is None else {**shown, "state_changes": changes})


def devices(**changed: Any) -> list[dict[str, Any]]:
    first, second = (dict(one) for one in STATE["devices"])
    return [first, {**second, **changed}]


LAWFUL = [
    ("look", {}, None, {}),
    ("look", {}, {}, {}),
    ("start", {}, {"guide": {"playing": True}}, {"guide": {"playing": True}}),
    ("play", {"number": 2}, {"guide": {"chapter": 2}}, {"guide": {"chapter": 2}}),
    ("play", {"number": 2}, {"guide": {"chapter": 2.0}}, {"guide": {"chapter": 2.0}}),
    (
        "pair",
        {"device_id": "ha"},
        {"guide": {"devices": devices(paired=True)}, "handset": {"output": "Aid"}},
        {"guide": {"devices": devices(paired=True)}, "handset": {"output": "Aid"}},
    ),
    ("free", {}, {"guide": {"volume": 1}}, {"guide": {"volume": 1.0}}),
    ("free", {}, {"guide": {"count": 4.0}}, {"guide": {"count": 4}}),
    ("free", {}, {"guide": {"count": 3}}, {}),
    ("free", {}, {"guide": {}}, {}),
    ("free", {}, {"guide": {"chapter": {"any": ["thing"]}}}, {"guide": {"chapter": {"any": ["thing"]}}}),
    ("free", {}, {"guide": {"tags": ["old", None]}}, {"guide": {"tags": ["old", None]}}),
    ("free", {}, {"guide": {"clock": {"hour": 8, "minute": 0}}}, {"guide": {"clock": {"hour": 8, "minute": 0}}}),
    ("spend", {"amount": 0.5}, {"guide": {"count": 2.5}}, {"guide": {"count": 2.5}}),
    ("retitle", {"text": "x"}, {"guide": {"title": None, "fresh": "x"}}, {"guide": {"title": None, "fresh": "x"}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "proposed", "changes"), LAWFUL)
def test_a_lawful_proposal_is_applied(
    scenario: Scenario, name: str, arguments: dict[str, Any], proposed: Any, changes: Any
) -> None:
    world = ModelWorld(scenario)
    before = json.dumps(world.initial(0).to_json())
    done = step(world, lambda _: reply(proposed), f"guide.{name}", **arguments)
    (fact,) = done.facts
    assert json.dumps(fact["changes"], sort_keys=True) == json.dumps(changes, sort_keys=True)
    assert set(fact) == {"action", "arguments", "success", "message", "read_only", "changes"}
    assert fact["read_only"] is (name == "look")
    for entity, properties in changes.items():
        for key, value in properties.items():
            assert done.state.to_json()[entity][key] == value
    assert json.dumps(world.initial(0).to_json()) == before, "an earlier state was changed"


HA = {"device_id": "ha"}
UNLAWFUL = [
    ("free", {}, reply({"lamp": {"on": True}}), "There is no entity 'lamp'"),
    ("free", {}, reply({"guide": {"volum": 1}}), "Did you mean 'volume'?"),
    ("free", {}, reply({"guide": [1]}), "state_changes.guide must be an object"),
    ("free", {}, reply([]), "state_changes must be an object"),
    ("free", {}, reply({"guide": {"playing": 1}}), "it must be true or false"),
    ("free", {}, reply({"guide": {"volume": True}}), "it must be a number"),
    ("free", {}, reply({"guide": {"count": 2.5}}), "it must be a whole number"),
    ("free", {}, reply({"guide": {"count": "3"}}), "it must be a whole number"),
    ("free", {}, reply({"guide": {"title": None}}), "it must be a text"),
    ("free", {}, reply({"guide": {"devices": {"0": 1}}}), "it must be a list"),
    ("free", {}, reply({"guide": {"devices": [{"device_id": "hp"}]}}), "lacks 'paired'"),
    ("free", {}, reply({"guide": {"devices": devices(colour="red")}}), "unknown field 'colour'"),
    ("free", {}, reply({"guide": {"devices": devices(paired="yes")}}), "guide.devices[1].paired"),
    ("free", {}, reply({"guide": {"clock": {"hour": "8"}}}), "guide.clock.hour"),
    ("free", {}, reply({"guide": {"tags": [1]}}), "guide.tags[0]"),
    ("free", {}, reply({"guide": {"count": -1}}), "guide.count >= 0"),
    ("look", {}, reply({"guide": {"count": 4}}), "guide.look only reads"),
    ("free", {}, reply({"guide": {"count": 4}}, success=False), "an action that fails changes nothing"),
    ("start", {}, reply({"guide": {"playing": False}}), "`returns` says 'playing: true'"),
    ("start", {}, reply({}), "`returns` says 'playing: true'"),
    ("start", {}, reply({"guide": {"playing": True, "count": 4}}), "names only guide.playing"),
    ("start", {}, reply({"guide": {"playing": True}, "handset": {"output": "x"}}), "names only guide"),
    ("play", {"number": 2}, reply({"guide": {"chapter": 3}}), "which is the number 2 here"),
    ("play", {"number": 2}, reply({"guide": {"chapter": "2"}}), "which is the number 2 here"),
    ("pair", HA, reply({"guide": {"devices": devices()}}), "devices[1].paired"),
    ("pair", HA, reply({"guide": {"devices": devices(paired=True)[1:]}}), "give back all the rest"),
    ("pair", HA, reply({"guide": {"devices": devices(paired=True, battery=1)}}), "devices[1].paired may"),
    ("pair", HA, reply({"guide": {"devices": devices(paired=True), "playing": True}}), "playing"),
    ("free", {}, reply(success="true"), "success must be"),
    ("free", {}, reply(message=" "), "message must be"),
    ("free", {}, reply(message={"a": 1}), "message must be"),
    ("free", {}, reply(message="x" * 5000), "message has 5,000 characters; at most 1,"),
    ("free", {}, reply(thought_process=1), "thought_process must be"),
    ("free", {}, reply(extra=1), "Unknown key 'extra'"),
    ("free", {}, "{}", "success must be"),
    ("free", {}, "Well, it works.", "no JSON object"),
    ("free", {}, reply() + reply(), "more than one JSON value"),
    ("free", {}, reply()[:-1] + ', "success": true}', "'success' twice"),
    ("free", {}, '{"success": true, "message": "x", "state_changes": {"guide": {"volume": NaN}}}', "NaN"),
    ("free", {}, Completion(reply(), finish_reason="length"), "cut off"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "proposed", "why"), UNLAWFUL)
def test_an_unlawful_proposal_is_sent_back_with_the_reason_and_never_applied(
    scenario: Scenario, name: str, arguments: dict[str, Any], proposed: Any, why: str
) -> None:
    world, asked = ModelWorld(scenario), list[Request]()

    def stubborn(request: Request) -> Any:
        asked.append(request)
        return proposed

    done = step(world, stubborn, f"guide.{name}", **arguments)
    (fact,) = done.facts
    assert done.state.to_json() == world.initial(0).to_json()
    assert not fact["success"] and fact["changes"] == {} and fact["attempts"] == RETRIES + 1 == len(asked)
    assert why in str(fact["fault"])
    assert why in asked[1].messages[-1].content[0].text  # type: ignore[union-attr]
    assert why not in done.feedback["agent"].message
    assert asked[2].messages[:4] == asked[1].messages


def test_a_second_lawful_reply_is_applied_and_the_attempts_are_counted(scenario: Scenario) -> None:
    def better(request: Request) -> str:
        return reply({"guide": {"playing": len(request.messages) > 2}})

    (fact,) = step(ModelWorld(scenario), better, "guide.start").facts
    assert fact["attempts"] == 2 and fact["changes"] == {"guide": {"playing": True}} and "fault" not in fact


@pytest.mark.parametrize(("name", "success"), [("look", True), ("look", False), ("free", False)])
@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        ({}, ""),
        ({"guide": {}, "handset": {}}, ""),
        ({"guide": 0}, "state_changes.guide must be an object"),
        ({"guide": None}, "state_changes.guide must be an object"),
        ({"handset": []}, "state_changes.handset must be an object"),
        ({"gide": {}}, "Did you mean 'guide'?"),
    ],
)
def test_a_reply_that_changes_nothing_is_read_as_strictly_as_any_other(
    scenario: Scenario, name: str, success: bool, proposed: Any, why: str
) -> None:
    (fact,) = step(ModelWorld(scenario), lambda _: reply(proposed, success), f"guide.{name}").facts
    assert why in str(fact.get("fault", "")) and ("fault" in fact) is bool(why)


@pytest.mark.parametrize(
    ("key", "piece"),
    [
        ("title", "xx"),
        ("tags", ["x"]),
        ("clock", {"x10": 1}),
        ("chapter", "xx"),
        ("devices", [{**STATE["devices"][0]}]),
    ],
)
def test_neither_a_property_nor_the_state_nor_a_message_grows_without_end(
    scenario: Scenario, key: str, piece: Any
) -> None:
    def grown(length: int) -> Any:
        times = length // (len(canonical(piece)) - 1)
        return {f"x{number}": 1 for number in range(times)} if isinstance(piece, dict) else piece * times

    world, refused = ModelWorld(scenario), []
    state = world.initial(0)
    sizes = [len(canonical(state.to_json()))]
    for length in (*range(500, 9_000, 500), 60_000):
        done = step(world, always(reply({"guide": {key: grown(length)}})), "guide.free", state)
        state = done.state
        sizes.append(len(canonical(state.to_json())))
        refused += [str(fact["fault"]) for fact in done.facts if "fault" in fact]
    assert max(after - before for before, after in pairwise(sizes)) <= LONGER
    assert sizes[0] + GROWTH * 0.8 < sizes[-1] <= sizes[0] + GROWTH
    assert "The whole state would have" in refused[0]
    assert f"guide.{key} would have" in refused[-1]
    longer = reply(message="x" * (sizes[0] + GROWTH + SPARE + 1))
    (fact,) = step(world, always(longer), "guide.look", state).facts
    assert "characters; at most" in str(fact["fault"])


def test_what_the_agent_brings_itself_is_stored_however_long_it_is(scenario: Scenario) -> None:
    text = "x" * 15_000
    (fact,) = step(
        ModelWorld(scenario), lambda _: reply({"guide": {"title": None, "fresh": text}}), "guide.retitle", text=text
    ).facts  # fmt: skip
    assert fact["success"] and fact["changes"]["guide"]["fresh"] == text


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("lamp.on", {}, "There is no 'lamp' here."),
        ("guide.sing", {}, "'guide' has no action 'sing'."),
        ("guide", {}, "'guide' is no action."),
        ("guide.play", {}, "The required parameter 'number' is missing; expected a whole number."),
        ("guide.play", {"number": "2"}, "The parameter 'number' is the text \"2\"; expected a whole number."),
        ("guide.start", {"now": True}, "There is no parameter 'now'. It takes none."),
        ("guide.\ud800", {}, "'guide' has no action '\ufffd'."),
    ],
)
def test_what_does_not_fit_is_answered_without_the_model(
    scenario: Scenario, name: str, arguments: dict[str, Any], told: str
) -> None:
    def nobody(_: Request) -> str:
        raise AssertionError("the model was asked")

    done = step(ModelWorld(scenario), nobody, name, **arguments)
    assert done.feedback["agent"].message == told and not done.facts[0]["success"]


def test_an_empty_seat_and_a_strange_one_ask_nobody(scenario: Scenario) -> None:
    world = ModelWorld(scenario)
    done = asyncio.run(world.step(world.initial(0), {"cook": Action("guide.look")}, Context.null()))
    assert done.state is world.initial(0) and done.facts == () and not done.feedback["cook"].success


@pytest.mark.parametrize(
    "answer",
    [ModelError("overflow", "long"), ModelError("refusal", "no"), Completion("No.", finish_reason="refusal")],
)
def test_a_model_that_declines_or_has_no_room_is_the_worlds_fault(scenario: Scenario, answer: Any) -> None:
    with pytest.raises(Ended) as ended:
        step(ModelWorld(scenario), lambda _: answer, "guide.look")
    assert ended.value.reason == "world_failed"


def test_a_server_that_does_not_answer_is_not_the_worlds_fault(scenario: Scenario) -> None:
    with pytest.raises(ModelError):
        step(ModelWorld(scenario), lambda _: ModelError("unreachable", "gone"), "guide.look")


def test_the_schema_is_small_where_the_prose_names_what_changes(scenario: Scenario) -> None:
    simulator = ModelWorld(scenario).simulator

    def schema(name: str, **arguments: Any) -> Any:
        call = simulator.call(Action(f"guide.{name}", arguments))
        return simulator.request(ModelWorld(scenario).initial(0).entities, call).schema

    assert "state_changes" not in schema("look")["properties"]
    started = schema("start")["properties"]["state_changes"]["properties"]
    assert started == {
        "guide": {"type": "object", "properties": {"playing": {"type": "boolean"}}, "additionalProperties": False}
    }  # fmt: skip
    free = schema("free")["properties"]["state_changes"]["properties"]
    assert set(free) == {"guide", "handset"} and set(free["guide"]["properties"]) == set(STATE)
    retitled = schema("retitle", text="x")["properties"]["state_changes"]["properties"]["guide"]["properties"]
    assert retitled == {"title": {"type": ["null", "string"]}, "fresh": {}}


def test_an_invariant_that_does_not_hold_at_first_is_a_fault_of_the_file(
    scenario_of: Callable[..., Scenario],
) -> None:
    with pytest.raises(DocumentError, match="the initial state breaks this invariant"):
        ModelWorld(scenario_of({"guide": {**GUIDE, "invariants": ["guide.count > 3"]}, "handset": HANDSET}))


@pytest.mark.parametrize(
    "file", sorted(Path(__file__).with_name("published").iterdir()), ids=lambda f: f.name
)
def test_published_files_are_simulated_by_their_prose(file: Path) -> None:
    scenario = load_scenario(file, Registry.discover())
    world = ModelWorld(scenario)
    for name, action in world.simulator.actions.items():
        if not action.parameters.required:
            done = step(world, lambda _: reply(success=False, message="Not now."), name)
            assert done.feedback["agent"].message == "Not now."


@pytest.mark.parametrize(
    "word",
    [{"minimum": "low"}, {"pattern": "["}, {"enum": []}, {"minLength": -1, "default": 3}, {"items": 7}],
)
def test_words_that_cannot_be_enforced_do_no_harm_in_files_without_rules(
    scenario_of: Callable[..., Scenario], word: dict[str, Any]
) -> None:
    action = act("say", "The box speaks.")
    action["parameters"] = {"text": {"type": "string", "required": True, **word}}
    box = {"type": "app", "name": "Box", "state": {}, "actions": [action]}
    done = step(ModelWorld(scenario_of({"box": box})), lambda _: reply(), "box.say", text="hello")
    assert done.feedback["agent"].success
