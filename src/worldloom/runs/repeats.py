"""Repeats: what playing a scenario several times tells: does it succeed once, does it succeed always, what varies?

pass@k is the chance that at least one of k episodes of a scenario passes (Chen et al. 2021), pass^k the chance that all
k do; both are estimated without bias from n >= k episodes and averaged over scenarios. The variance of scores is split
by the method of moments (nested analysis of variance, Searle 1971, chapter 11).
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldloom.runs.agreement import wilson
from worldloom.runs.statistics import Estimate, bootstrap_interval


@dataclass(frozen=True, slots=True)
class AtK:
    """The chances of k episodes of a scenario.

    Attributes:
        k: number of episodes.
        any: pass@k: at least one passes.
        all: pass^k: all pass.
    """

    k: int
    any: Estimate
    all: Estimate


def at_k(values: Iterable[tuple[str, float | None]], *, seed: int = 0) -> list[AtK]:
    """pass@k and pass^k for k = 1, 2, 4, … and the largest number of episodes that a scenario has.

    A scenario counts up to the k that it has scored episodes for; `scenarios` of each estimate says how many do.

    Args:
        values: (scenario, score) of each episode; None is unscored.

    Returns:
        Nothing if a score is neither 0 nor 1: then there is no passing.
    """
    scored: dict[str, list[float]] = defaultdict(list)
    unscored = 0
    for scenario, value in values:
        if value is None:
            unscored += 1
        else:
            scored[scenario].append(value)
    if any(value not in (0.0, 1.0) for found in scored.values() for value in found):
        return []
    counts = [(len(scored[name]), int(sum(scored[name]))) for name in sorted(scored)]
    most = max((n for n, _ in counts), default=0)
    found = []
    for k in sorted({*(2**power for power in range(most.bit_length())), most} - {0}):
        long = [(n, passed) for n, passed in counts if n >= k]
        episodes = sum(n for n, _ in long)
        some = [1 - math.comb(n - passed, k) / math.comb(n, k) for n, passed in long]
        every = [math.comb(passed, k) / math.comb(n, k) for n, passed in long]
        found.append(AtK(k, *(_share(shares, episodes, unscored, seed) for shares in (some, every))))
    return found


def _share(shares: list[float], episodes: int, unscored: int, seed: int) -> Estimate:
    """A mean of shares; where no scenario differs from another its interval is Wilson's, over scenarios."""
    mean, n = float(np.mean(shares)), len(shares)
    low, high = bootstrap_interval(np.array(shares), seed=seed) if n > 1 else (None, None)
    if low is not None and low == high:
        low, high = wilson(mean * n, n)
    return Estimate(mean, low, high, n, episodes, unscored)


@dataclass(frozen=True, slots=True)
class Variance:
    """Where the variance of scores comes from; in squared units of the score.

    Attributes:
        scenario: between scenarios; None below two of them.
        seed: between seeds of one scenario, and with `repeat` None all that varies within a scenario; None if no
            scenario was played twice.
        repeat: between episodes of the same scenario and seed: what servers and simulators do by chance; None if none
            was played twice.
        standard_error: of the mean over scenarios of the mean over their episodes; None if it cannot be told.
        shares: of the variance of that mean: source -> part of 1; empty if it cannot be told.
        scenarios, episodes: what it is estimated from.
    """

    scenario: float | None
    seed: float | None
    repeat: float | None
    standard_error: float | None
    shares: dict[str, float]
    scenarios: int
    episodes: int

    @property
    def endless_epochs(self) -> float | None:
        """The standard error that would be left with these scenarios, however often they were played."""
        if self.standard_error is None or not self.shares:
            return None
        return self.standard_error * math.sqrt(self.shares["scenario"])


def variance(values: Iterable[tuple[str, int, float | None]]) -> Variance:
    """Split the variance of scores between scenarios, seeds, and repeats of a seed.

    Components that come out negative, which happens by chance where they are small, are 0.

    Args:
        values: (scenario, seed, score) of each episode, in any order and number; None is left out.
    """
    cells: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, number, value in values:
        if value is not None:
            cells[name][number].append(value)
    groups = [[np.sort(cells[name][number]) for number in sorted(cells[name])] for name in sorted(cells)]
    wholes = [np.concatenate(group) for group in groups]
    sizes = [np.array([len(cell) for cell in group], float) for group in groups]
    a, b, n = len(groups), sum(map(len, groups)), sum(map(len, wholes))
    if not n:
        return Variance(None, None, None, None, {}, 0, 0)
    grand = float(np.concatenate(wholes).mean())
    of_repeats = sum(float(((cell - cell.mean()) ** 2).sum()) for group in groups for cell in group)
    of_seeds = sum(
        len(cell) * float(cell.mean() - whole.mean()) ** 2
        for group, whole in zip(groups, wholes, strict=True)
        for cell in group
    )
    of_scenarios = sum(len(whole) * float(whole.mean() - grand) ** 2 for whole in wholes)
    # Sums of squares are solved for the components that they are expected to be made of, for any numbers of episodes.
    squares = sum(float((size**2).sum()) for size in sizes)
    ratios = sum(float((size**2).sum() / size.sum()) for size in sizes)
    repeat = of_repeats / (n - b) if n > b else None
    seed = max(0.0, (of_seeds - (b - a) * (repeat or 0.0)) / (n - ratios)) if b > a else None
    scenario = None
    if a > 1:
        noise = (a - 1) * (repeat or 0.0) + (ratios - squares / n) * (seed or 0.0)
        scenario = max(0.0, (of_scenarios - noise) / (n - sum(len(whole) ** 2 for whole in wholes) / n))
    error, shares = _of_the_mean(scenario, seed, repeat, sizes)
    return Variance(scenario, seed, repeat, error, shares, a, n)


def _of_the_mean(
    scenario: float | None, seed: float | None, repeat: float | None, sizes: list[NDArray[np.float64]]
) -> tuple[float | None, dict[str, float]]:
    """Standard error of the mean over scenarios, and which part of its square comes from where."""
    if scenario is None or (seed is None and repeat is None):
        return None, {}
    # Of a scenario's mean, a seed with n of its N episodes has the weight n / N.
    parts = {"scenario": scenario}
    if seed is not None:
        parts["seed"] = seed * float(np.mean([((size / size.sum()) ** 2).sum() for size in sizes]))
    if repeat is not None:
        parts["repeat"] = repeat * float(np.mean([1 / size.sum() for size in sizes]))
    total = sum(parts.values())
    shares = {name: part / total for name, part in parts.items()} if total else {}
    return math.sqrt(total / len(sizes)), shares
