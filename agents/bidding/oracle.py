"""oracle: a policy that is handed what is hidden, to show what knowing it is worth. It is no contestant.

Beside what everybody sees it needs the columns of HIDDEN, and says so by `needs`. It supposes that the others bid as in
the last round: with their bids it knows for each skill how heavily a job is contested (the mean over its jobs of
Σ score^(1/T), its own bids left out) and so its chance at any price, score^(1/T) / (score^(1/T) + that sum). In each
skill it asks the share of the budget, of 0.1, 0.2, …, 1, that makes price × chance highest; it bids where that is
most and puts the best paid first. Instead it trains the best of its skills if an upgrade, once its reputation shows it,
brings more in the rounds left than this round does. Under performance pay a price counts times its true skill.
"""

from dataclasses import dataclass

import numpy as np

from worldloom.agents.agent import AgentConfig
from worldloom.agents.bidding.factory import without_argument
from worldloom.agents.bidding.market import Floats, Ints, Market, moves, nothing, number
from worldloom.agents.cohort import Columns, Decisions
from worldloom.core.errors import UsageError
from worldloom.runs.context import Context
from worldloom.runs.rounding import rounded

HIDDEN = (
    "oracle_skills",
    "oracle_reputation",
    "oracle_bid_seat",
    "oracle_bid_job",
    "oracle_bid_score",
    "oracle_rounds",
    "oracle_weight",
    "oracle_elasticity",
    "oracle_rho",
    "oracle_temperature",
    "oracle_capacity",
    "oracle_step",
    "oracle_by_performance",
)
"""True skills and exact reputations of all agents, shape (agents, skills). Of each bid of the last round its seat, its
job and its score, shape (bids,). And of one cell each the rules: rounds of the market; w, eta and rho of the score (rho
0 for Cobb–Douglas); T; capacity; what an upgrade closes of the gap to 1; 1 if pay goes by performance, else 0."""
_SHARES = np.arange(1, 11) / 10.0
_LOWEST = 2.0**-20
"""A skill or reputation of 0 counts as this, so that its logarithm is finite."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """Knows all skills, all bids of the last round and the rules, but not what the others will do."""

    needs: tuple[str, ...] = HIDDEN

    async def act_many(self, memo: Columns, seats: Ints, seen: Columns, ctx: Context) -> Decisions:
        """Decide for all seats.

        Raises:
            UsageError: the columns of HIDDEN are not all there.
        """
        if missing := [name for name in HIDDEN if name not in seen]:
            raise UsageError(
                f"the agent `oracle` is not handed {', '.join(missing)}\n  allowed: {', '.join(HIDDEN)}"
            )
        market = Market.of(seen)
        if not len(market.jobs):
            return Decisions(nothing(seats))
        rows = np.arange(len(seats))
        contested = _contested(market, seats, seen)
        skills = np.maximum(seen["oracle_skills"][seats], _LOWEST)
        share, worth = _best_shares(seen, contested, seen["oracle_reputation"][seats], skills)
        job, expected = _best_jobs(market, worth)
        skill = np.argmax(rounded(worth * market.best_budget), axis=1)
        now, after = _prospects(seen, contested[rows, skill], share[rows, skill], skills[rows, skill])
        count = np.bincount(market.skill[market.jobs], minlength=skills.shape[1])[skill]
        many = np.minimum(count, int(number(seen, "oracle_capacity")))
        gain = many * market.best_budget[skill] * (after - now)
        left = number(seen, "oracle_rounds") - market.round - 1
        trains = rounded(left * gain) > rounded(
            expected[:, : int(number(seen, "oracle_capacity"))].sum(axis=1)
        )
        price = market.asked(share[rows[:, None], market.skill[job]], job)
        order = np.argsort(-rounded(price), axis=1, kind="stable")
        job, price = np.take_along_axis(job, order, axis=1), np.take_along_axis(price, order, axis=1)
        return Decisions(moves(seats, job, price, skill, trains))


def _scores(seen: Columns, quality: Floats, share: Floats | np.float64) -> Floats:
    """U / (1 + U) of a bid for a share of the budget by an agent of that reputation."""
    weight, rho = number(seen, "oracle_weight"), number(seen, "oracle_rho")
    q, cheapness = np.maximum(quality, _LOWEST), np.power(share, -number(seen, "oracle_elasticity"))
    if rho == 0:
        useful = np.power(q, weight) * np.power(cheapness, 1.0 - weight)
    else:
        mixed = weight * np.power(q, rho) + (1.0 - weight) * np.power(cheapness, rho)
        useful = np.power(mixed, 1.0 / rho)
    return useful / (1.0 + useful)


def _weights(seen: Columns, score: Floats) -> Floats:
    """score^(1/T): the chances of the bids for a job are as these."""
    return np.power(score, 1.0 / number(seen, "oracle_temperature"))


def _chances(seen: Columns, score: Floats, contested: Floats) -> Floats:
    own = _weights(seen, score)
    return own / np.maximum(own + contested, np.finfo(np.float64).tiny)


def _contested(market: Market, seats: Ints, seen: Columns) -> Floats:
    """Weight of the others' bids for a job of each skill, the mean over its jobs, shape (seats, skills)."""
    agents, skills = seen["oracle_skills"].shape
    place = seen["oracle_bid_seat"] * skills + market.skill[seen["oracle_bid_job"]]
    weight = _weights(seen, seen["oracle_bid_score"])
    own = np.bincount(place, weights=weight, minlength=agents * skills).reshape(agents, skills)
    jobs = np.maximum(np.bincount(market.skill[market.jobs], minlength=skills), 1)
    others: Floats = np.maximum(own.sum(axis=0) - own[seats], 0.0) / jobs
    return others


def _best_shares(
    seen: Columns, contested: Floats, reputation: Floats, skills: Floats
) -> tuple[Floats, Floats]:
    """What to ask in each skill, and what it is worth on average, as shares of a budget; shapes (seats, skills)."""
    share, worth = np.full(contested.shape, _SHARES[0]), np.full(contested.shape, -1.0)
    for asked in _SHARES:
        value = rounded(asked * _chances(seen, _scores(seen, reputation, asked), contested))
        share, worth = np.where(value >= worth, asked, share), np.maximum(value, worth)
    return share, worth * _pays(seen, skills)


def _pays(seen: Columns, skills: Floats) -> Floats:
    """What part of a price an agent is paid."""
    return skills if number(seen, "oracle_by_performance") else np.ones(skills.shape)


def _prospects(seen: Columns, contested: Floats, share: Floats, skill: Floats) -> tuple[Floats, Floats]:
    """What a job is worth, as a share of its budget, to one known to be as good as he is, and after an upgrade."""
    better = skill + number(seen, "oracle_step") * (1.0 - skill)
    now, after = (
        share * _chances(seen, _scores(seen, level, share), contested) * _pays(seen, level)
        for level in (skill, better)
    )
    return now, after


def _best_jobs(market: Market, worth: Floats) -> tuple[Ints, Floats]:
    """The jobs that promise most to each seat, best first, and how much; shapes (seats, places)."""
    by_pay = market.jobs[np.lexsort((market.jobs, -market.budget[market.jobs], market.skill[market.jobs]))]
    skill = market.skill[by_pay]
    place = np.arange(len(by_pay)) - np.searchsorted(skill, skill)
    candidates = by_pay[place < market.places]
    promised = rounded(worth[:, market.skill[candidates]] * market.budget[candidates])
    left, rows, places = promised.copy(), np.arange(len(worth)), min(market.places, len(candidates))
    order = np.empty((len(worth), places), dtype=np.int64)
    for rank in range(places):  # five times the best: a tenth of the time of sorting all
        order[:, rank] = np.argmax(left, axis=1)
        left[rows, order[:, rank]] = -np.inf
    return candidates[order], np.take_along_axis(promised, order, axis=1)


def oracle(config: AgentConfig) -> Oracle:
    """The cohort of the room `oracle`."""
    without_argument("oracle", config)
    return Oracle()
