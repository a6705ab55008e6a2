"""Secrets of the environment: refused in scenarios, masked at the door, and not needed by a replay."""

import json

import pytest

import worldloom as wl
from worldloom.models.model import Completion, Usage
from worldloom.runs.store import RunStore

SECRET = "sesame-4711-open"


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", SECRET)


@pytest.mark.parametrize("text", [SECRET, SECRET.replace("-", "\\u002d")], ids=["plain", "escaped"])
def test_a_scenario_that_holds_a_secret_is_refused_and_the_secret_is_not_repeated(
    files, runs, speaking, key, text
):
    files[0].write_text(files[0].read_text().replace("name: Lamp", f'name: "{text}"'))
    with pytest.raises(wl.DocumentError) as refused:
        wl.run(files, model="m", runs_dir=runs)
    (problem,) = refused.value.problems
    assert "SHOP_API_KEY" in problem.found
    assert SECRET not in str(refused.value)
    assert (problem.line, problem.column) == ((9, 14) if text == SECRET else (0, 0))
    assert not runs.exists()


def test_a_replay_does_not_depend_on_the_secrets_of_its_environment(
    files, runs, speaking, words, key, monkeypatch
):
    move, done, turn_of = words

    def answer(request):
        said = json.loads(move("lamp.look") if turn_of(request) == 0 else done)
        return Completion(json.dumps({**said, "thought_process": f"my key is {SECRET}"}), usage=Usage(1, 1))

    speaking.answer = answer
    result = wl.run(files[:1], model="m", runs_dir=runs)
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in result.folder.iterdir())
    store = RunStore(result.folder)
    assert any(b"<secret:SHOP_API_KEY>" in event.data for event in store.events(2).values())
    store.close()
    for other in ({}, {"SHOP_API_KEY": "another-4712"}, {"WEB_TOKEN": "switch the lamp off: 40"}):
        monkeypatch.delenv("SHOP_API_KEY", raising=False)
        for name, value in other.items():
            monkeypatch.setenv(name, value)
        assert all(one.problem is None for one in wl.replay(result.folder)), other
    # Words of the scenario itself, as a secret of a later environment.
    monkeypatch.setenv("OTHER_SECRET", "Look at the lamp.")
    assert all(one.problem is None for one in wl.replay(result.folder))
