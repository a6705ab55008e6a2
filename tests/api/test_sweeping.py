"""A study is played as one run: a row for each variant, seeds as the unit, and all that runs can do."""

import json

import pytest

import worldloom as wl
from worldloom.api import sweeping
from worldloom.core.errors import UsageError
from worldloom.core.key import show_key
from worldloom.models.model import Completion, Usage
from worldloom.runs.executor import Executor
from worldloom.runs.store import RunStore

STUDY = """\
study: how long
summary: Does the agent need many steps?
scenario: lamp.yaml
vary: {limits.steps: [1, 2, 6]}
seeds: {first: 3, count: 4}
metrics: [SPR]
"""


@pytest.fixture
def study(files):
    """The file of a study of the lamp; called with a text it writes that instead."""

    def write(text=STUDY):
        file = files[0].parent / "study.yaml"
        file.write_text(text)
        return file

    return write


def test_each_variant_is_played_with_each_seed_and_has_a_row(study, runs):
    found = wl.sweep(study(), agent="random", runs_dir=runs)
    played = [row for row in found.result.episodes if row.cast_name == "random"]
    assert [(row.scenario, row.seed) for row in played] == [
        (f"lamp steps={steps}", seed) for seed in (3, 4, 5, 6) for steps in (1, 2, 6)
    ]
    assert [row.variant.values for row in found.rows] == [{"limits.steps": steps} for steps in (1, 2, 6)]
    assert [(row.episodes, row.ended, row.failed) for row in found.rows] == [(4, 4, 0)] * 3
    assert "SPR" in found.metrics
    assert [row.steps <= 1 for row in played if row.scenario == "lamp steps=1"] == [True] * 4
    assert found.result.title == "how long"


def test_means_are_over_seeds_and_differences_are_paired_by_seed(study, runs, speaking, words):
    move, done, turn_of = words
    right = {"politely": iter([True] * 6), "rudely": iter([True, True, True, True, True, False])}

    def answer(request):
        name = next(name for name in right if name in request.messages[1].content[0].text)
        reply = done if turn_of(request) else move("lamp.switch", lit=not next(right[name]))
        return Completion(reply, usage=Usage(1, 1))

    speaking.answer = answer
    text = "study: s\nscenario: lamp.yaml\nvary: {user_prompt: [Ask politely., Ask rudely.]}\nseeds: 6\n"
    found = wl.sweep(study(text), model="m", concurrency=1, runs_dir=runs)
    first, second = found.rows
    assert first.metrics["NSS"].mean == 0.5
    assert second.metrics["NSS"].mean == pytest.approx(0.5 * 5 / 6)
    assert second.metrics["NSS"].seeds == 6
    against = second.against_first["NSS"]
    assert (against.difference, against.seeds) == (pytest.approx(-0.5 / 6), 6)
    assert against.low <= against.difference <= against.high
    assert first.against_first == {}


@pytest.mark.parametrize("concurrency", [1, 3])
def test_interrupted_and_resumed_it_equals_the_sweep_that_nobody_interrupted(
    study, runs, monkeypatch, concurrency
):
    whole = wl.sweep(study(), agent="random", runs_dir=runs)
    ended, finish = [], Executor.run

    async def run(self, planned):
        self.on_end = lambda row, scores: (ended.append(row), len(ended) == 7 and self.stop("cancelled"))
        await finish(self, planned)

    monkeypatch.setattr(Executor, "run", run)
    cut = wl.sweep(study(), agent="random", concurrency=concurrency, runs_dir=runs)
    monkeypatch.setattr(Executor, "run", finish)
    assert cut.result.status == "cancelled"
    assert 0 < sum(row.ended for row in cut.rows) < 12
    study("study: gone\n")  # a resume reads the record and nothing else
    resumed = sweeping.report(wl.resume(cut.result.folder))
    assert resumed.result.fingerprint == whole.result.fingerprint is not None
    assert resumed.to_json() == whole.to_json()
    assert [one.problem for one in wl.replay(cut.result.folder)] == [None] * len(cut.result.episodes)


def test_what_failed_by_no_fault_of_the_agent_is_counted_apart(study, runs, speaking):
    playing = speaking.answer

    def answer(request):
        if speaking.asked == 1:
            raise RuntimeError("lost")
        return playing(request)

    speaking.answer = answer
    found = wl.sweep(study(), model="m", concurrency=1, runs_dir=runs)
    first = found.rows[0]
    assert (first.ended, first.failed, first.metrics["SPR"].seeds) == (4, 1, 3)
    assert found.rows[2].against_first["SPR"].seeds == 3, "a seed without a counterpart is left out"


def test_a_fork_of_an_episode_is_no_sweep(study, runs, speaking):
    found = wl.sweep(study(), model="m", runs_dir=runs)
    episode = found.result.episodes[-1].row
    with RunStore(found.result.folder) as store:
        at = next(iter(store.events(episode)))
    forked = wl.fork(found.result.folder, episode=episode, at=show_key(at))
    assert len(forked.episodes) == 1
    assert sweeping.report(forked) is None


def test_other_runs_hold_no_study(files, runs):
    result = wl.run(files, agent="careful", runs_dir=runs)
    assert sweeping.report(result) is None


def test_a_market_is_swept_like_any_other_kind(study, runs, files):
    (files[0].parent / "gig.yaml").write_text(
        "kind: market\nid: gig\nworld: {rounds: 3, skills: [a]}\ncast: {worker: {agent: random, count: 4}}\n"
    )
    text = (
        "study: s\nscenario: gig.yaml\nseeds: 3\nmetrics: [gini]\n"
        "vary: {world.mechanism.capacity: [1, 4], world.mechanism.pay: [fixed, performance]}\n"
    )
    found = wl.sweep(study(text), runs_dir=runs)
    assert [row.metrics["gini"].seeds for row in found.rows] == [3] * 4
    assert found.rows[2].variant.name == "capacity=4 pay=fixed"


def test_what_cannot_be_used_is_refused_before_anything_is_written(study, runs):
    with pytest.raises(UsageError, match=r"study.yaml:4:.*there is no 'stps' in limits"):
        wl.sweep(study(STUDY.replace("limits.steps", "limits.stps")), agent="random", runs_dir=runs)
    with pytest.raises(UsageError, match="agent"):
        wl.sweep(study(), agent="randon", runs_dir=runs)
    assert not runs.exists()


def test_its_json_says_what_varies_and_what_came_of_it(study, runs):
    found = wl.sweep(study(), agent="random", runs_dir=runs)
    shown = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert shown["unit"] == "seed"
    assert shown["study"]["paths"] == ["limits.steps"]
    assert [(row["name"], row["scenario"]) for row in shown["rows"]] == [
        (f"steps={steps}", f"lamp steps={steps}") for steps in (1, 2, 6)
    ]
    assert shown["rows"][1]["metrics"]["SPR"].keys() == {"mean", "low", "high", "seeds", "unscored"}
    assert shown["rows"][1]["against_first"]["SPR"].keys() == {"difference", "low", "high", "p", "seeds"}
    assert json.loads(str(found)) == shown["rows"]
