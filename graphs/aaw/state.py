"""State of the aaw graph. Only what the next node needs: the log of what happened is the record, not the state."""

from dataclasses import dataclass
from typing import Any, TypedDict

from worldloom.agents.agent import Decision
from worldloom.graphs.node import HouseState


@dataclass(frozen=True, slots=True)
class Turns:
    """How the turns went so far, those without a usable reply included.

    Attributes:
        taken: how many.
        failure: how the last one failed; empty if it did not.
        repeated: how often in a row it failed like that.
    """

    taken: int = 0
    failure: str = ""
    repeated: int = 0

    def after(self, failure: str) -> "Turns":
        """One turn later, which failed as `failure` says."""
        again = self.repeated + 1 if failure == self.failure else 1
        return Turns(self.taken + 1, failure, again if failure else 0)


class State(HouseState, TypedDict, total=False):
    """Few channels, written only when they change: each write is about 1 % of a step's time.

    Attributes:
        world: the world's state, an immutable value.
        decision: what the agent decided last, with its memo.
        turns: what limits are counted by.
    """

    world: Any
    decision: Decision
    turns: Turns
