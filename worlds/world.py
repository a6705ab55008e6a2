"""World: a pure transition from state to state.

`initial(seed) -> State`, `await step(state, moves, ctx) -> Transition`. A state is an immutable value: a snapshot is
the value, restore and fork are assignment. Whatever a world needs from outside it asks of `ctx`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from worldloom.core.action import Action, Feedback
from worldloom.core.canonical import Json
from worldloom.core.view import View
from worldloom.runs.context import Context


class State(Protocol):
    """An immutable value."""

    def fingerprint(self) -> str:
        """SHA-256 of the state's canonical form: equal states have equal fingerprints."""

    def view(self, seat: str) -> View:
        """What `seat` may see, the actions it may take included."""


S = TypeVar("S", bound=State)


@dataclass(frozen=True, slots=True)
class Transition(Generic[S]):
    """What one step did.

    Attributes:
        state: the state after the step.
        feedback: seat -> what it is told.
        facts: JSON objects for the record, in the order in which they came about.
    """

    state: S
    feedback: Mapping[str, Feedback]
    facts: tuple[Mapping[str, Json], ...] = ()


class World(Protocol[S]):
    """A place in which seats act."""

    def initial(self, seed: int) -> S:
        """The state before the first step."""

    async def step(self, state: S, moves: Mapping[str, Action], ctx: Context) -> Transition[S]:
        """Apply one move per seat.

        A move that cannot be carried out is a `Feedback` with success False and no change; it never raises.
        """
