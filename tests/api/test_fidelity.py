"""Fidelity runs are runs: planned, recorded, resumed and replayed; and their counts become rates."""

import json
from dataclasses import replace

import pytest

import worldloom as wl
from worldloom import api
from worldloom.api import fidelity
from worldloom.api.fidelity import Trajectories
from worldloom.api.plans.cast import CastSpec
from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import GraphSpec, form_of
from worldloom.api.playing import start
from worldloom.core.canonical import digest
from worldloom.core.errors import DocumentError, UsageError
from worldloom.core.registry import Registry
from worldloom.runs.executor import Executor
from worldloom.runs.store import RunStore

RIGHT = json.dumps({"thought_process": "", "success": True, "message": "as it is"})


@pytest.fixture
def registry():
    return Registry.discover()


def simulating(request):
    """Right whenever nothing changes and nothing fails."""
    return RIGHT


@pytest.fixture
def measure(files, runs, speaking, registry):
    """Plays a fidelity run over both scenarios."""

    def play(concurrency=4, answer=simulating, **settings):
        speaking.answer = answer
        plan = fidelity.plan(files, world_model="m", registry=registry, **settings)
        return api.in_new_loop(start(plan, registry, runs_dir=runs, concurrency=concurrency))

    return play


@pytest.fixture
def record(tmp_path):
    """A published record with an episode of the door, and one of something else."""
    steps = [
        {"action": {"entity_id": "door", "action": "look"}, "feedback": {"success": True, "message": "m"}},
        {"action": {"entity_id": "door", "action": "close"}, "feedback": {"success": True, "message": "m"}},
    ]
    path = tmp_path / "record.json"
    entries = [{"scenario_id": name, "execution_log": steps} for name in ("door", "window")]
    path.write_text(json.dumps(entries))
    return path


def test_its_trajectories_are_both_paths_random_ones_and_those_of_a_record(measure, record):
    found = measure(trajectories=Trajectories(random=2, record=record))
    casts = [(row.scenario, row.cast_name, row.seed) for row in found.episodes]
    assert casts == [
        ("lamp", "literal", 0),
        ("lamp", "careful", 0),
        ("door", "literal", 0),
        ("door", "careful", 0),
        ("door", "scripted:record.json", 0),
        *((name, "random", seed) for seed in (0, 1) for name in ("lamp", "door")),
    ]
    assert {row.status for row in found.episodes} == {"ended"}
    assert next(row.steps for row in found.episodes if row.cast_name.startswith("scripted")) == 2


def test_a_plan_plays_and_asks_judges_by_the_graph_that_it_names(files, registry):
    plan = fidelity.plan(files, world_model="m", registry=registry)
    assert {plan.room_of(one, registry).name for one in plan.scenarios} == {"fidelity"}
    assert form_of(plan, registry) == digest({}), "the graph fidelity asks no judge"
    own = replace(plan, graph=None)
    assert {own.room_of(one, registry).name for one in own.scenarios} == {"aaw"}
    assert form_of(own, registry) != digest({})


def test_the_rates_are_over_all_calls_and_stand_by_trajectory_too(measure):
    report = fidelity.report(measure(trajectories=Trajectories(random=0), repeats=2))
    assert report is not None
    assert (report.simulator, report.repeats, report.failed) == ("scripted:m", 2, 0)
    assert [part.name for part in report.parts] == ["literal", "careful"]
    # lamp: switch | look, switch; door: lock (fails) | look, close, lock
    exact, missing = report.all.measures["exact"], report.all.measures["missing_change"]
    assert (exact.n, exact.value, exact.scenarios) == (14, 2 / 7, 2)
    assert missing.value == pytest.approx(4 / 7)
    assert report.all.measures["wrong_success"].value == pytest.approx(1 / 7)
    assert report.all.measures["changing"].value == pytest.approx(4 / 7)
    assert (report.all.measures["self_exact"].n, report.all.measures["self_exact"].value) == (7, 1.0)
    assert [part.measures["exact"].n for part in report.parts] == [4, 10]


def test_it_is_replayed_from_its_record_and_resumed_where_it_was_cut(measure, speaking, monkeypatch):
    whole, executors, real = measure(), [], Executor.__post_init__
    monkeypatch.setattr(Executor, "__post_init__", lambda self: (real(self), executors.append(self))[0])

    def cut(request):
        if speaking.asked == 9:
            executors[-1].stop("cancelled")
        return RIGHT

    speaking.asked = 0
    half = measure(concurrency=1, answer=cut)
    assert half.status == "cancelled"
    speaking.answer = simulating
    done = wl.resume(half.folder)
    assert (done.status, done.fingerprint) == ("completed", whole.fingerprint)
    assert [one.problem for one in wl.replay(done.folder)] == [None] * len(done.episodes)


def test_the_graph_is_a_part_of_the_manifest_and_of_an_episodes_identity(files, registry, measure):
    plan = fidelity.plan(files, world_model="m", registry=registry)
    ids = {row.id for row, _, _ in plan.entries()}
    for other in (replace(plan, graph=None), replace(plan, graph=GraphSpec("fidelity", {"repeats": 4}))):
        assert ids.isdisjoint(row.id for row, _, _ in other.entries())
    plain = api.plan(files, agent="random", registry=registry)
    assert plain.graph is None
    store = RunStore(measure().folder)
    assert plan_of(store, registry) == plan_of(store, registry)
    assert plan_of(store, registry).graph == GraphSpec("fidelity", {"repeats": 3})
    store.close()


def test_max_steps_holds_for_every_trajectory(measure):
    found = measure(trajectories=Trajectories(random=1, max_steps=1))
    assert {row.steps for row in found.episodes} <= {0, 1}


def test_an_ordinary_run_has_no_fidelity(files, runs):
    found = wl.run(files, agent="careful", runs_dir=runs)
    assert fidelity.report(found) is None


def test_a_scenario_without_rules_cannot_be_measured_and_is_named(files, registry, runs):
    lamp = files[0]
    lamp.write_text(
        "\n".join(
            line
            for line in lamp.read_text().splitlines()
            if not line.strip().startswith(("result:", "effects:", "- set:", "check:"))
        )
        .replace("criterion: It is off.", "criterion: It is off.\n    pass_condition: lamp.lit == false")
        .replace(
            "criterion: It was looked at first.", "criterion: It was looked at.\n    pass_condition: So."
        )
    )
    plan = fidelity.plan([lamp], world_model="m", registry=registry)
    with pytest.raises((UsageError, DocumentError), match="lamp"):
        api.in_new_loop(start(plan, registry, runs_dir=runs))
    assert not runs.exists()


def test_a_record_without_these_scenarios_is_refused_with_those_that_it_has(files, record, registry):
    with pytest.raises(UsageError, match="found: door, window") as refused:
        fidelity.plan(files[0], trajectories=Trajectories(record=record), registry=registry)
    assert "allowed: lamp" in str(refused.value)


def test_a_graph_of_another_kind_is_refused(files, registry, runs):
    plan = replace(api.plan(files, agent="random", registry=registry), graph=GraphSpec("null"))
    with pytest.raises(UsageError, match="the graph 'null' cannot play"):
        api.in_new_loop(start(plan, registry, runs_dir=runs))


def test_a_cast_of_one_scenario_plays_it_once_and_no_other(files, registry):
    also = {"lamp": CastSpec("scripted", "x", {"actions": [{"lamp.look": {}}]})}
    plan = replace(api.plan(files, agent="random", epochs=3, registry=registry), also=also)
    assert [row.scenario for row, _, who in plan.entries() if who.agent == "scripted"] == ["lamp"]
