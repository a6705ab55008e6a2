"""WorldSession: a world that remembers where it is, for people who try it out in Python."""

from typing import Generic, TypeVar

from worldloom.core.action import Action, Feedback
from worldloom.core.canonical import Json
from worldloom.core.view import View
from worldloom.runs.context import Context
from worldloom.worlds.world import State, World

S = TypeVar("S", bound=State)


class WorldSession(Generic[S]):
    """One seat in one world. Assign `state` to go back, or to go on elsewhere: a state is a value."""

    def __init__(
        self, world: World[S], ctx: Context | None = None, seed: int = 0, seat: str = "agent"
    ) -> None:
        self.world = world
        self.ctx = Context.null(seed=seed) if ctx is None else ctx
        self.seat = seat
        self.state: S = world.initial(seed)
        self.facts: list[dict[str, Json]] = []

    @property
    def view(self) -> View:
        """What the seat sees now."""
        return self.state.view(self.seat)

    async def act(self, name: str, **arguments: Json) -> Feedback:
        """Take an action; its facts are added to `facts`."""
        transition = await self.world.step(self.state, {self.seat: Action(name, arguments)}, self.ctx)
        self.state = transition.state
        self.facts += [dict(fact) for fact in transition.facts]
        return transition.feedback[self.seat]
