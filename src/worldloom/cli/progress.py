"""Progress: how far a run has come, drawn on stderr while it plays: a live bar in a terminal, else a line now and then.

Nothing here may disturb the run: if nobody reads stderr any more, it goes on without being watched.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from worldloom.cli.terminal import counted, near, say, stderr, visible
from worldloom.runs.episode import Episode
from worldloom.runs.executor import Executor
from worldloom.runs.rows import EpisodeRow, Score

T = TypeVar("T")
Seen: TypeAlias = Callable[[int, int], None]
"""What is to be told how many are done, and of how many."""

FRAME_S = 0.25
LINE_S = 10.0
"""Seconds between two lines where stderr is no terminal."""


@dataclass
class Tally:
    """What has become of the episodes of a run so far."""

    total: int
    ended: int = 0
    steps: int = 0
    tokens: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def end(self, row: EpisodeRow) -> None:
        """Count an episode that has ended."""
        self.ended += 1
        self.steps += row.steps
        self.tokens += row.prompt_tokens + row.completion_tokens
        self.reasons[row.reason or "?"] += 1

    def so_far(self, active: Mapping[int, Episode]) -> str:
        """Steps and tokens, those of episodes under way included."""
        steps = self.steps + sum(episode.usage.steps for episode in active.values())
        tokens = self.tokens + sum(episode.usage.tokens for episode in active.values())
        return f"{counted('step', steps)}, {counted('token', tokens)}"

    def why(self) -> str:
        """The reasons for which episodes have ended, most frequent first."""
        return ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common())


@dataclass
class Progress:
    """Watches one run: hand it to `playing.start` or `resume` as `watch`.

    Attributes:
        screen: where it is drawn.
        folder: where the run's record is; None until the run has begun.
    """

    screen: Console
    folder: Path | None = None

    async def __call__(self, executor: Executor, rows: Sequence[EpisodeRow]) -> None:
        self.folder = executor.store.folder
        tally = Tally(len(rows))

        def on_end(row: EpisodeRow, scores: Sequence[Score]) -> None:
            tally.end(row)

        executor.on_end = on_end
        episodes = counted("episode", len(rows))
        with contextlib.suppress(BrokenPipeError):
            say(self.screen, f"recording {episodes} in {near(self.folder)}", "dim", wrap=False)
            if self.screen.is_terminal:
                await _bar(self.screen, executor, tally)
            else:
                await _lines(self.screen, executor, tally)


async def _bar(screen: Console, executor: Executor, tally: Tally) -> None:
    begun = time.monotonic()

    def drawn() -> RenderableType:
        return picture(tally, executor, int(time.monotonic() - begun))

    with Live(get_renderable=drawn, console=screen, auto_refresh=False, transient=True) as live:
        while True:
            live.refresh()
            await asyncio.sleep(FRAME_S)


async def _lines(screen: Console, executor: Executor, tally: Tally) -> None:
    while True:
        await asyncio.sleep(LINE_S)
        say(screen, line(tally, executor), wrap=False)


def line(tally: Tally, executor: Executor) -> str:
    """How far the run has come, in one line."""
    parts = [
        f"{tally.ended:,} of {counted('episode', tally.total)}",
        tally.so_far(executor.active),
        _state(tally, executor),
    ]
    return "; ".join(part for part in parts if part)


def picture(tally: Tally, executor: Executor, seconds: int) -> RenderableType:
    """How far the run has come, as a bar with what belongs to it."""
    row = Table.grid(padding=(0, 1))
    clock = f"{seconds // 60}:{seconds % 60:02}"
    row.add_row(
        Text(f"{tally.ended:,}/{tally.total:,}"),
        ProgressBar(total=max(1, tally.total), completed=tally.ended, width=20),
        Text(tally.so_far(executor.active)),
        Text(clock, "dim"),
    )
    return Group(row, Text(visible(_state(tally, executor)), "dim", no_wrap=True, overflow="ellipsis"))


def _state(tally: Tally, executor: Executor) -> str:
    if executor.stop_reason is not None:
        return f"stopping ({executor.stop_reason}): {counted('episode', len(executor.active))} to close"
    return ", ".join(part for part in (tally.why(), f"{len(executor.active)} under way") if part)


def judging(what: str, work: Callable[[Seen], Coroutine[Any, Any, T]]) -> T:
    """Do work that asks a judge, and draw on stderr how far it is: a bar in a terminal, elsewhere a line now and then.

    Args:
        what: is counted, as in `episodes scored`.
        work: what to do; it tells what it is given how far it is, and keeps every verdict at once.
    """
    screen = stderr()
    with _bar_of(screen, what) if screen.is_terminal else _lines_of(screen, what) as seen:
        try:
            return asyncio.run(work(seen))
        except KeyboardInterrupt as interrupt:
            interrupt.add_note("what was judged is kept; the same command goes on with the rest")
            raise


@contextlib.contextmanager
def _bar_of(screen: Console, what: str) -> Iterator[Seen]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def _lines_of(screen: Console, what: str) -> Iterator[Seen]:
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if done == total or time.monotonic() - told >= LINE_S:
            told = time.monotonic()
            say(screen, f"{what}: {done:,} of {total:,}")

    yield tell
