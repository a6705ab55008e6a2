"""RoundRecord: everything that happened in one round, as columns; what histories, metrics and the log derive from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from worldloom.core.action import Feedback
from worldloom.core.canonical import Json, canonical
from worldloom.core.frozen import freeze
from worldloom.runs.context import Context
from worldloom.worlds.market.moves import FAULT_NAMES, FAULTS, NONE
from worldloom.worlds.market.rules import Bools, Floats, Ints, Rules, sealed, shown_budgets

JOBS, ACTS, BIDS = "market_jobs.1", "market_acts.1", "market_bids.1"
"""Types of the three blocks that record a round: a row for each listed job, each agent, each bid."""

_KINDS: Mapping[str, DTypeLike] = {
    **dict.fromkeys(("seat", "job", "rank", "train", "fault"), np.int64),
    "bidding": np.bool_,
}
"""Columns of blocks that hold no floats."""


def digest_columns(columns: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 over names, types, shapes and cells."""
    found = hashlib.sha256()
    for name, column in columns.items():
        found.update(f"{name}\0{column.dtype.str}\0{column.shape}\0".encode())
        found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class RoundRecord:
    """One round.

    Attributes:
        rules: of the market.
        round: from 0.
        listed, budget: of each job, shape (jobs,).
        winner: seat that got the job, NONE for nobody, shape (jobs,).
        price, performance, pay: of the work, 0 where there was none, shape (jobs,); pay before tax.
        train, bidding, fault: of each agent, as in Acts, shape (agents,).
        benchmark: level that a training benchmark showed, 0 where nobody trained, shape (agents,).
        income: what the round brought each agent, after tax and cost, shape (agents,).
        bid_seat, bid_job, bid_rank, bid_price: of each bid, as in Acts, shape (bids,).
        bid_score: what the bid was worth to the job, in (0, 1], shape (bids,).
    """

    rules: Rules
    round: int
    listed: Bools
    budget: Floats
    winner: Ints
    price: Floats
    performance: Floats
    pay: Floats
    train: Ints
    bidding: Bools
    fault: Ints
    benchmark: Floats
    income: Floats
    bid_seat: Ints
    bid_job: Ints
    bid_rank: Ints
    bid_price: Floats
    bid_score: Floats

    def __post_init__(self) -> None:
        for column in self.columns.values():
            sealed(column)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        return {one.name: getattr(self, one.name) for one in fields(self)[2:]}

    @cached_property
    def fingerprint(self) -> str:
        return digest_columns({"round": np.array([self.round]), **self.columns})

    def emit(self, ctx: Context) -> None:
        """Record the round as three blocks."""
        jobs = np.flatnonzero(self.listed)
        names = ("budget", "winner", "price", "performance", "pay")
        ctx.emit_block(
            JOBS, {"job": _short(jobs), **{name: _short(self.columns[name][jobs]) for name in names}}
        )
        names = ("train", "bidding", "fault", "benchmark", "income")
        seats = np.arange(len(self.train))
        ctx.emit_block(ACTS, {"seat": _short(seats), **{name: _short(self.columns[name]) for name in names}})
        names = ("seat", "job", "rank", "price", "score")
        ctx.emit_block(BIDS, {name: _short(self.columns[f"bid_{name}"]) for name in names})

    @cached_property
    def public(self) -> dict[str, Json]:
        """What everybody sees of the round afterwards, as JSON; prices only under open disclosure."""
        rules, open_prices = self.rules, self.rules.body.mechanism.disclosure == "open"
        shown, price = shown_budgets(self.budget).tolist(), self.price.tolist()
        winners, jobs = self.winner.tolist(), []
        for job in np.flatnonzero(self.listed).tolist():
            winner = winners[job]
            name = None if winner == NONE else rules.seats[winner]
            row: dict[str, Json] = {"job": rules.job_names[job], "budget": shown[job], "winner": name}
            if open_prices and name is not None:
                row["price"] = price[job]
            jobs.append(row)
        public: dict[str, Json] = freeze({"round": self.round, "jobs": jobs})
        return public

    @cached_property
    def _told(self) -> dict[int, Feedback]:
        return {}

    def feedback(self, seat: int) -> Feedback:
        """What an agent is told about its move: its own part, as compact JSON."""
        if seat not in self._told:
            self._told[seat] = Feedback(not self.fault[seat], canonical(self.own(seat)).decode("utf-8"))
        return self._told[seat]

    @cached_property
    def _own(self) -> dict[int, dict[str, Json]]:
        return {}

    def own(self, seat: int) -> dict[str, Json]:
        """What an agent sees of its own part in the round, as JSON."""
        if seat not in self._own:  # it is shown again in every view for `history_rounds`
            self._own[seat] = freeze(self._part(seat))
        return self._own[seat]

    def _part(self, seat: int) -> dict[str, Json]:
        names = self.rules.job_names
        found: dict[str, Json] = {"round": self.round, "income": float(self.income[seat])}
        if fault := FAULT_NAMES[self.fault[seat]]:
            return {**found, "did": "refused", "fault": fault, "because": FAULTS[fault]}
        skill = int(self.train[seat])
        if skill != NONE:
            level = float(self.benchmark[seat])
            return {**found, "did": "train", "skill": self.rules.body.skills[skill], "benchmark": level}
        if not self.bidding[seat]:
            return {**found, "did": "nothing"}
        first, end = np.searchsorted(self.bid_seat, [seat, seat + 1]).tolist()
        bids: list[Json] = []
        for job, price in zip(
            self.bid_job[first:end].tolist(), self.bid_price[first:end].tolist(), strict=True
        ):
            row: dict[str, Json] = {"job": names[job], "price": price, "won": False}
            if self.winner[job] == seat:
                row |= {"won": True, "performance": float(self.performance[job]), "pay": float(self.pay[job])}
            bids.append(row)
        return {**found, "did": "bid", "bids": bids}

    @staticmethod
    def of_rows(
        rules: Rules,
        round: int,
        jobs: list[dict[str, Any]],
        acts: list[dict[str, Any]],
        bids: list[dict[str, Any]],
    ) -> "RoundRecord":
        """A round from the rows of its three blocks; budgets of jobs that were not listed are 0."""
        place = _column(jobs, "job", np.int64)
        count = len(rules.job_skill)
        columns: dict[str, NDArray[Any]] = {"listed": np.zeros(count, dtype=np.bool_)}
        columns["listed"][place] = True
        for name in ("winner", "budget", "price", "performance", "pay"):
            columns[name] = np.full(count, NONE) if name == "winner" else np.zeros(count)
            columns[name][place] = _column(jobs, name, columns[name].dtype)
        for name in ("train", "fault", "bidding", "benchmark", "income"):
            columns[name] = _column(acts, name, _KINDS.get(name, np.float64))
        for name in ("seat", "job", "rank", "price", "score"):
            columns[f"bid_{name}"] = _column(bids, name, _KINDS.get(name, np.float64))
        return RoundRecord(rules, round, **columns)


def _short(column: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in four bytes: seats, jobs, skills and faults all fit."""
    return column.astype(np.int32) if column.dtype.kind == "i" else column


def _column(rows: list[dict[str, Any]], name: str, kind: DTypeLike) -> NDArray[Any]:
    return np.array([row[name] for row in rows], dtype=kind)
