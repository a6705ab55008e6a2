"""Agent: who decides. `await act(memo, view, ctx) -> Decision`.

An agent keeps nothing between calls but its memo, a JSON value, so that a fork carries it. It sees a `View` and
nothing else of the world.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from worldloom.core.action import Action
from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import RecordError
from worldloom.core.scenario import Scenario
from worldloom.core.view import View
from worldloom.runs.context import Context


@dataclass(frozen=True, slots=True)
class Decision:
    """What an agent decided.

    Attributes:
        action: the action to take; None says that the agent is done.
        memo: what the agent wants to be handed at its next turn; a JSON value.
        rationale: why, in the agent's words; may be empty.
        fault: set when no usable decision could be had from the model: what was wrong, in one sentence.
            The turn is then spent without an action.

    Raises:
        TypeError: the memo is no JSON, a fault of the agent's room; names the path. It is raised where the room
            decides, and not where a fork of the episode would miss what JSON has lost.
    """

    action: Action | None
    memo: Json = None
    rationale: str = ""
    fault: str = ""

    def __post_init__(self) -> None:
        try:
            canonical(self.memo)
        except RecordError as wrong:
            said = str(wrong).removeprefix("cannot record ")
            raise TypeError(f"the agent's memo must be JSON: {said}") from None


class Agent(Protocol):
    """A policy for one seat."""

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        """Decide on one action. `memo` is None at the first turn."""


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What an agent is built from.

    Attributes:
        scenario: what it will play. Only reference agents read more of it than its kind.
        argument: what followed the agent's name, e.g. the file in `scripted:FILE`; empty if nothing did.
        options: settings of the agent, by name.
        model: name under which `ctx.model` knows the model of an agent that asks one.
    """

    scenario: Scenario
    argument: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)
    model: str = "agent"
