"""The graph: the truth goes on, first replies are recorded, and nothing that a simulator says breaks it."""

import asyncio
import hashlib
import json
import random
from dataclasses import replace

import pytest

from worldloom.api.plans.cast import WorldSpec
from worldloom.api.plans.plan import GraphSpec, build_program
from worldloom.core.action import Action
from worldloom.core.errors import ModelError, UsageError
from worldloom.models.model import Completion, ToolCall
from worldloom.runs.limits import Limits
from worldloom.testing import check_room, live

FILL = Action("tank.fill", {"level": 7, "tag": 1})
LOOK = Action("tank.look")


def events(tank, answer, actions, **options):
    life = asyncio.run(live(tank.trial(answer, actions, **options)))
    assert life.end.reason == "completed", life.end
    return sorted(life.events, key=lambda event: event.key)


def bodies(found, type):
    return [event.body for event in found if event.type == type]


def test_the_graph_conforms(tank, reply):
    def moody(request):
        draw = hashlib.sha256(repr(request.messages).encode()).digest()[0] % 4
        if draw == 0:
            return "The world is what it is."
        return reply(tank.truth(request), **({"success": False} if draw == 1 else {}))

    check_room(tank.trial(moody, [LOOK, Action("tank.fill", {"level": "high"}), FILL], repeats=2))


def test_the_trajectory_goes_on_from_what_the_rules_did_whatever_was_proposed(tank, reply):
    def wrong(request):
        return reply(tank.truth(request), state_changes={"tank": {"level": 99}})

    found = events(tank, wrong, [FILL, LOOK], repeats=2)
    assert [json.loads(body["message"])["level"] for body in bodies(found, "stepped.1")] == [7, 7]
    assert [len(body["replies"]) for body in bodies(found, "proposed.1")] == [2, 2]


def test_each_reply_is_the_first_to_its_call_and_what_check_would_refuse_is_said(tank, reply):
    asked = []

    def wrong(request):
        asked.append(len(request.messages))
        return reply(tank.truth(request), state_changes={"tank": {"spare": "ajar"}})

    (body,) = bodies(events(tank, wrong, [FILL], repeats=3), "proposed.1")
    assert asked == [2, 2, 2]
    assert ["may not change" in one["refused"] for one in body["replies"]] == [True] * 3


@pytest.mark.parametrize("action", [Action("tank.drain"), Action("tank.fill", {"level": "x"}), Action("")])
def test_what_the_model_would_not_be_asked_about_is_no_call(tank, action):
    def silent(request):
        raise AssertionError("the model was asked")

    scores = asyncio.run(tank.measured(silent, [action]))
    assert {score.n for score in scores.values()} == {0}
    assert {score.value for score in scores.values()} == {None}


@pytest.mark.parametrize(
    "answer",
    [
        ModelError("overflow", "too long"),
        ModelError("refusal", "no"),
        Completion("", finish_reason="refusal"),
        Completion('{"success": true', finish_reason="length"),
        '{"success": true, "message": "m", "state_changes": {"tank": 3}}',
        '{"success": "yes", "message": "m"}',
        '{"success": true, "message": "\\ud800"}',
    ],
)
def test_a_reply_that_is_none_counts_as_unreadable_and_the_trajectory_goes_on(tank, answer):
    scores = asyncio.run(tank.measured(lambda request: answer, [FILL, LOOK], repeats=1))
    assert (scores["unreadable"].value, scores["unreadable"].n) == (1.0, 2)
    assert (scores["exact"].value, scores["accepted"].value) == (0.0, 0.0)


def test_a_server_that_does_not_answer_is_no_fault_of_the_simulator(tank):
    down = ModelError("unavailable", "down")
    life = asyncio.run(live(tank.trial(lambda request: down, [FILL])))
    assert (life.end.reason, life.end.fault) == ("model_failed", "infrastructure")


def test_the_limit_on_steps_ends_a_trajectory(tank):
    trial = replace(tank.trial(tank.perfect, [LOOK] * 9), limits=Limits(steps=2))
    life = asyncio.run(live(trial))
    assert life.end.reason == "step_limit"
    assert sum(event.type == "proposed.1" for event in life.events) == 2


@pytest.mark.parametrize("options", [{"repeats": 0}, {"repeats": True}, {"repeats": "2"}, {"times": 2}])
def test_options_that_mean_nothing_are_refused(tank, options):
    with pytest.raises(UsageError, match="allowed: repeats"):
        build_program(tank.config([FILL]), tank.registry, GraphSpec("fidelity", options))


def test_only_the_model_world_can_be_measured(tank):
    config = replace(tank.config([FILL]), world=WorldSpec().build(tank.scenario, tank.registry))
    with pytest.raises(UsageError, match="the world `model`"):
        build_program(config, tank.registry, GraphSpec("fidelity"))


ODD = [
    None, True, 0, -1, 2.5, -0.0, 1e308, 10**18, 10**30, float("nan"), "", "x", "\ud800", "\x00", "a" * 5_000, [], {},
    {"": {}}, {"at": 1}, [[[]]], {"level": {"level": 1}},
]  # fmt: skip


def odd(rng, fact):
    """A reply that is odd in some way; many of them can be read."""
    said = {"thought_process": "t", "success": fact["success"], "message": fact["message"]}
    said["state_changes"] = {name: dict(properties) for name, properties in fact["changes"].items()}
    for _ in range(rng.choice([0, 1, 2])):
        entity = said["state_changes"].setdefault(rng.choice(["tank", "ghost", "", "\ud800"]), {})
        entity[rng.choice(["level", "last", "log", "half", "ghost", ""])] = rng.choice(ODD)
    if rng.random() < 0.1:
        said["success"] = not fact["success"]
    if rng.random() < 0.2:
        said[rng.choice(list(said))] = rng.choice(ODD)
    if rng.random() < 0.1:
        said["state_changes"] = {"tank": rng.choice(ODD)}
    text = json.dumps(said, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.2:
        at, end = sorted(rng.randrange(len(text)) for _ in range(2))
        text = text[:at] + rng.choice(["", "}", '"', "{", "[" * 5_000, text[at:end] * 2]) + text[end:]
    if rng.random() < 0.05:
        return Completion("", tool_calls=(ToolCall("1", "answer", text),), finish_reason="tool_calls")
    return Completion(
        text.encode("utf-8", "replace").decode(), finish_reason=rng.choice(["stop"] * 9 + ["length"])
    )  # type: ignore[arg-type]


@pytest.mark.slow
def test_two_thousand_odd_replies_are_all_counted_and_break_nothing(tank):
    rng = random.Random(5)

    def answer(request):
        return odd(rng, tank.truth(request))

    actions = [Action("tank.fill", {"level": n % 99, "tag": n}) if n % 3 else LOOK for n in range(1_000)]
    scores = asyncio.run(tank.measured(answer, actions, repeats=2))
    assert scores["exact"].n == 2_000
    readable = 1 - scores["unreadable"].value
    assert 0.2 < readable < 0.9
    for kind in (
        "wrong_success",
        "wrong_value",
        "missing_change",
        "extra_change",
        "invented",
        "read_that_wrote",
    ):
        assert scores[kind].value > 0, kind
