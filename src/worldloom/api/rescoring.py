"""Rescoring: every ended episode of a run scored again, by the present scorers and a judge that is named.

The pass has a name of its own. It stands in the run beside the pass that was made when the episodes ended, and changes
nothing else there. What a judge has said in it is kept at once, so a pass that was cut short goes on where it was; the
same name is never used by two judges, or by two states of the code.
"""

import contextlib
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from worldloom.api.plans.cast import model_of
from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import JUDGE, Builder, form_of
from worldloom.api.plans.provenance import changes, made_with
from worldloom.api.playing import opened_models
from worldloom.api.results.changed import Changed, changed
from worldloom.api.results.passes import Scoring, further, keep, scoring_of
from worldloom.api.results.result import RunResult
from worldloom.api.results.side import side_of
from worldloom.core.arguments import whole
from worldloom.core.errors import Ended, RecordError, UsageError
from worldloom.core.project import Project
from worldloom.core.registry import Registry
from worldloom.models.model import Model
from worldloom.models.silent import SilentModel
from worldloom.models.spec import ModelSpec
from worldloom.runs import rescoring
from worldloom.runs.agreement import outcome_of
from worldloom.runs.context import Context
from worldloom.runs.redact import redactor
from worldloom.runs.rescoring import Pass
from worldloom.runs.rows import Score
from worldloom.runs.scorer import EpisodeRecord, Scorer, scores_by
from worldloom.runs.store import DEFAULT_SCORING, RunStore
from worldloom.runs.writer import Writer

CHECKS = "checks"
"""Name of a pass without a judge, if nobody names it otherwise."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_ALLOWED = "up to 60 letters, digits, `.`, `_` and `-`, a letter or digit first"


def judge_given(project: Project | None, judge: str | None, base_url: str | None) -> ModelSpec | None:
    """The judge that is named, with its parameters if it is the project's; without a name, nobody.

    Raises:
        UsageError: there is a server for a judge, and no judge; what the environment says was said of all commands.
    """
    if judge is not None:
        return model_of(project.models.get("judge") if project else None, judge, base_url)
    if base_url not in (None, os.environ.get("WORLDLOOM_JUDGE_BASE_URL")):
        raise UsageError("judge_base_url is given, but there is no judge; allowed: only with a judge")
    return None


@dataclass(frozen=True, slots=True)
class Rescored:
    """A pass over a run, beside an older one.

    Attributes:
        changed: what it says otherwise.
        same_code: whether both were made with the same code and prompts.
        not_ended: episodes that have not ended; they are not scored.
        broken: number of an episode -> what was raised by its scorer, which gave no scores.
        fingerprint: of the run; None if episodes have not ended.
        untouched: whether episodes, fingerprints and the pass `default` are as they were before.
    """

    folder: Path
    changed: Changed
    same_code: bool
    not_ended: int
    broken: Mapping[int, str]
    fingerprint: str | None
    untouched: bool

    @property
    def scoring(self) -> Scoring:
        """The new pass."""
        return self.changed.new.scoring

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.folder),
            "scoring": self.scoring.to_json(),
            "against": self.changed.old.scoring.to_json(),
            "same_code": self.same_code,
            "not_ended": self.not_ended,
            "broken": {str(episode): why for episode, why in self.broken.items()},
            "fingerprint": self.fingerprint,
            "untouched": self.untouched,
            **self.changed.to_json(),
        }

    def __str__(self) -> str:
        metrics = self.changed.metrics.items()
        told = [f"{name} {one.difference.difference:+.2f}" for name, one in metrics if one.difference.pairs]
        return (
            f"{self.scoring.name} − {self.changed.old.scoring.name}: {', '.join(told) or 'no scores in both'}"
        )


async def rescore(
    folder: Path,
    registry: Registry,
    judge: ModelSpec | None = None,
    *,
    name: str | None = None,
    against: str = DEFAULT_SCORING,
    concurrency: int = 8,
    seen: Callable[[int, int], None] = lambda done, total: None,
) -> Rescored:
    """Score all ended episodes of a run again, as a pass of its own, and compare it with an older one.

    What a judge has said before in this pass is not asked again, unless its server had failed.

    Args:
        judge: who judges what cannot be checked; None leaves it unscored.
        name: of the pass; by default that of the judge's model, or `checks`.
        against: the pass with which it is compared.
        concurrency: episodes at a time.
        seen: told how many episodes of how many are done.

    Raises:
        UsageError: there is nothing to score, the name is not free, the run cannot be written, or the judge does not
            answer; nothing has been asked then.
        RecordError: the record cannot be read or written, or the pass is not what its events give.
    """
    concurrency = whole("concurrency", concurrency, 1)
    with RunStore(folder) as store:
        _refuse_unwritable(store)
        with store.writing() as writer:  # first: the run must not become another meanwhile
            plan = replace(plan_of(store, registry), judge=judge)
            wanted = Scoring(_named(name, judge), judge, form_of(plan, registry), None, made_with(registry))
            old, before = scoring_of(store, against), RunResult.of(store)
            if against == wanted.name:
                raise UsageError(
                    f"the pass {against!r} cannot be compared with itself; name another for that"
                )
            ended = [row for row in before.episodes if row.status == "ended"]
            if not ended:
                raise UsageError(f"{folder}: no episode has ended; only ended ones can be scored again")
            broken: dict[int, str] = {}
            passes = [
                Pass(one.row, _Guarded(one.scorer, one.row.row, broken), wanted.name)
                for one in Builder(plan, registry).planned(ended)
            ]
            await _make(store, writer, wanted, passes, concurrency=concurrency, seen=seen)
        old_side, new_side = (
            side_of(side, folder, scoring=one, forks=True)
            for side, one in (("old", against), ("new", wanted.name))
        )
        return Rescored(
            folder,
            changed(old_side, new_side, ended),
            old.code == wanted.code,
            len(before.episodes) - len(ended),
            broken,
            before.fingerprint,
            _same(RunResult.of(store), before),
        )


async def _make(
    store: RunStore,
    writer: Writer,
    wanted: Scoring,
    passes: Sequence[Pass],
    *,
    concurrency: int,
    seen: Callable[[int, int], None],
) -> None:
    """Make what is left of a pass, and make again what is there: it has to give what it gave."""
    begun, made, done = _begun(store, wanted), store.scores(wanted.name), 0
    failed = [one for one in passes if any(outcome_of(score) == "failed" for score in _of(made, one))]
    complete = not failed and all(_of(made, one) for one in passes)

    def count(_: Pass) -> None:
        nonlocal done
        done += 1
        seen(done, len(passes))

    async with _judging(wanted, begun if complete else None) as models:
        model_id = models[JUDGE].id if models else None
        if begun is not None and model_id != begun.model_id:
            raise UsageError(
                f"{store.folder}: the pass {wanted.name!r} was made with model {begun.model_id}; this one is {model_id}"
            )
        keep(store, writer, begun or replace(wanted, model_id=model_id))
        await rescoring.forget(writer, failed)
        try:
            await rescoring.rescore(
                store, writer, passes, models, concurrency=concurrency, mend=redactor(), on_scored=count
            )
        except ExceptionGroup as several:  # they fail alike: the first speaks for all
            raise several.exceptions[0] from several


def _same(now: RunResult, before: RunResult) -> bool:
    """Whether episodes and scores are the same; the status may differ, since `before` was read while we wrote."""
    return (now.episodes, now.scores) == (before.episodes, before.scores)


def _of(made: Mapping[int, Sequence[Score]], one: Pass) -> Sequence[Score]:
    return made.get(one.row.row, ())


@contextlib.asynccontextmanager
async def _judging(wanted: Scoring, complete: Scoring | None) -> AsyncIterator[Mapping[str, Model]]:
    """The judge, as `ctx.model` knows it; one that must not be asked if the pass is complete."""
    if wanted.judge is None:
        yield {}
    elif complete is not None:
        yield {JUDGE: SilentModel(complete.model_id or "")}
    else:
        async with opened_models({JUDGE: wanted.judge}) as models:
            yield models


def _named(name: str | None, judge: ModelSpec | None) -> str:
    """The name of a pass.

    Raises:
        UsageError: it cannot be one.
    """
    if name is None:
        last = CHECKS if judge is None else judge.model.rsplit("/", 1)[-1]
        name = re.sub("[^A-Za-z0-9._-]+", "-", last).strip("-._")[:60] or JUDGE
    if name == DEFAULT_SCORING:
        raise UsageError(f"{name!r} is the pass that was made when the episodes ended; name another")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"the pass of scoring is called {name!r}; allowed: {_ALLOWED}")
    return name


def _begun(store: RunStore, wanted: Scoring) -> Scoring | None:
    """What the record tells of a pass of this name; None if there is none yet.

    Raises:
        UsageError: it was made by another judge, or with other code.
    """
    known = further(store)
    begun = known.get(wanted.name)
    if begun is None:
        return None
    if begun.asks != wanted.asks:
        alike = begun.who == wanted.who
        how = " with other parameters, or asked otherwise" if alike else f", not {wanted.who}"
        differs = f"{begun.who}{how}"
    elif others := changes(begun.code, wanted.code):
        differs = f"made with other code ({'; '.join(others)})"
    else:
        return begun
    free = next(name for number in range(2, 10**6) if (name := f"{wanted.name[:50]}-{number}") not in known)
    raise UsageError(
        f"{store.folder} holds a pass {wanted.name!r} already, {differs}\n  allowed: another name, e.g. {free}"
    )


def _refuse_unwritable(store: RunStore) -> None:
    _ = store.reader  # there is a run, and it can be read
    if not (os.access(store.folder, os.W_OK) and os.access(store.path, os.W_OK)):
        raise UsageError(
            f"{store.folder} cannot be written, and a pass of scoring is kept in the run; copy the run to where you "
            "can write, and score the copy"
        )


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A scorer whose fault costs one episode its scores, and no other anything."""

    scorer: Scorer
    episode: int
    broken: dict[int, str] = field(default_factory=dict)

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        try:
            return await scores_by(self.scorer, record, ctx)
        except (RecordError, Ended):
            raise
        except Exception as fault:  # noqa: BLE001  # told with the episode it is of
            self.broken[self.episode] = f"{type(fault).__name__}: {fault}"
            return []
