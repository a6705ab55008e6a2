"""The scripted agent: a fixed sequence of actions, then done.

A run is made with the actions themselves and not with the file's name: `options_of` reads the file once, so that its
content is a part of the cast's identity, and a resumed or replayed run plays what it began with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

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


def options_of(argument: str) -> dict[str, Json]:
    """The options of a scripted agent: the actions in the file named after `scripted:`.

    Raises:
        UsageError: no file is named.
        DocumentError: the file has problems.
    """
    if not argument:
        raise UsageError("the agent `scripted` needs its file, e.g. --agent scripted:my_actions.yaml")
    script = validate(read(Path(argument)), _Script)
    return {"actions": [{action.name: dict(action.arguments)} for action in script.actions]}


def build(config: AgentConfig) -> ScriptedAgent:
    """The agent that plays the option `actions`; without options, the file named after `scripted:`.

    Raises:
        UsageError: no file is named, or the options are no script.
        DocumentError: the file has problems.
    """
    try:
        script = _Script.model_validate(config.options or options_of(config.argument))
    except ValidationError as wrong:
        raise UsageError(
            f"agent scripted: options {dict(config.options)!r}; allowed: actions, a list as in a script"
        ) from wrong
    return ScriptedAgent(script.actions)
