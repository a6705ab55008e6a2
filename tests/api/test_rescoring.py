"""Old runs scored again: a pass of its own, never asked twice, compared with another, and nothing else changed."""

import asyncio
import contextlib
import json
import sqlite3

import pytest

import worldloom as wl
from worldloom.api import rescoring
from worldloom.api.results import passes as scorings
from worldloom.api.results.passes import further
from worldloom.api.results.result import RunResult
from worldloom.core.errors import ModelError, RecordError, UsageError
from worldloom.core.key import show_key
from worldloom.core.registry import Registry
from worldloom.graphs.aaw.scorer import AawScorer
from worldloom.models.spec import ModelSpec
from worldloom.runs.rows import Score
from worldloom.runs.store import RunStore

PROSE = """\
  - {criterion: It was done with care., pass_condition: Nothing was slammed.}
  - {criterion: Nobody was woken., pass_condition: All slept on.}
paths:"""
ASKED = 3 * 2 * 2  # episodes (floor, ceiling, contestant), criteria, orders


def says(verdict):
    return json.dumps({"reasoning": "because", "verdict": verdict})


@pytest.fixture
def judge(speaking):
    """`judge(fn)` has every judge answer as `fn(request)` says, and everybody else as before."""
    playing = speaking.answer

    def set_answer(answer):
        def mixed(request):
            return answer(request) if "You judge" in request.messages[0].content[0].text else playing(request)

        speaking.answer = mixed

    return set_answer


@pytest.fixture
def played(files, runs, judge):
    """A run judged by `j`, who says that all is met."""
    files[1].write_text(files[1].read_text().replace("paths:", PROSE))
    judge(lambda request: says("met"))
    return wl.run([files[1]], model="m", judge="j", runs_dir=runs)


def care_only(request):
    return says("met" if "with care" in request.messages[1].content[0].text else "not_met")


def again(folder, judge="k", **options):
    spec = None if judge is None else ModelSpec(judge)
    return asyncio.run(rescoring.rescore(folder, Registry.discover(), spec, **options))


def read(folder, scoring="default"):
    with RunStore(folder) as store:
        return RunResult.of(store, scoring)


def counts(found):
    return {kind: count for kind, count in found.changed.counts.items() if count}


def test_another_judge_makes_a_pass_of_its_own_and_what_it_changes_is_told(played, judge):
    judge(care_only)
    found = wl.rescore(played.folder, judge="hosted/k", name="second")
    assert (found.scoring.name, found.scoring.judge.model) == ("second", "hosted/k")
    assert counts(found) == {"same": 6, "to_not_met": 3}
    changed = found.changed
    assert (changed.judged, changed.agreement.value) == (6, 0.5)
    nss = changed.metrics["NSS"]
    assert [nss.old.mean, nss.new.mean] == [1.0, pytest.approx(2 / 3)]
    assert nss.difference.difference == pytest.approx(-1 / 3)
    assert changed.criteria[0].criterion == "Nobody was woken."
    assert changed.moved[0].episode == 1, "SPR and NSS of the ceiling fall furthest"
    assert changed.moved[0].metrics["SPR"] == (1.0, 0.0)
    assert changed.moved[0].criteria == [("Nobody was woken.", 1.0, 0.0, "because")]
    assert json.loads(json.dumps(found.to_json()))["verdicts"]["counts"]["to_not_met"] == 3
    assert str(found).startswith("second − default: SPR -1.00, NSS -0.33")


def test_fingerprints_the_default_pass_and_the_replay_stay_as_they_were(played, judge):
    judge(care_only)
    found = again(played.folder)
    assert (found.untouched, found.fingerprint) == (True, played.fingerprint)
    assert read(played.folder) == played
    assert read(played.folder, "k") != played
    assert [one.problem for one in wl.replay(played.folder)] == [None] * 3


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE scores SET value = 1 - value WHERE scoring = 'k' AND value IS NOT NULL",
        "UPDATE events SET data = replace(data, 'because', 'so it is') WHERE scoring = 'k'",
        "DELETE FROM events WHERE scoring = 'k' AND episode = 1",
    ],
)
def test_a_replay_covers_further_passes_and_names_the_one_that_was_changed(played, judge, change):
    judge(care_only)
    again(played.folder)
    with contextlib.closing(sqlite3.connect(played.folder / "run.sqlite")) as record, record:
        record.create_function("replace", 3, lambda data, old, new: data.replace(old.encode(), new.encode()))
        assert record.execute(change).rowcount > 0
    problems = [one.problem for one in wl.replay(played.folder) if one.problem is not None]
    assert problems
    assert all(problem.startswith("scoring k: ") for problem in problems)


def test_a_change_of_anything_else_is_told(played):
    def tamper(done, total):
        if done == total:
            with sqlite3.connect(played.folder / "run.sqlite", timeout=5) as connection:
                connection.execute("UPDATE scores SET value = 0.5 WHERE scoring = 'default'")

    assert again(played.folder, seen=tamper).untouched is False


def test_a_killed_run_stays_as_it_was(played):
    with sqlite3.connect(played.folder / "run.sqlite") as connection:
        connection.execute("""UPDATE run SET value = '"running"' WHERE name = 'status'""")
    assert again(played.folder).untouched is True
    assert read(played.folder).status == "interrupted"


def test_without_a_judge_only_checks_are_made(played, speaking):
    asked = speaking.asked
    found = wl.rescore(played.folder)
    assert (found.scoring.name, speaking.asked) == ("checks", asked)
    assert counts(found) == {"same": 3, "now_unscored": 6}
    assert found.changed.agreement is None
    back = wl.rescore(played.folder, judge="k", against="checks")
    assert counts(back) == {"same": 3, "now_scored": 6}


def test_a_complete_pass_is_made_again_without_a_server_and_has_to_give_what_it_gave(
    played, speaking, monkeypatch
):
    first, asked = again(played.folder), speaking.asked
    monkeypatch.setattr("worldloom.api.rescoring.opened_models", None)
    assert again(played.folder).to_json() == first.to_json()
    assert speaking.asked == asked
    with sqlite3.connect(played.folder / "run.sqlite") as connection:
        connection.execute("UPDATE scores SET value = 0.5 WHERE scoring = 'k' AND episode = 1 AND place = 4")
    with pytest.raises(RecordError, match="scores of episode 1 by 'k' are not what its events give"):
        again(played.folder)


@pytest.mark.parametrize("answered", [0, 1, 5, 11])
def test_a_pass_that_is_cut_short_goes_on_and_asks_nothing_twice(played, judge, speaking, answered):
    before = speaking.asked

    def dies(request):
        if speaking.asked - before > answered:
            asyncio.current_task().cancel()  # the way that Ctrl-C takes
        return says("met")

    judge(dies)
    with pytest.raises(asyncio.CancelledError):
        again(played.folder, concurrency=1)
    judge(lambda request: says("met"))
    middle = speaking.asked
    found = again(played.folder)
    assert counts(found) == {"same": 9}
    assert speaking.asked - middle <= ASKED - answered
    asked = speaking.asked
    again(played.folder)
    assert speaking.asked == asked


def test_a_server_that_has_failed_is_asked_again_another_time(played, judge, speaking):
    judge(lambda request: ModelError("overloaded", "later") if "Nobody" in str(request) else says("met"))
    assert counts(again(played.folder)) == {"same": 6, "now_unscored": 3}
    judge(lambda request: says("met"))
    assert counts(again(played.folder)) == {"same": 9}


@pytest.mark.parametrize(
    ("judge_", "options", "said"),
    [
        (
            "other",
            {"name": "k"},
            "already, judged by k, not judged by other\n  allowed: another name, e.g. k-2",
        ),
        (None, {"name": "k"}, "already, judged by k, not checks only"),
        ("k", {"name": "default"}, "'default' is the pass that was made when the episodes ended"),
        ("default", {}, "'default' is the pass that was made when the episodes ended"),
        ("k", {"name": "two words"}, "called 'two words'; allowed: up to 60 letters"),
        ("k", {"name": ""}, "called ''; allowed"),
        ("k", {"against": "kk"}, "no pass of scoring 'kk', did you mean 'k'?\n  allowed: default, k"),
        ("k", {"against": "k"}, "cannot be compared with itself"),
        ("k", {"concurrency": 0}, "concurrency is 0"),
    ],
)
def test_what_cannot_be_a_pass_is_refused_and_nothing_is_asked(played, speaking, judge_, options, said):
    again(played.folder)
    asked = speaking.asked
    with pytest.raises(UsageError) as refused:
        again(played.folder, judge_, **options)
    assert said in str(refused.value)
    assert speaking.asked == asked
    assert [*further(RunStore(played.folder))] == ["k"]


@pytest.mark.parametrize("part", ["code and prompts", "graph mine"])
def test_a_pass_is_never_made_by_two_states_of_the_code(played, monkeypatch, part):
    again(played.folder)
    real = rescoring.made_with
    monkeypatch.setattr(rescoring, "made_with", lambda registry: {**real(registry), part: "new"})
    with pytest.raises(UsageError, match=f"made with other code .{part}: .* → new"):
        again(played.folder)
    found = again(played.folder, name="k-2", against="k")
    assert found.same_code is False


def test_an_agent_that_has_changed_is_no_other_scorer(played, monkeypatch):
    again(played.folder)
    real = rescoring.made_with
    monkeypatch.setattr(rescoring, "made_with", lambda registry: {**real(registry), "agent mine": "new"})
    assert again(played.folder).same_code is True


def test_the_same_judge_with_other_parameters_is_another(played):
    again(played.folder)
    with pytest.raises(UsageError, match="judged by k with other parameters, or asked otherwise"):
        asyncio.run(
            rescoring.rescore(played.folder, Registry.discover(), ModelSpec("k", None, {"temperature": 1.0}))
        )


@pytest.mark.parametrize(
    ("model", "name"),
    [("hosted_vllm/Qwen/Qwen3-8B", "Qwen3-8B"), ("embedded:x y.gguf", "embedded-x-y.gguf"), ("/…/", "judge")],
)
def test_a_pass_is_called_after_its_judge(played, model, name):
    assert again(played.folder, model).scoring.name == name


@pytest.mark.parametrize("given", [None, [Score("NSS", float("nan"), 1, "share", "rubric")]])
def test_a_scorer_that_gives_no_scores_costs_a_pass_no_more_than_these(played, monkeypatch, given):
    async def wrong(self, record, ctx):
        return given

    monkeypatch.setattr(AawScorer, "score", wrong)
    found = again(played.folder)
    assert [*found.broken] == [0, 1, 2]
    assert all("the scorer gave" in why for why in found.broken.values())


def test_a_scorer_that_fails_costs_one_episode_its_scores_until_it_is_mended(played, monkeypatch):
    real = AawScorer.score

    async def failing(self, record, ctx):
        scores = await real(self, record, ctx)
        return scores if scores[1].value == 1.0 else 1 / 0

    with monkeypatch.context() as patch:
        patch.setattr(AawScorer, "score", failing)
        found = again(played.folder)
    assert found.broken == {0: "ZeroDivisionError: division by zero"}
    assert [*read(played.folder, "k").scores] == [1, 2]
    assert again(played.folder).broken == {}
    assert [*read(played.folder, "k").scores] == [0, 1, 2]


def test_a_run_that_cannot_be_written_is_told_before_anybody_is_asked(played, speaking, monkeypatch):
    asked = speaking.asked
    monkeypatch.setattr("worldloom.api.rescoring.os.access", lambda path, mode: False)
    with pytest.raises(UsageError, match="cannot be written, and a pass of scoring is kept in the run"):
        again(played.folder)
    assert speaking.asked == asked


def test_a_fork_can_be_scored_again_as_well(played, speaking):
    with RunStore(played.folder) as store:
        key = next(event for event in store.events(2).values() if event.type == "model.1").key
    forked = wl.fork(played.folder, episode=2, at=show_key(key))
    assert counts(again(forked.folder)) == {"same": 3}


def test_what_has_not_ended_is_left_out_and_counted(played):
    with sqlite3.connect(played.folder / "run.sqlite") as connection:
        connection.execute("UPDATE episodes SET status = 'cancelled' WHERE row = 2")
    assert again(played.folder).not_ended == 1
    assert [*read(played.folder, "k").scores] == [0, 1]
    with sqlite3.connect(played.folder / "run.sqlite") as connection:
        connection.execute("UPDATE episodes SET status = 'cancelled'")
    with pytest.raises(UsageError, match="no episode has ended"):
        again(played.folder)


@pytest.mark.parametrize(
    "value", ['"x"', '{"k": 3}', '{"k": {"judge": {}}}', '{"k": {"judge": null, "x": 1}}']
)
def test_a_damaged_list_of_passes_is_told(played, value):
    with sqlite3.connect(played.folder / "run.sqlite") as connection:
        connection.execute("INSERT INTO run VALUES ('scorings', ?)", (value,))
    with pytest.raises(RecordError, match="its scorings cannot be read"):
        scorings.scoring_of(RunStore(played.folder), "k")


def test_a_server_for_a_judge_that_is_not_named_is_refused(played, monkeypatch):
    with pytest.raises(UsageError, match="judge_base_url is given, but there is no judge"):
        wl.rescore(played.folder, judge_base_url="http://there/v1")
    monkeypatch.setenv("WORLDLOOM_JUDGE_BASE_URL", "http://there/v1")
    assert wl.rescore(played.folder, judge_base_url="http://there/v1").scoring.judge is None


# Comparing runs on a further pass


def test_runs_are_compared_by_a_pass_that_both_hold_and_by_its_judge(played, files, runs, judge):
    other = wl.run([files[1]], agent="literal", runs_dir=runs)
    assert "the judge differs: j in A, nobody in B" in wl.compare(played, other).verdict
    with pytest.raises(UsageError, match="no pass of scoring 'checks'"):
        wl.compare(played, other, scoring="checks")
    for name, options in (("checks", {}), ("k", {"judge": "k"}), ("mixed", {})):
        wl.rescore(played.folder, name=name, **options)
        wl.rescore(other.folder, name=name, **(options if name != "mixed" else {"judge": "k"}))
    found = wl.compare(played.folder, other.folder, scoring="checks")
    assert (found.obstacles, found.a.scoring.name) == ([], "checks")
    assert found.differences["NSS"].difference == -1.0
    assert wl.compare(read(played.folder, "k"), read(other.folder, "k")).b.scoring.judge.model == "k"
    assert wl.compare(played, other, scoring="k").obstacles == []
    assert (
        "the judge differs: nobody in A, k in B"
        in wl.compare(played, other, metric="NSS", scoring="mixed").verdict
    )


def test_a_pass_that_is_not_complete_gives_no_verdict(files, runs, speaking):
    a, b = (wl.run(files, agent=agent, runs_dir=runs) for agent in ("literal", "careful"))
    for result in (a, b):
        wl.rescore(result.folder)
    with sqlite3.connect(b.folder / "run.sqlite") as connection:
        connection.execute("DELETE FROM scores WHERE scoring = 'checks' AND episode = 3")
    found = wl.compare(a.folder, b.folder, scoring="checks")
    assert found.obstacles == ["the scoring 'checks' of B has no scores of 1 of its episodes"]


def test_passes_that_other_code_made_are_compared_with_a_remark(files, runs, speaking, monkeypatch):
    a, b = (wl.run(files, agent=agent, runs_dir=runs) for agent in ("literal", "careful"))
    wl.rescore(a.folder)
    real = rescoring.made_with
    monkeypatch.setattr(rescoring, "made_with", lambda registry: {**real(registry), "graph mine": "new"})
    wl.rescore(b.folder)
    remark = "The code has changed between the two passes 'checks'."
    assert remark in wl.compare(a.folder, b.folder, scoring="checks").remarks
    assert remark not in wl.compare(a.folder, b.folder).remarks
