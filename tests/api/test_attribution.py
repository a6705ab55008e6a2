"""Who failed: which fault each end is, what each rate is a share of, and what a score leaves out."""

import asyncio
import json
import random
import re
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.api.results.attribution import attribution_of, share
from worldloom.api.results.result import RunResult
from worldloom.core.errors import ModelError
from worldloom.graphs.aaw.scorer import AawScorer
from worldloom.models import factory
from worldloom.models.model import Completion, Usage
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.agreement import judged_score, wilson
from worldloom.runs.ending import LIMITS, REASONS, RESUMABLE
from worldloom.runs.executor import Executor
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import RunStore

PAGE = (Path(__file__).parents[2] / "docs/who-failed.md").read_text("utf-8")


def row(number, reason="completed", scenario="lamp", status="ended", **values):
    fault = REASONS[reason][0] if reason in REASONS else None
    return EpisodeRow(number, str(number), scenario, "", "m", number, 0, status, reason, fault, **values)


def spr(value, *criteria):
    judged = sum(one.value is not None for one in criteria)
    return [Score("SPR", value, judged or 1, "share", "rubric"), *criteria]


def told(rates):
    return {name: (one.hits, one.n, one.of) for name, one in rates.items()}


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_one_fault_and_only_nobodys_and_the_agents_count_in_the_scores(reason):
    found = attribution_of([row(0, reason), row(1, scenario="door")], {0: spr(0.0), 1: spr(1.0)})
    fault = REASONS[reason][0]
    (ending,) = (one for one in found.endings if one.reason == reason)
    assert (ending.fault, ending.counts) == (fault, fault in ("none", "agent"))
    assert found.in_scores == 1 + ending.counts
    basis = found.scores["SPR"]
    assert basis.left_out == ({} if ending.counts else {fault: 1})
    assert (basis.episodes, basis.mean) == ((2, 0.5) if ending.counts else (1, 1.0))
    hit = {f"{fault}_faults"} | ({"limits"} if reason in LIMITS else set())
    assert {name for name, one in found.rates.items() if one.hits} == hit & set(found.rates)


def test_limits_are_those_of_an_episode_and_not_of_the_run():
    assert {
        "step_limit",
        "call_limit",
        "token_limit",
        "wall_limit",
        "repeat_limit",
        "context_overflow",
    } <= set(LIMITS)
    assert not set(LIMITS) & set(RESUMABLE)


@pytest.mark.parametrize("status", ["planned", "running", "cancelled", "waiting", "something new"])
def test_what_has_not_ended_stands_under_its_own_name_and_in_no_rate(status):
    found = attribution_of([row(0), row(1, "cancelled", status=status)], {0: spr(1.0), 1: spr(0.0)})
    assert [(one.reason, one.fault, one.episodes) for one in found.endings] == [
        ("completed", "none", 1), (status, None, 1),
    ]  # fmt: skip
    assert (found.episodes, found.ended, found.in_scores, found.plain) == (2, 1, 1, False)
    assert {one.n for one in found.rates.values() if one.of == "episodes"} == {1}
    basis = found.scores["SPR"]
    assert (basis.left_out, basis.mean, basis.low, basis.high) == ({"not ended": 1}, 1.0, 0.5, 1.0)


def test_the_bounds_are_the_means_if_all_that_is_left_out_had_scored_0_or_1():
    rows = [
        row(0),
        row(1),
        row(2, "model_failed"),
        row(3, "world_failed", "door"),
        row(4, "completed", "box"),
    ]
    found = attribution_of(rows, {0: spr(1.0), 1: spr(0.0), 2: spr(0.0), 3: spr(1.0), 4: spr(None)})
    basis = found.scores["SPR"]
    assert (basis.mean, basis.episodes) == (0.5, 2)
    assert basis.left_out == {"infrastructure": 1, "world": 1, "unscored": 1}
    assert basis.low == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert basis.high == pytest.approx((2 / 3 + 1 + 1) / 3)


def test_a_score_that_is_no_share_has_no_bounds():
    scores = {0: [Score("price", 3.5, 1, "euro", "record")]}
    basis = attribution_of([row(0), row(1, "model_failed")], scores).scores["price"]
    assert (basis.mean, basis.low, basis.high) == (3.5, None, None)


def test_a_score_that_is_missing_is_the_fault_of_who_did_not_give_it():
    left = Score("It is nice.", None, 1, "criterion", "unscored", "no judge")
    explore = Score("explore", None, 0, "share", "record")
    scores = {
        0: [explore, *spr(None, judged_score("It is nice.", "unparseable"))],
        1: spr(None, left),
        3: spr(1.0, Score("It is off.", 1.0, 1, "criterion", "check"), left),
    }
    rows = [row(0), row(1), row(2, detail="not scored: KeyError: 'lamp'"), row(3)]
    bases = attribution_of(rows, scores).scores
    basis = bases["SPR"]
    assert basis.left_out == {"judge": 1, "unscored": 1, "infrastructure": 1}
    assert bases["explore"].left_out == {"unscored": 3, "infrastructure": 1}, "no judge has a part in it"
    assert (basis.episodes, basis.partly) == (1, 1), "the last is over one of two criteria"


def test_every_rate_has_its_own_denominator():
    outcomes = ("met", "not_met", "cannot_tell", "unparseable", "order", "failed")
    criteria = [judged_score("c", outcome) for outcome in outcomes]
    computed = Score("It is off.", 1.0, 1, "criterion", "check")
    rows = [
        row(0, models='{"agent":[9,70,20,2,7],"world":[5,10,10,1,0]}'),
        row(1, "world_failed", "door", models='{"agent":[4,30,8,0,0],"world":[3,10,10,3,0]}'),
        row(2, "cancelled", status="cancelled", models='{"agent":[50,1,1,50,0]}'),
    ]
    found = attribution_of(
        rows, {0: spr(1.0, *criteria, computed), 1: spr(0.0, computed), 2: spr(0.0, *criteria)}
    )
    assert told(found.rates) == {
        "agent_faults": (0, 2, "episodes"),
        "world_faults": (1, 2, "episodes"),
        "infrastructure_faults": (0, 2, "episodes"),
        "limits": (0, 2, "episodes"),
        "agent_replies": (2, 13, "requests"),
        "world_replies": (4, 8, "requests"),
        "judge_replies": (1, 6, "criteria"),
        "judge_faults": (4, 6, "criteria"),
        "unscored": (4, 7, "criteria"),
    }
    assert not found.plain


def test_where_nobody_failed_all_is_plain_and_nothing_is_told_of_models_that_were_not_asked():
    found = attribution_of([row(0), row(1, "finished", "door")], {0: spr(1.0), 1: spr(0.0)})
    assert found.plain
    assert set(found.rates) == {"agent_faults", "world_faults", "infrastructure_faults", "limits"}
    assert not attribution_of([row(0, "step_limit")], {}).plain


def test_of_nothing_there_is_an_attribution_too():
    found = attribution_of([], {})
    assert (found.episodes, list(found.endings), found.scores, found.plain) == (0, [], {}, True)
    json.dumps(found.to_json(), allow_nan=False)


def test_with_one_thing_a_scenario_the_interval_is_wilsons():
    found = share("episodes", [(f"s{n}", n < 3, 1) for n in range(20)])
    assert (found.hits, found.n, found.scenarios, found.value) == (3, 20, 20, 0.15)
    assert (found.low, found.high) == pytest.approx(wilson(3, 20))


@pytest.mark.parametrize("hits", [0, 40])
def test_where_all_or_none_are_hit_the_scenarios_are_the_n(hits):
    found = share("requests", [(f"s{n}", hits // 4, 10) for n in range(4)])
    assert (found.low, found.high) == pytest.approx(wilson(hits / 10, 4))


def test_what_one_scenario_says_has_no_interval():
    found = share("episodes", [("lamp", 1, 1), ("lamp", 0, 1)])
    assert (found.value, found.low, found.high) == (0.5, None, None)


def test_faults_that_keep_to_scenarios_make_the_interval_wider():
    spread = share("requests", [(f"s{n}", 5, 50) for n in range(10)])
    apart = share("requests", [(f"s{n}", 50 if n == 0 else 0, 50) for n in range(10)])
    assert spread.value == apart.value == 0.1
    assert (spread.low, spread.high) == pytest.approx(wilson(50, 500)), (
        "never narrower than if all were independent"
    )
    assert apart.low < 0.03 < 0.35 < apart.high, "as good as 1 of 10"


def test_the_interval_holds_the_true_rate_as_often_as_it_says():
    draws, held = random.Random(7), 0
    for _ in range(400):
        counts = []
        for scenario in range(20):
            rate = draws.betavariate(0.5, 4.5)  # the mean is 0.1, and scenarios differ much
            counts.append((str(scenario), sum(draws.random() < rate for _ in range(25)), 25))
        found = share("requests", counts)
        held += found.low <= 0.1 <= found.high
    assert held / 400 > 0.9


@pytest.fixture
def faulty(files, runs, speaking, words):
    """A run in which agent, simulator, judge and server fail; what each was asked, and how often it failed."""
    counts, (move, done, turn_of) = {}, words

    def bad(name, every):
        hits, n = counts.get(name, (0, 0))
        counts[name] = (hits + ((n + 1) % every == 0), n + 1)
        return counts[name][0] > hits

    def answer(request):
        if "You judge" in request.messages[0].content[0].text:
            verdict = json.dumps({"reasoning": "so", "verdict": "met"})
            return "hm" if "Softly" in request.messages[1].content[0].text else verdict
        if "success" in request.schema["properties"]:
            lawful = json.dumps({"thought_process": "", "success": False, "message": "Not now."})
            return Completion("{}" if bad("world", 3) else lawful, usage=Usage(7, 2))
        if bad("agent", 4):
            return "Let me think."
        if counts["agent"][1] == 9:
            return ModelError("auth", "no key")
        return done if turn_of(request) > 2 else move("lamp.look")

    prose = "".join(
        f"  - {{criterion: {word}, pass_condition: Nothing slammed.}}\n" for word in ("Softly", "Slowly")
    )
    for file in files:
        file.write_text(file.read_text().replace("paths:", prose + "paths:"))
    speaking.answer = answer
    result = wl.run(
        files, model="m", world="model", world_model="w", judge="j", epochs=3, runs_dir=runs, concurrency=1
    )
    return result, counts


def test_a_run_counts_what_each_of_its_models_got_wrong_without_reading_an_event(faulty, monkeypatch):
    result, counts = faulty
    monkeypatch.setattr(RunStore, "events", None)
    monkeypatch.setattr(RunStore, "arrivals", None)
    with RunStore(result.folder) as store:
        again = RunResult.of(store)
    *_, found = again.attributions()
    assert again.attributions() == result.attributions()
    assert [one.cast_name for one in again.attributions()] == ["literal", "careful", "m"]
    agent = found.rates["agent_replies"]
    assert (agent.hits, agent.n) == counts["agent"]
    worlds = [one.rates["world_replies"] for one in again.attributions()]
    assert (sum(one.hits for one in worlds), sum(one.n for one in worlds)) == counts["world"]
    assert again.simulator.unusable == counts["world"][0]
    assert all(hits for hits, _ in counts.values())
    assert {one.reason: one.fault for one in found.endings}["model_failed"] == "infrastructure"
    judged = found.rates["judge_replies"]
    assert (judged.hits * 2, judged.n) == (judged.n, 2 * found.episodes)
    assert found.scores["SPR"].left_out["infrastructure"] == 1
    assert (
        json.loads(json.dumps(again.to_json()["attribution"]))[2]["rates"]["agent_replies"]["hits"]
        == agent.hits
    )


def test_a_scorer_that_breaks_is_infrastructure(files, runs, monkeypatch):
    monkeypatch.setattr(AawScorer, "score", lambda self, record, ctx: {}["a metric"])
    found = wl.run(files, agent="careful", runs_dir=runs)
    assert {row.detail for row in found.episodes} == {"not scored: KeyError: 'a metric'"}
    *_, broken = found.attributions()
    assert [(one.reason, one.fault, one.counts) for one in broken.endings] == [
        ("not_scored", "infrastructure", False)
    ]
    assert (broken.in_scores, broken.rates["infrastructure_faults"].hits, broken.plain) == (0, 2, False)


def test_an_episode_at_a_limit_is_scored_in_all_its_parts_by_how_far_it_came(files, runs, speaking, words):
    speaking.answer = lambda request: words[0]("lamp.switch", lit=False)
    result = wl.run(files[:1], model="m", max_steps=1, runs_dir=runs)
    *_, found = result.attributions()
    assert [(one.reason, one.fault, one.counts) for one in found.endings] == [("step_limit", "agent", True)]
    assert (found.rates["limits"].hits, found.scores["NSS"].mean, found.scores["NSS"].left_out) == (
        1,
        0.5,
        {},
    )
    parts = {one.name: one.value for one in result.scores[result.episodes[-1].row] if one.unit == "criterion"}
    assert parts == {"It is off.": 1.0, "It was looked at first.": 0.0}


def test_an_episode_that_runs_out_of_time_takes_no_other_with_it(files, runs, monkeypatch, words):
    executors, real = [], Executor.__post_init__
    monkeypatch.setattr(Executor, "__post_init__", lambda self: (real(self), executors.append(self))[0])

    class Hanging(ScriptedModel):
        async def complete(self, request):
            if "Front door" in request.messages[1].content[0].text:
                for episode in [one for one in executors[-1].active.values() if one.limits.steps == 6]:
                    episode.stop("wall_limit")  # as its timer does
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            return await super().complete(request)

    script = (words[0]("lamp.look"), words[0]("lamp.switch", lit=False), words[1])
    monkeypatch.setattr(
        factory, "open_model", lambda spec, **_: Hanging(lambda request: script[words[2](request)])
    )
    result = wl.run(files, model="m", runs_dir=runs)
    *_, found = result.attributions()
    assert {one.reason: (one.fault, one.episodes) for one in found.endings} == {
        "completed": ("none", 1),
        "wall_limit": ("infrastructure", 1),
    }
    assert (found.scores["SPR"].mean, found.scores["SPR"].left_out) == (1.0, {"infrastructure": 1})


def test_a_replay_counts_the_same(faulty):
    result, _ = faulty
    assert [one.problem for one in wl.replay(result.folder) if one.problem] == []


def test_the_page_names_every_reason_and_every_rate(faulty):
    result, _ = faulty
    assert [name for name in (*REASONS, *result.attributions()[-1].rates) if f"`{name}`" not in PAGE] == []


@pytest.mark.slow
def test_the_example_of_the_page_prints_what_stands_below_it(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "who-failed.md", "exec"), {})  # noqa: S102  # our own text
    assert f"```text\n{capsys.readouterr().out}```" in PAGE
