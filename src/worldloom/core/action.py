"""Action and Feedback: what a seat does in a world, and what the world says back.

Agents and worlds never import one another; they meet in these values and in `View`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from worldloom.core.canonical import Json
from worldloom.core.frozen import freeze


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What a seat may do: shown to agents, so it never holds what must stay hidden.

    Attributes:
        name: full name; in kind `aaw` it is `<entity>.<action>`.
        description: one line for people and models.
        parameters: JSON Schema (draft 7) of the arguments object; read-only all the way down.
        read_only: the action can never change state.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    read_only: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", freeze(self.parameters))


@dataclass(frozen=True, slots=True)
class Action:
    """One call by one seat. Arguments are JSON as the model or a file gave them: not yet checked."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class Feedback:
    """What one seat is told after its action.

    Attributes:
        success: False means that nothing has changed.
        message: text for the seat; in compiled worlds compact JSON of the confirmed fields.
    """

    success: bool
    message: str
