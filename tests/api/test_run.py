"""A run from files to result: what is played, at any concurrency, and what is told of it."""

import asyncio
import json
import threading

import pytest

import worldloom as wl
from worldloom import api
from worldloom.api import playing
from worldloom.core.errors import ModelError, RecordError
from worldloom.core.registry import Registry
from worldloom.models.model import Completion, Usage
from worldloom.runs.limits import Limits
from worldloom.runs.store import RunStore


def prints(result):
    return {row.id: row.fingerprint for row in result.episodes}


def test_floor_ceiling_and_contestant_play_every_scenario(files, runs, speaking):
    result = wl.run(files, model="m", epochs=2, runs_dir=runs)
    assert result.status == "completed"
    assert [(row.cast_name, row.scenario, row.seed, row.epoch) for row in result.episodes] == [
        ("literal", "lamp", 0, 0),
        ("careful", "lamp", 0, 0),
        ("literal", "door", 0, 0),
        ("careful", "door", 0, 0),
        ("m", "lamp", 0, 0),
        ("m", "door", 0, 0),
        ("m", "lamp", 1, 1),
        ("m", "door", 1, 1),
    ]
    assert {row.reason for row in result.episodes} == {"completed"}
    scores = {(row.cast_name, row.scenario): result.scores[row.row][0].value for row in result.episodes}
    assert scores == {
        ("literal", "lamp"): 0.0,
        ("careful", "lamp"): 1.0,
        ("literal", "door"): 0.0,
        ("careful", "door"): 1.0,
        ("m", "lamp"): 1.0,
        ("m", "door"): 1.0,
    }


@pytest.mark.parametrize("player", [{"model": "m"}, {"agent": "random"}, {"agent": "careful"}], ids=str)
def test_fresh_runs_at_concurrency_1_8_and_64_have_the_same_fingerprints(files, runs, speaking, player):
    results = [
        wl.run(files, **player, epochs=6, concurrency=concurrency, runs_dir=runs)
        for concurrency in (1, 8, 64)
    ]
    assert prints(results[0]) == prints(results[1]) == prints(results[2])
    assert results[0].fingerprint == results[1].fingerprint == results[2].fingerprint is not None
    assert len({result.folder for result in results}) == 3


def test_ids_of_episodes_and_fingerprints_do_not_depend_on_the_order_of_the_files(files, runs, speaking):
    forward = wl.run(files, model="m", epochs=2, runs_dir=runs)
    backward = wl.run([files[1].parent, *reversed(files)], model="m", epochs=2, runs_dir=runs)
    reverse = wl.run(list(reversed(files)), model="m", epochs=2, runs_dir=runs)
    assert [row.id for row in forward.episodes] != [row.id for row in reverse.episodes]
    assert prints(forward) == prints(reverse) == prints(backward)
    assert forward.fingerprint == reverse.fingerprint


def test_an_id_changes_with_scenario_cast_seed_and_epoch_and_with_nothing_else(files, runs, speaking):
    def ids(**settings):
        model = {} if "agent" in settings else {"model": "m"}
        plan = api.plan(settings.pop("paths", files), **{**model, **settings})
        return {row.id for row, _, who in plan.entries() if not who.reference}

    base = ids()
    for changed in ({"model": "n"}, {"seed": 1}, {"agent": "random"}):
        assert ids(**changed).isdisjoint(base), changed
    assert ids(epochs=2) > base
    for same in ({"base_url": "http://elsewhere:1/v1"}, {"max_steps": 3}, {"paths": [files[0].parent]}):
        assert ids(**same) == base, same
    text = files[0].read_text()
    files[0].write_text("# a comment\n" + text)
    assert ids() == base
    files[0].write_text(text.replace("watts: 40", "watts: 41"))
    assert len(ids() & base) == 1


def test_the_random_agent_takes_the_same_actions_for_the_same_seed_and_others_for_another(files, runs):
    def actions(seed):
        result = wl.run(files[:1], agent="random", seed=seed, epochs=4, runs_dir=runs)
        store = RunStore(result.folder)
        found = [
            [event.body["action"] for event in store.events(row.row).values() if event.type == "decided.1"]
            for row in result.episodes
            if row.cast_name == "random"
        ]
        store.close()
        return found

    assert actions(1) == actions(1)
    assert actions(1)[1:] == actions(2)[:-1], "the epochs of a run go through the seeds"
    assert len({json.dumps(one) for one in actions(1)}) > 1


@pytest.mark.parametrize("kind", ["unreachable", "overflow", "refusal", "quota"])
def test_an_episode_that_failed_is_data_and_stops_no_other(files, runs, speaking, kind):
    def answer(request):
        if "lamp" in request.messages[1].content[0].text:
            return ModelError(kind, "it says no")
        return played(request)

    played, speaking.answer = speaking.answer, answer
    result = wl.run(files, model="m", epochs=3, runs_dir=runs)
    reason = {"overflow": "context_overflow", "refusal": "refused"}.get(kind, "model_failed")
    assert result.status == "completed"
    assert result.reasons() == {reason: 3, "completed": 3}
    line = result.lines(by_category=False)[-1]
    mine = kind in ("overflow", "refusal")
    assert line.failed == (0 if mine else 3), "only failures of the agent's own count against it"
    assert line.metrics["SPR"].mean == (0.5 if mine else 1.0)
    assert all("it says no" in row.detail for row in result.episodes if row.reason == reason)


def test_limits_of_the_run_and_of_the_scenario_hold_whichever_is_stricter(files, runs, speaking, words):
    move, _, turn_of = words

    def answer(request):
        again = turn_of(request) % 2 == 0
        if "lamp" in request.messages[1].content[0].text:
            return Completion(move("lamp.switch", lit=again), usage=Usage(50, 5))
        return Completion(move("door.close" if again else "door.look"), usage=Usage(50, 5))

    speaking.answer = answer
    result = wl.run(files, model="m", max_steps=9, runs_dir=runs)
    assert [(row.reason, row.steps) for row in result.episodes if row.cast_name == "m"] == [
        ("step_limit", 9),
        ("step_limit", 6),
    ]
    for limits, reason in ((Limits(model_calls=4), "call_limit"), (Limits(tokens=60), "token_limit")):
        result = wl.run(files[:1], model="m", limits=limits, runs_dir=runs)
        assert result.episodes[-1].reason == reason
        assert all(one.problem is None for one in wl.replay(result.folder))


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [("no JSON at all", "invalid_replies", 15), (None, "repeat_limit", 5)],
)
def test_the_same_failure_again_and_again_ends_an_episode(files, runs, speaking, words, reply, reason, calls):
    move, _, _ = words
    speaking.answer = lambda request: reply or move("door.lock")
    result = wl.run(files[1:], model="m", runs_dir=runs, limits=Limits(repeats=5))
    row = result.episodes[-1]
    assert (row.reason, row.fault, row.steps, row.model_calls) == (reason, "agent", 5, calls)
    assert all(one.problem is None for one in wl.replay(result.folder))


def test_inside_a_running_event_loop_the_error_says_what_to_do(files, runs):
    async def inside():
        wl.run(files, agent="careful", runs_dir=runs)

    with pytest.raises(wl.UsageError, match=r"await the functions of worldloom\.api\.playing"):
        asyncio.run(inside())
    assert not runs.exists()


def test_inside_a_running_event_loop_playing_can_be_awaited_and_one_process_may_have_many_loops(
    files, runs, speaking
):
    registry = Registry.discover()
    plan = api.plan(files, model="m", registry=registry)

    async def inside():
        return await playing.start(plan, registry, runs_dir=runs, concurrency=2)

    first, second = asyncio.run(inside()), asyncio.run(inside())
    third = wl.run(files, model="m", runs_dir=runs)
    assert prints(first) == prints(second) == prints(third)


def test_a_run_in_a_thread_that_is_not_the_main_one_is_a_run_like_any_other(files, runs):
    found = []
    thread = threading.Thread(target=lambda: found.append(wl.run(files, agent="careful", runs_dir=runs)))
    thread.start()
    thread.join()
    assert found[0].status == "completed"


def test_a_single_path_needs_no_list(files, runs):
    for path in (files[0], str(files[0])):
        assert len(wl.run(path, agent="careful", runs_dir=runs).episodes) == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"concurrency": -3}, "concurrency is -3"),
        ({"suite": "starter"}, "not both"),
        ({"agent": "carefull"}, "careful"),
        ({"agent": "scripted"}, "needs its file"),
        ({"agent": "llm", "model": "nothing"}, "unknown"),
    ],
)
def test_what_cannot_be_used_is_refused_and_leaves_nothing_behind(files, runs, settings, said):
    with pytest.raises(wl.UsageError, match=said):
        wl.run(files, **{"agent": "careful", "runs_dir": runs, **settings})
    assert not runs.exists()


def test_a_scenario_with_faults_is_refused_before_anything_is_written(files, runs):
    files[1].write_text(files[1].read_text().replace("door.closed, else", "door.shut, else"))
    with pytest.raises(wl.DocumentError, match=r"door\.yaml:\d+:\d+"):
        wl.run(files, agent="careful", runs_dir=runs)
    assert not runs.exists()


def test_a_place_where_nothing_can_be_written_is_named(files, tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(RecordError, match="cannot create the run folder"):
        wl.run(files, agent="careful", runs_dir=tmp_path / "runs")


def test_no_task_and_no_thread_outlives_a_run(files, runs, speaking):
    before = threading.active_count()
    wl.run(files, model="m", runs_dir=runs)
    assert threading.active_count() == before


def test_the_cast_of_a_scenario_says_who_plays_unless_the_caller_does(files, runs, speaking):
    for file in files:
        file.write_text("cast: {agent: random}\n" + file.read_text())
    assert wl.run(files, runs_dir=runs).episodes[-1].cast_name == "random"
    assert wl.run(files, agent="llm", model="m", runs_dir=runs).episodes[-1].cast_name == "m"
    files[0].write_text(files[0].read_text().replace("{agent: random}", "{agent: {agent: llm, model: n}}"))
    assert wl.run(files[:1], runs_dir=runs).episodes[-1].cast_name == "n"
    with pytest.raises(wl.UsageError, match=r"name different agents in `cast`: llm in .*, random in "):
        wl.run(files, runs_dir=runs)


def test_a_scenario_says_which_metrics_are_wanted(files, runs, speaking):
    files[0].write_text("metrics: [NSS]\n" + files[0].read_text())
    result = wl.run(files, model="m", runs_dir=runs)
    names = {row.scenario: [score.name for score in result.scores[row.row]] for row in result.episodes}
    assert names["lamp"] == ["NSS", "It is off.", "It was looked at first."]
    assert names["door"] == ["SPR", "NSS", "explore", "It is locked."]
