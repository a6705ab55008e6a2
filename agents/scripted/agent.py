"""The scripted agent: a fixed sequence of actions, then done."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from worldloom.agents.agent import AgentConfig, Decision
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.core.scenario import Step
from worldloom.core.view import View
from worldloom.core.yamlio import read, validate
from worldloom.runs.context import Context


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """Plays `actions` in order, whatever it is told."""

    actions: Sequence[Action]

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        place = memo if isinstance(memo, int) else 0
        if place >= len(self.actions):
            return Decision(None, place)
        return Decision(self.actions[place], place + 1)


class _Script(BaseModel):
    """A file of actions, in the form that scenarios use for their paths."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    actions: tuple[Step, ...]


def build(config: AgentConfig) -> ScriptedAgent:
    """The agent that plays the file named after `scripted:`.

    Raises:
        UsageError: no file is named.
        DocumentError: the file has problems.
    """
    if not config.argument:
        raise UsageError("the agent `scripted` needs its file, e.g. --agent scripted:my_actions.yaml")
    return ScriptedAgent(validate(read(Path(config.argument)), _Script).actions)
