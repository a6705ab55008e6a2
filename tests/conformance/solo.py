"""Toy room: one seat in a rules world. A counter must come to 5; a model says whether it goes up or down."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from rooms import TalkingModel

from worldloom.graphs.node import HouseState, house_node
from worldloom.graphs.program import GraphProgram
from worldloom.models.model import Message, Request
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.testing import Trial


class State(HouseState, TypedDict, total=False):
    count: int
    said: tuple[str, ...]


async def decide(state: State, ctx: Context) -> State:
    said = state.get("said", ())
    messages = [
        Message.of("user", f"Count to 5. {ctx.seed}"),
        *(Message.of("assistant", word) for word in said),
    ]
    answer = await ctx.model("agent", Request(tuple(messages), max_tokens=8))
    word = "down" if int(answer.text) % 4 == 0 else "up"
    ctx.emit("decided.1", {"word": word, "luck": float(ctx.rng("luck").random())})
    return {"said": (*said, word)}


async def act(state: State, ctx: Context) -> State:
    count = state.get("count", 0) + (1 if state["said"][-1] == "up" else -1)
    ctx.usage.steps += 1
    ctx.emit("stepped.1", {"count": count})
    over = End("completed", key=ctx.here) if count == 5 else None
    if over is None and len(state["said"]) >= ctx.limits.steps:
        over = End("step_limit", key=ctx.here)
    return {"count": count, "ended": over}


def trial() -> Trial:
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("decide", house_node(decide, then="act"), destinations=("act", END))
    graph.add_node("act", house_node(act, then="decide"), destinations=("decide", END))
    graph.add_edge(START, "decide")
    program = GraphProgram("solo", graph.compile())
    return Trial(lambda: program, lambda: {"agent": TalkingModel()})
