"""A fork keeps the past of an episode, takes one change, and plays on live as a run of its own."""

import json

import pytest

import worldloom as wl
from worldloom.core.key import show_key
from worldloom.models.model import Completion, Usage
from worldloom.runs.store import RunStore


def events_of(folder, row):
    with RunStore(folder) as store:
        return [(show_key(key), event.type, event.body) for key, event in store.events(row).items()]


@pytest.fixture
def parent(files, runs, speaking):
    """A run of both scenarios, and the number of the contestant's door episode: lock, close, hm, lock, done."""
    result = wl.run(files, model="m", runs_dir=runs)
    row = next(row.row for row in result.episodes if (row.cast_name, row.scenario) == ("m", "door"))
    return result, row


def calls(folder, row):
    return [key for key, type, _ in events_of(folder, row) if type == "model.1"]


def test_a_fork_that_changes_nothing_equals_its_parent_and_asks_only_what_comes_after(parent, speaking):
    result, row = parent
    keys, asked = calls(result.folder, row), speaking.asked
    child = wl.fork(result.folder, episode=row, at=keys[3])
    assert speaking.asked - asked == len(keys) - 3
    assert child.episodes[0].fingerprint == result.episodes[row].fingerprint
    assert child.episodes[0].id != result.episodes[row].id, "its calls to the outside are its own"
    assert (child.status, len(child.episodes), child.folder.parent) == ("completed", 1, result.folder.parent)
    assert child.title == f"fork of {result.folder.name}, episode {row} at {keys[3]}"


def test_another_answer_leads_elsewhere_and_the_past_stays(parent, speaking, words):
    result, row = parent
    _, done, _ = words
    keys = calls(result.folder, row)
    child = wl.fork(result.folder, episode=row, at=keys[1], answer=done)
    assert child.episodes[0].reason == "completed"
    assert child.scores[0][0].value == 0.0, "it gave up before the door was locked"
    before = [event for event in events_of(result.folder, row) if event[0] < keys[1]]
    assert events_of(child.folder, 0)[: len(before)] == before
    assert (
        next(body for key, _, body in events_of(child.folder, 0) if key == keys[1])["answer"]["text"] == done
    )


def test_a_fork_is_replayed_and_resumed_like_any_other_run(parent, speaking):
    result, row = parent
    child = wl.fork(result.folder, episode=row, at=calls(result.folder, row)[2], answer="hm")
    assert [one.problem for one in wl.replay(child.folder)] == [None]
    assert wl.resume(child.folder).episodes == child.episodes


def test_a_fork_of_a_fork(parent, speaking):
    result, row = parent
    child = wl.fork(result.folder, episode=row, at=calls(result.folder, row)[2], answer="hm")
    grandchild = wl.fork(child.folder, episode=0, at=calls(child.folder, 0)[3])
    assert grandchild.episodes[0].fingerprint == child.episodes[0].fingerprint
    assert [one.problem for one in wl.replay(grandchild.folder)] == [None]


def test_a_changed_rule_plays_on_from_where_it_matters_and_is_refused_before(parent, files, speaking):
    result, row = parent
    keys = calls(result.folder, row)
    text = files[1].read_text()
    files[1].write_text(text.replace("set: {door.locked: true}", "set: {door.locked: false}"))
    child = wl.fork(result.folder, episode=row, at=keys[2], scenario=files[1])
    assert child.scores[0][0].value == 0.0, "the lock no longer locks"
    assert [one.problem for one in wl.replay(child.folder)] == [None]
    before = sorted(result.folder.parent.iterdir())
    with pytest.raises(wl.Divergence, match=r"the run diverges at key") as parted:
        wl.fork(result.folder, episode=row, at=events_of(result.folder, row)[-1][0], scenario=files[1])
    assert "the change alters what happened before" in parted.value.__notes__[0]
    assert sorted(result.folder.parent.iterdir()) == before, "no dead run is left behind"


def test_long_answers_and_blobs_come_along(files, runs, speaking, words):
    move, done, turn_of = words

    def answer(request):
        said = json.loads(move("lamp.look") if turn_of(request) == 0 else done)
        return Completion(json.dumps({**said, "thought_process": "so " * 3000}), usage=Usage(1, 1))

    speaking.answer = answer
    result = wl.run(files[:1], model="m", runs_dir=runs)
    child = wl.fork(result.folder, episode=2, at=calls(result.folder, 2)[1])
    assert child.episodes[0].fingerprint == result.episodes[2].fingerprint
    assert [one.problem for one in wl.replay(child.folder)] == [None]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"episode": 99}, "has no episode 99; allowed: 0 to 5"),
        ({"episode": "1"}, "episode is '1'"),
        ({"at": "0:aaw"}, "is no key"),
        ({"at": "7:aaw/1:agent/0"}, "has no event at 7:aaw/1:agent/0"),
        ({"answer": {"text": "x"}}, "is a model's; allowed: text"),
        ({"scenario": 0}, "allowed: 'door', changed"),
    ],
)
def test_what_cannot_be_forked_is_refused_and_nothing_is_written(parent, files, change, said):
    result, row = parent
    if "scenario" in change:
        change = {"scenario": files[0]}
    before = sorted(result.folder.parent.iterdir())
    with pytest.raises(wl.UsageError) as refused:
        wl.fork(result.folder, **{"episode": row, "at": calls(result.folder, row)[0], **change})
    assert said in str(refused.value)
    assert sorted(result.folder.parent.iterdir()) == before


def test_only_an_answer_can_be_replaced(parent):
    result, row = parent
    fact = next(key for key, type, _ in events_of(result.folder, row) if type == "decided.1")
    with pytest.raises(wl.UsageError, match=r"the event at .* is decided\.1: nothing was asked there"):
        wl.fork(result.folder, episode=row, at=fact, answer="x")
