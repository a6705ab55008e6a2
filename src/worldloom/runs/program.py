"""EpisodeProgram: what the executor runs, and `play`, one life of it from first event to last.

The executor knows this protocol and never hears of LangGraph.
"""

from typing import Protocol

from worldloom.runs.context import Context
from worldloom.runs.ending import End
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
    except Exception as error:  # noqa: BLE001  # the boundary of the episode: a failed episode is data and stops no other
        end = end_of(error, ctx.here)
    episode.ledger.check_past(ctx.here, f"the end of the episode: {end.reason} {end.detail}".strip())
    usage = episode.usage
    ctx.emit(
        "ended.1",
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
