"""Diary: what one agent saw, did, won and earned, round by round, and why where it was asked."""

from collections.abc import Mapping, Sequence

import numpy as np

from worldloom.core.picture import Cell, Page, Table
from worldloom.worlds.market.moves import FAULT_NAMES, NONE
from worldloom.worlds.market.record import RoundRecord
from worldloom.worlds.market.rules import Floats, shown_budgets

MOST_DIARIES, MOST_ROWS, LONGEST = 24, 200, 300
"""Agents, rounds and characters of a rationale."""


def diary(rounds: Sequence[RoundRecord], rewards: Floats, rationales: Mapping[tuple[int, str], str]) -> Table:
    """A page for each agent, the richest first.

    Args:
        rewards: what each agent had earned after each round, shape (rounds, agents).
        rationales: (place of a round, seat) -> why an agent decided so.
    """
    seats, count = rounds[0].rules.seats, len(rewards[-1])
    order = np.lexsort((np.arange(count), -rewards[-1])).tolist()
    said = []
    if count > MOST_DIARIES:
        half = MOST_DIARIES // 2
        order = order[:half] + order[-half:]
        said.append(f"the {half} richest and {half} poorest of {count:,} agents")
    places = range(max(0, len(rounds) - MOST_ROWS), len(rounds))
    if len(places) < len(rounds):
        said.append(f"the last {MOST_ROWS} of {len(rounds):,} rounds")
    seen = {place: _seen(rounds[place]) for place in places}
    left_out = f" ({'; '.join(said)})" if said else ""
    why = ("why",) if rationales else ()
    pages = []
    for number in order:
        rows = []
        for place in places:
            row = _row(rounds[place], number, seen[place], float(rewards[place, number]))
            rationale = rationales.get((place, seats[number]))
            rows.append((*row, _short(rationale)) if why else row)
        pages.append(Page(seats[number], tuple(rows)))
    return Table(
        "diary",
        f"Diary of an agent{left_out}",
        "What an agent saw, did, won and earned in each round; a page for each agent, the richest first.",
        ("round", "saw", "did", "won (performance)", "earned", "so far", *why),
        tuple(pages),
    )


def _seen(record: RoundRecord) -> str:
    """The listings in brief."""
    budget = shown_budgets(record.budget[record.listed])
    if not len(budget):
        return "no jobs"
    return f"{len(budget)} jobs at {budget.min():.2f} to {budget.max():.2f}"


def _row(record: RoundRecord, number: int, saw: str, so_far: float) -> tuple[Cell, ...]:
    names = record.rules.job_names
    won = [
        f"{names[job]} ({record.performance[job]:.2f})"
        for job in np.flatnonzero(record.winner == number).tolist()
    ]
    earned = round(float(record.income[number]), 2)
    return record.round, saw, _did(record, number), ", ".join(won) or None, earned, round(so_far, 2)


def _did(record: RoundRecord, number: int) -> str:
    if fault := FAULT_NAMES[record.fault[number]]:
        return f"refused: {fault.replace('_', ' ')}"
    skill = int(record.train[number])
    if skill != NONE:
        return f"trained {record.rules.body.skills[skill]} ({record.benchmark[number]:.2f})"
    if not record.bidding[number]:
        return "nothing"
    bids = np.flatnonzero(record.bid_seat == number)
    names = record.rules.job_names
    return "bid " + ", ".join(
        f"{names[record.bid_job[bid]]} {record.bid_price[bid]:.2f}" for bid in bids.tolist()
    )


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST else text[:LONGEST] + "…"
