"""Playing on what a run has left, and playing a run again from its record alone."""

import contextlib
import json
import sqlite3
import sys

import pytest

import worldloom as wl
from worldloom.agents.llm import agent
from worldloom.api.plans import provenance
from worldloom.api.plans.cast import CastSpec
from worldloom.core.canonical import canonical
from worldloom.core.errors import Divergence, ModelError, RecordError, UsageError
from worldloom.core.key import show_key
from worldloom.graphs.aaw.scorer import AawScorer
from worldloom.runs.executor import Executor
from worldloom.runs.store import RunStore


def change(folder, sql, *values):
    """Tamper with a record."""
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


def problems(folder):
    return [one.problem for one in wl.replay(folder) if one.problem is not None]


@pytest.fixture
def interrupted(files, runs, speaking, monkeypatch):
    """A run of 8 episodes of the contestant that is interrupted when the model is asked for the 9th time."""
    executors = []
    real = Executor.__post_init__
    monkeypatch.setattr(Executor, "__post_init__", lambda self: (real(self), executors.append(self))[0])
    playing = speaking.answer

    def answer(request):
        if speaking.asked == 9:
            executors[-1].stop("cancelled")
        return playing(request)

    speaking.answer = answer
    result = wl.run(files, model="m", epochs=4, concurrency=2, runs_dir=runs)
    speaking.answer = playing
    return result


def test_an_interrupted_run_says_so_and_holds_what_was_played(interrupted):
    assert interrupted.status == "cancelled"
    assert interrupted.fingerprint is None
    status = [row.status for row in interrupted.episodes]
    assert status.count("planned") > 2
    assert status.count("cancelled") in (1, 2)
    assert problems(interrupted.folder) == []


def test_resumed_it_equals_the_run_that_nobody_interrupted_and_asks_nothing_twice(
    interrupted, files, runs, speaking
):
    before = speaking.asked
    resumed = wl.resume(interrupted.folder, concurrency=3)
    asked_after = speaking.asked - before
    speaking.asked = 0
    whole = wl.run(files, model="m", epochs=4, runs_dir=runs)
    assert resumed.status == "completed"
    assert resumed.folder == interrupted.folder
    assert resumed.fingerprint == whole.fingerprint is not None
    assert [row.fingerprint for row in resumed.episodes] == [row.fingerprint for row in whole.episodes]
    assert before + asked_after == speaking.asked, "every call was made once"
    assert problems(resumed.folder) == []


def test_what_has_ended_is_not_touched_by_a_resume(interrupted):
    ended = [row for row in interrupted.episodes if row.status == "ended"]
    resumed = wl.resume(interrupted.folder)
    assert [row for row in resumed.episodes if row.row in {one.row for one in ended}] == ended


def test_where_nothing_is_left_nothing_is_opened_or_written(files, runs, speaking, monkeypatch):
    result = wl.run(files, model="m", runs_dir=runs)
    before = (result.folder / "run.sqlite").read_bytes()
    monkeypatch.setattr("worldloom.models.factory.open_model", None)
    again = wl.resume(result.folder)
    assert again.to_json() == result.to_json()
    assert (result.folder / "run.sqlite").read_bytes() == before


@pytest.mark.parametrize("status", ["running", "failed", "cancelled"])
def test_a_run_that_died_after_its_last_episode_is_completed_without_a_model(
    files, runs, speaking, monkeypatch, status
):
    result = wl.run(files, model="m", runs_dir=runs)
    change(result.folder, "UPDATE run SET value = ? WHERE name = 'status'", json.dumps(status))
    monkeypatch.setattr("worldloom.models.factory.open_model", None)
    assert wl.resume(result.folder).status == "completed"


def test_a_folder_without_a_run_is_refused(tmp_path):
    for do in (wl.resume, wl.replay):
        with pytest.raises(wl.UsageError, match="holds no run"):
            do(tmp_path)


def test_a_scenario_that_reads_differently_now_is_refused_before_anything_is_played(interrupted, monkeypatch):
    plan_module = sys.modules["worldloom.api.plans.manifest"]
    real = plan_module.parse_scenario

    def other(text, file, registry):
        scenario = real(text, file, registry)
        object.__setattr__(scenario, "digest", "0" * 64)
        return scenario

    monkeypatch.setattr(plan_module, "parse_scenario", other)
    for do in (wl.resume, wl.replay):
        with pytest.raises(wl.UsageError, match="the stored scenario 'lamp' now has digest 0000"):
            do(interrupted.folder)


def test_a_cast_that_is_counted_differently_now_is_refused_before_anything_is_played(
    interrupted, monkeypatch, speaking
):
    asked = speaking.asked
    monkeypatch.setattr(CastSpec, "identity", property(lambda self: "other"))
    for do in (wl.resume, wl.replay):
        with pytest.raises(wl.UsageError, match="planned with other digests than now"):
            do(interrupted.folder)
    assert speaking.asked == asked


@pytest.fixture
def another_model(monkeypatch, speaking):
    """From now on another model is behind every name."""

    def open_model(spec, **_):
        return speaking.open(type(spec)("another"))

    return lambda: monkeypatch.setattr("worldloom.models.factory.open_model", open_model)


@pytest.fixture
def other_code(monkeypatch):
    """From now on the code is another."""

    def made_with(registry, real=provenance.made_with):
        return {**real(registry), "code and prompts": "other"}

    return lambda: monkeypatch.setattr(provenance, "made_with", made_with)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("another_model", r"model of agent: scripted:m → scripted:another"),
        ("other_code", r"code and prompts: [0-9a-f]{16} → other"),
    ],
)
def test_what_is_something_else_now_is_refused_or_accepted_and_recorded(interrupted, request, change, named):
    request.getfixturevalue(change)()
    ended = [row for row in interrupted.episodes if row.status == "ended"]
    with pytest.raises(wl.UsageError, match=f"(?s)was made with something else.*{named}.*--accept-changes"):
        wl.resume(interrupted.folder)
    resumed = wl.resume(interrupted.folder, accept_changes=True)
    assert resumed.status == "completed"
    assert [row for row in resumed.episodes if row.row in {one.row for one in ended}] == ended
    assert {row.making for row in resumed.episodes} == {0, 1}
    with RunStore(interrupted.folder) as store:
        first, second = provenance.makings(store)
    assert first != second
    assert problems(interrupted.folder) == [], "each episode is replayed with the model that played it"


def test_a_change_that_was_accepted_is_not_asked_about_again(interrupted, another_model, speaking):
    another_model()
    playing = speaking.answer
    speaking.answer = lambda request: 1 / 0
    wl.resume(interrupted.folder, accept_changes=True)
    speaking.answer = playing
    again = wl.resume(interrupted.folder, retry_failed=True)
    assert {row.reason for row in again.episodes} == {"completed"}
    assert {row.making for row in again.episodes} == {0, 1}
    assert problems(again.folder) == []


def test_what_failed_by_no_fault_of_the_agent_is_played_again_if_that_is_wanted(
    files, runs, speaking, monkeypatch
):
    playing, down = speaking.answer, ModelError("unreachable", "gone")
    speaking.answer = lambda request: (
        down if "lamp" in request.messages[1].content[0].text else playing(request)
    )
    result = wl.run(files, model="m", runs_dir=runs)
    failed = [row.row for row in result.episodes if row.fault == "infrastructure"]
    assert len(failed) == 1
    speaking.answer = playing
    assert wl.resume(result.folder).to_json() == result.to_json()
    again = wl.resume(result.folder, retry_failed=True)
    whole = wl.run(files, model="m", runs_dir=runs)
    assert again.fingerprint == whole.fingerprint
    assert again.scores == whole.scores
    assert problems(again.folder) == []


def test_where_only_the_scorer_failed_only_the_scoring_is_made_again(files, runs, speaking, monkeypatch):
    def broken(self, record, ctx):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(AawScorer, "score", broken)
        result = wl.run(files, model="m", runs_dir=runs)
    assert result.scores == {}
    asked = speaking.asked
    again = wl.resume(result.folder, retry_failed=True)
    assert speaking.asked == asked
    assert [row.fingerprint for row in again.episodes] == [row.fingerprint for row in result.episodes]
    assert len(again.scores) == len(again.episodes)
    assert problems(again.folder) == []


def test_files_that_have_changed_since_do_not_change_a_run(interrupted, files):
    for file in files:
        file.write_text("id: another")
    assert wl.resume(interrupted.folder).status == "completed"
    assert problems(interrupted.folder) == []


def test_an_episode_that_diverges_on_resume_is_told_and_stops_no_other(interrupted, speaking):
    store = RunStore(interrupted.folder)
    (row, key, event) = next(
        (row.row, key, event)
        for row in store.episodes()
        if row.status == "cancelled"
        for key, event in store.events(row.row).items()
        if event.type == "decided.1"
    )
    store.close()
    body = canonical({**event.body, "rationale": "another"})
    change(interrupted.folder, "UPDATE events SET data = ? WHERE episode = ? AND key = ?", body, row, key)
    with pytest.raises(Divergence, match=r"decided\.1"):
        wl.resume(interrupted.folder)
    store = RunStore(interrupted.folder)
    assert store.value("status") == "failed"
    assert [one.row for one in store.episodes() if one.status != "ended"] == [row]
    store.close()


@pytest.fixture
def played(files, runs, speaking):
    """A complete run, and (row, key -> event) of the contestant's door episode."""
    result = wl.run(files, model="m", runs_dir=runs)
    row = next(row.row for row in result.episodes if (row.cast_name, row.scenario) == ("m", "door"))
    store = RunStore(result.folder)
    events = store.events(row)
    store.close()
    return result.folder, row, events


def test_a_replay_opens_no_model_and_reproduces_every_episode(played, monkeypatch):
    folder, _, _ = played
    monkeypatch.setattr("worldloom.models.factory.open_model", None)
    found = wl.replay(folder, concurrency=3)
    assert [one.episode.row for one in found] == list(range(6))
    assert {one.problem for one in found} == {None}


def first(events, type, nth=0):
    return [key for key in sorted(events) if events[key].type == type][nth]


def named(folder, row):
    """The key that the replay names, and no other episode may be concerned."""
    (one,) = [one for one in wl.replay(folder) if one.problem is not None]
    assert one.episode.row == row
    assert one.problem.startswith("the run diverges at key ")
    return one.problem.split("\n")[0].removeprefix("the run diverges at key ")


def test_a_tampered_answer_is_found_at_the_first_key_that_follows_from_it(played):
    folder, row, events = played
    key = first(events, "model.1", 1)
    body = events[key].body
    body["answer"]["text"] = (
        body["answer"]["text"].replace("door.close", "door.look").replace('"close"', '"look"')
    )
    change(folder, "UPDATE events SET data = ? WHERE episode = ? AND key = ?", canonical(body), row, key)
    assert named(folder, row) == "0:aaw/3:agent/1", "the decision, directly after the answer"


def test_tokens_that_were_tampered_with_are_found_in_the_totals(played):
    folder, row, events = played
    key = first(events, "model.1", 1)
    body = events[key].body
    body["answer"]["completion_tokens"] += 1
    change(folder, "UPDATE events SET data = ? WHERE episode = ? AND key = ?", canonical(body), row, key)
    assert named(folder, row) == "1"


def test_a_changed_prompt_is_named_by_the_key_of_its_request(played, monkeypatch):
    folder, _, _ = played
    real = agent.prompt_text
    monkeypatch.setattr(
        agent, "prompt_text", lambda name: real(name) + (" Please!" if name == "again" else "")
    )
    found = problems(folder)
    assert len(found) == 1, "only one episode was told that its answer was no valid one"
    assert found[0].startswith("the run diverges at key 0:aaw/5:agent/1\n  recorded: model.1 with request")


@pytest.mark.parametrize("type", ["model.1", "decided.1", "stepped.1", "ended.1"])
def test_a_row_that_is_gone_is_named(played, type):
    folder, row, events = played
    key = first(events, type)
    change(folder, "DELETE FROM events WHERE episode = ? AND key = ?", row, key)
    assert named(folder, row) == show_key(key)


def test_a_row_too_many_is_named(played):
    folder, row, events = played
    extra = first(events, "stepped.1") + b"\x01\0\0\0\0\0\0\0\0"
    columns = "(episode, scoring, key, type, data)"
    change(folder, f"INSERT INTO events {columns} VALUES (?, '', ?, 'x.1', x'7b7d')", row, extra)
    assert named(folder, row) == "0:aaw/2:world/0#0/0"


@pytest.mark.parametrize(
    "data", [b"{", b"", b"[]", b'{"answer":1}', b'{"$blob":{"sha256":"00"}}', b"\xff\xfe", b'"x"']
)
@pytest.mark.parametrize("type", ["model.1", "stepped.1"])
def test_a_row_that_cannot_be_read_is_named_and_the_others_are_replayed(played, type, data):
    folder, row, events = played
    key = first(events, type)
    change(folder, "UPDATE events SET data = ? WHERE episode = ? AND key = ?", data, row, key)
    assert named(folder, row) == show_key(key)


def test_a_fingerprint_that_is_not_that_of_the_rows_is_told(played):
    folder, row, _ = played
    change(folder, "UPDATE episodes SET fingerprint = ? WHERE row = ?", "0" * 64, row)
    (found,) = problems(folder)
    assert found.startswith("fingerprint: the record tells 000")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE scores SET value = 1 - value WHERE name = 'SPR'", "score: the record tells 'SPR'"),
        ("UPDATE scores SET value = 0 WHERE unit = 'criterion'", "score: the record tells"),
        ("DELETE FROM scores WHERE name = 'NSS'", "score: the record tells"),
        ("UPDATE episodes SET reason = 'step_limit'", "reason: the record tells step_limit"),
        ("UPDATE episodes SET fault = 'infrastructure'", "fault: the record tells infrastructure"),
        ("UPDATE episodes SET steps = steps + 1", "steps: the record tells"),
        ("UPDATE episodes SET prompt_tokens = 999999", "prompt_tokens: the record tells 999999"),
    ],
)
def test_a_table_that_tells_otherwise_than_the_events_is_found(played, sql, told):
    folder, _, _ = played
    change(folder, sql)
    found = problems(folder)
    assert found
    assert all(problem.startswith(told) for problem in found)


def test_an_episode_that_is_gone_is_missed(played):
    folder, row, _ = played
    change(folder, "DELETE FROM episodes WHERE row = ?", row)
    with pytest.raises(RecordError, match="was planned with"):
        problems(folder)


@pytest.mark.parametrize("column", ["seed", "epoch"])
def test_an_episode_that_is_not_the_planned_one_is_refused(played, column):
    folder, _, _ = played
    change(folder, f"UPDATE episodes SET {column} = {column} + 7")
    with pytest.raises(UsageError, match="was planned with other digests"):
        problems(folder)


def test_a_script_that_has_changed_or_gone_since_does_not_change_a_run(files, runs, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("actions: [lamp.switch: {lit: false}]")
    first = wl.run(files[:1], agent=f"scripted:{script}", runs_dir=runs)
    script.write_text("actions: [lamp.look: {}]")
    other = wl.run(files[:1], agent=f"scripted:{script}", runs_dir=runs)
    assert first.episodes[-1].id != other.episodes[-1].id, "another script is another cast"
    script.unlink()
    for result in (first, other):
        assert problems(result.folder) == []
        assert wl.resume(result.folder).status == "completed"


def test_the_models_of_a_run_can_be_asked_again_from_python(played, speaking, another_model):
    folder, _, _ = played
    (found,) = wl.verify_effects(folder)
    assert (found.what, found.same.value, found.silent) == ("model agent", 1.0, 0)
    another_model()
    with pytest.raises(wl.UsageError, match="was made with model scripted:m; this one is scripted:another"):
        wl.verify_effects(folder)
