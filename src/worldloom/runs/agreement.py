"""Agreement: how a judge's verdicts stand among scores, and how far they agree with verdicts that are known.

Intervals are 95 % percentile bootstraps over scenarios, as in `runs.statistics`: criteria of one scenario resemble one
another. Where no scenario differs from another the bootstrap is blind; a share then gets the Wilson interval (1927),
with the scenarios and not the criteria as its n. What a sample cannot tell is None, with the reason.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from worldloom.runs.rows import Score

Outcome: TypeAlias = Literal["met", "not_met", "cannot_tell", "unparseable", "order", "failed"]
"""What came of asking a judge: a verdict, or why there is none."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
RESAMPLES = 4_000
_Z = 1.959963984540054
_LONGEST = 500
_JUDGE = "judge"
_WHY: dict[Outcome, str] = {
    "cannot_tell": "cannot tell",
    "unparseable": "no usable verdict",
    "order": "changed its verdict with the order",
    "failed": "did not answer",
}


def judged_score(name: str, outcome: Outcome, detail: str = "") -> Score:
    """The score of a criterion that a judge was asked about.

    Args:
        detail: its reasoning, or what was wrong; of a long one the beginning is kept.
    """
    kept = detail if len(detail) <= _LONGEST else detail[:_LONGEST] + "…"
    if outcome in ("met", "not_met"):
        return Score(name, float(outcome == "met"), 1, "criterion", _JUDGE, "" if outcome == "met" else kept)
    why = f"{_JUDGE}: {_WHY[outcome]}" + (f": {kept}" if kept else "")
    return Score(name, None, 1, "criterion", "unscored", why)


def outcome_of(score: Score) -> Outcome | None:
    """What a judge said of a criterion; None if it was not asked."""
    if score.how == _JUDGE:
        return "met" if score.value == 1.0 else "not_met"
    if score.how == "unscored":
        for outcome, why in _WHY.items():
            if score.detail.startswith(f"{_JUDGE}: {why}"):
                return outcome
    return None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of one criterion of one episode.

    Attributes:
        scenario: whose criterion it is; verdicts are resampled by it.
        outcome: what came of asking.
        truth: whether it passed, if that is known otherwise.
    """

    scenario: str
    outcome: Outcome
    truth: bool | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """A number over a sample.

    Attributes:
        value: None if the sample cannot tell it.
        low, high: its 95 % interval; None if there is none.
        n: criteria that it is over.
        why: why there is no value or no interval; empty if there are both.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with what is known.

    Attributes:
        asked: criteria that the judge was asked about.
        judged: those of which it gave a verdict; all measures but the rates of failure are over these.
        scenarios: from how many scenarios they come.
        agreement: share of verdicts that are right.
        kappa: Cohen's kappa (1960): agreement beyond what the two pass rates give by chance.
        sensitivity: share of what passed that the judge says passed.
        specificity: share of what failed that the judge says failed.
        unparseable, order, cannot_tell, failed: shares of `asked` without a verdict, by the reason.
        pass_rate: share that passed as the judge has it.
        true_rate: share that passed in truth.
    """

    asked: int
    judged: int
    scenarios: int
    agreement: Measure
    kappa: Measure
    sensitivity: Measure
    specificity: Measure
    unparseable: Measure
    order: Measure
    cannot_tell: Measure
    failed: Measure
    pass_rate: Measure
    true_rate: Measure


Cells: TypeAlias = NDArray[np.float64]
"""Counts; the last axis is (truth is true, truth is false) x OUTCOMES, 12 cells."""
_KINDS = len(OUTCOMES)
_TP, _FN, _FP, _TN = 0, 1, _KINDS, _KINDS + 1


def agree(verdicts: Sequence[Verdict], *, seed: int = 0) -> Agreement:
    """Measure a judge against known truths; verdicts without one are left out."""
    known = [verdict for verdict in verdicts if verdict.truth is not None]
    counts, again = _resampled(known, seed)

    def rate(of: Callable[[Cells], Cells], among: Callable[[Cells], Cells], lacking: str) -> Measure:
        return _share(counts, again, of, among, lacking)

    def none(outcome: Outcome) -> Measure:
        place = OUTCOMES.index(outcome)
        return rate(
            lambda c: c[..., place] + c[..., _KINDS + place], lambda c: c.sum(-1), "nothing was asked"
        )

    nothing = "the judge gave no verdict"
    return Agreement(
        len(known),
        int(_judged(counts.sum(0))),
        len(counts),
        rate(lambda c: c[..., _TP] + c[..., _TN], _judged, nothing),
        _kappa(counts, again),
        rate(lambda c: c[..., _TP], lambda c: c[..., _TP] + c[..., _FN], "no criterion passed in truth"),
        rate(lambda c: c[..., _TN], lambda c: c[..., _TN] + c[..., _FP], "no criterion failed in truth"),
        none("unparseable"),
        none("order"),
        none("cannot_tell"),
        none("failed"),
        rate(lambda c: c[..., _TP] + c[..., _FP], _judged, nothing),
        rate(lambda c: c[..., _TP] + c[..., _FN], _judged, nothing),
    )


def passed(verdicts: Sequence[Verdict], *, seed: int = 0) -> Measure:
    """The share of criteria that a judge says passed, of those of which it gave a verdict."""
    counts, again = _resampled([Verdict(one.scenario, one.outcome, True) for one in verdicts], seed)
    return _share(counts, again, lambda c: c[..., _TP], _judged, "the judge gave no verdict")


def corrected(verdicts: Sequence[Verdict], calibration: Sequence[Verdict], *, seed: int = 0) -> Measure:
    """The pass rate that a judge of known sensitivity and specificity has seen (Rogan & Gladen 1978).

    (pass rate + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1]. The interval resamples both
    samples. A resample in which the judge is no better than chance leaves everything open: it counts as 0 for the
    lower end and as 1 for the upper one.

    Args:
        verdicts: what the judge said of criteria whose truth is not known.
        calibration: what it said of criteria whose truth is known.
    """
    seen, seen_again = _resampled([Verdict(one.scenario, one.outcome, True) for one in verdicts], seed)
    known, known_again = _resampled([one for one in calibration if one.truth is not None], seed + 1)
    total, tested = seen.sum(0), known.sum(0)
    n = int(_judged(total))
    if not n:
        return Measure(None, None, None, 0, "the judge gave no verdict")
    if not tested[_TP] + tested[_FN] or not tested[_TN] + tested[_FP]:
        lacking = "failed" if tested[_TP] + tested[_FN] else "passed"
        return Measure(None, None, None, n, f"cannot be corrected: no criterion of the calibration {lacking}")
    value = float(_rogan_gladen(total, tested))
    if math.isnan(value):
        why = "cannot be corrected: the judge is no better than chance (sensitivity + specificity <= 1)"
        return Measure(None, None, None, n, why)
    if seen_again is None or known_again is None:
        return Measure(value, None, None, n, _ONE_SCENARIO)
    values = _rogan_gladen(seen_again, known_again)
    open_ = np.isnan(values)
    low = np.percentile(np.where(open_, 0.0, values), 2.5)
    high = np.percentile(np.where(open_, 1.0, values), 97.5)
    return Measure(value, float(low), float(high), n)


_ONE_SCENARIO = "no interval: all comes from one scenario, which says nothing about others"


def wilson(successes: float, n: float) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share."""
    share, z2 = successes / n, _Z * _Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def _resampled(verdicts: Sequence[Verdict], seed: int) -> tuple[Cells, Cells | None]:
    """Counts by scenario, shape (scenarios, 12), and of resamples, shape (RESAMPLES, 12); None below 2 scenarios."""
    names = sorted({verdict.scenario for verdict in verdicts})
    place = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(names), 2 * _KINDS))
    for verdict in verdicts:
        column = OUTCOMES.index(verdict.outcome) + (0 if verdict.truth else _KINDS)
        counts[place[verdict.scenario], column] += 1
    if len(names) < 2:
        return counts, None
    rng = np.random.Generator(np.random.Philox(key=seed))
    weights = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    return counts, weights @ counts


def _judged(cells: Cells) -> Cells:
    return cells[..., _TP] + cells[..., _FN] + cells[..., _FP] + cells[..., _TN]


def _ratio(above: Cells, below: Cells) -> Cells:
    """The quotient; NaN where there is nothing to divide by."""
    found: Cells = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=found, where=np.asarray(below) > 0)
    return found


def _share(
    counts: Cells,
    again: Cells | None,
    of: Callable[[Cells], Cells],
    among: Callable[[Cells], Cells],
    lacking: str,
) -> Measure:
    total = counts.sum(0)
    n = int(among(total))
    if not n:
        return Measure(None, None, None, 0, lacking)
    value = float(of(total) / n)
    if again is None:
        return Measure(value, None, None, n, _ONE_SCENARIO)
    low, high = _interval(_ratio(of(again), among(again)))
    if low is None or low == high:
        scenarios = int((among(counts) > 0).sum())
        low, high = wilson(value * scenarios, scenarios)
    return Measure(value, low, high, n)


def _interval(values: Cells) -> tuple[float | None, float | None]:
    """The middle 95 % of resamples; (None, None) if one in twenty or more has no value."""
    sound = values[~np.isnan(values)]
    if len(sound) <= 0.95 * len(values):
        return None, None
    low, high = np.percentile(sound, [2.5, 97.5])
    return float(low), float(high)


def _kappa(counts: Cells, again: Cells | None) -> Measure:
    total = counts.sum(0)
    n = int(_judged(total))
    if not n:
        return Measure(None, None, None, 0, "the judge gave no verdict")
    positive = int(total[_TP] + total[_FN])
    if positive in (0, n):
        kind = "passed" if positive else "failed"
        return Measure(None, None, None, n, f"undefined: all criteria of the sample {kind} in truth")
    value = float(_kappas(total))
    if again is None:
        return Measure(value, None, None, n, _ONE_SCENARIO)
    low, high = _interval(_kappas(again))
    if low is None or low == high:
        return Measure(value, None, None, n, "no interval: resampling the scenarios gives no other value")
    return Measure(value, low, high, n)


def _kappas(cells: Cells) -> Cells:
    """Cohen's kappa; NaN where chance alone would give full agreement."""
    n = _judged(cells)
    yes, true = cells[..., _TP] + cells[..., _FP], cells[..., _TP] + cells[..., _FN]
    chance = _ratio(yes * true + (n - yes) * (n - true), n * n)
    found = _ratio(cells[..., _TP] + cells[..., _TN], n)
    return _ratio(found - chance, 1 - chance)


def _rogan_gladen(seen: Cells, known: Cells) -> Cells:
    rate = _ratio(seen[..., _TP], _judged(seen))
    sensitivity = _ratio(known[..., _TP], known[..., _TP] + known[..., _FN])
    specificity = _ratio(known[..., _TN], known[..., _TN] + known[..., _FP])
    found: Cells = np.clip(_ratio(rate + specificity - 1, sensitivity + specificity - 1), 0.0, 1.0)
    return found
