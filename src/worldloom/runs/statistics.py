"""Statistics over scores: a mean never stands without its interval and its n.

Intervals are percentile bootstraps (Efron 1979) over scenarios, because episodes of one scenario resemble one
another; the resampling is seeded, so the same scores give the same interval. A mean over scenarios is an `Estimate`, a
share of all calls a `Rate`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldloom.runs.agreement import wilson

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over scenarios with its 95 % bootstrap interval.

    Attributes:
        mean: None if nothing was scored.
        low, high: None below two scenarios: resampling a single one says nothing about others.
        scenarios: number of scenarios with a scored episode.
        episodes: number of scored episodes.
        unscored: number of episodes without a score; they are left out of the mean.
    """

    mean: float | None
    low: float | None
    high: float | None
    scenarios: int
    episodes: int
    unscored: int = 0


def estimate(values: Iterable[tuple[str, float | None]], *, seed: int = 0) -> Estimate:
    """The mean over scenarios of each scenario's mean.

    Where no scenario differs from another a bootstrap is blind, and would give an interval of no width; for a share the
    interval is then Wilson's, with the scenarios as its n.

    Args:
        values: (scenario, score) of each episode; None is unscored.
    """
    by_scenario: dict[str, list[float]] = {}
    unscored = 0
    for scenario, value in values:
        if value is None:
            unscored += 1
        else:
            by_scenario.setdefault(scenario, []).append(value)
    if not by_scenario:
        return Estimate(None, None, None, 0, 0, unscored)
    means = np.array([np.mean(by_scenario[name]) for name in sorted(by_scenario)])
    mean = float(means.mean())
    low, high = bootstrap_interval(means, seed=seed) if len(means) > 1 else (None, None)
    if low is not None and low == high and 0.0 <= mean <= 1.0:
        low, high = wilson(mean * len(means), len(means))
    episodes = sum(len(scores) for scores in by_scenario.values())
    return Estimate(mean, low, high, len(means), episodes, unscored)


def bootstrap_interval(
    means: NDArray[np.float64], *, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of `means`, shape (n,)."""
    return _resampled_interval(means, lambda draws: draws.mean(axis=1), seed, level)


def _resampled_interval(
    sample: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seed: int,
    level: float = 0.95,
) -> tuple[float, float]:
    """Percentile bootstrap interval.

    Args:
        sample: one row for each scenario, shape (n, ...).
        statistic: of resamples, shape (rows, n, ...), the value of each, shape (rows,).
    """
    rng = np.random.Generator(np.random.Philox(key=seed))
    # Blocks of resamples bound the memory: n = 10,000 would need 800 MB at once.
    block = max(1, min(RESAMPLES, 2_000_000 // len(sample)))
    values: list[NDArray[np.float64]] = []
    for start in range(0, RESAMPLES, block):
        rows = min(block, RESAMPLES - start)
        values.append(statistic(sample[rng.integers(len(sample), size=(rows, len(sample)))]))
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(np.concatenate(values), [tail, 100 - tail])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of calls with its 95 % interval.

    Attributes:
        value: None if nothing was counted.
        low, high: None below two scenarios.
        scenarios: number of scenarios with a counted call.
        n: number of counted calls.
    """

    value: float | None
    low: float | None
    high: float | None
    scenarios: int
    n: int


def rate(counts: Iterable[tuple[str, int, int]], *, seed: int = 0) -> Rate:
    """The share of hits among all calls: a ratio of sums, since scenarios have different numbers of calls.

    The interval resamples whole scenarios. Where no scenario differs from another that is blind; then it is Wilson's,
    with the scenarios and not the calls as its n.

    Args:
        counts: (scenario, hits, calls) of each episode.
    """
    by_scenario: dict[str, list[int]] = {}
    for scenario, hits, calls in counts:
        if calls:
            found = by_scenario.setdefault(scenario, [0, 0])
            found[0], found[1] = found[0] + hits, found[1] + calls
    if not by_scenario:
        return Rate(None, None, None, 0, 0)
    cells = np.array([by_scenario[name] for name in sorted(by_scenario)], float)
    hits, n = cells.sum(0)
    value = float(hits / n)
    if len(cells) < 2:
        return Rate(value, None, None, 1, int(n))
    low, high = _resampled_interval(cells, _ratios, seed)
    if low == high:
        low, high = wilson(value * len(cells), len(cells))
    return Rate(value, low, high, len(cells), int(n))


def _ratios(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hits over calls of each resample; `draws` has shape (rows, scenarios, 2)."""
    sums = draws.sum(axis=1)
    ratios: NDArray[np.float64] = sums[:, 0] / sums[:, 1]
    return ratios
