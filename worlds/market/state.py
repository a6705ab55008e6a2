"""MarketState: a market between two rounds, an immutable value. What an agent sees of it is `view(seat)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from worldloom.core.action import ActionSpec
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError, offer
from worldloom.core.frozen import freeze
from worldloom.core.view import View
from worldloom.worlds.market.record import RoundRecord, digest_columns
from worldloom.worlds.market.reputation import Evidence, reputations, stars
from worldloom.worlds.market.rules import Bools, Floats, Ints, Rules, sealed, shown_budgets
from worldloom.worlds.market.view import Seen, action_specs, leaderboard, listings

NO_BENCHMARK = -1.0


@dataclass(frozen=True, eq=False, repr=False)
class MarketState:
    """A market before a round.

    Attributes:
        rules: what stays the same.
        seed: of all chance.
        round: number of the round to come, from 0.
        listed, budget: its listings, shape (jobs,).
        skills: hidden from all but the agent itself, shape (agents, skills).
        evidence: what reputations are made from.
        benchmark: level that each agent's last training in a skill showed, NO_BENCHMARK before the first, shape
            (agents, skills).
        reward: what each agent has earned so far, shape (agents,).
        done: jobs that each agent has done so far, shape (agents,).
        history: the last rounds, oldest first; at most `history_rounds`.
    """

    rules: Rules
    seed: int
    round: int
    listed: Bools
    budget: Floats
    skills: Floats
    evidence: Evidence
    benchmark: Floats
    reward: Floats
    done: Ints
    history: tuple[RoundRecord, ...] = ()

    def __post_init__(self) -> None:
        for column in (self.listed, self.budget, self.skills, self.benchmark, self.reward, self.done):
            sealed(column)

    @staticmethod
    def initial(rules: Rules, seed: int) -> "MarketState":
        """The market before its first round."""
        agents, skills = len(rules.seats), len(rules.body.skills)
        return MarketState(
            rules,
            seed,
            0,
            *rules.listing(seed, 0),
            np.full((agents, skills), rules.body.learning.initial_skill),
            Evidence.none(agents, skills, rules.body.reputation.prior_window),
            np.full((agents, skills), NO_BENCHMARK),
            np.zeros(agents),
            np.zeros(agents, dtype=np.int64),
        )

    @property
    def over(self) -> bool:
        """Whether all rounds have been played."""
        return self.round >= self.rules.body.rounds

    @cached_property
    def reputation(self) -> Floats:
        """Of each agent in each skill, in [0, 1], shape (agents, skills)."""
        return sealed(reputations(self.evidence, self.rules.body.reputation))

    @cached_property
    def stars(self) -> Floats:
        """Reputation as everybody sees it, 0 to 5, shape (agents, skills)."""
        return sealed(stars(self.reputation))

    @cached_property
    def _fingerprint(self) -> str:
        evidence = self.evidence
        return digest_columns(
            {
                f"{self.rules.fingerprint} {' '.join(record.fingerprint for record in self.history)}": np.array(
                    [self.seed, self.round]
                ),
                "listed": self.listed,
                "budget": self.budget,
                "skills": self.skills,
                "good": evidence.good,
                "bad": evidence.bad,
                "recent": evidence.recent,
                "known": evidence.known,
                "benchmark": self.benchmark,
                "reward": self.reward,
                "done": self.done,
            }
        )

    def fingerprint(self) -> str:
        return self._fingerprint

    @cached_property
    def actions(self) -> tuple[ActionSpec, ...]:
        """What any agent may do in the round to come; nothing when the market is over."""
        return () if self.over else action_specs(self.rules, self.listed, self.budget)

    @cached_property
    def _public(self) -> Mapping[str, Json]:
        """What everybody sees."""
        body = self.rules.body
        shown: Mapping[str, Json] = freeze(
            {
                "round": self.round,
                "rounds": body.rounds,
                "listings": [] if self.over else listings(self.rules, self.listed, self.budget),
                "leaderboard": leaderboard(self.rules, self.stars, self.done),
                "history": [record.public for record in self.history],
            }
        )
        return shown

    def view(self, seat: str) -> View:
        """What `seat` may see: what is public, its own skills, its own past.

        Raises:
            UsageError: there is no such seat.
        """
        number = self.rules.seat_numbers.get(seat)
        if number is None:
            raise UsageError(f"there is no seat {seat!r}{offer(seat, self.rules.seats)}")
        names = self.rules.body.skills
        own: dict[str, Json] = {
            "seat": seat,
            "skills": dict(zip(names, self.skills[number].tolist(), strict=True)),
            "benchmarks": {
                name: level
                for name, level in zip(names, self.benchmark[number].tolist(), strict=True)
                if level != NO_BENCHMARK
            },
            "stars": dict(zip(names, self.stars[number].tolist(), strict=True)),
            "reward": float(self.reward[number]),
            "own_history": [record.own(number) for record in self.history],
        }
        told = self.history[-1].feedback(number) if self.history else None
        return View(self.rules.task, {**self._public, **own}, {}, self.actions, told, self.round)

    @cached_property
    def seen(self) -> Seen:
        """What the agents of a cohort may see, as columns."""
        jobs, mechanism = len(self.listed), self.rules.body.mechanism
        shown = self.history and mechanism.disclosure == "open"
        return Seen(
            self.round,
            self.listed,
            sealed(shown_budgets(self.budget)),
            self.rules.job_skill,
            self.history[-1].price if shown else sealed(np.zeros(jobs)),
            self.stars,
            self.skills,
            self.reward,
        )
