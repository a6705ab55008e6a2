"""Scorer: a function of the finished record, and of nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worldloom.core.event import Event
from worldloom.runs.store import Score


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """What a scorer reads: the events of one episode in key order."""

    events: Sequence[Event]

    def of_type(self, type: str) -> list[Event]:
        return [event for event in self.events if event.type == type]


class Scorer(Protocol):
    """Scores the episodes of one scenario."""

    def score(self, record: EpisodeRecord) -> list[Score]:
        """The scores of one episode; what cannot be judged is a Score whose value is None."""
