"""What agents see of a market before a round: the brief, listings, leaderboard and actions as JSON, a cohort's columns.

No function here is handed skills, so that none can slip into what others see.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from worldloom.core.action import ActionSpec
from worldloom.core.canonical import Json
from worldloom.core.frozen import freeze
from worldloom.worlds.market.body import MarketBody
from worldloom.worlds.market.rules import Bools, Floats, Ints, Rules, shown_budgets

LEADERS = 20
"""Agents that a leaderboard shows for each skill."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What the agents of a cohort may see before a round, as columns.

    Attributes:
        round: number of the round, from 0.
        listed: which jobs are shown, shape (jobs,).
        budget: of each job in whole cents, shape (jobs,).
        job_skill: skill that each job asks for, shape (jobs,).
        last_price: winning price of each job in the last round, 0 if it had none or prices are sealed, shape (jobs,).
        stars: of everybody, shape (agents, skills).
        skills, reward: row i is for agent i alone, shapes (agents, skills) and (agents,).
    """

    round: int
    listed: Bools
    budget: Floats
    job_skill: Ints
    last_price: Floats
    stars: Floats
    skills: Floats
    reward: Floats


def brief(body: MarketBody) -> str:
    """What agents are told if the scenario has no `user_prompt`."""
    mechanism = body.mechanism
    text = files("worldloom.worlds.market").joinpath("brief.txt").read_text("utf-8")
    paid = {
        "fixed": "You are paid the price you bid.",
        "performance": "You are paid the price you bid times your performance.",
    }
    return text.format(
        rounds=body.rounds, max_bids=mechanism.max_bids, capacity=mechanism.capacity, pay=paid[mechanism.pay]
    ).strip()


def listings(rules: Rules, listed: Bools, budget: Floats) -> Json:
    """The jobs of this round."""
    shown = shown_budgets(budget).tolist()
    skills = rules.body.skills
    found: list[Json] = [
        {"job": rules.job_names[job], "skill": skills[rules.job_skill[job]], "budget": shown[job]}
        for job in np.flatnonzero(listed).tolist()
    ]
    return found


def leaderboard(rules: Rules, stars: Floats, won: Ints) -> Json:
    """The best-reputed agents of each skill, ties by number, each with the number of jobs that it has done."""
    board: dict[str, Json] = {}
    for number, skill in enumerate(rules.body.skills):
        best = np.argsort(-stars[:, number], kind="stable")[:LEADERS].tolist()
        board[skill] = [
            {"seat": rules.seats[seat], "stars": float(stars[seat, number]), "jobs_done": int(won[seat])}
            for seat in best
        ]
    return board


def action_specs(rules: Rules, listed: Bools, budget: Floats) -> tuple[ActionSpec, ...]:
    """What an agent may do in this round, with JSON Schemas; the same for everybody."""
    names: list[Json] = [rules.job_names[job] for job in np.flatnonzero(listed).tolist()]
    skills: list[Json] = list(rules.body.skills)
    train = ActionSpec(
        "train", "Train one skill for this round, without bidding.", _object({"skill": {"enum": skills}})
    )
    if not names:
        return (train,)
    price: dict[str, Json] = {"type": "number", "maximum": float(shown_budgets(budget)[listed].max())}
    minimum = rules.body.mechanism.minimum_price
    price |= {"minimum": minimum} if minimum else {"exclusiveMinimum": 0}
    most = rules.body.mechanism.max_bids
    bids: Json = {
        "type": "array",
        "minItems": 1,
        "maxItems": most,
        "items": _object({"job": {"enum": names}, "price": price}),
    }
    what = f"Bid for up to {most} listed jobs, the one you want most first; a price must not exceed its job's budget."
    return (ActionSpec("bid", what, _object({"bids": bids})), train)


def _object(properties: Mapping[str, Json]) -> dict[str, Json]:
    schema: dict[str, Json] = freeze(
        {
            "type": "object",
            "properties": dict(properties),
            "required": list(properties),
            "additionalProperties": False,
        }
    )
    return schema
