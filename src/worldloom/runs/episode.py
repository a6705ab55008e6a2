"""What the contexts of one episode share: ledger, models, limits, and the signal to stop."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from worldloom.core.errors import Ended, ModelError, ToolError
from worldloom.models.model import Model
from worldloom.runs.ending import End
from worldloom.runs.ledger import Ledger
from worldloom.runs.limits import Limits, Usage
from worldloom.runs.recorder import Prompts

STOPPED = "stopped.1"
"""Type of the row that says: here, the outside stopped the episode."""


@dataclass
class Episode:
    """One life of one episode.

    Attributes:
        id: digest of scenario, cast, seed and epoch; part of every idempotency key.
        seed: from which all chance derives.
        wall: reads the wall clock, in seconds; asked only through an effect.
    """

    ledger: Ledger
    id: str = ""
    seed: int = 0
    models: Mapping[str, Model] = field(default_factory=dict)
    limits: Limits = Limits()
    wall: Callable[[], float] = lambda: 0.0
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None

    def __post_init__(self) -> None:
        self.prompts = Prompts(self.ledger.mend)
        self._waiting: set[asyncio.Task[Any]] = set()
        self.struck: End | None = None
        """Where a stop has struck; of several places, the smallest."""

    def stop(self, reason: str) -> None:
        """Stop the episode from outside: effects under way are given up, no other begins."""
        if self.stop_reason is None:
            self.stop_reason = reason
            # Not at once: a task that is running cannot be cancelled where it waits.
            asyncio.get_running_loop().call_soon(self._give_up)

    def _give_up(self) -> None:
        for task in self._waiting:
            task.cancel()

    def check_stopped(self, key: bytes, at: str, inside: bytes) -> None:
        """Raise `Ended` if the episode was stopped, now or, in an earlier life, at this very key.

        Args:
            at: what is about to begin under `key`: a `node`, a `map`, or an effect by its type.
            inside: keys of what it will record begin so. What an earlier life recorded there is played first: the
                past cannot be stopped.
        """
        old = self.ledger.recorded(key)
        if old is not None:
            if old.type == STOPPED and (body := self.ledger.body(key)).get("at") == at:
                raise self.stopped(key, at, str(body.get("reason")))
        elif self.stop_reason is not None and not self.ledger.replaying and not self.ledger.holds(inside):
            raise self.stopped(key, at)

    def stopped(self, key: bytes, at: str, reason: str | None = None, detail: str = "") -> Ended:
        """Record at `key` that the outside stopped the episode, which is then how it ends, whoever catches this."""
        reason = reason or self.stop_reason or "cancelled"
        self.ledger.record(key, STOPPED, {"reason": reason, "at": at})
        if self.struck is None or key < self.struck.key:
            self.struck = End(reason, detail, key)
        return Ended(reason, detail)

    def waiting(self, task: "asyncio.Task[Any]") -> "_Waiting":
        """While entered, `stop` cancels the task."""
        return _Waiting(self._waiting, task)


class _Waiting:
    def __init__(self, tasks: "set[asyncio.Task[Any]]", task: "asyncio.Task[Any]") -> None:
        self._tasks, self._task = tasks, task

    def __enter__(self) -> None:
        self._tasks.add(self._task)

    def __exit__(self, *_: object) -> None:
        self._tasks.discard(self._task)


def end_of(error: Exception, key: bytes) -> End:
    """The end that an exception means for the episode in which it was raised at `key`."""
    end = _end_of(error, key)
    notes = [end.detail, *getattr(error, "__notes__", ())]
    return replace(end, detail="; ".join(note for note in notes if note))


def _end_of(error: Exception, key: bytes) -> End:
    if isinstance(error, Ended):
        return End(error.reason, error.detail, key)
    if isinstance(error, ModelError):
        reason = {"overflow": "context_overflow", "refusal": "refused"}.get(error.kind, "model_failed")
        return End(reason, str(error), key)
    if isinstance(error, ToolError):
        return End("tool_failed", str(error), key)
    return End("error", f"{type(error).__name__}: {error}", key)
