"""What each fixed policy of the gig market leaves on the table: its regret against every other, in a small duel.

Two agents, one skill, one job, no chance but in the job's ranking and in the policies. The best response to an
opponent is exact, by backward induction, for bids at a few shares of the budget and training. It sees the whole state,
the other's skill too, so a regret is an upper bound on what a policy of these choices could gain. The policies' own
rewards are means over seeds of the real graph, every seed played in both seats, so that a seat's luck cancels out;
where a policy's law is known, the exact value stands beside them. Goal: all such means within 4 standard errors of it.

    python benchmarks/market_regret.py [--rounds 5] [--episodes 200] [--ratios 0.4 0.6 0.8 0.9 1.0]
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from worldloom import api
from worldloom.agents.bidding.lists import FixedList, GreedyPrice, Undercutter
from worldloom.worlds.market.best_response import FixedShare, Policy, Undercut, best_response, value
from worldloom.worlds.market.body import MarketBody
from worldloom.worlds.market.duel import Duel

BUDGET = 10.0
POLICIES = ("greedy_price", "fixed_list", "undercutter", "bandit", "q_learner")
GREEDY, LISTED, UNDER = GreedyPrice(), FixedList(), Undercutter()
LAWS: dict[str, Policy] = {
    "greedy_price": FixedShare(GREEDY.ratio, GREEDY.training),
    "fixed_list": FixedShare(LISTED.ratio, LISTED.training),
    "undercutter": Undercut(UNDER.ratio, UNDER.training, UNDER.below, UNDER.floor),
}
MOST = 4.0
"""Standard errors that a mean may be off its exact value; nine means of the same seeds are looked at."""


def world(rounds: int, disclosure: str, temperature: float) -> dict[str, Any]:
    """`world:` of a duel."""
    return {
        "rounds": rounds,
        "skills": ["work"],
        "jobs": {"per_skill": 1, "budgets": [BUDGET], "listing_probability": 1, "budget_noise": 0},
        "learning": {"by_doing": 0, "performance_noise": 0},
        "mechanism": {"disclosure": disclosure, "temperature": temperature},
    }


def rewards(body: dict[str, Any], policy: str, other: str, episodes: int) -> np.ndarray[Any, Any]:
    """What `policy` earns against `other` in so many seeds of the real graph, each the mean of both seats."""
    casts = ({"own": policy, "other": other}, {"other": other, "own": policy})
    return np.mean([_played(body, cast, episodes) for cast in casts], axis=0)


def _played(body: dict[str, Any], cast: dict[str, str], episodes: int) -> list[float]:
    document = {"kind": "market", "id": "duel", "cast": cast, "world": body}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "duel.yaml"
        file.write_text(json.dumps(document), "utf-8")
        result = api.run([file], epochs=episodes, runs_dir=Path(folder) / "runs")
    assert result.reasons() == {"finished": episodes}, result.reasons()
    seeds = sorted((row.seed, row.row) for row in result.episodes)
    scores = {row: {score.name: score.value for score in found} for row, found in result.scores.items()}
    return [scores[row]["reward:own"] or 0.0 for _, row in seeds]


def main() -> int:
    """Print the table; 1 if a mean is too far from its exact value."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=200, help="seeds of each pair")
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.4, 0.6, 0.8, 0.9, 1.0])
    parser.add_argument("--temperature", type=float, default=0.2)
    given = parser.parse_args()
    print(
        f"{given.rounds} rounds, budget {BUDGET:.0f}, T = {given.temperature}, n = {given.episodes} seeds in both seats"
    )
    print(f"best response: of bids at {given.ratios} x budget and training; what it does first in brackets")
    print(f"{'against':26}{'policy':14}{'reward (95 %)':>18}{'exact':>9}{'regret':>18}{'exact':>9}")
    worst = 0.0
    for other, law in LAWS.items():
        disclosure = "open" if other == "undercutter" else "sealed"
        body = world(given.rounds, disclosure, given.temperature)
        duel = Duel(MarketBody.model_validate(body))
        best = best_response(duel, law, given.ratios)
        first = best.first
        shown = "train" if first is None else f"bid {first:.2f}"
        name = f"{other}, {disclosure}"
        print(f"{name:26}{'best response':14}{'':>18}{best.value:>9.3f}   [{shown}]")
        for policy in POLICIES:
            found = rewards(body, policy, other, given.episodes)
            # A round in which both train is rare; an error is at least what one more would move the mean.
            least = BUDGET / 2 / len(found)
            mean, error = float(found.mean()), max(least, float(found.std(ddof=1) / len(found) ** 0.5))
            exact = value(duel, LAWS[policy], law) if policy in LAWS else None
            own, left = ("", "") if exact is None else (f"{exact:.3f}", f"{best.value - exact:.3f}")
            if exact is not None:
                worst = max(worst, abs(mean - exact) / error)
            print(
                f"{name:26}{policy:14}{f'{mean:.2f} ± {1.96 * error:.2f}':>18}{own:>9}"
                f"{f'{best.value - mean:.2f} ± {1.96 * error:.2f}':>18}{left:>9}",
                flush=True,
            )
    verdict = "met" if worst <= MOST else "missed"
    print(f"largest distance of a mean from its exact value: {worst:.2f} standard errors", end="; ")
    print(f"goal: at most {MOST:.0f}: {verdict}")
    print(f"Python {sys.version.split()[0]}")
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
