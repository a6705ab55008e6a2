"""House nodes: a scope of their own, faults that come to rest, and the smallest key that counts."""

import asyncio
import operator
from typing import Annotated

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from worldloom.core.errors import Ended, ModelError, ToolError
from worldloom.core.key import show_key
from worldloom.graphs.node import HouseState, house_node
from worldloom.graphs.program import GraphProgram
from worldloom.runs.ending import End, earliest
from worldloom.testing import Trial, live


class State(HouseState, total=False):
    item: int
    done: Annotated[list[int], operator.add]


def life_of(graph):
    return asyncio.run(live(Trial(lambda: GraphProgram("toy", graph.compile()))))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Ended("token_limit"), "token_limit"),
        (ModelError("overflow", "too long"), "context_overflow"),
        (ModelError("refusal", "no"), "refused"),
        (ModelError("timeout", "late"), "model_failed"),
        (ToolError("broken"), "tool_failed"),
        (ZeroDivisionError("oops"), "error"),
    ],
)
def test_a_fault_of_a_node_is_the_end_of_the_episode_with_its_reason(fault, reason):
    async def node(state, ctx):
        ctx.emit("begun.1", {})
        raise fault

    async def never(state, ctx):
        raise AssertionError("the episode had ended")

    graph = StateGraph(State)
    graph.add_node("node", house_node(node, then="never"), destinations=("never", END))
    graph.add_node("never", house_node(never))
    graph.add_edge(START, "node")
    life = life_of(graph)
    assert life.end.reason == reason
    assert show_key(life.end.key) == "0:toy/1:node/1"
    assert [event.type for event in life.events] == ["begun.1", "ended.1"]


def test_a_node_that_fails_cancels_no_sibling_and_the_smallest_key_counts():
    async def node(state, ctx):
        for _ in range(10 - state["item"]):
            await asyncio.sleep(0)
        if state["item"] in (2, 4):
            raise ToolError(f"item {state['item']}")
        ctx.emit("done.1", {"item": state["item"]})
        return {"done": [state["item"]]}

    async def spread(state):
        return [Send("node", {"item": n}) for n in range(6)]

    graph = StateGraph(State)
    graph.add_node("node", house_node(node))
    graph.add_conditional_edges(START, spread, ["node"])
    life = life_of(graph)
    assert (life.end.reason, life.end.detail) == ("tool_failed", "item 2"), "although item 4 failed before it"
    assert sorted(event.body["item"] for event in life.events if event.type == "done.1") == [0, 1, 3, 5]


def test_scopes_are_named_by_superstep_and_node():
    async def node(state, ctx):
        ctx.emit("here.1", {})
        return {"done": [1], "ended": End("finished", key=ctx.here) if len(state["done"]) == 2 else None}

    graph = StateGraph(State)
    graph.add_node("node", house_node(node, then="node"), destinations=("node", END))
    graph.add_edge(START, "node")
    life = life_of(graph)
    keys = [show_key(event.key) for event in life.events]
    assert keys == ["0:toy/1:node/0", "0:toy/2:node/0", "0:toy/3:node/0", "1"]


def test_a_graph_that_writes_nothing_into_its_state_has_finished():
    async def node(state, ctx):
        return {}

    graph = StateGraph(State)
    graph.add_node("node", house_node(node))
    graph.add_edge(START, "node")
    assert life_of(graph).end.reason == "finished"


def test_of_two_ends_the_one_with_the_smaller_key_is_kept_in_any_order():
    one, two = End("error", key=b"\1"), End("refused", key=b"\2")
    assert earliest(one, two) == earliest(two, one) == one
    assert earliest(None, one) == earliest(one, None) == one
    assert earliest(None, None) is None


class Counted(HouseState, total=False):
    n: int


@pytest.mark.slow
def test_an_episode_may_have_more_supersteps_than_langgraph_allows_by_itself():
    async def count(state, ctx):
        n = state.get("n", 0) + 1
        return {"n": n, "ended": End("finished", key=ctx.here)} if n == 11_000 else {"n": n}

    graph = StateGraph(Counted)
    graph.add_node("count", house_node(count, then="count"), destinations=("count", END))
    graph.add_edge(START, "count")
    program = GraphProgram("counting", graph.compile())
    assert asyncio.run(live(Trial(lambda: program))).end.reason == "finished"
