"""Telling: a View of a gig market as a short text, the same for all who deliberate.

Built from the View and from nothing else, and bounded: at most `jobs` jobs, the last `history_rounds` rounds, the three
leaders of each skill. Rounds are counted from 1 in texts, from 0 everywhere else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from worldloom.core.view import View

_LEADERS = 3


@dataclass(frozen=True, slots=True)
class Job:
    """A job that is offered in a round."""

    name: str
    skill: str
    budget: float


@cache
def prompt_text(name: str) -> str:
    """The text of `prompts/<name>.md`."""
    return files("worldloom.agents.deliberation").joinpath("prompts", f"{name}.md").read_text("utf-8").strip()


def offered(view: View, most: int) -> list[Job]:
    """The listed jobs in their order; of more than `most` those with the highest own skill × budget, ties in order."""
    seen: Mapping[str, Any] = view.context
    jobs = [Job(row["job"], row["skill"], row["budget"]) for row in seen["listings"]]
    worth = [seen["skills"][job.skill] * job.budget for job in jobs]
    best = sorted(range(len(jobs)), key=lambda place: -worth[place])[:most]
    return [jobs[place] for place in sorted(best)]


def round_text(view: View, jobs: Sequence[Job], history_rounds: int, max_bids: int, notes: str) -> str:
    """What is told before a round.

    Args:
        jobs: those of `offered`.
        notes: what the agent is reminded of, with a heading; may be empty.
    """
    seen: Mapping[str, Any] = view.context
    last, own = _last_winners(seen["history"]), seen["own_history"][-history_rounds:]
    return prompt_text("round").format(
        round=seen["round"] + 1,
        rounds=seen["rounds"],
        seat=seen["seat"],
        reward=_money(seen["reward"]),
        skills=_lines(f"{name}: {_level(seen, name)}" for name in seen["skills"]),
        most=max_bids,
        jobs=_lines(f"{job.name}: budget {_money(job.budget)}{last.get(job.name, '')}" for job in jobs),
        leaders=_lines(f"{name}: {_leaders(rows)}" for name, rows in seen["leaderboard"].items()),
        past=_lines(f"round {row['round'] + 1}: {_deed(row)}" for row in own),
        notes=f"\n{notes}\n" if notes else "",
    )


def incomes(view: View) -> dict[int, float]:
    """What the agent earned in each round that it still sees, by number of the round from 0."""
    own: Any = view.context["own_history"]
    return {row["round"]: row["income"] for row in own}


def _level(seen: Mapping[str, Any], skill: str) -> str:
    return f"level {seen['skills'][skill]:.2f}, {seen['stars'][skill]:.1f} of 5 stars"


def _last_winners(history: Any) -> dict[str, str]:
    """job -> by whom it was done last, and for how much if that is shown."""
    found = {}
    for past in history:
        for row in past["jobs"]:
            if row["winner"] is not None:
                price = f" for {_money(row['price'])}" if "price" in row else ""
                found[row["job"]] = f", last done by {row['winner']}{price} in round {past['round'] + 1}"
    return found


def _leaders(rows: Any) -> str:
    shown = [f"{row['seat']} {row['stars']:.1f} stars ({row['jobs_done']} jobs)" for row in rows[:_LEADERS]]
    return ", ".join(shown)


def _deed(row: Any) -> str:
    """What an agent did in a round, and what came of it."""
    if row["did"] == "bid":
        done = "; ".join(_bid(one) for one in row["bids"])
    elif row["did"] == "train":
        done = f"trained {row['skill']} to level {row['benchmark']:.2f}"
    elif row["did"] == "refused":
        done = f"your move was refused: {row['because']}"
    else:
        done = "did nothing"
    return f"{done}; income {_money(row['income'])}"


def _bid(one: Any) -> str:
    text = f"bid {_money(one['price'])} for {one['job']}"
    if not one["won"]:
        return f"{text}, lost"
    return f"{text}, won, performance {one['performance']:.2f}, paid {_money(one['pay'])}"


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "- none"


def _money(amount: float) -> str:
    return f"{amount:.2f}"
