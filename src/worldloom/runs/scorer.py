"""Scorer: a function of the finished record, and of what a judge says to it; of nothing else."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from worldloom.core.event import Event
from worldloom.runs.context import Context
from worldloom.runs.rows import Score, checked_scores


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """What a scorer reads: the events of one episode in key order."""

    events: Sequence[Event]

    def of_type(self, type: str) -> list[Event]:
        return [event for event in self.events if event.type == type]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scorer of which only some metrics are wanted; scores of single criteria stay."""

    scorer: "Scorer"
    metrics: Collection[str]

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        scores = await self.scorer.score(record, ctx)
        return [score for score in scores if score.is_criterion or score.name in self.metrics]


async def scores_by(scorer: "Scorer", record: EpisodeRecord, ctx: Context) -> list[Score]:
    """What a scorer gives, once it can be recorded.

    Raises:
        TypeError, ValueError: it cannot.
    """
    return checked_scores(await scorer.score(record, ctx))


class Scorer(Protocol):
    """Scores the episodes of one scenario."""

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        """The scores of one episode; what cannot be judged is a Score whose value is None.

        Args:
            ctx: the scoring pass, in a ledger of its own: what a judge says is an effect there.

        Raises:
            Ended: the pass was stopped; it can be resumed.
        """
