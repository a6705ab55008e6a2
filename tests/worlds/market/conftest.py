"""Markets made from the mapping under `world:`, and what agents in them might do."""

import asyncio
import json
import random

import pytest

from worldloom.core.action import Action
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.runs.context import Context
from worldloom.worlds.market.world import build

SMALL = {"rounds": 12, "skills": ["writing", "coding", "design"], "jobs": {"per_skill": 2}}


@pytest.fixture(scope="session")
def registry():
    return Registry.discover()


@pytest.fixture(scope="session")
def scenario(registry):
    """A scenario with the given parts of `world:` in place of a small market's."""

    def read(**world):
        text = json.dumps({"kind": "market", "id": "m", "cast": {"a": "random"}, "world": {**SMALL, **world}})
        return parse_scenario(text, "m.yaml", registry)

    return read


@pytest.fixture(scope="session")
def market(scenario):
    """The world of such a scenario with agents a, b, c, …"""

    def make(agents=3, **world):
        return build(scenario(**world), [chr(97 + number) for number in range(agents)])

    return make


@pytest.fixture(scope="session")
def step():
    """One step of a world, without a record."""

    def run(world, state, moves):
        return asyncio.run(world.step(state, moves, Context.null()))

    return run


@pytest.fixture(scope="session")
def bid():
    """A bid for (job, price), …"""

    def make(*bids):
        return Action("bid", {"bids": [{"job": job, "price": price} for job, price in bids]})

    return make


@pytest.fixture(scope="session")
def train():
    return lambda skill: Action("train", {"skill": skill})


@pytest.fixture(scope="session")
def anything(bid, train):
    """Moves of all seats, drawn by a number: bids, training, nothing, and some that cannot be."""

    def moves(world, state, number):
        draw = random.Random(number)
        listed = [job for job, shown in zip(world.rules.job_names, state.listed, strict=True) if shown]
        budget = dict(zip(world.rules.job_names, state.budget.tolist(), strict=True))
        found = {}
        for seat in world.rules.seats:
            kind = draw.random()
            if kind < 0.15:
                found[seat] = train(draw.choice(world.rules.body.skills))
            elif kind < 0.9 and listed:
                jobs = draw.sample(listed, min(len(listed), draw.randint(1, 5)))
                found[seat] = bid(*((job, budget[job] * draw.uniform(0.3, 1)) for job in jobs))
            elif kind < 0.95:
                found[seat] = bid(("writing-1", draw.choice([0, -1.0, float("nan"), 1e9])))
        return found

    return moves
