"""What the contexts of one episode share: ledger, models, limits, and the signal to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from worldloom.core.errors import Ended, ModelError, ToolError, UsageError, offer
from worldloom.core.key import follows
from worldloom.models.model import Model
from worldloom.models.model import Usage as Counts
from worldloom.runs.cost import Prices
from worldloom.runs.effect import ASK, Verify
from worldloom.runs.ending import WAITING, End
from worldloom.runs.ledger import Ledger
from worldloom.runs.limits import Limits, Meter
from worldloom.runs.recorder import Prompts
from worldloom.runs.usage import Usage

STOPPED = "stopped.1"
"""Type of the row that says: here, the outside stopped the episode."""

Person = Callable[[str, Sequence[str]], Awaitable[str]]
"""Somebody who is there to be asked: question, choices -> answer."""


@dataclass
class Episode:
    """One life of one episode.

    Attributes:
        id: digest of scenario, cast, seed and epoch; part of every idempotency key.
        seed: from which all chance derives.
        wall: reads the wall clock, in seconds; asked only through an effect.
        answers: key -> (digest of the question, what a person has answered), given since the episode began to wait.
        person: answers what is asked and not in `answers`; without one the episode waits.
        verify: in a replay, asks again what is on record.
        prices: of the models; a limit on cost needs those by token.
        meter: what the whole run may use.
    """

    ledger: Ledger
    id: str = ""
    seed: int = 0
    models: Mapping[str, Model] = field(default_factory=dict)
    limits: Limits = Limits()
    wall: Callable[[], float] = lambda: 0.0
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    answers: Mapping[bytes, tuple[str, str]] = field(default_factory=dict)
    person: Person | None = None
    verify: Verify | None = None
    prices: Prices = Prices()
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        self.prompts = Prompts(self.ledger.mend)
        self._outside: set[asyncio.Task[Any]] = set()
        self._stops: list[tuple[bytes, str]] = []
        self.given_up = False
        """Whether effects under way were given up: who waits for one is then cancelled, and it was the stop."""
        self._cost = 0.0
        self.struck: End | None = None
        """Where a stop has struck; of several places the smallest, and of one that waits for a person the last."""

    def stop(self, reason: str, *, give_up: bool = True) -> None:
        """Stop the episode from outside: no further effect begins.

        Args:
            give_up: effects under way, too; else they come to their end, since they are paid.
        """
        self.stop_reason = self.stop_reason or reason
        if give_up and not self.given_up:
            self.given_up = True
            # Not at once: a task that is running cannot be cancelled where it waits.
            asyncio.get_running_loop().call_soon(self._give_up)

    def pay(self, name: str, counts: Counts) -> None:
        """Count what an answer cost that an agent was given; one recorded earlier counts again, as it did then."""
        if self.limits.cost is not None:
            self._cost += self.prices.of(name, counts.prompt_tokens, counts.completion_tokens)
            if self._cost >= self.limits.cost:
                self.stop("cost_limit", give_up=False)

    def _give_up(self) -> None:
        for task in self._outside:
            task.cancel()

    def check_stopped(self, key: bytes, at: str, inside: bytes) -> None:
        """Raise `Ended` if the episode was stopped, now, in an earlier life at this very key, or at a key before it.

        Where a stop strikes one of several siblings (a tool in doubt, a person who has not answered), the others run
        to their end; what would come after it does not begin, whoever has caught the exception.

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
        else:
            for stop, reason in self._stops:
                if follows(key, stop):
                    raise self.stopped(key, at, reason)

    def stopped(self, key: bytes, at: str, reason: str | None = None, detail: str = "") -> Ended:
        """Record at `key` that the outside stopped the episode, which is then how it ends, whoever catches this."""
        reason = reason or self.stop_reason or "cancelled"
        self.ledger.record(key, STOPPED, {"reason": reason, "at": at})
        self._stops.append((key, reason))
        struck = End(reason, detail, key)
        if self.struck is None or _weight(struck) < _weight(self.struck):
            self.struck = struck
        return Ended(reason, detail)

    async def answered(self, key: bytes, request: str, question: str, choices: Sequence[str]) -> str:
        """What a person has answered to the question under `key`.

        Raises:
            Ended: nobody has answered.
            UsageError: the answer is none of the choices.
        """
        digest, answer = self.answers.get(key, ("", ""))
        if digest != request:
            if self.person is None:
                raise self.stopped(key, ASK, WAITING)
            answer = await self.person(question, choices)
        if choices and answer not in choices:
            raise UsageError(f"{answer!r} is no answer to {question!r}{offer(answer, choices)}")
        return answer

    def asking(self, task: "asyncio.Task[Any]") -> "_Asking":
        """While entered, `stop` cancels the task."""
        return _Asking(self._outside, task)


def _weight(end: End) -> tuple[bool, bytes]:
    return end.reason == WAITING, end.key


class _Asking:
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
