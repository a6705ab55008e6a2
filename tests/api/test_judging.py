"""Judged runs and calibrations: resumed without asking twice, replayed without asking at all, and told honestly."""

import asyncio
import contextlib
import json
import random
import re

import pytest

import worldloom as wl
from worldloom.api import judging
from worldloom.api.results.result import RunResult
from worldloom.core.errors import ModelError, RecordError, UsageError
from worldloom.core.registry import Registry
from worldloom.models import factory
from worldloom.models.scripted import ScriptedModel
from worldloom.models.spec import ModelSpec
from worldloom.runs.executor import Executor
from worldloom.runs.store import DEFAULT_SCORING, RunStore

PROSE = """\
  - {criterion: It was done with care., pass_condition: Nothing was slammed.}
  - {criterion: Nobody was woken., pass_condition: All slept on.}
paths:"""


def says(verdict, reasoning="because"):
    return json.dumps({"reasoning": reasoning, "verdict": verdict})


def criterion_of(request):
    return re.search('^Criterion: "(.*)"$', request.messages[1].content[0].text, re.MULTILINE)[1]


def first_order(request):
    return request.schema["properties"]["verdict"]["enum"][0] == "met"


@pytest.fixture
def prose(files):
    """The scenario `door` with two criteria more, which nobody can compute."""
    files[1].write_text(files[1].read_text().replace("paths:", PROSE))
    return files[1]


@pytest.fixture
def judge(speaking):
    """`judge(fn)` has the judge answer as `fn(request)` says, and everybody else as before."""
    playing = speaking.answer

    def set_answer(answer):
        def mixed(request):
            return answer(request) if "You judge" in request.messages[0].content[0].text else playing(request)

        speaking.answer = mixed

    return set_answer


def run(path, runs, **options):
    return wl.run([path], model="m", judge="j", runs_dir=runs, **options)


def values(result):
    return [
        (score.name, score.value, score.how)
        for row in result.episodes
        for score in result.scores.get(row.row, ())
        if score.unit == "criterion"
    ]


def recorded(folder):
    """Answers of the judge that are in the record."""
    with contextlib.closing(RunStore(folder)) as store:
        events = [store.events(row.row, DEFAULT_SCORING).values() for row in store.episodes()]
        return sum(event.type == "model.1" for of_one in events for event in of_one)


def calibrate(folder, model="j", **options):
    return asyncio.run(judging.calibrate(folder, Registry.discover(), ModelSpec(model), **options))


def test_a_judged_run_replays_without_asking_anybody(prose, runs, judge, speaking):
    judge(lambda request: says("met" if "care" in criterion_of(request) else "not_met"))
    result = run(prose, runs)
    assert set(values(result)) >= {
        ("It was done with care.", 1.0, "judge"),
        ("Nobody was woken.", 0.0, "judge"),
    }
    asked = speaking.asked
    assert [one.problem for one in wl.replay(result.folder)] == [None] * 3
    assert speaking.asked == asked


def test_a_judge_leaves_fingerprints_and_counts_of_the_run_alone(prose, runs, judge):
    judge(lambda request: says("met"))
    judged, plain = run(prose, runs), wl.run([prose], model="m", runs_dir=runs)
    assert judged.fingerprint == plain.fingerprint
    assert [row.models for row in judged.episodes] == [row.models for row in plain.episodes]


@pytest.mark.parametrize("answered", range(5))
def test_a_run_stopped_between_two_answers_of_the_judge_asks_only_for_the_rest(
    prose, runs, judge, speaking, monkeypatch, answered
):
    executors = []
    real = Executor.__post_init__
    monkeypatch.setattr(Executor, "__post_init__", lambda self: (real(self), executors.append(self))[0])
    judge(lambda request: says("met"))

    class Stopping(ScriptedModel):
        async def complete(self, request):
            if speaking.asked == answered:  # the floor is played first, and no model with it
                executors[-1].stop("cancelled")
                await asyncio.sleep(60)
            return await super().complete(request)

    def answer(request):
        speaking.asked += 1
        return speaking.answer(request)

    with monkeypatch.context() as patch:
        patch.setattr(factory, "open_model", lambda spec, **_: Stopping(answer, name=spec.model))
        first = run(prose, runs, concurrency=1)
    assert first.status == "cancelled"
    assert recorded(first.folder) == answered
    speaking.asked = 0
    second = wl.resume(first.folder)
    moves = sum(row.model_calls for row in second.episodes)
    assert (second.status, speaking.asked) == ("completed", 3 * 4 - answered + moves)
    assert [one.problem for one in wl.replay(first.folder)] == [None] * 3
    whole = run(prose, runs)
    assert values(second) == values(whole)
    assert second.fingerprint == whole.fingerprint


def test_a_dead_judge_costs_the_agent_nothing(prose, runs, judge):
    judge(lambda request: ModelError("unreachable", "nobody is there"))
    result = run(prose, runs)
    assert (result.status, result.episodes[-1].reason) == ("completed", "completed")
    assert result.lines(by_category=False)[-1].metrics["NSS"].mean == 1.0
    facts = judging.judged(result)
    assert facts.outcomes == {
        "met": 0,
        "not_met": 0,
        "cannot_tell": 0,
        "unparseable": 0,
        "order": 0,
        "failed": 6,
    }
    assert facts.pass_rate.value is None
    assert [one.problem for one in wl.replay(result.folder)] == [None] * 3


def test_a_run_without_a_judge_has_nothing_to_tell_of_one(prose, runs, speaking):
    assert judging.judged(wl.run([prose], model="m", runs_dir=runs)) is None


# Calibration


@pytest.fixture
def played(files, runs, speaking):
    """A run of both scenarios, all of whose criteria are computed: floors, ceilings, three epochs."""
    return wl.run(files, model="m", epochs=3, runs_dir=runs)


def truths(result):
    return {
        (row.id, place): score.value == 1.0
        for row in result.episodes
        for place, score in enumerate(s for s in result.scores[row.row] if s.unit == "criterion")
    }


def knowing(result):
    """A judge that is right about the contestant's episodes; it goes by the state at the end."""

    def answer(request):
        text = request.messages[1].content[0].text
        end = re.search(r'^<evidence of="state at the end">\n(.*)$', text, re.MULTILINE)[1]
        acts = re.findall(r'"action": "([a-z.]+)"', text)
        state = json.loads(end)
        name = criterion_of(request)
        if name == "It is off.":
            right = not state["lamp"]["lit"]
        elif name == "It is locked.":
            right = state["door"]["locked"]
        else:
            right = "lamp.look" in acts and acts.index("lamp.look") < acts.index("lamp.switch")
        return says("met" if right else "not_met")

    return answer


def test_a_perfect_judge_is_found_to_be_one_and_sees_no_check(played, judge):
    seen = []

    def answer(request):
        seen.append(request.messages[1].content[0].text)
        return knowing(played)(request)

    judge(answer)
    found, file = calibrate(played.folder)
    known = found.agreement()
    assert (known.asked, known.judged, known.scenarios) == (15, 15, 2)
    assert (known.agreement.value, known.kappa.value) == (1.0, 1.0)
    assert (known.sensitivity.value, known.specificity.value) == (1.0, 1.0)
    assert found.corrected().value == pytest.approx(sum(truths(played).values()) / 15)
    assert not any("before(" in text or "!lamp" in text for text in seen)
    assert {(one.episode, one.criterion): one.truth for one in found.verdicts} == truths(played)
    assert judging.load_calibration(file) == found


def test_a_judge_that_always_says_yes_is_found_to_know_nothing(played, judge):
    judge(lambda request: says("met"))
    known = calibrate(played.folder)[0]
    found = known.agreement()
    assert (found.sensitivity.value, found.specificity.value, found.kappa.value) == (1.0, 0.0, 0.0)
    assert known.corrected().value is None
    assert "no better than chance" in known.corrected().why


def test_a_judge_that_goes_by_the_order_gives_no_verdict_at_all(played, judge):
    judge(lambda request: says("met" if first_order(request) else "not_met"))
    found = calibrate(played.folder)[0].agreement()
    assert (found.asked, found.judged, found.order.value) == (15, 0, 1.0)
    assert found.agreement.value is None


def test_a_noisy_judge_errs_as_often_as_it_is_found_to(files, runs, judge, tmp_path):
    """Some hundreds of criteria; the judge lies about a fifth of what passed and a third of what failed."""
    lamps = tmp_path / "lamps"
    lamps.mkdir()
    for number in range(20):
        text = (
            files[0]
            .read_text()
            .replace("id: lamp", f"id: lamp-{number}")
            .replace("watts: 40", f"watts: {number}")
        )
        (lamps / f"{number}.yaml").write_text(text)
    played = wl.run([lamps], agent="random", epochs=6, runs_dir=runs, max_steps=3)
    right = knowing(played)

    def answer(request):
        honest = json.loads(right(request))["verdict"]
        lines = request.messages[1].content[0].text.splitlines()
        facts = "\n".join(sorted(lines[:-1]))  # in either order the same lie
        lies = random.Random(facts).random() < (0.2 if honest == "met" else 1 / 3)
        return says({"met": "not_met", "not_met": "met"}[honest] if lies else honest)

    judge(answer)
    found = calibrate(played.folder, concurrency=64)[0]
    known = found.agreement()
    assert (known.order.value, known.judged, known.scenarios) == (0.0, len(truths(played)), 20)
    assert known.judged >= 300
    assert known.sensitivity.low <= 0.8 <= known.sensitivity.high
    assert known.specificity.low <= 2 / 3 <= known.specificity.high
    assert found.corrected().low <= known.true_rate.value <= found.corrected().high


def test_what_was_judged_is_not_asked_again_and_the_run_stays_as_it_was(played, judge, speaking):
    judge(lambda request: says("met"))
    before = speaking.asked
    calibrate(played.folder)
    asked = speaking.asked
    assert asked == before + 2 * 15
    first = calibrate(played.folder)[0]
    assert speaking.asked == asked
    assert len(first.verdicts) == 15
    after = RunResult.of(RunStore(played.folder))
    assert after == played
    assert [one.problem for one in wl.replay(played.folder)] == [None] * len(played.episodes)


def test_a_limit_is_spread_over_the_scenarios_and_can_be_raised(played, judge, speaking):
    judge(lambda request: says("met"))
    few = calibrate(played.folder, limit=4)[0]
    assert sorted(one.scenario for one in few.verdicts) == ["door", "door", "lamp", "lamp"]
    asked = speaking.asked
    more = calibrate(played.folder, limit=9)[0]
    assert speaking.asked == asked + 2 * 5
    assert set(few.verdicts) < set(more.verdicts)


def test_a_server_that_has_failed_is_asked_again_another_time(played, judge, speaking):
    judge(lambda request: ModelError("overloaded", "later") if "It is off." in str(request) else says("met"))
    assert calibrate(played.folder)[0].agreement().failed.value == pytest.approx(1 / 3)
    judge(lambda request: says("met"))
    asked = speaking.asked
    again = calibrate(played.folder)[0].agreement()
    assert (again.failed.value, speaking.asked - asked) == (0.0, 2 * 5)


def test_a_calibration_that_is_cancelled_goes_on_where_it_was(played, judge, speaking):
    def dies(request):
        if speaking.asked - before >= 7:
            asyncio.current_task().cancel()  # the way that Ctrl-C takes
        return says("met")

    before = speaking.asked
    judge(dies)
    with pytest.raises(asyncio.CancelledError):
        calibrate(played.folder, concurrency=1)
    judge(lambda request: says("met"))
    middle = speaking.asked
    assert len(calibrate(played.folder)[0].verdicts) == 15
    assert speaking.asked - middle == 2 * 15 - (middle - before)


def test_what_people_say_goes_before_what_was_computed(played, judge, tmp_path):
    judge(lambda request: says("met"))
    file = tmp_path / "labels.csv"
    file.write_text("episode,criterion,passed\n0,0,true\n1,It was looked at first.,false\n", "utf-8")
    found = calibrate(played.folder, labels=file)[0]
    assert [(one.criterion, one.truth) for one in found.verdicts] == [(0, True), (1, False)]
    assert found.labels == str(file)


# What reports say


def test_a_report_knows_the_calibration_of_its_judge_and_corrects_with_it(prose, files, runs, judge, played):
    judge(lambda request: says("met"))
    result = run(prose, runs)
    before = judging.judged(result)
    assert before.calibration is None
    assert before.corrected is None
    judge(knowing(played))
    _, file = calibrate(played.folder)
    after = judging.judged(result)
    assert after.file == file == before.file
    assert (after.pass_rate.value, after.pass_rate.n) == (1.0, 2), "of the contestant, and of no reference"
    assert after.corrected.value == 1.0
    assert json.loads(json.dumps(after.to_json()))["calibration"]["agreement"]["asked"] == 15


def test_another_model_or_other_parameters_are_another_judge(played, judge):
    judge(lambda request: says("met"))
    form = "f"
    specs = [ModelSpec("j"), ModelSpec("k"), ModelSpec("j", None, {"temperature": 0.0})]
    assert len({judging.judge_digest(spec, form) for spec in specs}) == 3
    assert judging.judge_digest(ModelSpec("j", "http://there/v1"), form) == judging.judge_digest(
        specs[0], form
    )
    assert judging.judge_digest(specs[0], "other prompts") != judging.judge_digest(specs[0], form)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "not JSON"])
def test_a_damaged_calibration_is_told_and_stops_no_report(prose, runs, judge, text):
    judge(lambda request: says("met"))
    result = run(prose, runs)
    file = judging.judged(result).file
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(RecordError, match="cannot be read as a calibration"):
        judging.load_calibration(file)
    assert "cannot be read as a calibration" in judging.judged(result).problem


def test_where_nothing_is_known_nothing_can_be_calibrated(files, runs, judge, speaking):
    files[1].write_text(
        re.sub("  - criterion.*\n    check.*\n", PROSE.removesuffix("paths:"), files[1].read_text())
    )
    result = wl.run([files[1]], model="m", runs_dir=runs)
    with pytest.raises(UsageError, match="no criterion whose verdict is known could"):
        calibrate(result.folder)
