"""State of the aaw graph. Only what the next node needs: the log of what happened is the record, not the state."""

from typing import Any, TypedDict

from worldloom.agents.agent import Decision
from worldloom.core.action import Feedback
from worldloom.core.canonical import Json
from worldloom.graphs.node import HouseState


class State(HouseState, TypedDict, total=False):
    """Attributes:
    world: the world's state, an immutable value.
    memo: what the agent wants back at its next turn.
    decision: what the agent decided in this turn.
    steps: turns taken so far, those without a usable reply included.
    heard: what the agent is told instead of the world's feedback, after a turn without a usable reply.
    failing: the last failing move and how often it has failed in a row.
    """

    world: Any
    memo: Json
    decision: Decision
    steps: int
    heard: Feedback | None
    failing: tuple[str, int]
