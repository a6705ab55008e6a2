"""Progress is drawn while a run plays, and never disturbs it."""

import asyncio
import io
from types import SimpleNamespace

from rich.console import Console

from worldloom.cli import progress
from worldloom.cli.progress import Progress, Tally, line, picture
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.usage import Usage

ROW = EpisodeRow(
    0,
    "0",
    "s",
    "c",
    "m",
    0,
    0,
    "ended",
    reason="completed",
    steps=3,
    prompt_tokens=1000,
    completion_tokens=24,
)


def executor(*, stop_reason=None, **active):
    episodes = {int(row[1:]): SimpleNamespace(usage=usage) for row, usage in active.items()}
    store = SimpleNamespace(folder=progress.Path("runs/x"))
    return SimpleNamespace(store=store, active=episodes, stop_reason=stop_reason, on_end=None)


def test_a_line_counts_what_has_ended_and_what_is_under_way():
    tally = Tally(12)
    tally.end(ROW)
    playing = executor(_1=Usage(2, 3, 100, 5), _2=Usage())
    assert line(tally, playing) == "1 of 12 episodes; 5 steps, 1,129 tokens; completed 1, 2 under way"


def test_a_stop_is_shown():
    assert line(Tally(2), executor(stop_reason="cancelled", _1=Usage())).endswith(
        "stopping (cancelled): 1 episode to close"
    )


def test_a_picture_fits_into_a_narrow_terminal():
    tally = Tally(100_000, ended=99_999, steps=1_234_567, tokens=987_654_321)
    for number in range(20):
        tally.reasons[f"reason_{number}"] = 100
    screen = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    screen.print(picture(tally, executor(_1=Usage()), 3671))
    drawn = screen.file.getvalue()
    assert len(drawn.splitlines()) == 2
    assert "99,999/100,000" in drawn
    assert "61:11" in drawn


def watch(screen, monkeypatch, terminal):
    """Watches until two turns have been drawn; returns the watcher."""
    turns = 0

    async def pass_by(seconds):
        nonlocal turns
        turns += 1
        if turns > 2:
            raise asyncio.CancelledError

    monkeypatch.setattr(progress.asyncio, "sleep", pass_by)
    watcher = Progress(screen)

    async def run():
        playing = executor(_1=Usage(1, 1, 1, 1))
        try:
            await watcher(playing, [ROW])
        except asyncio.CancelledError:
            playing.on_end(ROW, [])

    asyncio.run(run())
    return watcher


def test_where_there_is_no_terminal_plain_lines_are_written(monkeypatch):
    screen = Console(file=io.StringIO(), width=100)
    assert str(watch(screen, monkeypatch, terminal=False).folder) == "runs/x"
    assert screen.file.getvalue().splitlines() == [
        "recording 1 episode in runs/x",
        "0 of 1 episode; 1 step, 2 tokens; 1 under way",
        "0 of 1 episode; 1 step, 2 tokens; 1 under way",
    ]


def test_in_a_terminal_a_bar_is_drawn_and_taken_away(monkeypatch):
    screen = Console(file=io.StringIO(), width=80, force_terminal=True)
    watch(screen, monkeypatch, terminal=True)
    drawn = screen.file.getvalue()
    assert "0/1" in drawn
    assert drawn.endswith("\x1b[2K"), "the last frame is erased"


def test_a_reader_that_goes_away_does_not_stop_the_run(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    from worldloom.cli.terminal import Screen

    watch(Screen(file=Gone(), width=80), monkeypatch, terminal=False)
