"""Scorer of kind market: what the record says of a market, and of each group of agents in it.

Means over rounds, unless said otherwise. A metric that has no value (a price where nothing was sold) is unscored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from worldloom.graphs.config import GraphConfig
from worldloom.graphs.market.summary import MARKET, ROUND
from worldloom.runs.context import Context
from worldloom.runs.rows import Score
from worldloom.runs.scorer import EpisodeRecord
from worldloom.worlds.market.body import Recession, body_of
from worldloom.worlds.market.metrics import correlation, recovery

BY_ROUND = ("unemployment", "vacancy", "output", "price_ratio", "client_utility")
BY_AGENT = ("training_rate", "win_rate", "bid_ratio", "specialisation", "rank_spread", "skill")


class MarketScorer:
    """Scores the episodes of one market."""

    about: ClassVar[Mapping[str, str]] = {
        "unemployment": "share of the agents that bid and got no job, mean over rounds",
        "vacancy": "share of the listed jobs that nobody took, mean over rounds",
        "output": "budget · performance of all work in a round, in money, mean over rounds",
        "price_ratio": "price / budget of the jobs that were done, mean over rounds",
        "client_utility": "performance − pay / budget of the jobs that were done, mean over rounds",
        "gini": "how unequal rewards are at the end: 0 all alike, near 1 one agent has all",
        "okun": "correlation of the changes of unemployment and output from round to round, −1 to 1",
        "beveridge": "correlation of unemployment and vacancy over rounds, −1 to 1",
        "recovery": "output of the 10 rounds after the first recession / that of the 10 before it",
        "share": "share of all rewards that the group has together",
        "reward": "what an agent has earned in all rounds, in money, mean per agent",
        "training_rate": "share of the rounds in which an agent trained, mean per agent",
        "win_rate": "jobs won / the smaller of bids and capacity, in rounds with a bid, mean per agent",
        "bid_ratio": "price / budget of all bids of an agent, won or not, mean per agent",
        "specialisation": "1: all jobs of an agent in one skill, 0: evenly in all, mean per agent",
        "rank_spread": "worst less best place by reward that an agent ever had, mean per agent",
        "skill": "true skill at the end, 0 to 1, mean over all skills, then per agent",
    }
    """What each metric is, also of a group: `share:GROUP` is `share` of it."""

    def __init__(self, config: GraphConfig) -> None:
        self._body = body_of(config.scenario)

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        """Metrics of the market, then `share:GROUP` and the like of each group."""
        rounds = [event.body for event in record.of_type(ROUND)]
        ends = record.of_type(MARKET)
        found = [_score(name, _known(rounds, name), "round") for name in BY_ROUND]
        found += [_last("gini", rounds), *self._relations(rounds)]
        return [*found, *(_of_agents(ends[-1].body) if ends else ())]

    def _relations(self, rounds: Sequence[Mapping[str, Any]]) -> list[Score]:
        """Okun: changes of unemployment and output. Beveridge: unemployment and vacancy. Recovery after a recession."""
        whole = [one for one in rounds if one["unemployment"] is not None and one["vacancy"] is not None]
        jobless, output, vacancy = (
            np.array([one[name] for one in whole], dtype=np.float64)
            for name in ("unemployment", "output", "vacancy")
        )
        scores = [
            _value(
                "okun", correlation(np.diff(jobless), np.diff(output)) if len(whole) > 2 else None, len(whole)
            ),
            _value("beveridge", correlation(jobless, vacancy) if len(whole) > 2 else None, len(whole)),
        ]
        for shock in self._body.shocks:
            if isinstance(shock, Recession):
                start = shock.block * shock.block_rounds
                series = np.array([one["output"] for one in rounds], dtype=np.float64)
                scores.append(
                    _value("recovery", recovery(series, start, start + shock.block_rounds), len(rounds))
                )
                break
        return scores


def _of_agents(market: Mapping[str, Any]) -> list[Score]:
    groups = list(dict.fromkeys(market["group"]))
    found = [_score(name, [cell for cell in market[name] if cell is not None], "agent") for name in BY_AGENT]
    for group in groups if len(groups) > 1 else ():
        rows = [row for row, name in enumerate(market["group"]) if name == group]
        found.append(
            Score(f"share:{group}", sum(market["share"][row] for row in rows), len(rows), "share", "record")
        )
        for name in ("reward", *BY_AGENT):
            cells = [market[name][row] for row in rows if market[name][row] is not None]
            found.append(_score(f"{name}:{group}", cells, "agent"))
    return found


def _known(rounds: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [one[name] for one in rounds if one[name] is not None]


def _score(name: str, values: Sequence[float], unit: str) -> Score:
    """The mean of what is known."""
    return Score(name, _mean(values), len(values), unit, "record", "" if values else f"no {unit} has a value")


def _value(name: str, value: float | None, n: int) -> Score:
    return Score(
        name, value, n, "round", "record", "" if value is not None else "not enough rounds that differ"
    )


def _last(name: str, rounds: Sequence[Mapping[str, Any]]) -> Score:
    return _score(name, [rounds[-1][name]] if rounds else [], "market")


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(np.array(values, dtype=np.float64))) if values else None
