"""The published directions of AI-Work, and what is measured for each in a study that was played."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.api.sweeping import Sweep
from worldloom.core.event import Event
from worldloom.core.registry import Registry
from worldloom.core.study import load_study
from worldloom.graphs.market.summary import ROUND
from worldloom.graphs.market.view import past_of
from worldloom.runs.statistics import Estimate
from worldloom.runs.store import RunStore
from worldloom.worlds.market.moves import NONE
from worldloom.worlds.market.record import RoundRecord

STUDIES = Path(__file__).parents[1] / "graphs" / "market" / "studies"
BySeed = Mapping[int, float]
"""Seed -> what was measured."""
Measure = Callable[["Played"], BySeed]


@dataclass(frozen=True)
class Played:
    """A study that was played.

    Attributes:
        took_s: seconds.
    """

    name: str
    sweep: Sweep
    took_s: float

    def scores(self, variant: str, metric: str) -> dict[int, float]:
        """What is scored of a metric, by seed."""
        (row,) = (row for row in self.sweep.rows if row.variant.name == variant)
        return {seed: value for seed, value in row.scores[metric].items() if value is not None}

    def rounds(self, variant: str) -> dict[int, list[dict[str, Any]]]:
        """The rounds of a variant in a few numbers, by seed."""
        return {
            seed: [event.body for event in events if event.type == ROUND]
            for seed, events, _ in self._episodes(variant)
        }

    def records(self, variant: str) -> dict[int, tuple[RoundRecord, ...]]:
        """The rounds of a variant as columns, by seed."""
        study = load_study(STUDIES / f"{self.name}.yaml", Registry.discover())
        scenario = next(one for one in study.scenarios if one.id == self._scenario(variant))
        return {
            seed: past_of(scenario, events, store.blob).rounds
            for seed, events, store in self._episodes(variant)
        }

    def _scenario(self, variant: str) -> str:
        return next(row.variant.scenario for row in self.sweep.rows if row.variant.name == variant)

    def _episodes(self, variant: str) -> Iterator[tuple[int, list[Event], RunStore]]:
        """Seed, events in key order, and the record."""
        scenario = self._scenario(variant)
        with RunStore(self.sweep.result.folder) as store:
            for row in store.episodes():
                if row.scenario == scenario:
                    yield row.seed, list(store.events(row.row).values()), store


@dataclass(frozen=True)
class Direction:
    """Something that was published, and what is measured for it.

    Attributes:
        published: the statement.
        measured: what stands in the page's column of that name.
        study: name of its file.
        value: what is measured.
        none: the value of no effect.
        wanted: what the mean must reach; it lies on the published side of `none`.
    """

    published: str
    measured: str
    study: str
    value: Measure
    wanted: float
    none: float = 0.0

    def verdict(self, found: Estimate) -> str:
        """Whether it holds."""
        if found.mean is None or found.low is None or found.high is None:
            return "not measured"
        sign = 1.0 if self.wanted > self.none or (self.wanted == self.none) else -1.0
        low, high = sorted(sign * (edge - self.none) for edge in (found.low, found.high))
        if high < 0:
            return "**no**: the opposite"
        if low <= 0:
            return "**no**: no difference shown"
        reached = sign * found.mean >= sign * self.wanted
        return "yes" if reached else f"**no**: the direction holds, {self.wanted:g} is not reached"


# What is measured


def difference(metric: str, first: str, second: str) -> Measure:
    """A variant less another one, seed by seed."""

    def of(played: Played) -> BySeed:
        one, other = played.scores(first, metric), played.scores(second, metric)
        return {seed: other[seed] - one[seed] for seed in one if seed in other}

    return of


def score(metric: str, variant: str) -> Measure:
    """A metric of a variant."""
    return lambda played: played.scores(variant, metric)


def late(name: str, first: str, second: str) -> Measure:
    """As `difference`, of a number of rounds, over the last ten."""

    def of(played: Played) -> BySeed:
        one, other = (
            {
                seed: float(np.mean([row[name] for row in rounds[-10:] if row[name] is not None]))
                for seed, rounds in played.rounds(variant).items()
            }
            for variant in (first, second)
        )
        return {seed: other[seed] - one[seed] for seed in one}

    return of


def okun_slope(variant: str) -> Measure:
    """By how many per cent of its mean output changes when unemployment changes by one point in a hundred."""

    def of(played: Played) -> BySeed:
        found = {}
        for seed, rounds in played.rounds(variant).items():
            pairs = [
                (one["unemployment"], one["output"]) for one in rounds if one["unemployment"] is not None
            ]
            jobless, output = np.array(pairs, dtype=np.float64).T
            change = np.diff(jobless)
            if np.any(change):
                found[seed] = float(np.sum(change * np.diff(output)) / np.sum(change**2) / np.mean(output))
        return found

    return of


def utility_by_behaviour(played: Played) -> BySeed:
    """Client utility under performance pay, less that under fixed pay if its work had been paid by performance too."""
    paid = played.scores("pay=performance", "client_utility")
    found = {}
    for seed, records in played.records("pay=fixed").items():
        rounds = []
        for one in records:
            done = np.not_equal(one.winner, NONE)
            if done.any():
                rounds.append(np.mean(one.performance[done] * (1.0 - one.price[done] / one.budget[done])))
        found[seed] = paid[seed] - float(np.mean(rounds))
    return found


def recession_training(played: Played) -> BySeed:
    """Agents that train in the rounds of recessions, as a multiple of those in the same rounds without recessions."""
    plain, shocked = played.rounds("no recession"), played.rounds("recessions")
    found = {}
    for seed in plain:
        count = [
            sum(one["training"] for one in rounds[seed] if one["round"] // 10 % 3 == 1)
            for rounds in (plain, shocked)
        ]
        if count[0]:
            found[seed] = count[1] / count[0]
    return found


DIRECTIONS = (
    Direction(
        "Inequality grows with what one agent can do in a round",
        "Gini with 1 skill, capacity 8 less capacity 1",
        "inequality",
        difference("gini", "1 skill, capacity 1", "1 skill, capacity 8"),
        0.2,
    ),
    Direction(
        "The same",
        "as above, with 4 jobs instead of 16",
        "inequality-more-jobs",
        difference("gini", "1 skill, capacity 1", "1 skill, capacity 8"),
        0.2,
    ),
    Direction(
        "Gini 0.70 with one kind of task, 0.24 with diverse ones, at high capacity",
        "Gini at capacity 8, 1 skill less 8 skills, 16 jobs in both",
        "inequality",
        difference("gini", "8 skills, capacity 8", "1 skill, capacity 8"),
        0.2,
    ),
    Direction(
        "The same",
        "as above, with 4 jobs for each skill, so 4 and 32",
        "inequality-more-jobs",
        difference("gini", "8 skills, capacity 8", "1 skill, capacity 8"),
        0.2,
    ),
    Direction(
        "Okun: unemployment and output move inversely",
        "correlation of their changes from round to round",
        "work",
        score("okun", "as the paper's studies"),
        -0.3,
    ),
    Direction(
        "Okun: about 2 to 1",
        "% of output for a point of unemployment",
        "work",
        okun_slope("as the paper's studies"),
        -2.0,
    ),
    Direction(
        "Beveridge: vacancies and unemployment trace a hyperbola",
        "correlation of the two over rounds, below 0",
        "work",
        score("beveridge", "as the paper's studies"),
        -1e-9,
    ),
    Direction(
        "Beveridge",
        "the same with recessions",
        "recession",
        score("beveridge", "recessions"),
        -1e-9,
    ),
    Direction(
        "Open bidding brings lasting deflation",
        "winning price / budget among undercutters, open less sealed",
        "undercutters",
        difference("price_ratio", "disclosure=sealed", "disclosure=open"),
        -0.1,
    ),
    Direction(
        "The same",
        "as above, over the last ten of 50 rounds",
        "undercutters",
        late("price_ratio", "disclosure=sealed", "disclosure=open"),
        -0.1,
    ),
    Direction(
        "Open bidding brings less training",
        "training rate of q_learner beside undercutters, open less sealed",
        "open-bidding",
        difference("training_rate:q_learner", "disclosure=sealed", "disclosure=open"),
        -1e-9,
    ),
    Direction(
        "Performance pay raises client utility (0.31 to 0.66)",
        "client utility, performance pay less fixed pay",
        "performance-pay",
        difference("client_utility", "pay=fixed", "pay=performance"),
        0.0,
    ),
    Direction(
        "The same",
        "as above, less what the lower pay alone would come to in the market of fixed pay",
        "performance-pay",
        utility_by_behaviour,
        0.0,
    ),
    Direction(
        "Performance pay raises training",
        "training rate of q_learner, performance pay less fixed pay",
        "performance-pay",
        difference("training_rate:q_learner", "pay=fixed", "pay=performance"),
        0.0,
    ),
    Direction(
        "A recession triples training",
        "agents that train in rounds of recession / in the same rounds without",
        "recession",
        recession_training,
        3.0,
        none=1.0,
    ),
)
