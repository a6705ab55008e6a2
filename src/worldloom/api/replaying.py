"""Replaying: a stored run is played again from its record alone, and compared byte for byte."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import JUDGE, Builder, Plan
from worldloom.api.plans.provenance import makings
from worldloom.api.playing import opened_models
from worldloom.api.results.passes import Scoring, further
from worldloom.core.arguments import whole
from worldloom.core.errors import Divergence, RecordError, UsageError
from worldloom.core.registry import Registry
from worldloom.models.model import Model
from worldloom.models.silent import SilentModel
from worldloom.runs.ending import RESUMABLE
from worldloom.runs.executor import Planned, replay_episode
from worldloom.runs.ledger import unchanged
from worldloom.runs.redact import redactor
from worldloom.runs.rescoring import Pass, made_again
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import RunStore
from worldloom.runs.verification import Verification

Models = Mapping[str, Model]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay found of one episode.

    Attributes:
        problem: None if it was reproduced byte for byte, and its end, counts and scores are as recorded.
    """

    episode: EpisodeRow
    problem: str | None


async def replay(
    folder: Path,
    registry: Registry,
    *,
    concurrency: int = 8,
    verification: Verification | None = None,
    seen: Callable[[Replayed], None] = lambda one: None,
) -> list[Replayed]:
    """Play every episode again that has ended or was stopped, from its record, asking the outside nothing.

    Args:
        verification: asks models, and tools that may be asked again, once more, and counts how often they say the same.

    Returns:
        One entry per episode that was played again, in the order of the plan.

    Raises:
        UsageError: there is no such run, it was planned with other digests than now, or another model would be asked.
        RecordError: its plan cannot be read.
    """
    concurrency = whole("concurrency", concurrency, 1)
    found: dict[int, Replayed] = {}
    with RunStore(folder) as store:
        plan = plan_of(store, registry)
        everything, scores = store.episodes(), store.scores()
        expected = sum(1 for _ in plan.entries())
        if len(everything) != expected:
            raise RecordError(
                f"{folder} was planned with {expected} episodes; its record holds {len(everything)}"
            )
        rows = [row for row in everything if row.status in ("ended", *RESUMABLE)]
        waiting = iter(list(Builder(plan, registry).planned(rows)))
        async with contextlib.AsyncExitStack() as stack:
            models = [_silent(ids.model_ids) for ids in makings(store)]
            if verification is not None:
                live = await stack.enter_async_context(opened_models(plan.models))
                models = [_live(live, silent, folder) for silent in models]

            async def work() -> None:
                for one in waiting:
                    told, asked = scores.get(one.row.row, ()), models[one.row.making]
                    try:
                        problem = await _replayed(store, one, told, asked, verification)
                    except RecordError as difference:
                        problem = str(difference)
                    found[one.row.row] = Replayed(one.row, problem)
                    seen(found[one.row.row])

            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(rows))):
                    group.create_task(work())
        for scoring in further(store).values():
            async for row, problem in _passes(store, plan, registry, scoring):
                found[row] = replace(found[row], problem=found[row].problem or problem)
    return [found[row.row] for row in rows]


async def _passes(
    store: RunStore, plan: Plan, registry: Registry, scoring: Scoring
) -> AsyncIterator[tuple[int, str]]:
    """(row, problem) of the episodes over which a further pass of scoring does not give the scores that it gave."""
    told = store.scores(scoring.name)
    rows = [row for row in store.episodes() if row.status == "ended" and row.row in told]
    models = {} if scoring.judge is None else _silent({JUDGE: scoring.model_id or ""})
    for one in Builder(replace(plan, judge=scoring.judge), registry).planned(rows):
        try:
            await made_again(store, Pass(one.row, one.scorer, scoring.name), models, told[one.row.row])
        except Exception as difference:  # noqa: BLE001  # a scorer that breaks now did not when it gave these scores
            yield one.row.row, f"scoring {scoring.name}: {difference}"


def _silent(ids: Mapping[str, str]) -> Models:
    return {name: SilentModel(model_id) for name, model_id in ids.items()}


def _live(live: Models, silent: Models, folder: Path) -> Models:
    """The models that are there now, if they are those that answered."""
    for name, model in silent.items():
        if live[name].id != model.id:
            raise UsageError(f"{folder} was made with model {model.id}; this one is {live[name].id}")
    return live


async def _replayed(
    store: RunStore,
    planned: Planned,
    scores: Sequence[Score],
    models: Models,
    verification: Verification | None,
) -> str | None:
    """What a replay finds of one episode; as `replay_episode`."""
    row = planned.row
    verify = None if verification is None else verification.of(row.scenario, row.row)
    try:
        return await replay_episode(store, planned, scores, models, verify=verify)
    except Divergence as difference:
        # What was masked stands masked in the record, whatever the environment holds now; only a room that holds a
        # secret itself has it masked again.
        mend = redactor()
        if mend is not unchanged:
            with contextlib.suppress(Divergence):
                return await replay_episode(store, planned, scores, models, mend)
        raise difference
