"""EpisodeProgram: what the executor runs, and `play`, one life of it from first event to last.

The executor knows this protocol and never hears of LangGraph.
"""

import asyncio
from typing import Protocol

from worldloom.runs.context import Context
from worldloom.runs.ending import ENDED, REASONS, End
from worldloom.runs.episode import Episode, end_of


class EpisodeProgram(Protocol):
    """One episode as a program over a context."""

    async def run(self, ctx: Context) -> End:
        """Play to the end. An `Ended` or a `ModelError` that escapes ends the episode with its reason."""


async def play(program: EpisodeProgram, episode: Episode) -> End:
    """Run a program in the root scope of an episode and record its end.

    Raises:
        RecordError: the record cannot be written, or diverges.
    """
    ctx = Context(episode)
    try:
        end = await program.run(ctx)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody has cancelled this episode: it has awaited something that was cancelled.
        end = End("error", "something that the episode waited for was cancelled", ctx.here)
    except Exception as error:  # noqa: BLE001  # the boundary of the episode: a failed episode is data and stops no other
        end = end_of(error, ctx.here)
    episode.ledger.check_past(f"the end of the episode: {end.reason} {end.detail}".strip())
    end = episode.struck or end
    if end.reason not in REASONS:
        end = End("error", f"the program gave an unknown reason: {end.reason!r}; {end.detail}", end.key)
    usage = episode.usage
    ctx.emit(
        ENDED,
        {
            "reason": end.reason,
            "fault": end.fault,
            "steps": usage.steps,
            "model_calls": usage.model_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        },
    )
    return end
