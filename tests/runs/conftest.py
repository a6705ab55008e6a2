"""A run of toy episodes in a real store: play it, stop it, play on, play it again, look at what is on disk."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from worldloom.models.model import Completion, Message, Request, Usage
from worldloom.models.silent import SilentModel
from worldloom.runs.context import Context
from worldloom.runs.cost import Prices
from worldloom.runs.ending import RESUMABLE, End
from worldloom.runs.executor import Executor, Planned, replay_episode
from worldloom.runs.ledger import unchanged
from worldloom.runs.limits import Limits, Meter, RunLimits
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import RunStore, put_value
from worldloom.runs.verification import Verification

Play = Callable[[Context], Awaitable[End | None]]


@dataclass
class Toy:
    """An episode that is a function of its context."""

    play: Play

    async def run(self, ctx: Context) -> End:
        return await self.play(ctx) or End("finished")


class Ended:
    """Scores that an episode came to its end."""

    async def score(self, record, ctx):
        return [Score("ended", 1.0, 1, "share", "record")]


class Desk:
    """One run in one folder. Every call of `play` is a life of its own, as after a crash or an interrupt."""

    def __init__(self, folder: Path) -> None:
        self.store = RunStore(folder)
        self.executor: Executor | None = None

    def create(self, count: int) -> list[EpisodeRow]:
        rows = [EpisodeRow(n, f"episode-{n}", f"scenario-{n}", "", "toy", n, 0) for n in range(count)]
        RunStore.create(self.store.folder, {"title": "toys"}, rows)
        return rows

    def play(
        self,
        *plays: Play,
        models=None,
        concurrency: int = 8,
        limits: Limits = Limits(),
        mend=unchanged,
        scorer=None,
        failed: bool = False,
        making: int = 0,
        prices: Prices = Prices(),
        run_limits: RunLimits = RunLimits(),
    ) -> list[EpisodeRow]:
        """Play what is left, and what has failed if that is wanted, episode n by `plays[n]`; returns all rows."""
        if not self.store.path.exists():
            self.create(len(plays))
        with contextlib.closing(self.store):
            planned = [
                Planned(row, Toy(plays[row.row]), scorer or Ended(), limits, prices=prices)
                for row in self.store.episodes()
                if row.status != "ended" or (failed and row.fault == "infrastructure")
            ]
            with self.store.writing() as writer:
                if making:
                    put_value(writer, "resumed", [{"made_with": {}, "model_ids": {}}] * making)
                meter = Meter(run_limits, prices)
                self.executor = Executor(
                    self.store, writer, models or {}, concurrency, mend, making=making, meter=meter
                )
                asyncio.run(self.executor.run(planned))
            return self.store.episodes()

    def replay(self, *plays: Play, **settings) -> None:
        """Play all ended episodes again from the record alone; each must be reproduced."""
        assert set(self.problems(*plays, **settings)) <= {None}

    def problems(
        self,
        *plays: Play,
        models=None,
        limits: Limits = Limits(),
        mend=unchanged,
        scorer=None,
        judge: str = "",
        live: bool = False,
        verification: Verification | None = None,
        prices: Prices = Prices(),
    ) -> list[str | None]:
        """What a replay of each ended episode finds; `live` hands it models that can be asked."""

        async def run() -> list[str | None]:
            found = []
            silent = {
                name: model if live else SilentModel(model.id) for name, model in (models or {}).items()
            }
            for row in self.store.episodes():
                if row.status in ("ended", *RESUMABLE):
                    planned = Planned(row, Toy(plays[row.row]), scorer or Ended(), limits, judge, prices)
                    scores = self.store.scores().get(row.row, ())
                    verify = verification and verification.of(row.scenario, row.row)
                    found.append(await replay_episode(self.store, planned, scores, silent, mend, verify))
            return found

        with contextlib.closing(self.store):
            return asyncio.run(run())

    def events(self, row: int = 0):
        with contextlib.closing(self.store):
            return [(event.type, event.body) for event in self.store.events(row).values()]

    def everything_on_disk(self) -> bytes:
        """The bytes of all files of the run."""
        return b"".join(file.read_bytes() for file in self.store.folder.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "run")


@pytest.fixture
def new_desk(tmp_path: Path) -> Callable[[str], Desk]:
    """More than one run, by name."""
    return lambda name: Desk(tmp_path / name)


def _forked(run: Callable[[], object]) -> int:
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        run()
        os._exit(0)
    except BaseException:  # noqa: BLE001  # whatever it is, this process ends here
        sys.excepthook(*sys.exc_info())
        os._exit(1)


@pytest.fixture
def life() -> Iterator[Callable[[Callable[[], object]], int]]:
    """Starts a function in a process and a session of its own, whose id it returns; it exits with 0 or 1.

    A fork spares each life the seconds of its imports.
    """
    processes: list[int] = []

    def start(run: Callable[[], object]) -> int:
        processes.append(_forked(run))
        return processes[-1]

    yield start
    for process in processes:
        with contextlib.suppress(ChildProcessError):  # it has ended, and whoever awaited it knows
            if os.waitpid(process, os.WNOHANG) == (0, 0):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


class Echo:
    """A model that answers with its last message, or as `answer` says; counts what it was asked."""

    id = "echo"

    def __init__(self, answer=None) -> None:
        self.answer = answer
        self.asked = 0

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        await asyncio.sleep(0)
        said = self.answer(request) if self.answer else request.messages[-1].content[0].text
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Completion) else Completion(said, usage=Usage(10, 5))

    async def context_length(self) -> int | None:
        return None

    async def aclose(self) -> None: ...


@pytest.fixture
def echo() -> type[Echo]:
    return Echo


@pytest.fixture
def ask() -> Callable[[str], Request]:
    """A request of one message."""
    return lambda text: Request((Message.of("user", text),))
