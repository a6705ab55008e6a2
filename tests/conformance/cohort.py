"""Toy room: sixteen seats at once. All of a round's model calls go out together, its acts are one block."""

import operator
from typing import Annotated, TypedDict

import numpy as np
from langgraph.graph import END, START, StateGraph
from rooms import TalkingModel

from worldloom.graphs.node import HouseState, house_node
from worldloom.graphs.program import GraphProgram
from worldloom.models.model import Message, Request
from worldloom.runs.chance import uniforms
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.testing import Trial

SEATS, ROUNDS = 16, 4


class State(HouseState, TypedDict, total=False):
    round: Annotated[int, operator.add]
    wealth: tuple[float, ...]


async def ask(ctx: Context, seat: int) -> float:
    # Seats 2k and 2k + 1 ask the very same: each must keep its own answer.
    answer = await ctx.model("agent", Request((Message.of("user", f"Bid as {seat // 2}, seed {ctx.seed}."),)))
    ctx.emit("bid.1", {"seat": seat, "text": answer.text})
    return float(int(answer.text))


async def play_round(state: State, ctx: Context) -> State:
    number = state.get("round", 0)
    bids = np.asarray(await ctx.map(ask, range(SEATS)))
    luck = uniforms(ctx.seed, "luck", number, np.arange(SEATS, dtype=np.uint64))
    wealth = np.asarray(state.get("wealth", (0.0,) * SEATS)) + bids * luck
    ctx.emit_block("acts.1", {"seat": np.arange(SEATS), "bid": bids, "wealth": wealth})
    over = End("finished", key=ctx.here) if number + 1 == ROUNDS else None
    return {"round": 1, "wealth": tuple(wealth.tolist()), "ended": over}


def trial() -> Trial:
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("round", house_node(play_round, then="round"), destinations=("round", END))
    graph.add_edge(START, "round")
    program = GraphProgram("cohort", graph.compile())
    return Trial(lambda: program, lambda: {"agent": TalkingModel()})
