"""A registry with kind `aaw` and an invented second kind, and a scenario of each."""

import textwrap

import pytest

from worldloom.core.registry import Registry, Room

MARKET_BODY = """
from typing import ClassVar
from pydantic import ConfigDict
from worldloom.core.scenario import Body, Header
from worldloom.core.yamlio import Fault

class StallHeader(Header):
    title: str

class StallBody(Body):
    header: ClassVar = StallHeader
    rounds: int
    jobs: tuple[str, ...] = ()

    def faults(self, header):
        if header.title == "loss" and self.rounds > 3:
            yield Fault(("world", "rounds"), "too many rounds for a loss", "at most 3")
"""


@pytest.fixture
def registry(tmp_path):
    place = tmp_path / "stall_room"
    place.mkdir()
    (place / "body.py").write_text(MARKET_BODY)
    stall = Room(
        role="world",
        name="stall",
        summary="A stall.",
        kind="stall",
        factory=".body:StallBody",
        body=".body:StallBody",
        scorer=None,
        extras=(),
        place=str(place / "room.yaml"),
        package=None,
    )
    known = Registry.discover()
    rooms = [known.world_of("aaw"), *known.rooms("graph"), *known.rooms("agent"), stall]
    return Registry(rooms)


SCENARIO = textwrap.dedent(
    """\
    id: lamp-off
    category: accessibility
    user_prompt: Switch the lamp off.
    world:
      context: {date: 2026-07-03}
      entities:
        lamp:
          type: device
          name: Lamp
          state: {on: true}
          actions:
            - name: switch
              description: Switch it.
              parameters: {on: {type: boolean, required: true}}
              returns: |
                STATE CHANGES to lamp:
                on: {the on parameter}
    evaluation_rubric:
      - criterion: It is off.
        pass_condition: lamp.state.on == false
    """
)


@pytest.fixture
def text():
    return SCENARIO
