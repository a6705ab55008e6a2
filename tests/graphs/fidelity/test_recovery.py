"""A simulator that is wrong at known rates is found to be wrong at these rates, kind by kind."""

import asyncio
import hashlib
import json
from collections import Counter

import pytest

from worldloom.core.action import Action
from worldloom.graphs.fidelity.compare import KINDS

CALLS = 2_000
RATES = {
    "unreadable": 0.04,
    "wrong_success": 0.05,
    "wrong_value": 0.08,
    "missing_change": 0.06,
    "extra_change": 0.07,
    "invented": 0.05,
    "leaked_rule": 0.03,
    "read_that_wrote": 0.09,
}
"""Of the calls in which a kind can be injected."""


def actions():
    """Reads, writes and calls that fail; the tag makes each its own request."""
    for tag in range(1, CALLS + 1):
        if tag % 3 == 0:
            yield Action("tank.look", {"tag": tag})
        else:
            yield Action("tank.fill", {"level": 95 if tag % 10 == 1 else tag % 90, "tag": tag})


class Faulty:
    """Spoils the truth, by the request alone; counts what it has injected, and where it could have."""

    def __init__(self, tank, rule):
        self.tank, self.rule = tank, rule
        self.injected, self.possible = Counter(), Counter()

    def draws(self, asked, kind):
        seed = f"11 {kind} {asked}".encode()
        hit = int.from_bytes(hashlib.sha256(seed).digest()[:8], "big") / 2**64 < RATES[kind]
        self.possible[kind] += 1
        self.injected[kind] += hit
        return hit

    def __call__(self, request):
        asked = request.messages[1].content[0].text
        if self.draws(asked, "unreadable"):
            return "The tank is as it is."
        fact = self.tank.truth(request)
        changes = {"tank": dict(fact["changes"].get("tank", {}))}
        success, message = fact["success"], fact["message"]
        if self.draws(asked, "wrong_success"):
            success = not success
        if "level" in changes["tank"] and self.draws(asked, "wrong_value"):
            changes["tank"]["level"] += 1_000
        if "last" in changes["tank"] and self.draws(asked, "missing_change"):
            del changes["tank"]["last"]
        if fact["read_only"]:
            if self.draws(asked, "read_that_wrote"):
                changes["tank"]["spare"] = "ajar"
        elif self.draws(asked, "extra_change"):
            changes["tank"]["spare"] = "ajar"
        if self.draws(asked, "invented"):
            changes["ghost" if fact["read_only"] else "tank"] = {**changes["tank"], "ghost": 1}
        if self.draws(asked, "leaked_rule"):
            message = json.dumps({**json.loads(message), "why": self.rule}) if fact["success"] else self.rule
        told = {"success": success, "message": message, "state_changes": changes}
        return json.dumps({"thought_process": "so", **told})


@pytest.mark.slow
def test_every_kind_is_recovered_at_the_rate_at_which_it_was_injected(tank, rule):
    faulty = Faulty(tank, rule)
    scores = asyncio.run(tank.measured(faulty, list(actions()), repeats=1))
    assert scores["exact"].n == CALLS
    for kind in KINDS:
        known = RATES[kind] * faulty.possible[kind] / CALLS
        assert scores[kind].value == pytest.approx(known, abs=0.01), kind
        assert scores[kind].value == pytest.approx(faulty.injected[kind] / CALLS, abs=1e-9), kind


def test_a_perfect_simulator_is_right_in_everything_and_of_no_kind(tank):
    scores = asyncio.run(tank.measured(tank.perfect, list(actions())[:300], repeats=2))
    full = ("exact", "action_type", "message", "accepted", "self_exact", "self_type")
    assert {name: scores[name].value for name in full} == dict.fromkeys(full, 1.0)
    assert {kind: scores[kind].value for kind in KINDS} == dict.fromkeys(KINDS, 0.0)
    assert (scores["exact"].n, scores["self_exact"].n) == (600, 300)
