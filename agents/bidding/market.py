"""Market: what a cohort sees of a gig market before a round, read from its columns by name.

Only listed jobs are looked at, and of a seat's own columns only its own row: what one agent decides never depends on
who else decides with it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from worldloom.agents.cohort import Columns
from worldloom.runs.chance import uniforms

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

NONE = -1
"""No job, no skill."""
LIST = 5
"""Jobs that a policy bids for at most."""


@dataclass(frozen=True, eq=False)
class Market:
    """What is seen before a round, by the seats that decide.

    Attributes:
        round: from 0.
        jobs: numbers of the jobs that one can bid for, ascending.
        budget, skill: of every job, shape (all jobs,); read only where a job can be bid for.
        last_price: what each job was done for in the last round, 0 if nobody is told, shape (all jobs,).
        skills: of each seat that decides, shape (seats, skills).
        reward: earned so far by each, shape (seats,).
        places: jobs that one may bid for at most; no more than LIST.
        lowest: the smallest price that the market takes.
    """

    round: int
    jobs: Ints
    budget: Floats
    skill: Ints
    last_price: Floats
    skills: Floats
    reward: Floats
    places: int
    lowest: float

    @staticmethod
    def of(seen: Columns) -> "Market":
        """Read the columns; where a market says nothing of `max_bids` or `minimum_price`, it has no such rule."""
        lowest, most = number(seen, "minimum_price", 0.0), number(seen, "max_bids", LIST)
        return Market(
            int(number(seen, "round")),
            np.flatnonzero(seen["listed"] & (seen["budget"] >= lowest)),
            seen["budget"],
            seen["job_skill"],
            seen["last_price"],
            seen["skills"],
            seen["reward"],
            min(LIST, int(most)),
            lowest,
        )

    @cached_property
    def best_paid(self) -> Ints:
        """The jobs with the highest budgets, best first, ties by number; as many as one may bid for."""
        return self.jobs[np.lexsort((self.jobs, -self.budget[self.jobs]))][: self.places]

    @cached_property
    def best_budget(self) -> Floats:
        """The highest budget in each skill, 0 where there is no job, shape (skills,)."""
        best = np.zeros(self.skills.shape[1])
        np.maximum.at(best, self.skill[self.jobs], self.budget[self.jobs])
        return best

    def asked(self, ratio: Floats | float, job: Ints) -> Floats:
        """Prices at a share of the budget, never below what the market takes; 0 where there is no job."""
        return np.where(job == NONE, 0.0, np.maximum(ratio * self.budget[job], self.lowest))

    def some_of(self, skill: Ints, begin: Floats) -> Ints:
        """Jobs of one skill for each seat: by number from a place on, round and round.

        Args:
            skill: of each seat, shape (seats,); one that has jobs.
            begin: where in the list of the skill's jobs to begin, in [0, 1), shape (seats,).

        Returns:
            Shape (seats, places), NONE where the skill has fewer jobs.
        """
        ordered = self.jobs[np.argsort(self.skill[self.jobs], kind="stable")]
        count = np.bincount(self.skill[ordered], minlength=self.skills.shape[1])
        first = (np.cumsum(count) - count)[skill][:, None]
        many, place = count[skill][:, None], np.arange(self.places)
        at = first + (pick(begin, many[:, 0])[:, None] + place) % many
        return np.where(place < many, ordered[at], NONE)


def number(seen: Columns, name: str, otherwise: float | None = None) -> float:
    """The one cell of a column; `otherwise` if there is no such column."""
    if otherwise is not None and name not in seen:
        return otherwise
    return float(np.asarray(seen[name]).item())


def draws(seed: int, component: str, round: int, seats: Ints) -> Floats:
    """One uniform draw in [0, 1) for each seat."""
    return uniforms(seed, component, round, seats.astype(np.uint64))


def pick(draw: Floats, many: Ints | int) -> Ints:
    """A whole number below `many` for each draw in [0, 1)."""
    return np.floor(draw * many).astype(np.int64)


def moves(seats: Ints, job: Ints, price: Floats, skill: Ints, trains: Bools) -> Columns:
    """Moves as columns: a seat trains `skill` or bids for `job`, and has no row if there is nothing to bid for.

    Args:
        job, price: shape (seats, places), or (places,) for the same list for all.
        skill, trains: shape (seats,).
    """
    bids = np.where(trains[:, None], NONE, job)
    acts = trains | (bids != NONE).any(axis=1)
    columns: dict[str, NDArray[Any]] = {
        "seat": seats,
        "train": np.where(trains, skill, NONE),
        "job": bids,
        "price": np.where(bids == NONE, 0.0, price),
    }
    return {name: column[acts] for name, column in columns.items()}


def nothing(seats: Ints) -> Columns:
    """Nobody does anything."""
    none = np.zeros(len(seats), dtype=np.int64)
    empty = np.zeros((len(seats), 1), dtype=np.int64) + NONE
    return moves(seats, empty, np.zeros(empty.shape), none, np.zeros(len(seats), dtype=np.bool_))
