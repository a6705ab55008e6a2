"""What is told of a run: the table, the reasons, the JSON."""

import json
from pathlib import Path

import pytest

from worldloom.api.results.result import RunResult
from worldloom.runs.rows import EpisodeRow, Score


def row(number, cast, scenario, category, reason="completed", fault="none", **values):
    status = values.pop("status", "ended")
    return EpisodeRow(
        number, f"{number:064}", scenario, category, cast, 0, 0, status, reason, fault,
        fingerprint="f" * 64, **values,
    )  # fmt: skip


def scored(value, *, criterion=None):
    scores = [Score("SPR", value, 2, "share", "rubric"), Score("NSS", value, 2, "share", "rubric")]
    return [*scores, Score("It is off.", criterion, 1, "criterion", "check")]


EPISODES = [
    row(0, "literal", "lamp", "access", steps=1),
    row(1, "m", "lamp", "access", steps=4, prompt_tokens=100, completion_tokens=10),
    row(2, "m", "lamp", "access", "step_limit", "agent", steps=8, prompt_tokens=300, completion_tokens=30),
    row(3, "m", "door", "privacy", "model_failed", "infrastructure", steps=3),
    row(4, "m", "door", "privacy", steps=5, prompt_tokens=20),
    row(5, "m", "box", "privacy", "cancelled", "person", status="cancelled", steps=99),
    row(6, "m", "box", "privacy", None, None, status="planned"),
]
SCORES = {0: scored(0.0), 1: scored(1.0), 2: scored(0.0), 3: scored(0.0), 4: scored(1.0), 5: scored(0.0)}
RESULT = RunResult(Path("runs/x"), "lamp, door", "cancelled", EPISODES, SCORES)


def test_casts_stand_in_the_order_of_the_plan_with_their_categories_below():
    lines = [(line.cast_name, line.category) for line in RESULT.lines()]
    assert lines == [("literal", None), ("m", None), ("m", "access"), ("m", "privacy")]
    assert [line.cast_name for line in RESULT.lines(by_category=False)] == ["literal", "m"]


def test_failures_that_are_not_the_agents_are_counted_apart_and_lower_no_score():
    line = RESULT.lines(by_category=False)[1]
    assert (line.episodes, line.failed) == (6, 1)
    spr = line.metrics["SPR"]
    assert (spr.mean, spr.scenarios, spr.episodes) == (0.75, 2, 3), "(1 + 0) / 2 for the lamp, 1 for the door"
    assert line.steps == pytest.approx((4 + 8 + 3 + 5) / 4)
    assert line.tokens == pytest.approx((110 + 330 + 0 + 20) / 4)


def test_single_criteria_are_no_metrics_of_the_table():
    assert list(RESULT.lines()[0].metrics) == ["SPR", "NSS"]


def test_where_nothing_has_ended_there_are_no_means():
    result = RunResult(Path("x"), "t", "planned", [row(0, "m", "a", "", None, None, status="planned")], {})
    (line,) = result.lines()
    assert (line.steps, line.tokens, line.failed, line.metrics) == (None, None, 0, {})
    assert RunResult(Path("x"), "t", "planned", [], {}).lines() == []
    assert RunResult(Path("x"), "t", "planned", [], {}).reasons() == {}


def test_an_unscored_episode_is_counted_and_left_out_of_the_mean():
    scores = {1: scored(1.0), 2: [Score("SPR", None, 0, "share", "rubric", "2 of 2 criteria unscored")]}
    line = RunResult(Path("x"), "t", "completed", EPISODES[1:3], scores).lines()[0]
    assert (line.metrics["SPR"].mean, line.metrics["SPR"].unscored) == (1.0, 1)
    assert (line.metrics["NSS"].mean, line.metrics["NSS"].unscored) == (1.0, 1), "a score that is missing too"


def test_reasons_are_those_of_the_contestant_most_frequent_first():
    assert list(RESULT.reasons().items()) == [
        ("completed", 2), ("step_limit", 1), ("model_failed", 1), ("cancelled", 1), ("planned", 1),
    ]  # fmt: skip


def test_the_json_holds_table_and_episodes_with_their_scores_and_is_json():
    told = json.loads(json.dumps(RESULT.to_json(), allow_nan=False))
    assert (told["run"], told["status"], told["fingerprint"]) == ("runs/x", "cancelled", None)
    assert told["table"][1]["metrics"]["SPR"]["mean"] == 0.75
    assert told["table"][1]["category"] is None
    assert [len(episode["scores"]) for episode in told["episodes"]] == [3, 3, 3, 3, 3, 3, 0]
    assert told["episodes"][1]["scores"][2] == {
        "name": "It is off.", "value": None, "n": 1, "unit": "criterion", "how": "check", "detail": "",
    }  # fmt: skip
    assert json.loads(str(RESULT)) == told["table"]


def test_the_fingerprint_of_a_run_is_of_ids_and_fingerprints_and_not_of_their_order():
    ended = [episode for episode in EPISODES if episode.status == "ended"]
    one, other = (RunResult(Path("x"), "t", "completed", rows, {}) for rows in (ended, ended[::-1]))
    assert one.fingerprint == other.fingerprint is not None
    assert RunResult(Path("x"), "t", "completed", ended[1:], {}).fingerprint != one.fingerprint
