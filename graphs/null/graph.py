"""The null graph: one node, one event a step. A template for authors, and the floor of benchmarks."""

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from worldloom.core.canonical import Json
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.node import HouseState, house_node
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.runs.rows import Score
from worldloom.runs.scorer import EpisodeRecord


class State(HouseState, TypedDict, total=False):
    """What the graph carries from turn to turn."""

    world: Any
    memo: Json


def build(config: GraphConfig) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of the seat `agent` in the null world."""
    world, agent = config.world, config.agents["agent"]

    async def turn(state: State, ctx: Context) -> State:
        place = state["world"] if "world" in state else world.initial(ctx.seed)
        decision = await agent.act(state.get("memo"), place.view("agent"), ctx)
        ctx.emit("decided.1", {"action": decision.action.to_json() if decision.action else None})
        if decision.action is None:
            return {"ended": End("completed", key=ctx.here)}
        ctx.usage.steps += 1
        transition = await world.step(place, {"agent": decision.action}, ctx)
        over = End("step_limit", key=ctx.here) if transition.state.step >= ctx.limits.steps else None
        return {"world": transition.state, "memo": decision.memo, "ended": over}

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("turn", house_node(turn, then="turn"), destinations=("turn", END))
    graph.add_edge(START, "turn")
    return graph.compile()


class NullScorer:
    """There is nothing to score but that the episode came to its end."""

    def __init__(self, config: GraphConfig) -> None:
        self._config = config

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        return [Score("ended", 1.0, 1, "share", "record")]
