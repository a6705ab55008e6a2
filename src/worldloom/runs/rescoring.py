"""Rescoring: further passes of scoring over episodes that have ended, each under a name of its own.

A pass has its own ledger and its own rows among the scores; the episode, its fingerprint and the pass that was made
when it ended stay as they are. A pass that was cut short goes on where it was; one that is complete is made again from
what was said, and has to give the scores that it gave: what a judge has said is never asked twice.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from worldloom.core.errors import RecordError, UsageError
from worldloom.models.model import Model
from worldloom.runs.context import Context
from worldloom.runs.episode import Episode
from worldloom.runs.ledger import Ledger, Sink, unchanged
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.scorer import EpisodeRecord, Scorer, scores_by
from worldloom.runs.store import DEFAULT_SCORING, RunStore, put_scores
from worldloom.runs.writer import Writer


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of scoring over one episode.

    Attributes:
        scoring: its name; not that of the pass that is made when an episode ends.
    """

    row: EpisodeRow
    scorer: Scorer
    scoring: str


async def rescore(
    store: RunStore,
    writer: Writer,
    passes: Sequence[Pass],
    models: Mapping[str, Model],
    *,
    concurrency: int = 8,
    mend: Callable[[bytes], bytes] = unchanged,
    on_scored: Callable[[Pass], None] = lambda one: None,
) -> list[list[Score]]:
    """Make the passes, several at a time; a cancelled call keeps what was said so far.

    Args:
        models: name -> model, as `ctx.model` knows them.
        mend: replaces secrets before anything is written.
        on_scored: told of every pass that is complete, also of those made earlier.

    Returns:
        The scores of each pass, in their order.

    Raises:
        UsageError: an episode has not ended, or a pass has a name that is not free.
        RecordError: the record cannot be written, or a pass diverges from what an earlier life left of it, or gives
            other scores than it gave.
    """
    for one in passes:
        if one.row.status != "ended":
            raise UsageError(f"episode {one.row.row} has not ended; only ended ones are scored again")
        if one.scoring in ("", DEFAULT_SCORING):
            raise UsageError(f"a further pass of scoring cannot be called {one.scoring!r}")
    made = {name: store.scores(name) for name in dict.fromkeys(one.scoring for one in passes)}
    found: dict[int, list[Score]] = {}
    waiting = iter(enumerate(passes))

    async def work() -> None:
        for place, one in waiting:
            told = made[one.scoring].get(one.row.row, [])
            found[place] = await made_again(store, one, models, told, sink=writer, mend=mend)
            put_scores(writer, one.row.row, found[place], one.scoring)
            on_scored(one)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work()) for _ in range(min(concurrency, len(passes)))]
    for task in tasks:
        task.result()  # a worker that was cancelled, which the group keeps to itself, has left passes behind
    return [found[place] for place in range(len(passes))]


async def forget(writer: Writer, passes: Sequence[Pass]) -> None:
    """Take away what passes hold, so that they are made anew, e.g. where the server of a judge had failed.

    Raises:
        RecordError: the record cannot be written.
    """
    for one in passes:
        for table in ("events", "telemetry", "scores"):
            sql = f"DELETE FROM {table} WHERE episode = ? AND scoring = ?"
            writer.put(sql, (one.row.row, one.scoring))
    await writer.durable()


async def made_again(
    store: RunStore,
    one: Pass,
    models: Mapping[str, Model],
    told: Sequence[Score],
    *,
    sink: Sink | None = None,
    mend: Callable[[bytes], bytes] = unchanged,
) -> list[Score]:
    """The scores of a pass from what was said in it; one without scores so far may go on asking.

    Args:
        told: the scores that the record holds; these it has to give again.
        sink: takes what is said now.

    Raises:
        RecordError: the pass diverges, or gives other scores.
    """
    row = one.row
    recorded = store.events(row.row, one.scoring)
    ledger = Ledger((row.row, one.scoring), sink, recorded, mend=mend, may_grow=not told)
    record = EpisodeRecord([*store.events(row.row).values()])
    scores = await scores_by(one.scorer, record, Context(Episode(ledger, row.id, row.seed, models)))
    ledger.check_past("the end of the scoring pass")
    if told and [*told] != scores:
        raise RecordError(
            f"{store.path} is damaged: its scores of episode {row.row} by {one.scoring!r} are not what its events give"
        )
    return scores
