"""The retry policy, on a clock that only moves when someone sleeps."""

import asyncio
from dataclasses import dataclass, field

import pytest

from worldloom.core.errors import ModelError, ModelErrorKind
from worldloom.models.model import Completion
from worldloom.models.retry import ATTEMPTS, Retry


@dataclass
class Clock:
    now: float = 100.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Server:
    """Raises the errors in turn, the last for ever, or answers when they are used up."""

    errors: list[ModelError]
    then_answers: bool = True
    clock: Clock = field(default_factory=Clock)
    takes_s: float = 1.0
    calls: int = 0

    async def __call__(self) -> Completion:
        self.clock.now += self.takes_s
        self.calls += 1
        if self.calls <= len(self.errors):
            raise self.errors[self.calls - 1]
        if self.then_answers:
            return Completion("yes", telemetry={"server_id": "a"})
        raise self.errors[-1]


def policy(server: Server, jitter: float = 1.0, **settings: float) -> Retry:
    clock = server.clock
    return Retry(clock=lambda: clock.now, sleep=clock.sleep, jitter=lambda: jitter, **settings)  # type: ignore[arg-type]


def run(server: Server, jitter: float = 1.0, **settings: float) -> Completion:
    return asyncio.run(policy(server, jitter, **settings).run(server))


def test_waits_double_and_the_telemetry_tells_of_them() -> None:
    server = Server([ModelError("overloaded", "busy")] * 3)
    completion = run(server)
    assert server.clock.slept == [0.5, 1.0, 2.0]
    assert completion.telemetry == {"server_id": "a", "attempts": 4, "waited_s": 3.5, "latency_s": 1.0}


def test_full_jitter_may_shorten_any_wait_to_nothing() -> None:
    server = Server([ModelError("overloaded", "busy")] * 3)
    run(server, jitter=0.0)
    assert server.clock.slept == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["auth", "bad_request", "not_found", "overflow", "quota", "refusal"])
def test_what_waiting_cannot_cure_is_asked_once(kind: ModelErrorKind) -> None:
    server = Server([ModelError(kind, "no", retry_after_s=1.0)], then_answers=False)
    with pytest.raises(ModelError) as caught:
        run(server)
    assert (server.calls, caught.value.kind, str(caught.value)) == (1, kind, "no")


@pytest.mark.parametrize(("kind", "attempts"), list(ATTEMPTS.items()))
def test_attempts_are_bounded_and_named_in_the_error(kind: ModelErrorKind, attempts: int) -> None:
    server = Server([ModelError(kind, "no")], then_answers=False)
    with pytest.raises(ModelError, match=rf"{attempts} attempts in \d+\.\d s") as caught:
        run(server)
    assert (server.calls, caught.value.kind) == (attempts, kind)
    assert len(server.clock.slept) == attempts - 1


def test_retry_after_is_obeyed_and_never_undercut() -> None:
    server = Server([ModelError("rate_limited", "slow", retry_after_s=7.0)])
    run(server, jitter=0.5)
    assert server.clock.slept == [7.25]


def test_a_server_that_asks_for_days_is_not_waited_for() -> None:
    server = Server([ModelError("rate_limited", "slow", retry_after_s=86_400.0)])
    with pytest.raises(ModelError, match="asks to wait 86400 s") as caught:
        run(server)
    assert (server.calls, server.clock.slept, caught.value.kind) == (1, [], "rate_limited")
    assert caught.value.retry_after_s == 86_400.0


def test_a_server_that_asks_for_ever_is_not_waited_for() -> None:
    server = Server([ModelError("overloaded", "slow", retry_after_s=float("inf"))])
    with pytest.raises(ModelError, match="asks to wait inf s"):
        run(server)
    assert server.clock.slept == []


def test_the_time_for_retries_is_bounded() -> None:
    server = Server([ModelError("rate_limited", "slow", retry_after_s=50.0)], then_answers=False)
    with pytest.raises(ModelError, match="the time for retries, 120 s, is over"):
        run(server, jitter=0.0, total_s=120.0)
    assert server.clock.slept == [50.0, 50.0]


def test_cancellation_passes_through_at_once() -> None:
    calls = 0

    async def hang() -> Completion:
        nonlocal calls
        calls += 1
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        task = asyncio.create_task(Retry().run(hang))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert calls == 1
