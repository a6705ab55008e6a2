"""Why an episode ended, and whose fault it is if it ended badly.

Only an agent's own failures lower its score; everything else is counted apart.
"""

from dataclasses import dataclass
from typing import Literal

Fault = Literal["none", "agent", "world", "judge", "infrastructure", "person"]

ENDED = "ended.1"
"""Type of the last row of an episode, which says how it ended."""

WAITING = "waiting"
"""Reason of an episode that waits for a person's answer: it has not ended, and goes on once there is one."""

RUN_LIMIT = "run_limit"
"""Reason of an episode that was under way when the run had used what it may use: a resume goes on with it."""

RESUMABLE = ("cancelled", RUN_LIMIT, WAITING)
"""Reasons of episodes that have not ended; a resume goes on with them."""

COUNTED: tuple[Fault | None, ...] = ("none", "agent")
"""Faults of episodes whose scores count: whose end was nobody's fault, or the agent's own."""

REASONS: dict[str, tuple[Fault, str]] = {
    "completed": ("none", "the agent said that it was done"),
    "finished": ("none", "the world came to its end"),
    "step_limit": ("agent", "the limit on steps was reached"),
    "call_limit": ("agent", "the limit on model calls was reached"),
    "token_limit": ("agent", "the limit on tokens was reached"),
    "repeat_limit": ("agent", "the same failing action was repeated too often"),
    "invalid_replies": ("agent", "the model gave no usable reply several times in a row"),
    "context_overflow": ("agent", "the prompt no longer fitted into the model's context window"),
    "cost_limit": ("agent", "the limit on money was reached"),
    "refused": ("agent", "the model or its provider declined"),
    "wall_limit": ("infrastructure", "the limit on wall-clock time was reached"),
    "cancelled": ("person", "the run was interrupted"),
    RUN_LIMIT: ("person", "the run had used what it may use"),
    WAITING: ("person", "a person's answer is awaited"),
    "model_failed": ("infrastructure", "the model server did not answer"),
    "in_doubt": ("infrastructure", "a side effect was sent before a crash and its outcome is unknown"),
    "tool_failed": ("infrastructure", "a tool broke"),
    "world_failed": ("world", "the world broke its own rules"),
    "error": ("infrastructure", "a fault in the program; the detail names it"),
}

LIMITS = (
    *(reason for reason in REASONS if reason.endswith("_limit") and reason not in RESUMABLE),
    "context_overflow",
)
"""Reasons that are a limit of an episode, or of the context of its agent's model."""


@dataclass(frozen=True, slots=True)
class End:
    """How an episode ended.

    Attributes:
        reason: one of `REASONS`.
        detail: for people; telemetry, because it may hold paths or a server's wording.
        key: where it happened; of several, the smallest counts.
    """

    reason: str
    detail: str = ""
    key: bytes = b""

    @property
    def fault(self) -> Fault:
        return REASONS[self.reason][0]

    @property
    def status(self) -> str:
        """Of an episode that came to this end: `ended`, or, if a resume goes on with it, why it has not."""
        return self.reason if self.reason in RESUMABLE else "ended"


def earliest(old: "End | None", new: "End | None") -> "End | None":
    """LangGraph reducer for the `ended` channel: the end with the smallest key wins, whichever came first."""
    if old is None or new is None:
        return new if old is None else old
    return min(old, new, key=lambda end: end.key)
