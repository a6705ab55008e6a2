"""Moves: what agents want to do in a round, as columns, and what of it the rules allow.

An agent bids for jobs, `bid {bids: [{job, price}, …]}` with the most wanted job first, or trains, `train {skill}`. A
move is allowed as a whole or not at all: what is refused has a fault and no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldloom.core.action import Action
from worldloom.core.errors import UsageError
from worldloom.worlds.market.rules import Bools, Floats, Ints, Rules, sealed

NONE = -1
"""No job, no skill."""
_UNKNOWN = np.iinfo(np.int64).max
"""Number of a job or skill that was named and is not there."""
FAULTS: Mapping[str, str] = {
    "unknown_action": "there is no such action; allowed: bid, train",
    "malformed": "the arguments do not fit the action's schema",
    "too_many_bids": "there are more bids than one agent may make",
    "unknown_job": "there is no job of this name",
    "unlisted_job": "a job is not listed in this round",
    "doubled_job": "a job is named twice",
    "price_not_positive": "a price is no number above 0",
    "price_above_budget": "a price is above the job's budget",
    "price_below_minimum": "a price is below the minimum price",
    "unknown_skill": "there is no skill of this name",
}
"""Why a move is refused: name of the fault -> what it says."""
FAULT_NAMES = ("", *FAULTS)
"""Names by number; 0 stands for no fault."""
_CODE = {name: number for number, name in enumerate(FAULT_NAMES)}


@dataclass(frozen=True, eq=False)
class MoveColumns:
    """The moves of a cohort, one row each; not yet checked. An agent without a row does nothing.

    Attributes:
        seat: number of the agent, once each, shape (rows,).
        train: skill to train, NONE for none, shape (rows,).
        job: jobs to bid for, the most wanted first, NONE for an empty place, shape (rows, places).
        price: of each of them, shape (rows, places); read only where there is a job.
        fault: number in FAULT_NAMES of what is wrong already, shape (rows,).
    """

    seat: Ints
    train: Ints
    job: Ints
    price: Floats
    fault: Ints

    def __post_init__(self) -> None:
        rows = len(self.seat)
        for name in ("seat", "train", "job", "price", "fault"):
            column, dimensions = getattr(self, name), 2 if name in ("job", "price") else 1
            kind = np.float64 if name == "price" else np.int64
            if column.dtype != kind or column.ndim != dimensions or len(column) != rows:
                found = f"the column {name!r} has dtype {column.dtype} and shape {column.shape}"
                shape = f"({rows}, places)" if dimensions == 2 else f"({rows},)"
                raise UsageError(f"{found}\n  allowed: {kind.__name__}, shape {shape}")
        if self.job.shape != self.price.shape:
            raise UsageError(
                f"jobs have shape {self.job.shape}, prices {self.price.shape}\n  allowed: the same"
            )

    @staticmethod
    def of(seat: Ints, train: Ints, job: Ints, price: Floats) -> "MoveColumns":
        """Moves with which nothing is known to be wrong."""
        return MoveColumns(seat, train, job, price, np.zeros(len(seat), dtype=np.int64))

    def beside(self, other: "MoveColumns") -> "MoveColumns":
        """These moves and those of other agents."""
        if not len(self.seat) or not len(other.seat):
            return other if len(other.seat) else self
        places = max(self.job.shape[1], other.job.shape[1])
        return MoveColumns(
            np.concatenate([self.seat, other.seat]),
            np.concatenate([self.train, other.train]),
            np.concatenate([_widened(self.job, places, NONE), _widened(other.job, places, NONE)]),
            np.concatenate([_widened(self.price, places, 0.0), _widened(other.price, places, 0.0)]),
            np.concatenate([self.fault, other.fault]),
        )


@dataclass(frozen=True, eq=False)
class Acts:
    """What a round's moves come to once they are checked.

    Attributes:
        train: skill that each agent trains, NONE for none, shape (agents,).
        bidding: whether it bids, shape (agents,).
        fault: number in FAULT_NAMES of why its move was refused, shape (agents,).
        seat, job, rank, price: of each bid, by seat and rank, shape (bids,); rank counts from 0.
    """

    train: Ints
    bidding: Bools
    fault: Ints
    seat: Ints
    job: Ints
    rank: Ints
    price: Floats

    def __post_init__(self) -> None:
        for column in (self.train, self.bidding, self.fault, self.seat, self.job, self.rank, self.price):
            sealed(column)


def read_actions(rules: Rules, actions: Mapping[str, Action]) -> MoveColumns:
    """Actions by seat as columns, in the order of the seats; seats that the market does not have are left out."""
    numbers = rules.seat_numbers
    seats = sorted(numbers[seat] for seat in actions if seat in numbers)
    places, rows = rules.body.mechanism.max_bids, len(seats)
    train, fault = np.full(rows, NONE, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    job, price = np.full((rows, places), NONE, dtype=np.int64), np.zeros((rows, places))
    for row, seat in enumerate(seats):
        action = actions[rules.seats[seat]]
        arguments: Any = action.arguments
        if action.name == "train":
            train[row], fault[row] = _training(rules, arguments)
        elif action.name == "bid":
            bids, fault[row] = _bids(rules, arguments)
            for place, (number, amount) in enumerate(bids):
                job[row, place], price[row, place] = number, amount
        else:
            fault[row] = _CODE["unknown_action"]
    return MoveColumns(np.array(seats, dtype=np.int64), train, job, price, fault)


def _training(rules: Rules, arguments: Any) -> tuple[int, int]:
    """The skill that is to be trained, and what is wrong."""
    if (
        not isinstance(arguments, dict)
        or set(arguments) != {"skill"}
        or not isinstance(arguments["skill"], str)
    ):
        return NONE, _CODE["malformed"]
    return rules.skill_numbers.get(arguments["skill"], _UNKNOWN), 0


def _bids(rules: Rules, arguments: Any) -> tuple[list[tuple[int, float]], int]:
    """Jobs and prices, and what is wrong."""
    if not isinstance(arguments, dict) or set(arguments) != {"bids"}:
        return [], _CODE["malformed"]
    bids = arguments["bids"]
    if not isinstance(bids, list) or not bids:
        return [], _CODE["malformed"]
    if len(bids) > rules.body.mechanism.max_bids:
        return [], _CODE["too_many_bids"]
    found = []
    for bid in bids:
        if not isinstance(bid, dict) or set(bid) != {"job", "price"}:
            return [], _CODE["malformed"]
        job, price = bid["job"], bid["price"]
        if not isinstance(job, str) or not isinstance(price, int | float) or isinstance(price, bool):
            return [], _CODE["malformed"]
        try:
            amount = float(price)
        except OverflowError:  # a whole number that no float can hold
            return [], _CODE["price_above_budget" if price > 0 else "price_not_positive"]
        found.append((rules.job_numbers.get(job, _UNKNOWN), amount))
    return found, 0


def checked(rules: Rules, listed: Bools, budget: Floats, moves: MoveColumns) -> Acts:
    """What the moves of a round come to: each is allowed, or has the first fault that holds.

    Raises:
        UsageError: an agent has two moves, or there is no such agent.
    """
    agents, mechanism = len(rules.seats), rules.body.mechanism
    seats = moves.seat
    if len(seats) and (seats.min() < 0 or seats.max() >= agents or np.bincount(seats).max() > 1):
        raise UsageError(
            f"the moves name agents that are not there, or twice\n  allowed: 0 to {agents - 1}, once"
        )
    wanted = moves.job != NONE
    fault = moves.fault.copy()

    def refuse(name: str, bad: Bools) -> None:
        fault[(fault == 0) & bad] = _CODE[name]

    known = wanted & (moves.job >= 0) & (moves.job < len(listed))
    job = np.where(known, moves.job, 0)
    # Where there is no price to judge, 1 stands for one: NaN would warn.
    price = np.where(wanted & np.isfinite(moves.price), moves.price, 1.0)
    refuse("malformed", (moves.train != NONE) & wanted.any(axis=1))
    refuse("too_many_bids", np.count_nonzero(wanted, axis=1) > mechanism.max_bids)
    refuse("unknown_skill", (moves.train < NONE) | (moves.train >= len(rules.body.skills)))
    refuse("unknown_job", (wanted & ~known).any(axis=1))
    refuse("unlisted_job", (known & ~listed[job]).any(axis=1))
    refuse("doubled_job", _doubled(moves.job, wanted))
    refuse(
        "price_not_positive",
        (wanted & ((price <= 0) | np.isnan(moves.price) | np.isneginf(moves.price))).any(axis=1),
    )
    refuse("price_above_budget", (known & ((price > budget[job]) | np.isposinf(moves.price))).any(axis=1))
    refuse("price_below_minimum", (wanted & (price < mechanism.minimum_price)).any(axis=1))
    return _acts(agents, moves, fault, wanted, price)


def _acts(agents: int, moves: MoveColumns, fault: Ints, wanted: Bools, price: Floats) -> Acts:
    """The allowed part of moves, by agent."""
    sound = fault == 0
    train = np.full(agents, NONE, dtype=np.int64)
    train[moves.seat[sound]] = moves.train[sound]
    faults = np.zeros(agents, dtype=np.int64)
    faults[moves.seat] = fault
    bidding = np.zeros(agents, dtype=np.bool_)
    bidding[moves.seat] = sound & wanted.any(axis=1)
    order = np.argsort(moves.seat)
    valid = (wanted & sound[:, None])[order]
    row, _ = np.nonzero(valid)
    rank = (np.cumsum(valid, axis=1) - 1)[valid]
    return Acts(
        train, bidding, faults, moves.seat[order][row], moves.job[order][valid], rank, price[order][valid]
    )


def _doubled(job: Ints, wanted: Bools) -> Bools:
    """Whether a row names a job twice; empty places do not count."""
    places = job.shape[1]
    alone = np.where(wanted, job, -2 - np.arange(places))
    alone.sort(axis=1)
    twice: Bools = (alone[:, 1:] == alone[:, :-1]).any(axis=1)
    return twice


def _widened(cells: NDArray[Any], places: int, empty: float) -> NDArray[Any]:
    if cells.shape[1] == places:
        return cells
    return np.pad(cells, ((0, 0), (0, places - cells.shape[1])), constant_values=empty)
