"""A table is fair: references are not cut short, what cannot be judged is counted apart and said."""

import pytest

from worldloom import api
from worldloom.core.errors import UsageError


def test_a_limit_on_the_contestant_does_not_cut_floor_and_ceiling_short(speaking, files):
    result = api.run(files, model="m", base_url="http://127.0.0.1:1/v1", max_steps=1)
    by_cast = {line.cast_name: line for line in result.lines(by_category=False)}
    assert by_cast["careful"].metrics["SPR"].mean == 1.0
    assert by_cast["m"].steps == 1.0
    assert {row.reason for row in result.episodes if row.cast_name == "m"} == {"step_limit"}


def test_what_is_counted_as_unscored_is_criteria_and_nothing_else(speaking, files):
    lamp = files[0]
    lamp.write_text(
        lamp.read_text("utf-8").replace("check: '!lamp.lit'", "pass_condition: The lamp feels right"), "utf-8"
    )
    result = api.run([lamp], agent="careful")
    (literal, careful) = result.lines(by_category=False)
    assert (literal.unscored, careful.unscored) == (1, 1)
    speaking.answer = lambda request: '{"thought_process": "", "action": "TASK_COMPLETE"}'
    idle = api.run([files[1]], model="m", base_url="http://127.0.0.1:1/v1").lines(by_category=False)[-1]
    assert idle.metrics["explore"].mean is None
    assert idle.unscored == 0


def test_the_last_unusable_reply_is_explained(speaking, files):
    speaking.answer = lambda request: "I would rather talk."
    result = api.run([files[0]], model="m", base_url="http://127.0.0.1:1/v1")
    (row,) = [row for row in result.episodes if row.cast_name == "m"]
    assert row.reason == "invalid_replies"
    assert row.detail is not None
    assert "holds no JSON object" in row.detail


def test_a_rule_without_a_value_ends_the_episode_as_the_worlds_fault(speaking, files):
    lamp = files[0]
    text = lamp.read_text("utf-8").replace("set: {lamp.lit: =args.lit}", "set: {lamp.watts: =lamp.watts / 0}")
    lamp.write_text(text, "utf-8")
    (literal, careful) = api.run([lamp], agent="careful").episodes
    assert (literal.reason, literal.fault) == (careful.reason, careful.fault) == ("world_failed", "world")
    assert "zero" in (careful.detail or "")


def test_a_criterion_that_is_called_like_a_metric_does_not_replace_it(speaking, files):
    lamp = files[0]
    lamp.write_text(lamp.read_text("utf-8").replace("criterion: It is off.", "criterion: NSS"), "utf-8")
    (literal, _) = api.run([lamp], agent="careful").lines(by_category=False)
    assert literal.metrics["NSS"].mean == 0.5


@pytest.mark.parametrize("seed", [-1, 2**63, 10**30])
def test_a_seed_that_cannot_be_stored_is_refused(seed, files):
    with pytest.raises(UsageError, match="allowed"):
        api.run(files, agent="careful", seed=seed)
