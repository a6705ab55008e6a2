"""Effect: whatever comes from outside, and what a crash means for it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

from worldloom.core.canonical import Json

EffectClass = Literal[
    "repeatable",  # asked again after a crash; the waste is counted
    "idempotent",  # sent again with the same idempotency key
    "once",  # its request is committed first; without an answer it is in doubt
]

ASKED, ASK = "asked.1", "ask.1"
"""Types of a question to a person, and, under the next key, of the answer."""

EFFECTS = frozenset({"model.1", "tool.1", "wall.1", ASK})
"""Types of the events that hold what the outside said: no other can give it again."""


class Fate(Enum):
    """What a tool knows of a call that was about to be sent before a crash, if it has no answer for it."""

    NEVER = "never"
    """It certainly did not arrive: it is sent now."""
    UNKNOWN = "unknown"
    """It may have arrived: the episode ends in doubt."""


class Tool(Protocol):
    """Something that may be called. A `ToolError` goes back to the caller; anything else ends the episode.

    Attributes:
        name: unique among the tools of an episode.
        parameters: JSON Schema of the arguments object.
        effect_class: what a crash between request and answer means.
    """

    name: str
    parameters: Mapping[str, Json]
    effect_class: EffectClass

    async def call(self, arguments: Mapping[str, Json], idempotency_key: str) -> Json:
        """Do the work. `idempotency_key` is the same when the call is sent again after a crash."""

    async def lookup(self, idempotency_key: str) -> "Json | Fate":
        """The answer of a call that was about to be sent before a crash, or what else is known of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of the outside.

    Attributes:
        key: under which the answer is recorded.
        type: of the event that records it, one of `EFFECTS`.
        what: who is asked, for people: `model NAME`, `tool NAME`; empty if nobody who could be asked again.
        request: digest of what is asked.
        ask: asks it.
        lookup: for class `once`: what became of a call that was about to be sent before a crash.
    """

    key: bytes
    type: str
    what: str
    request: str
    ask: Callable[[], Awaitable[Json]]
    effect_class: EffectClass
    lookup: Callable[[], Awaitable[Json | Fate]] | None = None


Verify = Callable[[Call, Json], Awaitable[None]]
"""Is told, in a replay, what is on record of a call, and may ask again."""
