"""What a run costs and may cost: prices of the project file, kept with the run, and limits that need them."""

import json

import pytest

import worldloom as wl
from worldloom.api.plans.manifest import plan_of, prices_of
from worldloom.core.canonical import canonical
from worldloom.core.errors import UsageError
from worldloom.core.registry import Registry
from worldloom.runs.store import RunStore

PRICES = """\
currency: EUR
prices:
  m: {prompt: 100, completion: 1000}
  served: {gpu_hour: 2.5, gpus: 4}
  nobody asks this one: {prompt: 1, completion: 1}
"""
ANSWER = 0.02
"""What an answer of `m` costs: 100 tokens of prompt, 10 of its own."""


@pytest.fixture
def priced(files, tmp_path):
    """Both scenarios, in a project with prices."""
    (tmp_path / "worldloom.yaml").write_text(PRICES)
    return files


def test_a_run_says_what_it_cost_and_keeps_its_prices(priced, runs, speaking, tmp_path):
    result = wl.run(priced, model="m", epochs=2, runs_dir=runs)
    answers = sum(row.model_calls for row in result.episodes)
    assert result.cost.value == pytest.approx(answers * ANSWER)
    (tmp_path / "worldloom.yaml").write_text(PRICES.replace("100", "999"))
    with RunStore(result.folder) as store:
        assert wl.RunResult.of(store).cost == result.cost
        assert list(prices_of(store).models) == ["agent"], "prices of other models are no matter of the run"
        assert plan_of(store, Registry.discover()).prices == result.prices
    told = json.loads(canonical(result.to_json()))
    assert told["cost"]["currency"] == "EUR"
    assert sum(row["cost"] for row in told["episodes"]) == pytest.approx(told["cost"]["value"])


def test_a_run_without_a_project_has_an_unknown_cost(files, runs, speaking):
    result = wl.run(files, model="m", runs_dir=runs)
    assert (result.cost.value, result.cost.parts[0].why) == (None, "no price for m")


def test_gpu_seconds_are_those_in_which_episodes_were_under_way(priced, runs, speaking):
    result = wl.run(priced, model="served", runs_dir=runs)
    (part,) = result.cost.parts
    rows = [row for row in result.episodes if row.models != "{}"]
    assert 0 < part.gpu_seconds <= 4 * sum(row.seconds for row in rows)
    assert part.value == pytest.approx(part.gpu_seconds / 3600 * 2.5)


@pytest.mark.parametrize(
    ("model", "found"),
    [("unpriced", "'unpriced' has no price"), ("served", "'served' has a price by GPU hours")],
)
@pytest.mark.parametrize(
    "limits",
    [{"limits": wl.Limits(cost=1.0)}, {"run_limits": wl.RunLimits(cost=1.0)}],
    ids=["episode", "run"],
)
def test_a_limit_on_cost_needs_prices_by_token_before_the_run_begins(
    priced, runs, speaking, model, found, limits
):
    with pytest.raises(UsageError, match=found):
        wl.run(priced, model=model, runs_dir=runs, **limits)
    assert not runs.exists()
    assert speaking.asked == 0


def test_a_limit_on_cost_asks_for_no_price_of_a_judge_and_that_of_a_run_does(priced, runs, speaking):
    wl.run(priced, model="m", judge="j", limits=wl.Limits(cost=1.0), runs_dir=runs)
    with pytest.raises(UsageError, match="'j' has no price"):
        wl.run(priced, model="m", judge="j", run_limits=wl.RunLimits(cost=1.0), runs_dir=runs)


def test_an_episode_that_has_cost_enough_ends_is_scored_and_replays(priced, runs, speaking):
    result = wl.run(priced, model="m", limits=wl.Limits(cost=1.5 * ANSWER), runs_dir=runs)
    rows = [row for row in result.episodes if row.cast_name == "m"]
    assert {(row.status, row.reason, row.fault) for row in rows} == {("ended", "cost_limit", "agent")}
    assert all(result.scores[row.row] for row in rows)
    assert [one.problem for one in wl.replay(result.folder)] == [None] * len(result.episodes)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    "run_limits",
    [wl.RunLimits(model_calls=5), wl.RunLimits(cost=5 * ANSWER), wl.RunLimits(tokens=550)],
    ids=str,
)
def test_a_run_that_its_limit_stopped_is_played_on_by_resumes_with_limits_of_their_own(
    priced, runs, speaking, run_limits, concurrency
):
    whole = wl.run(priced, model="m", epochs=2, runs_dir=runs)
    all_calls, speaking.asked = speaking.asked, 0
    result = wl.run(
        priced, model="m", epochs=2, concurrency=concurrency, run_limits=run_limits, runs_dir=runs
    )
    assert result.status == "run_limit"
    assert {one.problem for one in wl.replay(result.folder)} == {None}
    resumes = 0
    while result.status == "run_limit":
        result = wl.resume(result.folder, concurrency=concurrency, run_limits=run_limits)
        resumes += 1
    assert result.status == "completed"
    assert resumes in ((3,) if concurrency == 1 else (1, 2, 3))
    assert result.fingerprint == whole.fingerprint
    assert speaking.asked == all_calls == 18, "nothing is asked twice"
    assert result.cost.value == pytest.approx(whole.cost.value)
