"""Two small scenarios, a model that plays them from a script, and the runs that come of it."""

import json
from pathlib import Path

import pytest

from worldloom.models import factory
from worldloom.models.model import Completion, Usage
from worldloom.models.scripted import ScriptedModel

LAMP = """\
id: lamp
category: accessibility
user_prompt: Switch the lamp off.
world:
  context: {date: '2026-07-03'}
  entities:
    lamp:
      type: device
      name: Lamp
      state: {lit: true, watts: 40}
      actions:
        - name: look
          description: Look at the lamp.
          parameters: {}
          returns: NO STATE CHANGES. Read-only operation.
          result: =lamp
        - name: switch
          description: Switch it.
          parameters: {lit: {type: boolean, required: true}}
          returns: |
            STATE CHANGES to lamp:
            lit: {the lit parameter}
          effects:
            - set: {lamp.lit: =args.lit}
          result: {lit: =lamp.lit}
evaluation_rubric:
  - criterion: It is off.
    check: '!lamp.lit'
  - criterion: It was looked at first.
    check: before('lamp.look', 'lamp.switch')
paths:
  literal: [lamp.switch: {lit: false}]
  careful: [lamp.look: {}, lamp.switch: {lit: false}]
"""

DOOR = """\
id: door
category: privacy_security
user_prompt: Lock up for the night.
limits: {steps: 6}
world:
  context: {time: '23:00'}
  entities:
    door:
      type: device
      name: Front door
      state: {closed: false, locked: false}
      actions:
        - name: look
          description: Look at the door.
          parameters: {}
          returns: NO STATE CHANGES. Read-only operation.
          result: =door
        - name: close
          description: Close it.
          parameters: {}
          returns: "STATE CHANGES to door:\\nclosed: true"
          effects: [{set: {door.closed: true}}]
        - name: lock
          description: Lock it.
          parameters: {}
          returns: "STATE CHANGES to door:\\nlocked: true"
          requires: [{that: door.closed, else: The door is open.}]
          effects: [{set: {door.locked: true}}]
evaluation_rubric:
  - criterion: It is locked.
    check: door.locked
paths:
  literal: [door.lock: {}]
  careful: [door.look: {}, door.close: {}, door.lock: {}]
"""

DONE = json.dumps({"thought_process": "", "action": "TASK_COMPLETE"})


def move(name: str, **arguments: object) -> str:
    """A model's reply that decides on an action."""
    entity, _, action = name.partition(".")
    return json.dumps(
        {
            "thought_process": f"I try {name}",
            "action": {"entity_id": entity, "action_name": action, "arguments": arguments},
        }
    )


def turn_of(request) -> int:
    """How many replies the model has given in this chat."""
    return sum(message.role == "assistant" for message in request.messages)


def playing(request):
    """Plays both scenarios: looks, fails once in the door's case, ends well."""
    lamp = (move("lamp.look"), move("lamp.switch", lit=False), DONE)
    door = (move("door.lock"), move("door.close"), "hm, let me think", move("door.lock"), DONE)
    script = lamp if "lamp" in request.messages[1].content[0].text else door
    return Completion(script[min(turn_of(request), len(script) - 1)], usage=Usage(100, 10))


class Speaking:
    """What every model that is opened answers; counts what was asked."""

    def __init__(self) -> None:
        self.answer = playing
        self.asked = 0

    def open(self, spec, **_):
        def answer(request):
            self.asked += 1
            return self.answer(request)

        return ScriptedModel(answer, name=spec.model)


@pytest.fixture
def speaking(monkeypatch) -> Speaking:
    """`speaking.answer` is how models answer; by default they play both scenarios."""
    speaking = Speaking()
    monkeypatch.setattr(factory, "open_model", speaking.open)
    return speaking


@pytest.fixture
def files(tmp_path: Path, monkeypatch) -> list[Path]:
    """The files of both scenarios; they are not in the working directory, where a run would put its folder."""
    folder = tmp_path / "scenarios"
    folder.mkdir()
    found = []
    for name, text in (("lamp", LAMP), ("door", DOOR)):
        found.append(folder / f"{name}.yaml")
        found[-1].write_text(text)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def words():
    """(move, DONE, turn_of): to script a model with."""
    return move, DONE, turn_of
