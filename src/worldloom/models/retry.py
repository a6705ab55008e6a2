"""The one retry policy: at the boundary to a model, and nowhere else.

What waiting can cure is tried again with exponential backoff and full jitter, or when the server says; what it
cannot cure (auth, quota, overflow, refusal, a bad request) fails at once. Attempts and time are bounded; a
server that asks for more patience than the policy has is not waited for at all. Cancellation passes through.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from worldloom.core.errors import ModelError, ModelErrorKind
from worldloom.models.model import Completion

ATTEMPTS: Mapping[ModelErrorKind, int] = {
    "rate_limited": 8,
    "overloaded": 8,
    "unreachable": 4,
    "bad_reply": 3,
    "timeout": 2,
}
"""How often a request is sent at most while this kind of failure goes on; kinds not named are final."""


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again.

    Attributes:
        first_wait_s: upper end of the first random wait; it doubles with each attempt.
        longest_wait_s: upper end of any wait, and the longest Retry-After that is obeyed.
        total_s: no attempt begins later than this after the first.
        clock, sleep, jitter: monotonic seconds, the way to wait, a number in [0, 1).
    """

    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    total_s: float = 600.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    async def run(self, attempt: Callable[[], Awaitable[Completion]]) -> Completion:
        """The completion of the first attempt that succeeds, with `attempts`, `waited_s` and `latency_s` noted.

        Raises:
            ModelError: of the last attempt; its text says how often and how long it was tried.
        """
        begun, waited, tries = self.clock(), 0.0, 0
        while True:
            tries += 1
            sent = self.clock()
            try:
                completion = await attempt()
            except ModelError as error:
                wait, why_not = self._wait(error, tries, self.clock() - begun)
                if wait is None:
                    raise _final(error, tries, self.clock() - begun, why_not) from None
            else:
                noted = {"attempts": tries, "waited_s": waited, "latency_s": self.clock() - sent}
                return replace(completion, telemetry={**completion.telemetry, **noted})
            waited += wait
            await self.sleep(wait)

    def _wait(self, error: ModelError, tries: int, elapsed: float) -> tuple[float | None, str]:
        """Seconds to wait before the next attempt; None and a reason if there is to be none."""
        if tries >= ATTEMPTS.get(error.kind, 1):
            return None, ""
        if error.retry_after_s is None:
            wait = self.jitter() * min(self.longest_wait_s, self.first_wait_s * 2.0 ** (tries - 1))
        elif error.retry_after_s > self.longest_wait_s:
            return (
                None,
                f"the server asks to wait {error.retry_after_s:.0f} s, the longest wait is {self.longest_wait_s:.0f} s",
            )
        else:  # never earlier than told; the jitter keeps those who were told the same apart
            wait = error.retry_after_s + self.jitter() * self.first_wait_s
        if elapsed + wait > self.total_s:
            return None, f"the time for retries, {self.total_s:.0f} s, is over"
        return wait, ""


def _final(error: ModelError, tries: int, elapsed: float, why: str) -> ModelError:
    notes = [f"{tries} attempts in {elapsed:.1f} s"] if tries > 1 else []
    notes += [why] if why else []
    text = f"{error} [{'; '.join(notes)}]" if notes else str(error)
    return ModelError(error.kind, text, retry_after_s=error.retry_after_s)
