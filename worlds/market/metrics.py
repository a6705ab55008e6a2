"""Metrics: what a market came to, as pure functions of rounds and rewards. Nothing here is shown to agents.

Where a metric has no value (a mean of nothing), a scalar is None and a cell of a column is NaN.
"""

from collections.abc import Sequence

import numpy as np

from worldloom.core.canonical import Json
from worldloom.runs.rounding import rounded
from worldloom.worlds.market.moves import FAULT_NAMES, NONE
from worldloom.worlds.market.record import RoundRecord
from worldloom.worlds.market.rules import Bools, Floats, Ints

Rounds = Sequence[RoundRecord]


def aggregates(record: RoundRecord, reward: Floats) -> dict[str, Json]:
    """One round in a few numbers, for the log.

    Args:
        reward: of each agent after the round, shape (agents,).
    """
    faults = np.bincount(record.fault, minlength=len(FAULT_NAMES)).tolist()
    return {
        "round": record.round,
        "listed": int(record.listed.sum()),
        "filled": int(_filled(record).sum()),
        "bidding": int(record.bidding.sum()),
        "training": int((record.train != NONE).sum()),
        "refused": {name: count for name, count in zip(FAULT_NAMES, faults, strict=True) if name and count},
        "unemployment": unemployment(record),
        "vacancy": vacancy(record),
        "output": output(record),
        "price_ratio": price_ratio(record),
        "client_utility": client_utility(record),
        "gini": gini(reward),
    }


# Of a round


def unemployment(record: RoundRecord) -> float | None:
    """Share of those who bid that got no job; None if nobody bid."""
    seeking = int(record.bidding.sum())
    return 1.0 - len(np.unique(record.winner[_filled(record)])) / seeking if seeking else None


def vacancy(record: RoundRecord) -> float | None:
    """Share of the listed jobs that nobody took; None if none was listed."""
    listed = int(record.listed.sum())
    return 1.0 - int(_filled(record).sum()) / listed if listed else None


def output(record: RoundRecord) -> float:
    """What was delivered, at what clients would have paid for it at most: Σ budget · performance."""
    return float(np.sum(record.budget * record.performance))


def price_ratio(record: RoundRecord) -> float | None:
    """Mean of winning price / budget; None if no job was done."""
    filled = _filled(record)
    return _mean(record.price[filled] / record.budget[filled])


def client_utility(record: RoundRecord) -> float | None:
    """Mean over done jobs of performance − pay / budget: what was delivered less what it cost, in budgets."""
    filled = _filled(record)
    return _mean(record.performance[filled] - record.pay[filled] / record.budget[filled])


# Of rewards


def gini(reward: Floats) -> float:
    """Gini coefficient, 0 for equal rewards, (n − 1) / n if one agent has all; losses count as 0.

    Args:
        reward: shape (agents,).
    """
    ordered, agents = np.sort(np.maximum(reward, 0.0)), len(reward)
    total = np.sum(ordered)
    if total == 0:
        return 0.0
    weights = 2.0 * np.arange(1, agents + 1) - agents - 1.0
    return float(np.sum(weights * ordered) / (agents * total)) + 0.0


def market_share(reward: Floats) -> Floats:
    """Share of all rewards, shape (agents,); equal shares if there are none. Losses count as 0."""
    earned = np.maximum(reward, 0.0)
    total = np.sum(earned)
    return np.asarray(earned / total) if total > 0 else np.full(len(reward), 1.0 / len(reward))


def ranks(reward: Floats) -> Ints:
    """Place by reward, 1 for the highest, shape (agents,); equals share the better place."""
    lost = -rounded(reward)
    place = np.searchsorted(np.sort(lost), lost)
    return place.astype(np.int64) + 1


# Of agents, over rounds


def rewards(rounds: Rounds) -> Floats:
    """What each agent has earned after each round, shape (rounds, agents)."""
    return np.cumsum([record.income for record in rounds], axis=0)


def win_rate(rounds: Rounds) -> Floats:
    """Mean over the rounds in which an agent bid of wins / min(bids, capacity), shape (agents,)."""
    found = []
    for record in rounds:
        agents = len(record.bidding)
        capacity = record.rules.body.mechanism.capacity
        wins = np.bincount(record.winner[_filled(record)], minlength=agents)
        most = np.minimum(np.bincount(record.bid_seat, minlength=agents), capacity)
        found.append(_ratio(wins, most))
    return _mean_of_known(np.array(found))


def bid_ratio(rounds: Rounds) -> Floats:
    """Mean of price / budget over all bids of an agent, shape (agents,)."""
    agents = len(rounds[0].bidding)
    total, count = np.zeros(agents), np.zeros(agents, dtype=np.int64)
    for record in rounds:
        ratio = record.bid_price / record.budget[record.bid_job]
        total = total + np.bincount(record.bid_seat, weights=ratio, minlength=agents)
        count += np.bincount(record.bid_seat, minlength=agents)
    return _ratio(total, count)


def training_rate(rounds: Rounds) -> Floats:
    """Share of the rounds in which an agent trained, shape (agents,)."""
    return np.asarray(np.mean([record.train != NONE for record in rounds], axis=0))


def rank_spread(rounds: Rounds) -> Ints:
    """Worst less best place by reward that an agent had after any round, shape (agents,)."""
    places = np.array([ranks(reward) for reward in rewards(rounds)])
    return np.asarray(places.max(axis=0) - places.min(axis=0))


def specialisation(rounds: Rounds) -> Floats:
    """1 − H / Hmax of the skills in which an agent's jobs were, shape (agents,): 1 for jobs in one skill only."""
    rules = rounds[0].rules
    agents, skills = len(rules.seats), len(rules.body.skills)
    count = np.zeros(agents * skills, dtype=np.int64)
    for record in rounds:
        done = _filled(record)
        count += np.bincount(record.winner[done] * skills + rules.job_skill[done], minlength=agents * skills)
    share = _ratio(count.reshape(agents, skills), count.reshape(agents, skills).sum(axis=1, keepdims=True))
    if skills == 1:
        return share[:, 0]
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)
    return np.asarray(1.0 - entropy / np.log(np.float64(skills)))


# Of series


def recovery(series: Floats, start: int, end: int, window: int = 10) -> float | None:
    """Mean of the `window` rounds from `end` on, as a share of that of the `window` rounds before `start`.

    Args:
        series: one number for each round, shape (rounds,).
        start, end: first round of a shock, and first round after it.
    """
    before, after = _mean(series[max(0, start - window) : start]), _mean(series[end : end + window])
    return after / before if before and after is not None else None


def correlation(first: Floats, second: Floats) -> float | None:
    """Pearson's r, e.g. of the changes of unemployment and output (Okun); None if one of them never changes."""
    a, b = first - np.mean(first), second - np.mean(second)
    norm = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / norm) if norm > 0 else None


def _filled(record: RoundRecord) -> Bools:
    return np.not_equal(record.winner, NONE)


def _mean(values: Floats) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """part / whole; NaN where the whole is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _mean_of_known(table: Floats) -> Floats:
    """Mean of each column over the cells that are not NaN; NaN if all are."""
    known = ~np.isnan(table)
    return _ratio(np.sum(np.where(known, table, 0.0), axis=0), known.sum(axis=0))
