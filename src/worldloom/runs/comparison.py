"""Comparison: does one run score higher than another, and how much must be played to tell?

The unit is the scenario, because its episodes resemble one another: the difference is a mean over scenarios of paired
differences, with a bootstrap interval over scenarios. Beside it stands a test by sign flips (Fisher 1935): if it made
no difference who played, each scenario's difference would have either sign with the same chance. For a 0/1 score
played once a scenario that is McNemar's exact test (1947); unlike his test over episodes it stays valid for several.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from worldloom.core.arguments import whole
from worldloom.core.errors import UsageError
from worldloom.runs.agreement import wilson
from worldloom.runs.repeats import variance
from worldloom.runs.statistics import bootstrap_interval

Scored: TypeAlias = tuple[str, int, float | None]
"""Scenario, seed and score of one episode; None is unscored."""
Pairs: TypeAlias = Mapping[str, NDArray[np.float64]]
"""Scenario -> scores of pairs of episodes, shape (pairs, 2); NaN is unscored."""

FEWEST = 6
"""Scenarios below which no verdict is possible: all differing the same way, signs have p = 2 / 2**5 > 0.05 for five."""
FLIPS = 20_000
_Z = 1.959963984540054 + 0.8416212335729143
"""Normal quantiles of a two-sided test at 5 % and of a power of 80 %."""
_SMALL = 1.92
"""Scenarios that a test with an estimated variance needs beyond one with a known one: z² / 2 (Guenther 1981)."""
_FINEST = 840  # differences in multiples of 1/840 or coarser are counted out
_WORK = 50_000_000  # additions that counting out may take
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Power:
    """What can be found: with a chance of 80 %, at a level of 5 %.

    Attributes:
        detectable: the smallest difference, with as many scenarios and episodes as there are.
        scenarios: how many would be needed for the difference that was observed, each played as often as now.
        epochs: how often the present scenarios would have to be played for it.
        why: why there is no `epochs`.
    """

    detectable: float | None = None
    scenarios: int | None = None
    epochs: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """B − A in one score.

    Attributes:
        a, b: means over the compared scenarios; None if there are none.
        difference: b − a.
        low, high: its 95 % interval; None below two scenarios.
        p: two-sided, of the test by sign flips; None below one scenario.
        better, worse: scenarios in which B scores higher, and lower.
        scenarios: that are compared.
        pairs: pairs of episodes that are compared.
        by_seed: whether a pair has one seed; else the runs share none, and the first are paired, the second, and on.
        unpaired: episodes without a counterpart; they are left out, so that chance has the same part in both means.
        unscored: pairs that are left out because a score is missing.
        against: the difference if every missing score were the worst for who is ahead; None if nothing is missing or
            the score is no share.
        power: what can be found.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    better: int
    worse: int
    scenarios: int
    pairs: int
    by_seed: bool
    unpaired: int
    unscored: int
    against: float | None
    power: Power

    @property
    def told(self) -> bool:
        """Whether a difference can be told: the interval and the test agree that it is not 0."""
        if self.low is None or self.high is None or self.p is None:
            return False
        return (self.low > 0 or self.high < 0) and self.p <= 0.05

    @property
    def stands(self) -> bool:
        """Whether it is told, and would be one of the same sign if all that is missing went against it."""
        return self.told and (self.against is None or self.against * (self.difference or 0.0) > 0)


def difference(a: Iterable[Scored], b: Iterable[Scored], *, seed: int = 0) -> Difference:
    """Compare two runs in one score. Each plays a scenario with a seed once."""
    one, other = _by_scenario(a), _by_scenario(b)
    by_seed = any(one[name].keys() & other[name].keys() for name in one.keys() & other.keys())
    everything = _pairs(one, other, by_seed)
    total = sum(len(cells) for side in (one, other) for cells in side.values())
    unpaired = total - 2 * sum(map(len, everything.values()))
    sound = {name: cells[~np.isnan(cells).any(axis=1)] for name, cells in everything.items()}
    pairs = {name: cells for name, cells in sound.items() if len(cells)}
    unscored = sum(map(len, everything.values())) - sum(map(len, pairs.values()))
    if not pairs:
        nothing = (None, None, None, None, None, None, 0, 0, 0, 0)
        return Difference(*nothing, by_seed, unpaired, unscored, None, Power())
    means = np.array([cells.mean(axis=0) for cells in pairs.values()])
    # Rounded, so that equal differences are equal whatever they were computed from.
    found: NDArray[np.float64] = np.round(means[:, 1] - means[:, 0], 12)
    mean = round(float(found.mean()), 12)
    share = all(bool(np.all((cells >= 0) & (cells <= 1))) for cells in pairs.values())
    low, high = _interval(found, share, seed)
    return Difference(
        float(means[:, 0].mean()),
        float(means[:, 1].mean()),
        mean,
        low,
        high,
        sign_flips(found, seed=seed),
        int((found > 0).sum()),
        int((found < 0).sum()),
        len(found),
        sum(map(len, pairs.values())),
        by_seed,
        unpaired,
        unscored,
        _against(everything, mean) if unscored and share else None,
        _power(found, pairs),
    )


Cells: TypeAlias = Mapping[str, Mapping[int, float | None]]
"""Scenario -> seed -> score."""


def _by_scenario(values: Iterable[Scored]) -> Cells:
    found: dict[str, dict[int, float | None]] = {}
    for scenario, seed, value in values:
        found.setdefault(scenario, {})[seed] = value
    return {name: dict(sorted(found[name].items())) for name in sorted(found)}


def _pairs(one: Cells, other: Cells, by_seed: bool) -> Pairs:
    found = {}
    for name, xs in one.items():
        ys = other.get(name, {})
        seeds = [(seed, seed) for seed in xs if seed in ys] if by_seed else list(zip(xs, ys, strict=False))
        if seeds:
            found[name] = np.array([(xs[x], ys[y]) for x, y in seeds], float)
    return found


def _against(pairs: Pairs, mean: float) -> float:
    """The difference if every missing score were the worst for who is ahead."""
    worst = (1.0, 0.0) if mean > 0 else (0.0, 1.0)
    filled = [np.where(np.isnan(cells), worst, cells).mean(axis=0) for cells in pairs.values()]
    return float(np.mean([b - a for a, b in filled]))


def _interval(found: NDArray[np.float64], share: bool, seed: int) -> tuple[float | None, float | None]:
    """The bootstrap interval of a mean difference; a blind one says how often scenarios may differ after all."""
    n = len(found)
    if n < 2:
        return None, None
    if np.ptp(found):
        return bootstrap_interval(found, seed=seed)
    if not share:
        return None, None
    # None of n scenarios differs from `every`; up to this share of all could, by anything that shares allow.
    every, others = float(found[0]), wilson(0, n)[1]
    return every - others * (every + 1), every + others * (1 - every)


def sign_flips(differences: Sequence[float] | NDArray[np.float64], *, seed: int = 0) -> float:
    """The two-sided p that a sum of differences is as far from 0, were each sign a fair coin.

    Counted out if the differences are multiples of a common fraction, as those of 0/1 scores are; else from 20,000
    seeded draws, the observed one among them.
    """
    moved = np.asarray(differences, float)
    moved = np.sort(moved[np.abs(moved) > _ROUNDING])
    if not len(moved):
        return 1.0
    steps = _in_steps(moved)
    if steps is not None and len(steps) * int(np.abs(steps).sum()) <= _WORK:
        return _counted_out(steps)
    rng = np.random.Generator(np.random.Philox(key=seed))
    observed, hits = abs(moved.sum()) - _ROUNDING, 1
    block = max(1, min(FLIPS, 2_000_000 // len(moved)))
    for start in range(1, FLIPS, block):
        plus = rng.integers(2, size=(min(block, FLIPS - start), len(moved)), dtype=np.int8).astype(float)
        hits += int((np.abs(plus @ (2 * moved) - moved.sum()) >= observed).sum())
    return hits / FLIPS


def _in_steps(moved: NDArray[np.float64]) -> NDArray[np.int_] | None:
    """The numbers in units of the coarsest fraction 1/m that they are multiples of; None if there is none."""
    units = np.arange(1, _FINEST + 1)
    # The first few rule out most units, and bound the memory.
    for unit in units[_whole(units[:, None] * moved[:50]).all(axis=1)]:
        if _whole(moved * unit).all():
            steps: NDArray[np.int_] = np.rint(moved * unit).astype(int)
            return steps
    return None


def _whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.abs(values - np.rint(values)) < _ROUNDING


def _counted_out(steps: NDArray[np.int_]) -> float:
    """The p of `sign_flips` for whole numbers, by adding up the chances of every sum."""
    sizes = np.abs(steps)
    total = int(sizes.sum())
    # chance[j]: that the numbers with a plus add up to j; then all add up to 2 j - total.
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for size in sizes:
        shifted = np.zeros(total + 1)
        shifted[size:] = chance[:-size]
        chance = (chance + shifted) / 2
    far = np.abs(2 * np.arange(total + 1) - total) >= abs(int(steps.sum()))
    return min(1.0, float(chance[far].sum()))


def _power(found: NDArray[np.float64], pairs: Pairs) -> Power:
    """What differences that vary like these can tell."""
    n, mean = len(found), float(found.mean())
    if n < FEWEST:
        return Power(why=f"fewer than {FEWEST} scenarios say too little about others")
    if not np.ptp(found):
        return Power(why="no scenario differs from another")
    spread = float(found.std(ddof=1))
    detectable = _Z * spread / math.sqrt(n - _SMALL)
    if abs(mean) < _ROUNDING:
        return Power(detectable, why="there is no difference to find")
    scenarios = max(FEWEST, math.ceil((_Z * spread / mean) ** 2 + _SMALL))
    parts = variance(
        (name, place, float(y - x)) for name, cells in pairs.items() for place, (x, y) in enumerate(cells)
    )
    if parts.seed is None or parts.scenario is None:
        return Power(
            detectable, scenarios, why="one episode a scenario does not tell scenarios and chance apart"
        )
    left = (mean / _Z) ** 2 * (n - _SMALL) - parts.scenario
    if left <= 0:
        return Power(
            detectable, scenarios, why="these scenarios differ too much, however often they are played"
        )
    return Power(detectable, scenarios, max(1, math.ceil(parts.seed / left)))


def mde(
    scenarios: int, epochs: int = 1, *, mean: float = 0.5, between: float = 0.5, shared: float = 0.5
) -> float:
    """The smallest difference of two 0/1 scores that a design finds with a chance of 80 %, at a level of 5 %.

    A score with this mean has the variance mean (1 - mean), of which `between` lies between scenarios and the rest
    within them; of what lies between scenarios, `shared` is common to both contestants and cancels. A paired
    difference of `epochs` episodes then has the variance 2 mean (1 - mean) (between (1 - shared) + (1 - between) /
    epochs). Scores between 0 and 1 that are no 0/1 scores vary less, so for them it is an upper bound.

    Args:
        scenarios: that both play, 6 or more.
        epochs: how often each plays each.
        mean: expected share of passes; 0.5 is the worst case.
        between: from 0 (every scenario alike) to 1 (each always ends the same way).
        shared: from 0 (who plays decides which scenarios are hard) to 1 (the same ones are hard for both).

    Raises:
        UsageError: an argument is out of range.
    """
    whole("scenarios", scenarios, FEWEST)
    whole("epochs", epochs, 1)
    for name, value in (("mean", mean), ("between", between), ("shared", shared)):
        if not 0.0 <= value <= 1.0:
            raise UsageError(f"{name} is {value!r}; allowed: 0 to 1")
    spread = 2 * mean * (1 - mean) * (between * (1 - shared) + (1 - between) / epochs)
    return _Z * math.sqrt(spread / (scenarios - _SMALL))
