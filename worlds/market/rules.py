"""Rules: what stays the same in a market over all rounds: its body, its agents, its jobs, as names and as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldloom.core.canonical import Json, digest
from worldloom.core.errors import UsageError
from worldloom.runs.chance import normals, uniforms
from worldloom.worlds.market.body import LOWEST_BUDGET, MarketBody, MarketChange, Recession

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
A = TypeVar("A", bound=NDArray[Any])


def sealed(column: A) -> A:
    """The column itself, which from now on nobody can write to."""
    column.flags.writeable = False
    return column


def shown_budgets(budget: Floats) -> Floats:
    """Budgets as agents are shown them: whole cents, never above the budget itself."""
    return np.minimum(np.floor(budget * 100.0) / 100.0, budget)


@dataclass(frozen=True, eq=False)
class Rules:
    """A market's constants.

    Agents, skills and jobs are known by their number: agents in the order of the cast, skills in that of the body, jobs
    skill by skill. Ties go to the smaller number.

    Attributes:
        body: the market as the scenario describes it.
        seats: names of the agents.
        task: what every agent is told.
    """

    body: MarketBody
    seats: tuple[str, ...]
    task: str

    @cached_property
    def job_skill(self) -> Ints:
        """Skill that each job asks for, shape (jobs,)."""
        return sealed(np.repeat(np.arange(len(self.body.skills)), self.body.jobs.per_skill))

    @cached_property
    def job_names(self) -> tuple[str, ...]:
        """`<skill>-1`, `<skill>-2`, …"""
        return tuple(
            f"{skill}-{number + 1}"
            for skill in self.body.skills
            for number in range(self.body.jobs.per_skill)
        )

    @cached_property
    def job_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.job_names)}

    @cached_property
    def skill_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.body.skills)}

    @cached_property
    def seat_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.seats)}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that makes this market what it is."""
        body: Json = self.body.model_dump(mode="json")
        return digest({"body": body, "seats": list(self.seats), "task": self.task})

    def base_budgets(self, round: int) -> Floats:
        """Base budget of each skill in a round, shape (skills,): later shocks override earlier ones."""
        base = self.body.jobs.budgets
        for shock in self.body.shocks:
            if isinstance(shock, MarketChange) and round >= shock.round:
                base = shock.budgets
            if isinstance(shock, Recession):
                block = round // shock.block_rounds
                if block % shock.cycle_blocks == shock.block:
                    base = (shock.budget,)
        return np.resize(np.array(base, dtype=np.float64), len(self.body.skills))

    def listing(self, seed: int, round: int) -> tuple[Bools, Floats]:
        """Which jobs are shown in a round, and every job's budget, shapes (jobs,).

        A budget is max(0.1, base + N(0, budget_noise)).
        """
        jobs = np.arange(len(self.job_skill), dtype=np.uint64)
        shown = uniforms(seed, "market.listing", round, jobs) < self.body.jobs.listing_probability
        noise = self.body.jobs.budget_noise * normals(seed, "market.budget", round, jobs)
        budgets = np.maximum(LOWEST_BUDGET, self.base_budgets(round)[self.job_skill] + noise)
        return sealed(shown), sealed(budgets)


def rules_for(body: MarketBody, seats: Sequence[str], task: str) -> Rules:
    """The rules of a market with these agents.

    Raises:
        UsageError: two agents have one name, or there are none.
    """
    if not seats or len(set(seats)) != len(seats):
        raise UsageError(f"the seats of a market are {list(seats)}\n  allowed: one or more names, each once")
    return Rules(body, tuple(seats), task)
