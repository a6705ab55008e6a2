"""A round's record: blocks that expand to rows, a small fact, and the promises of the record for a market."""

import asyncio

import numpy as np
import pytest

from worldloom.core.canonical import canonical
from worldloom.runs.block import expand
from worldloom.runs.ending import End
from worldloom.testing import Trial, check_room, live
from worldloom.worlds.market.record import ACTS, BIDS, JOBS, RoundRecord


class Play:
    """Plays a market to its end; the moves are drawn by round and seed."""

    def __init__(self, world, moves):
        self.world, self.moves, self.last = world, moves, None

    async def run(self, ctx):
        state = self.world.initial(ctx.seed)
        while not state.over:
            transition = await self.world.step(
                state, self.moves(self.world, state, 100 * ctx.seed + state.round), ctx
            )
            for fact in transition.facts:
                ctx.emit("round.1", fact)
            state = transition.state
        self.last = state
        return End("finished")


@pytest.fixture
def program(market, anything):
    return Play(market(6, rounds=5, history_rounds=20), anything)


def test_a_market_keeps_the_promises_of_the_record(program):
    check_room(Trial(lambda: program))


def test_blocks_expand_to_a_row_for_each_job_agent_and_bid(program):
    life = asyncio.run(live(Trial(lambda: program)))
    rows = {kind: [list(rows_of(e)) for e in life.events if e.type == kind] for kind in (JOBS, ACTS, BIDS)}
    for number, record in enumerate(program.last.history):
        again = RoundRecord.of_rows(
            record.rules, number, rows[JOBS][number], rows[ACTS][number], rows[BIDS][number]
        )
        for name, column in record.columns.items():
            if name == "budget":
                column = np.where(record.listed, column, 0.0)
            assert np.array_equal(again.columns[name], column), name
            assert again.columns[name].dtype == record.columns[name].dtype
    assert [row["seat"] for row in rows[ACTS][0]] == list(range(6))
    assert set(rows[BIDS][0][0]) == {"seat", "job", "rank", "price", "score"}
    assert set(rows[JOBS][0][0]) == {"job", "budget", "winner", "price", "performance", "pay"}


def rows_of(event):
    return expand(event.body, event.load(event.body["cells"]["sha256"]))


def test_the_fact_of_a_round_is_small(program):
    life = asyncio.run(live(Trial(lambda: program)))
    facts = [event.body for event in life.events if event.type == "round.1"]
    assert [fact["round"] for fact in facts] == list(range(5))
    assert max(len(canonical(fact)) for fact in facts) < 500
    assert sum(sum(fact["refused"].values()) for fact in facts) > 0
