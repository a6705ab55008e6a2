"""Past: what an earlier life of an episode left that holds if the episode goes on, and what has to go.

What the outside said holds; what was concluded from a stop, or from an answer that is to be had anew, does not. An
episode that was begun with other code or models begins anew: none is half one and half the other. What was about to be
sent stays known in any case, so that nothing that may be sent once is sent twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from worldloom.core.event import Event
from worldloom.core.key import follows
from worldloom.runs.effect import EFFECTS
from worldloom.runs.ending import ENDED
from worldloom.runs.episode import STOPPED
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import DEFAULT_SCORING, RunStore, forget_scoring, reopen
from worldloom.runs.writer import Writer

_AGENTS = ("refusal", "overflow")
"""Kinds of a model's errors that are no failure of the infrastructure."""


@dataclass(frozen=True, slots=True)
class Past:
    """What an episode goes on with.

    Attributes:
        events: key -> row of the play.
        judged: key -> row of the scoring pass that is made when the episode ends.
        intents: key -> digest of what was about to be sent once.
    """

    events: Mapping[bytes, Event] = field(default_factory=dict)
    judged: Mapping[bytes, Event] = field(default_factory=dict)
    intents: Mapping[bytes, str] = field(default_factory=dict)


def take_up(store: RunStore, writer: Writer, row: EpisodeRow, making: int) -> Past:
    """The past with which an episode goes on; what does not hold is taken out of the record.

    Args:
        row: of an episode that has ended, what failed is asked again, and what followed from it.
        making: number of what the episode is played with now.
    """
    if row.status == "planned":
        return Past()
    retry, same_making = row.status == "ended", row.making == making
    played, judged = store.arrivals(row.row), store.arrivals(row.row, DEFAULT_SCORING)
    kept, undone = what_holds(played if same_making else (), retry=retry)
    if not same_making:
        undone = [event.key for event in played]
    # Of an episode that had come to its end by itself, nothing but the scoring is made again.
    same_play = same_making and (not retry or len(undone) == 1)
    still, unsaid = what_holds(judged if same_play else (), retry=retry)
    with writer.together():
        reopen(writer, row.row, [("", key) for key in undone] + [(DEFAULT_SCORING, key) for key in unsaid])
        if not same_play:
            forget_scoring(writer, row.row)
    return Past(kept, still, store.intents(row.row))


def what_holds(arrivals: Iterable[Event], *, retry: bool = False) -> tuple[dict[bytes, Event], list[bytes]]:
    """What of a record holds, and the keys of what has to go.

    A stop, and what was concluded after it, has to go. What the outside said holds, also if it arrived after the stop:
    it had been asked before.

    Args:
        arrivals: the rows, in the order in which they were recorded.
        retry: whether failures of the infrastructure go as well, and what was asked because of them.
    """
    kept, undone, stopped, failed = dict[bytes, Event](), list[bytes](), False, list[bytes]()
    for event in arrivals:
        fails = retry and event.type in EFFECTS and _failed(event)
        if fails:
            failed.append(event.key)
        stopped = stopped or fails or event.type in (STOPPED, ENDED)
        if fails or (
            stopped and (event.type not in EFFECTS or any(follows(event.key, earlier) for earlier in failed))
        ):
            undone.append(event.key)
        else:
            kept[event.key] = event
    return kept, undone


def _failed(event: Event) -> bool:
    body = event.body
    answer = body.get("answer")
    error = answer.get("error") if event.type == "model.1" and isinstance(answer, dict) else None
    return "broke" in body or (error is not None and error not in _AGENTS)
