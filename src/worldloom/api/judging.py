"""Judging: how good is a judge, and what do its verdicts in a run amount to?

A judge is calibrated on criteria whose verdict is known: computed, or given by people. It is put to them blind, as
further passes of scoring over a stored run. What was found is kept as a file beside the runs, under a digest of the
judge, so that every report of a run with this judge can say how far it is to be trusted.
"""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import JUDGE, Builder, form_of
from worldloom.api.playing import opened_models
from worldloom.api.results.labels import Rubric, read_labels
from worldloom.api.results.passes import scoring_of
from worldloom.api.results.result import RunResult
from worldloom.core.arguments import whole
from worldloom.core.canonical import digest
from worldloom.core.errors import RecordError, UsageError, WorldloomError
from worldloom.core.files import read_bytes
from worldloom.core.registry import Registry
from worldloom.models.spec import ModelSpec
from worldloom.runs.agreement import (
    OUTCOMES,
    Agreement,
    Measure,
    Outcome,
    Verdict,
    agree,
    corrected,
    outcome_of,
    passed,
)
from worldloom.runs.executor import Planned
from worldloom.runs.redact import redactor
from worldloom.runs.rescoring import Pass, rescore
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.scorer import Scorer
from worldloom.runs.store import RunStore

CALIBRATIONS = "calibrations"
"""Folder beside the runs that holds what is known of judges."""

_LARGEST = 64 * 2**20  # bytes of a calibration: some 300,000 verdicts


@runtime_checkable
class Judging(Protocol):
    """A scorer that can put a single criterion to the judge, whether or not it could be computed."""

    @property
    def criteria(self) -> Sequence[str]: ...

    def blind(self, place: int) -> Scorer: ...


class _Asked(BaseModel):
    """A criterion that the judge was asked about; `criterion` is its number within the rubric."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    scenario: str
    episode: str
    criterion: int
    truth: bool
    outcome: Outcome


class Calibration(BaseModel):
    """What was found of a judge.

    Attributes:
        model, parameters: the judge.
        form: digest of the texts with which it is asked.
        run: name of the run on whose episodes it was tried.
        labels: file of the people's verdicts; None if they were computed.
        verdicts: all that it was asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str
    parameters: dict[str, JsonValue]
    form: str
    run: str
    labels: str | None
    verdicts: tuple[_Asked, ...]

    def known(self) -> list[Verdict]:
        """The verdicts beside the truth."""
        return [Verdict(one.scenario, one.outcome, one.truth) for one in self.verdicts]

    def agreement(self) -> Agreement:
        return agree(self.known())

    def corrected(self) -> Measure:
        """The corrected pass rate of the sample itself, as if its truth were not known."""
        return corrected(self.known(), self.known())

    def summary(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "judge": {"model": self.model, "parameters": self.parameters},
            "run": self.run,
            "labels": self.labels,
            "agreement": asdict(self.agreement()),
            "corrected": asdict(self.corrected()),
        }


@dataclass(frozen=True, slots=True)
class _Case:
    """A criterion of an episode whose verdict is known."""

    row: EpisodeRow
    scorer: Judging
    place: int
    truth: bool


async def calibrate(
    folder: Path,
    registry: Registry,
    judge: ModelSpec,
    *,
    labels: Path | None = None,
    limit: int | None = None,
    concurrency: int = 8,
    seen: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Calibration, Path]:
    """Put a judge to criteria of a stored run whose verdict is known, and keep what was found.

    What it has said before of the same criteria is not asked again, unless its server had failed.

    Args:
        labels: file with the verdicts of people; without one, those that were computed are taken.
        limit: criteria at most, spread over the scenarios.
        concurrency: criteria at a time; each is two requests.
        seen: told how many criteria of how many are done.

    Returns:
        The calibration, and the file that holds it.

    Raises:
        UsageError: there is nothing to be judged, or the judge does not answer.
        RecordError: the record cannot be read or written.
    """
    concurrency = whole("concurrency", concurrency, 1)
    with RunStore(folder) as store:
        plan = replace(plan_of(store, registry), judge=judge)
        ended = [row for row in store.episodes() if row.status == "ended"]
        planned = list(Builder(plan, registry).planned(ended))
        cases = _cases(planned, store.scores()) if labels is None else _labelled(planned, labels)
        if limit is not None:
            cases = _sample(cases, whole("limit", limit, 1))
        if not cases:
            raise UsageError(f"{folder}: no criterion whose verdict is known could be put to a judge")
        form = form_of(plan, registry)
        mark = judge_digest(judge, form)
        names = _scorings(store, mark, cases)
        passes = [
            Pass(case.row, case.scorer.blind(case.place), name)
            for case, name in zip(cases, names, strict=True)
        ]
        done = 0

        def count(_: Pass) -> None:
            nonlocal done
            done += 1
            seen(done, len(passes))

        async with opened_models({JUDGE: judge}) as models:
            with store.writing() as writer:
                scores = await rescore(
                    store, writer, passes, models, concurrency=concurrency, mend=redactor(), on_scored=count
                )
    asked = [_asked(case, score) for case, (score,) in zip(cases, scores, strict=True)]
    found = Calibration(
        model=judge.model,
        parameters=dict(judge.parameters),
        form=form,
        run=folder.name,
        labels=None if labels is None else str(labels),
        verdicts=tuple(asked),
    )
    return found, _keep(found, calibration_file(folder.parent, judge, form))


def _cases(planned: Sequence[Planned], scores: Mapping[int, Sequence[Score]]) -> list[_Case]:
    """Every criterion that was computed."""
    found = []
    for one, scorer in _judging(planned):
        criteria = [score for score in scores.get(one.row.row, ()) if score.is_criterion]
        for place, score in enumerate(criteria):
            if score.value is not None and outcome_of(score) is None:
                found.append(_Case(one.row, scorer, place, score.value == 1.0))
    return found


def _labelled(planned: Sequence[Planned], labels: Path) -> list[_Case]:
    """Every criterion of which a person has said whether it passed."""
    by_row = {one.row.row: (one.row, scorer) for one, scorer in _judging(planned)}
    rubrics = [Rubric(row.row, row.id, scorer.criteria) for row, scorer in by_row.values()]
    return [
        _Case(*by_row[row], place, truth)
        for (row, place), truth in sorted(read_labels(labels, rubrics).items())
    ]


def _judging(planned: Sequence[Planned]) -> Iterator[tuple[Planned, Judging]]:
    for one in planned:
        scorer: object = one.scorer
        if isinstance(scorer, Judging):
            yield one, scorer


def _sample(cases: Sequence[_Case], count: int) -> list[_Case]:
    """So many cases, half of them passed and half failed as far as there are, spread over the scenarios."""
    passed, failed = (_spread([case for case in cases if case.truth is truth]) for truth in (True, False))
    pairs = [case for pair in zip(passed, failed, strict=False) for case in pair]
    common = min(len(passed), len(failed))
    return [*pairs, *passed[common:], *failed[common:]][:count]


def _spread(cases: Sequence[_Case]) -> list[_Case]:
    """The cases in an order whose beginning holds as many scenarios as there can be, and is the same every time."""
    waiting: dict[str, list[_Case]] = {}
    for case in cases:
        waiting.setdefault(case.row.scenario, []).append(case)
    columns = []
    for name in sorted(waiting):
        columns.append(sorted(waiting[name], key=lambda case: digest([case.row.id, case.place])))
    longest = max(map(len, columns), default=0)
    return [column[place] for place in range(longest) for column in columns if place < len(column)]


def _scorings(store: RunStore, mark: str, cases: Sequence[_Case]) -> list[str]:
    """The name of each pass: a new one after a judge that did not answer, so that it is asked again."""
    made: dict[str, dict[int, list[Score]]] = {}

    def failed(name: str, case: _Case) -> bool:
        if name not in made:
            made[name] = store.scores(name)
        return any(outcome_of(score) == "failed" for score in made[name].get(case.row.row, ()))

    names = []
    for case in cases:
        attempts = (f"{JUDGE} {mark[:16]} {case.place} {number}" for number in itertools.count())
        names.append(next(name for name in attempts if not failed(name, case)))
    return names


def _asked(case: _Case, score: Score) -> _Asked:
    outcome = outcome_of(score)
    assert outcome is not None, "a blind scorer asks the judge about everything"
    row = case.row
    return _Asked(
        scenario=row.scenario, episode=row.id, criterion=case.place, truth=case.truth, outcome=outcome
    )


def judge_digest(judge: ModelSpec, form: str) -> str:
    """What makes a judge judge as it does: model, parameters and prompts, but not where it is served."""
    return digest({"model": judge.model, "parameters": dict(judge.parameters), "form": form})


def calibration_file(runs_dir: Path, judge: ModelSpec, form: str) -> Path:
    """Where the calibration of a judge is kept."""
    return runs_dir / CALIBRATIONS / f"{judge_digest(judge, form)}.json"


def load_calibration(path: Path) -> Calibration | None:
    """What is kept of a judge; None if it was never calibrated.

    Raises:
        RecordError: the file cannot be read as one.
    """
    try:
        path.stat()
        return Calibration.model_validate_json(read_bytes(path, _LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, UsageError, ValidationError) as damage:
        raise RecordError(f"{path} cannot be read as a calibration: {damage}") from damage


def _keep(found: Calibration, path: Path) -> Path:
    """Write a calibration; an older one of the same judge gives way."""
    fresh = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(found.model_dump_json(indent=1) + "\n", "utf-8")
        os.replace(fresh, path)
    except OSError as failure:
        raise RecordError(f"cannot keep the calibration {path}: {failure}") from failure
    return path


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge's verdicts in a run amount to.

    Attributes:
        judge: model string.
        outcomes: what came of asking -> number of criteria, over all casts.
        pass_rate: of the contestant's criteria that were judged.
        corrected: the same, corrected for what the judge gets wrong; None without a calibration.
        calibration: what is known of the judge; None if it was never calibrated.
        file: where that is, or would be kept; None if it cannot be told.
        problem: why the calibration cannot be told; None if it can.
    """

    judge: str
    outcomes: Mapping[Outcome, int]
    pass_rate: Measure
    corrected: Measure | None = None
    calibration: Calibration | None = None
    file: Path | None = None
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        known = self.calibration
        return {
            "model": self.judge,
            "outcomes": dict(self.outcomes),
            "pass_rate": asdict(self.pass_rate),
            "corrected": None if self.corrected is None else asdict(self.corrected),
            "calibration": None if known is None else {"file": str(self.file), **known.summary()},
            "problem": self.problem,
        }


def judged(result: RunResult) -> Judged | None:
    """What a judge has said in a pass over a run, and how far it is to be trusted; None if there was no judge.

    Raises:
        RecordError: the record cannot be read.
    """
    with RunStore(result.folder) as store:
        scoring = scoring_of(store, result.scoring)
        judge = scoring.judge
        if judge is None:
            return None
        outcomes = dict.fromkeys(OUTCOMES, 0)
        verdicts: list[Verdict] = []
        contestant = result.episodes[-1].cast_name if result.episodes else ""
        for row in result.episodes:
            for score in result.scores.get(row.row, ()):
                outcome = outcome_of(score)
                if outcome is not None:
                    outcomes[outcome] += 1
                    if row.cast_name == contestant and row.counts:
                        verdicts.append(Verdict(row.scenario, outcome))
        found = Judged(judge.model, outcomes, passed(verdicts))
        try:
            file = calibration_file(result.folder.parent, judge, scoring.form)
            calibration = load_calibration(file)
        except WorldloomError as problem:  # a report of what was judged must not fail by what is beside it
            return replace(found, problem=str(problem))
        if calibration is None:
            return replace(found, file=file)
        better = corrected(verdicts, calibration.known())
        return replace(found, corrected=better, calibration=calibration, file=file)
