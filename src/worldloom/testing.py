"""The conformance suite: what every room must pass, as functions that a test calls.

A room is handed over as a `Trial`, which can be built again and again. The promises are those of the record: fresh
runs agree at any concurrency (P2), a replay asks nothing and agrees (P1), a run cut anywhere and resumed agrees (P3),
a fork keeps the past.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from worldloom.core.content import Blob
from worldloom.core.errors import Divergence
from worldloom.core.event import Event
from worldloom.models.model import Model
from worldloom.models.silent import SilentModel
from worldloom.runs.ending import End
from worldloom.runs.episode import Episode
from worldloom.runs.fork import forked
from worldloom.runs.ledger import Ledger, Place
from worldloom.runs.limits import Limits
from worldloom.runs.program import EpisodeProgram, play


@dataclass(frozen=True)
class Trial:
    """A room with everything it needs to be played.

    Attributes:
        program: builds the episode's program.
        models: builds its models, name -> model; they must be pure in the request.
    """

    program: Callable[[], EpisodeProgram]
    models: Callable[[], Mapping[str, Model]] = dict
    seed: int = 0
    limits: Limits = Limits()


@dataclass
class MemorySink:
    """A record in memory, in the order of arrival."""

    events: list[Event] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    intents: dict[bytes, str] = field(default_factory=dict)

    def event(self, place: Place, event: Event) -> None:
        self.events.append(Event(event.key, event.type, event.data, self.blobs.__getitem__))

    def telemetry(self, place: Place, key: bytes, type: str, data: bytes) -> None: ...

    def intent(self, place: Place, key: bytes, request: str) -> None:
        self.intents[key] = request

    def blob(self, blob: Blob) -> None:
        self.blobs[blob.sha256] = blob.data

    async def durable(self) -> None: ...


@dataclass(frozen=True)
class Life:
    """One played episode: its end, its fingerprint, its rows in the order of arrival."""

    end: End
    fingerprint: str
    events: Sequence[Event]

    def by_key(self) -> dict[bytes, Event]:
        return {event.key: event for event in self.events}


async def live(trial: Trial, past: Mapping[bytes, Event] | None = None) -> Life:
    """Play a trial, from its beginning or on from `past`."""
    sink = MemorySink()
    ledger = Ledger(sink=sink, recorded=dict(past or {}))
    end = await play(trial.program(), Episode(ledger, "trial", trial.seed, trial.models(), trial.limits))
    return Life(end, ledger.fingerprint(), [*(past or {}).values(), *sink.events])


async def replay(trial: Trial, life: Life) -> str:
    """Play a life again with models that may not be asked; returns the fingerprint."""
    ledger = Ledger(recorded=life.by_key(), may_grow=False)
    models = {name: SilentModel(model.id) for name, model in trial.models().items()}
    await play(trial.program(), Episode(ledger, "trial", trial.seed, models, trial.limits))
    return ledger.fingerprint()


def fresh_fingerprints(trial: Trial, *, concurrency: int, seeds: int = 8) -> list[str]:
    """Fingerprints of fresh runs with `seeds` seeds, `concurrency` at a time."""

    async def run() -> list[str]:
        gate = asyncio.Semaphore(concurrency)

        async def one(seed: int) -> str:
            async with gate:
                return (await live(Trial(trial.program, trial.models, seed, trial.limits))).fingerprint

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(seed)) for seed in range(seeds)]
        return [task.result() for task in tasks]

    return asyncio.run(run())


def check_replay(trial: Trial) -> None:
    """P1: a replay asks nothing and gives the same fingerprint; a changed row is named."""

    async def run() -> None:
        life = await live(trial)
        assert await replay(trial, life) == life.fingerprint, "the replay differs from the run"
        last = max(life.events, key=lambda event: event.key)
        shorter = Life(life.end, life.fingerprint, [event for event in life.events if event is not last])
        try:
            await replay(trial, shorter)
        except Divergence:
            return
        raise AssertionError("a replay of a record that lacks its last row went unnoticed")

    asyncio.run(run())


def check_resume(trial: Trial, *, cuts: int = 200, seed: int = 0) -> None:
    """P3: a run cut after any row and resumed equals the uninterrupted run."""

    async def run() -> None:
        whole = await live(trial)
        chooser = random.Random(seed)
        for _ in range(cuts):
            cut = chooser.randrange(len(whole.events) + 1)
            past = {event.key: event for event in whole.events[:cut]}
            resumed = await live(trial, past)
            assert resumed.fingerprint == whole.fingerprint, f"cut after {cut} rows, the resumed run differs"
            assert len(resumed.events) == len(whole.events), (
                f"cut after {cut} rows, rows were lost or doubled"
            )

    asyncio.run(run())


def check_fork(trial: Trial) -> None:
    """A fork anywhere keeps the past; one that changes nothing equals its parent."""

    async def run() -> None:
        parent = await live(trial)
        rows = parent.by_key()
        for key in sorted(rows)[:: max(1, len(rows) // 20)]:
            child = await live(trial, forked(rows, key))
            assert child.fingerprint == parent.fingerprint, (
                "a fork that changes nothing differs from its parent"
            )
            assert {k: e.data for k, e in child.by_key().items() if k < key} == {
                k: e.data for k, e in rows.items() if k < key
            }, "a fork lost its past"

    asyncio.run(run())


def check_room(trial: Trial) -> None:
    """Everything above, fresh at concurrency 1, 8 and 64."""
    prints = [fresh_fingerprints(trial, concurrency=concurrency) for concurrency in (1, 8, 64)]
    assert prints[0] == prints[1] == prints[2], "fresh runs differ with concurrency"
    check_replay(trial)
    check_resume(trial)
    check_fork(trial)
