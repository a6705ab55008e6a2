"""Executor: plays planned episodes on one event loop, several at a time.

A failed episode is data. A stop from outside lets no new episode begin, records where each was stopped and comes back
with what there is; it gives up what is under way, unless that has been paid for.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from worldloom.core.canonical import canonical, digest, parse
from worldloom.core.errors import Divergence, Ended, RecordError, UsageError
from worldloom.core.surrogates import mend
from worldloom.models.model import Model
from worldloom.runs.context import Context
from worldloom.runs.cost import Prices
from worldloom.runs.effect import Verify
from worldloom.runs.ending import RUN_LIMIT, WAITING, End
from worldloom.runs.episode import Episode, end_of
from worldloom.runs.ledger import Ledger, unchanged
from worldloom.runs.limits import Limits, Meter
from worldloom.runs.past import take_up
from worldloom.runs.program import EpisodeProgram, play
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.scorer import EpisodeRecord, Scorer, scores_by
from worldloom.runs.store import DEFAULT_SCORING, RunStore, put_episode, put_scores
from worldloom.runs.writer import Writer


@dataclass(frozen=True, slots=True)
class Planned:
    """An episode to be played.

    Attributes:
        judge: digest of what makes the judge judge as it does; empty if there is none.
        prices: of the models, by which a limit on cost is reached.
    """

    row: EpisodeRow
    program: EpisodeProgram
    scorer: Scorer
    limits: Limits
    judge: str = ""
    prices: Prices = Prices()


@dataclass
class Executor:
    """Plays episodes into a store.

    Attributes:
        models: name -> model, as `ctx.model` knows them.
        concurrency: episodes at a time.
        mend: replaces secrets before anything is written.
        on_end: told of every episode that has ended, with its scores.
        making: number of what the episodes are played with, see `api.plans.provenance`. What an episode has recorded
            that was begun with another is dropped: none is half one and half the other.
        meter: what the episodes may use together; if that is used up, the run stops with `run_limit`.
        active: row number -> episode under way, for those who watch.
        waiting: how many of the episodes played wait for a person's answer.
        unfinished: how many of them have not ended.
    """

    store: RunStore
    writer: Writer
    models: Mapping[str, Model]
    concurrency: int = 8
    mend: Callable[[bytes], bytes] = unchanged
    on_end: Callable[[EpisodeRow, Sequence[Score]], None] = lambda row, scores: None
    making: int = 0
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        self.active: dict[int, Episode] = {}
        self.waiting = self.unfinished = 0
        self.stop_reason: str | None = None
        self._failure: RecordError | None = None
        self.meter.on_limit = lambda: self.stop(RUN_LIMIT, give_up=False)

    def stop(self, reason: str, *, give_up: bool = True) -> None:
        """Stop from outside, e.g. with reason `cancelled`.

        Args:
            give_up: model calls under way, too; else they come to their end.
        """
        self.stop_reason = self.stop_reason or reason
        for episode in self.active.values():
            episode.stop(reason, give_up=give_up)

    async def run(self, planned: Sequence[Planned]) -> None:
        """Play all episodes, or as many as there is time for before `stop`.

        Raises:
            RecordError: the record cannot be written, which stops all episodes; or a resumed one diverges from it,
                which stops no other.
        """
        waiting, workers = iter(planned), min(self.concurrency, len(planned))
        self.unfinished = len(planned)

        async def work() -> None:
            for one in waiting:
                if self.stop_reason is not None:
                    return
                try:
                    await self._play(one)
                except RecordError as failure:
                    self._failure = self._failure or failure
                    if not isinstance(failure, Divergence):
                        self.stop("cancelled")

        with _timer(self.meter.limits.wall_s, lambda: self.stop(RUN_LIMIT)):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(work()) for _ in range(workers)]
        for task in tasks:
            task.result()  # a worker that was cancelled, which the group keeps to itself, has left episodes behind
        if self._failure is not None:
            raise self._failure

    async def _play(self, planned: Planned) -> None:
        number, begun, started_at = planned.row.row, time.perf_counter(), time.time()
        episode, scoring = self._open(planned)
        put_episode(self.writer, number, status="running", started_at=started_at, making=self.making)
        if planned.row.status == WAITING:
            await self.writer.durable()  # from now on no answer is taken: what there is, is heard
            episode.answers = self.store.answers(number)
        try:
            end = await self._played(planned, episode)
            scores, problem = await self._scored(planned, episode, scoring)
        except _NotScored:
            return  # it has ended and lacks its scores: a resume goes on there
        finally:
            self.active.pop(number, None)
        usage = episode.usage
        row = replace(
            planned.row,
            status=end.status,
            reason=end.reason,
            fault=end.fault,
            detail=self._mended("; ".join(part for part in (problem, end.detail) if part)) or None,
            fingerprint=episode.ledger.fingerprint(),
            scored=judged_fingerprint(planned, scoring),
            steps=usage.steps,
            model_calls=usage.model_calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            models=usage.by_model,
            scoring_models=scoring.usage.by_model,
            started_at=started_at,
            seconds=time.perf_counter() - begun,
        )
        self._close(row, scores)

    async def _played(self, planned: Planned, episode: Episode) -> End:
        self.active[planned.row.row] = episode
        with _timer(planned.limits.wall_s, lambda: episode.stop("wall_limit")):
            return await play(planned.program, episode)

    async def _scored(
        self, planned: Planned, played: Episode, scoring: Episode
    ) -> tuple[Sequence[Score], str]:
        """The scores of an episode that has come to its end, and why it has none.

        Raises:
            _NotScored: the pass was stopped, and the episode was not.
        """
        self.active[planned.row.row] = scoring
        if self.stop_reason is not None:
            scoring.stop(self.stop_reason)
        try:
            return await scores_of(planned.scorer, played, scoring), ""
        except RecordError:
            raise
        except Ended as stop:
            if scoring.stop_reason is not None and played.struck is None:
                raise _NotScored from stop
            return [], f"not scored: {end_of(stop, b'').detail or stop}"
        except Exception as fault:  # noqa: BLE001  # a broken scorer costs one episode its scores, no other anything
            return [], f"not scored: {end_of(fault, b'').detail}"

    def _mended(self, text: str) -> str:
        """Text for people, which may hold anything a server or an exception said, as it can be written."""
        return str(parse(self.mend(canonical(mend(text)))))

    def _open(self, planned: Planned) -> tuple[Episode, Episode]:
        """The episode and its scoring pass, with what of an earlier life holds."""
        row = planned.row
        past = take_up(self.store, self.writer, row, self.making)
        played = Ledger((row.row, ""), self.writer, past.events, intents=past.intents, mend=self.mend)
        scored = Ledger((row.row, DEFAULT_SCORING), self.writer, past.judged, mend=self.mend)
        return (
            Episode(
                played, row.id, row.seed, self.models, planned.limits, wall=time.time,
                prices=planned.prices, meter=self.meter,
            ),
            Episode(scored, row.id, row.seed, self.models, meter=self.meter, person=nobody),
        )  # fmt: skip

    def _close(self, row: EpisodeRow, scores: Sequence[Score]) -> None:
        put_scores(self.writer, row.row, scores)
        # Last: an episode that says it has ended is complete, wherever a crash cut.
        put_episode(self.writer, row.row, **{name: getattr(row, name) for name in _CLOSING})
        self.waiting += row.status == WAITING
        self.unfinished -= row.status == "ended"
        self.on_end(row, scores)


_CLOSING = (
    "status", "reason", "fault", "detail", "fingerprint", "scored", "steps", "model_calls", "prompt_tokens",
    "completion_tokens", "models", "scoring_models", "seconds",
)  # fmt: skip


@contextlib.contextmanager
def _timer(seconds: float | None, strike: Callable[[], None]) -> Iterator[None]:
    """While entered, `strike` is called after so many seconds."""
    timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, strike)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


class _NotScored(Exception):
    """An episode has ended, and the pass over it was stopped."""


async def nobody(question: str, choices: Sequence[str]) -> str:
    """Who is there while an episode is scored: a pass ends in one go, so it cannot wait for a person."""
    raise UsageError("a scorer cannot ask a person")


def judged_fingerprint(planned: Planned, scoring: Episode) -> str | None:
    """Fingerprint of what was said in a scoring pass, and of who said it; None if nobody was asked."""
    if not scoring.ledger.rows():
        return None
    return digest([planned.judge, scoring.ledger.fingerprint()])


async def scores_of(scorer: Scorer, played: Episode, scoring: Episode) -> list[Score]:
    """The scores of an episode; what a judge says is recorded in the ledger of the scoring pass.

    An episode that waits for a person has none yet.

    Raises:
        Ended: the pass was stopped.
        RecordError: the record cannot be written, or diverges.
    """
    if played.struck is not None and played.struck.reason == WAITING:
        return []
    scores = await scores_by(scorer, EpisodeRecord(played.ledger.rows()), Context(scoring))
    scoring.ledger.check_past("the end of the scoring pass")
    return scores


async def replay_episode(
    store: RunStore,
    planned: Planned,
    scores: Sequence[Score],
    models: Mapping[str, Model],
    mend: Callable[[bytes], bytes] = unchanged,
    verify: Verify | None = None,
) -> str | None:
    """Play a recorded episode again without asking the outside anything, and see whether all that is told of it holds.

    Args:
        scores: those that the record holds.
        verify: asks the outside again after all, and changes nothing.

    Returns:
        What the projection or the scores say otherwise than the events do; None if nothing.

    Raises:
        Divergence: the first key at which code and record part.
    """
    row = planned.row
    played, passed = (
        Ledger((row.row, name), recorded=store.events(row.row, name), may_grow=False, mend=mend)
        for name in ("", DEFAULT_SCORING)
    )
    scoring = Episode(passed, row.id, row.seed, models, person=nobody, verify=verify)
    episode = Episode(played, row.id, row.seed, models, planned.limits, verify=verify, prices=planned.prices)
    end = await play(planned.program, episode)
    found = asdict(episode.usage)
    found |= {"fingerprint": played.fingerprint(), "reason": end.reason, "fault": end.fault}
    found["models"] = episode.usage.by_model
    for name, value in found.items():
        if getattr(row, name) != value:
            return f"{name}: the record tells {getattr(row, name)}, its events give {value}"
    try:
        again = await scores_of(planned.scorer, episode, scoring)
    except RecordError:
        raise
    except Exception:  # noqa: BLE001  # as when it was played: a broken or stopped scorer gives no scores
        again = []
    if row.scored != judged_fingerprint(planned, scoring):
        return "scored: what the record tells of the judge's answers is not what its events give"
    if row.scoring_models != scoring.usage.by_model:
        return (
            f"scoring_models: the record tells {row.scoring_models}, its events give {scoring.usage.by_model}"
        )
    for told, given in itertools.zip_longest(scores, again):
        if told != given:
            return f"score: the record tells {_shown(told)}, its events give {_shown(given)}"
    return None


def _shown(score: Score | None) -> str:
    if score is None:
        return "none"
    return f"{score.name!r} {'unscored' if score.value is None else f'{score.value:g}'} by {score.how}"
