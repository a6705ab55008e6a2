"""View: what a market looked like: who bid for what, what groups earned and could do, how it was shared, diaries.

Everything comes from the record. Skills are hidden from round to round (only the last fact has them), so what is drawn
is the skill that showed: the performance of work and the benchmarks of training. Large markets are cut to what can be
looked at; titles say so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from worldloom.core.errors import RecordError
from worldloom.core.event import Event
from worldloom.core.picture import Bar, Bars, Lines, Picture, Scatter, Series
from worldloom.core.scenario import Scenario, seats_of
from worldloom.graphs.market.diary import diary
from worldloom.graphs.market.network import network
from worldloom.graphs.market.summary import ROUND
from worldloom.runs.block import expand
from worldloom.worlds.market import metrics
from worldloom.worlds.market.body import body_of
from worldloom.worlds.market.moves import NONE
from worldloom.worlds.market.record import ACTS, BIDS, JOBS, RoundRecord
from worldloom.worlds.market.rules import Floats, Ints, rules_for

MOST_GROUPS, MOST_BARS, WINDOW = 6, 24, 5
"""Curves and bars that can be told apart; rounds over which skill and prices are smoothed."""
EDGES = (10.0, 90.0)
BAND = f"Bands hold the agents between the {EDGES[0]:.0f}th and the {EDGES[1]:.0f}th percentile."


@dataclass(frozen=True, eq=False)
class Past:
    """The rounds of one episode.

    Attributes:
        rounds: those that were played to their end.
        rationales: (round, seat) -> why an agent that was asked decided so.
        groups: name -> numbers of its seats.
    """

    rounds: tuple[RoundRecord, ...]
    groups: Mapping[str, Ints]
    rationales: Mapping[tuple[int, str], str] = field(default_factory=dict)

    @cached_property
    def rewards(self) -> Floats:
        """What each agent had earned after each round, shape (rounds, agents)."""
        return metrics.rewards(self.rounds)

    @cached_property
    def numbers(self) -> range:
        return range(self.rounds[0].round, self.rounds[0].round + len(self.rounds))


def pictures(scenario: Scenario, events: Sequence[Event], blob: Callable[[str], bytes]) -> Sequence[Picture]:
    """The pictures of one episode; none before its first round has ended."""
    past = past_of(scenario, events, blob)
    if not past.rounds:
        return []
    return [
        network(past.rounds, past.rewards[-1], past.groups),
        _wealth(past),
        _skill(past),
        _prices(past),
        _work(past),
        _beveridge(past),
        _lorenz(past),
        _earners(past),
        diary(past.rounds, past.rewards, past.rationales),
    ]


def past_of(scenario: Scenario, events: Sequence[Event], blob: Callable[[str], bytes]) -> Past:
    """The rounds that a record tells of.

    Raises:
        RecordError: they cannot be read: the record is damaged.
    """
    seated = seats_of(scenario.cast)
    rules = rules_for(body_of(scenario), [seat for seat, _ in seated], "")
    group_of = np.array([group for _, group in seated])
    rounds: list[RoundRecord] = []
    tables: dict[str, list[dict[str, Any]]] = {}
    rationales: dict[tuple[int, str], str] = {}
    try:
        for event in events:
            if event.type in (JOBS, ACTS, BIDS):
                tables[event.type] = list(expand(event.body, blob(event.body["cells"]["sha256"])))
            elif event.type == "decided.1" and event.body.get("rationale"):
                rationales[len(rounds), event.body["seat"]] = event.body["rationale"]
            elif event.type == ROUND:
                jobs, acts, bids = tables[JOBS], tables[ACTS], tables[BIDS]
                rounds.append(RoundRecord.of_rows(rules, event.body["round"], jobs, acts, bids))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as damage:
        raise RecordError(f"its round {len(rounds)} cannot be read: {damage!r}") from damage
    groups = {name: np.flatnonzero(group_of == name).astype(np.int64) for name in scenario.cast}
    return Past(tuple(rounds), groups, rationales)


# Curves over rounds, a group each


def _wealth(past: Past) -> Lines:
    title = f"Earned so far, mean per agent of a group{_left_out(past)}"
    about = "Reward so far after each round, mean per agent of each group."
    return Lines("wealth", title, about, "round", "reward per agent", _curves(past, past.rewards), BAND)


def _skill(past: Past) -> Lines:
    shown = np.array([_shown_skill(record) for record in past.rounds])
    title = f"Skill that showed in work and training{_left_out(past)}"
    about = (
        f"Mean performance of an agent's jobs, or the benchmark of its training, over {WINDOW} rounds, by group. "
        "The true skill is hidden while the market runs; the metric `skill` is that of the end."
    )
    return Lines("skill", title, about, "round", "performance", _curves(past, _smooth(shown)), BAND)


def _prices(past: Past) -> Lines:
    asked = np.array([_asked(record) for record in past.rounds])
    won = _column([metrics.price_ratio(record) for record in past.rounds])
    title = f"Bids against budgets: price asked as a share of the budget{_left_out(past)}"
    about = f"Mean price / budget of all bids of an agent, over {WINDOW} rounds, by group; and that of winning bids."
    winning = Series("winning bids", past.numbers, _flat(_smooth(won)))
    return Lines(
        "prices", title, about, "round", "price / budget", (*_curves(past, _smooth(asked)), winning), BAND
    )


def _curves(past: Past, table: Floats) -> tuple[Series, ...]:
    """Mean and band of each group, of a table of shape (rounds, agents) with NaN where nothing is known."""
    found = []
    for name in _groups(past):
        part = table[:, past.groups[name]]
        rows = [row[~np.isnan(row)] for row in part]
        mean = [float(np.mean(row)) if len(row) else None for row in rows]
        low, high = (
            [float(np.percentile(row, edge)) if len(row) else None for row in rows]
            if part.shape[1] > 1
            else []
            for edge in EDGES
        )
        found.append(Series(name, past.numbers, mean, low, high))
    return tuple(found)


def _groups(past: Past) -> list[str]:
    """The groups that are drawn, in the order of the cast: of many, those that earned most and least."""
    if len(past.groups) <= MOST_GROUPS:
        return list(past.groups)
    earned = {name: float(np.mean(past.rewards[-1][seats])) for name, seats in past.groups.items()}
    order = sorted(past.groups, key=lambda name: -earned[name])
    kept = {*order[: MOST_GROUPS // 2], *order[-(MOST_GROUPS // 2) :]}
    return [name for name in past.groups if name in kept]


def _left_out(past: Past) -> str:
    count = len(past.groups)
    half = MOST_GROUPS // 2
    return f" (the {half} richest and {half} poorest of {count} groups)" if count > MOST_GROUPS else ""


def _shown_skill(record: RoundRecord) -> Floats:
    """Mean performance of each agent's jobs, else its training benchmark, else NaN, shape (agents,)."""
    agents, done = len(record.train), np.not_equal(record.winner, NONE)
    count = np.bincount(record.winner[done], minlength=agents)
    total = np.bincount(record.winner[done], weights=record.performance[done], minlength=agents)
    trained = np.where(record.train != NONE, record.benchmark, np.nan)
    return np.where(count > 0, total / np.maximum(count, 1), trained)


def _asked(record: RoundRecord) -> Floats:
    """Mean price / budget of each agent's bids, NaN without any, shape (agents,)."""
    agents, ratio = len(record.train), record.bid_price / record.budget[record.bid_job]
    count = np.bincount(record.bid_seat, minlength=agents)
    total = np.bincount(record.bid_seat, weights=ratio, minlength=agents)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _smooth(table: Floats) -> Floats:
    """Mean of what is known of the last `WINDOW` rounds, shape (rounds, agents)."""
    known = ~np.isnan(table)
    total = _windowed(np.where(known, table, 0.0))
    count = _windowed(known.astype(np.float64))
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def _windowed(table: Floats) -> Floats:
    """Sum of the last `WINDOW` rows, at each row."""
    return np.array([table[max(0, end - WINDOW) : end].sum(axis=0) for end in range(1, len(table) + 1)])


# The market as a whole


def _work(past: Past) -> Lines:
    title = f"Unemployment and vacancies, over {WINDOW} rounds"
    about = "Share of the agents that bid and got no job, and share of the listed jobs that nobody took."
    series = tuple(Series(name, past.numbers, _flat(_smooth(values))) for name, values in _shares(past))
    return Lines("work", title, about, "round", "share", series)


def _beveridge(past: Past) -> Scatter:
    (_, jobless), (_, vacant) = _shares(past)
    half = len(past.rounds) // 2
    about = (
        "Every point is a round: vacancies against unemployment, the first half of the rounds and the second."
    )
    series = tuple(
        Series(name, _flat(jobless[part]), _flat(vacant[part]))
        for name, part in (("first half", slice(half)), ("second half", slice(half, None)))
    )
    return Scatter("beveridge", "Vacancies against unemployment", about, "unemployment", "vacancies", series)


def _shares(past: Past) -> Iterator[tuple[str, Floats]]:
    yield "unemployment", _column([metrics.unemployment(record) for record in past.rounds])
    yield "vacancies", _column([metrics.vacancy(record) for record in past.rounds])


def _column(values: Sequence[float | None]) -> Floats:
    """One number a round, NaN for None, shape (rounds, 1)."""
    return np.array([values], dtype=np.float64).T


def _flat(column: Floats) -> list[float]:
    cells: list[float] = column[:, 0].tolist()
    return cells


def _lorenz(past: Past) -> Lines:
    share = np.sort(metrics.market_share(past.rewards[-1]))
    at = np.unique(np.linspace(0, len(share), min(len(share), 100) + 1).round().astype(np.int64))
    held = np.concatenate([[0.0], np.cumsum(share)])[at]
    title = f"How rewards are shared: Gini {metrics.gini(past.rewards[-1]):.2f}"
    about = "Lorenz curve: share of all rewards that the poorest agents have together; losses count as 0."
    series = (
        Series("rewards", (at / len(share)).tolist(), held.tolist()),
        Series("equal shares", (0.0, 1.0), (0.0, 1.0)),
    )
    return Lines("lorenz", title, about, "share of agents, the poorest first", "share of rewards", series)


def _earners(past: Past) -> Bars:
    earned, count = past.rewards[-1], len(past.rewards[-1])
    seats = past.rounds[0].rules.seats
    order = np.lexsort((np.arange(count), -earned)).tolist()
    title = f"Rewards of {count} agents"
    if count > MOST_BARS:
        half = MOST_BARS // 2
        order = order[:half] + order[-half:]
        title = f"Rewards of the {half} richest and {half} poorest of {count:,} agents"
    group = {number: name for name, numbers in past.groups.items() for number in numbers.tolist()}
    about = "What each agent has earned in all rounds, the richest first."
    return Bars(
        "earners",
        title,
        about,
        "reward",
        tuple(past.groups),
        tuple(Bar(seats[one], group[one], float(earned[one])) for one in order),
    )
