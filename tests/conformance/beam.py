"""Toy room: a beam over a grid, expanded by parallel nodes, with children that fail.

Each child asks a nested graph what a cell is worth. A child that steps off the grid raises: its siblings run on.
"""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from rooms import TalkingModel

from worldloom.core.errors import ToolError
from worldloom.graphs.node import HouseState, house_node
from worldloom.graphs.program import GraphProgram
from worldloom.models.model import Message, Request
from worldloom.runs.context import Context
from worldloom.testing import Trial

SIZE, WIDTH = 5, 3
Cell = tuple[int, int]


class State(HouseState, TypedDict, total=False):
    beam: list[Cell]
    found: Annotated[list[tuple[int, Cell]], operator.add]
    depth: int


class Worth(HouseState, TypedDict, total=False):
    cell: Cell
    worth: int


async def look(state: Worth, ctx: Context) -> Worth:
    answer = await ctx.model(
        "judge", Request((Message.of("user", f"What is {state['cell']} worth, {ctx.seed}?"),))
    )
    return {"worth": int(answer.text)}


async def expand(state: dict[str, Cell], ctx: Context) -> State:
    x, y = state["cell"]
    found = []
    for cell in ((x + 1, y), (x, y + 1)):
        if max(cell) >= SIZE:
            raise ToolError(f"{cell} is off the grid")
        worth = await ctx.subgraph("worth", WORTH, {"cell": cell})
        if worth.get("ended"):
            return {"ended": worth["ended"]}
        ctx.emit("seen.1", {"cell": list(cell), "worth": worth["worth"]})
        found.append((worth["worth"], cell))
    return {"found": found}


async def select(state: State, ctx: Context) -> State:
    depth = state.get("depth", 0) + 1
    best = sorted({(worth, cell) for worth, cell in state["found"] if sum(cell) == depth}, reverse=True)[
        :WIDTH
    ]
    ctx.emit("selected.1", {"depth": depth, "cells": [list(cell) for _, cell in best]})
    return {"beam": [cell for _, cell in best], "depth": depth}


async def fan_out(state: State) -> list[Send] | str:
    return (
        END
        if state.get("ended")
        else [Send("expand", {"cell": cell}) for cell in state.get("beam", [(0, 0)])]
    )


async def fan_in(state: State) -> str:
    return END if state.get("ended") else "select"


worth = StateGraph(Worth, context_schema=Context)
worth.add_node("look", house_node(look))
worth.add_edge(START, "look")
WORTH = worth.compile()


def trial() -> Trial:
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("expand", house_node(expand))
    graph.add_node("select", house_node(select))
    graph.add_conditional_edges(START, fan_out, ["expand", END])
    graph.add_conditional_edges("expand", fan_in, ["select", END])
    graph.add_conditional_edges("select", fan_out, ["expand", END])
    program = GraphProgram("beam", graph.compile())
    return Trial(lambda: program, lambda: {"judge": TalkingModel()})
