"""Limits strike where the program says and not where the clock says: at any concurrency, live and in a replay."""

import asyncio
import itertools
import operator
import random
from typing import Annotated

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from worldloom.core.errors import Ended
from worldloom.graphs.node import HouseState, house_node
from worldloom.graphs.program import GraphProgram
from worldloom.models.model import Completion, Message, Request, Usage
from worldloom.runs import usage
from worldloom.runs.limits import Budget, Limits
from worldloom.testing import Trial, live, replay


class Jittery:
    """Answers after a random number of turns of the loop; each call costs 10 tokens."""

    id = "jittery"

    def __init__(self):
        self.random = random.Random()

    async def complete(self, request):
        for _ in range(self.random.randrange(5)):
            await asyncio.sleep(0)
        return Completion("fine", usage=Usage(7, 3))

    async def context_length(self):
        return None


async def ask(ctx, word):
    await ctx.model("agent", Request((Message.of("user", str(word)),)))
    ctx.emit("asked.1", {"word": word})


class State(HouseState, total=False):
    item: int
    seen: Annotated[list[int], operator.add]


async def twice(state, ctx):
    await ask(ctx, "once")
    await ask(ctx, "again")
    return {}


nested = StateGraph(State)
nested.add_node("twice", house_node(twice, then="more"), destinations=("more", END))
nested.add_node("more", house_node(twice))
nested.add_edge(START, "twice")
NESTED = nested.compile()


async def branch(state, ctx):
    """Some branches talk more than others, one of them through a graph and a map of their own."""
    for n in range(state["item"]):
        await ask(ctx, n)
    if state["item"] == 2:
        inner = await ctx.subgraph("nested", NESTED, {})
        if inner.get("ended"):
            return {"ended": inner["ended"]}
    await ctx.map(ask, range(2))
    return {"seen": [state["item"]]}


async def gather(state, ctx):
    ctx.emit("gathered.1", {"seen": len(state["seen"])})
    return {}


async def spread(state):
    return (
        END
        if state.get("ended") or len(state["seen"]) > 12
        else [Send("branch", {"item": n}) for n in range(4)]
    )


async def on(state):
    return END if state.get("ended") else "gather"


def trial(**limits):
    graph = StateGraph(State)
    graph.add_node("branch", house_node(branch))
    graph.add_node("gather", house_node(gather))
    graph.add_edge(START, "gather")
    graph.add_conditional_edges("branch", on, ["gather", END])
    graph.add_conditional_edges("gather", spread, ["branch", END])
    program = GraphProgram("spread", graph.compile())
    return Trial(lambda: program, lambda: {"agent": Jittery()}, limits=Limits(**limits))


@pytest.mark.parametrize(
    "limits",
    [{"tokens": n} for n in (1, 10, 60, 110, 200, 250, 333)]
    + [{"model_calls": n} for n in (0, 1, 5, 9, 14, 25)],
    ids=str,
)
def test_parallel_branches_with_graphs_and_maps_inside_strike_the_same_limit_at_the_same_key(limits):
    async def run():
        lives = [await live(trial(**limits)) for _ in range(6)]
        assert len({life.fingerprint for life in lives}) == 1
        assert lives[0].end.reason == ("token_limit" if "tokens" in limits else "call_limit")
        for life in lives[:2]:
            assert await replay(trial(**limits), life) == life.fingerprint

    asyncio.run(run())


def test_without_a_limit_the_same_graph_comes_to_its_end():
    end = asyncio.run(live(trial())).end
    assert end.reason == "finished"


def test_calls_in_a_row_end_with_the_limit_and_the_count_is_recorded(desk, echo, ask):
    async def play(ctx):
        for n in itertools.count():
            await ctx.model("agent", ask(str(n)))

    model = echo()
    (row,) = desk.play(play, models={"agent": model}, limits=Limits(model_calls=3))
    assert (row.reason, row.fault, row.model_calls, model.asked) == ("call_limit", "agent", 3, 3)
    assert (row.prompt_tokens, row.completion_tokens) == (30, 15)
    assert desk.events()[-1][1] == {
        "reason": "call_limit", "fault": "agent", "steps": 0,
        "model_calls": 3, "prompt_tokens": 30, "completion_tokens": 15,
    }  # fmt: skip
    desk.replay(play, models={"agent": model}, limits=Limits(model_calls=3))


def test_of_the_children_of_a_map_the_first_that_fit_by_index_run(desk, echo, ask):
    async def child(ctx, item):
        await ctx.model("agent", ask(str(item)))
        ctx.emit("ran.1", {"item": item})

    async def play(ctx):
        settled = await ctx.settle(child, range(5))
        ctx.emit("failed.1", {"items": [n for n, one in enumerate(settled) if isinstance(one.error, Ended)]})
        await ctx.model("agent", ask("one more"))

    (row,) = desk.play(play, models={"agent": echo()}, limits=Limits(model_calls=3))
    assert [body["item"] for type, body in desk.events() if type == "ran.1"] == [0, 1, 2]
    assert ("failed.1", {"items": [3, 4]}) in desk.events()
    assert (row.reason, row.model_calls) == ("call_limit", 3)


def test_what_children_did_not_use_of_their_reservation_is_there_for_others(desk, echo, ask):
    async def child(ctx, item):
        if item % 2:
            await ctx.model("agent", ask(str(item)))

    async def play(ctx):
        await ctx.map(child, range(4), calls_each=2)
        for n in range(10):
            await ctx.model("agent", ask(str(n)))

    (row,) = desk.play(play, models={"agent": echo()}, limits=Limits(model_calls=8))
    assert row.model_calls == 8


@pytest.mark.parametrize(("each", "calls"), [(0, 0), (1, 1), (2, 2)])
def test_a_child_is_held_to_its_reservation_under_a_limit(desk, echo, ask, each, calls):
    async def child(ctx, item):
        for n in range(3):
            await ctx.model("agent", ask(str(n)))

    async def play(ctx):
        await ctx.settle(child, range(1), calls_each=each)

    (row,) = desk.play(play, models={"agent": echo()}, limits=Limits(model_calls=50))
    assert row.model_calls == calls


@pytest.mark.parametrize("each", [0, 1])
def test_without_a_limit_nothing_is_held_back(desk, echo, ask, each):
    async def child(ctx, item):
        for n in range(3):
            await ctx.model("agent", ask(str(n)))

    async def play(ctx):
        await ctx.map(child, range(4), calls_each=each)

    (row,) = desk.play(play, models={"agent": echo()})
    assert (row.reason, row.model_calls) == ("finished", 12)


def test_tokens_are_checked_where_something_begins_so_a_call_under_way_comes_to_its_end(desk, echo, ask):
    async def child(ctx, item):
        await ctx.model("agent", ask(str(item)))

    async def play(ctx):
        for _ in range(9):
            await ctx.map(child, range(2))

    (row,) = desk.play(play, models={"agent": echo()}, limits=Limits(tokens=50))
    assert (row.reason, row.prompt_tokens + row.completion_tokens) == ("token_limit", 60)


def test_a_budget_counts_what_its_children_used():
    budget = Budget(10, None)
    budget.take()
    one, two = budget.reserve(2, 3)
    one.take()
    two.take()
    two.take()
    with pytest.raises(Ended):
        for _ in range(3):
            one.take()
    budget.add(one)
    budget.add(two)
    assert budget.calls == 6
    assert budget.reserve(9, 2)[2:] == [None] * 7


def test_a_model_that_simulates_the_world_does_not_use_up_the_agents_limits(desk, echo, ask):
    async def play(ctx):
        for turn in range(5):
            await ctx.model("world", ask(f"{turn}"), budgeted=False)
        for turn in range(3):
            await ctx.model("agent", ask(f"{turn}"))
            ctx.check()

    models = {"agent": echo(), "world": echo()}
    (row,) = desk.play(play, models=models, limits=Limits(model_calls=3, tokens=46))
    assert (row.reason, row.models) == ("finished", '{"agent":[3,30,15,0,0],"world":[5,50,25,0,0]}')
    desk.replay(play, models=models, limits=Limits(model_calls=3, tokens=46))


def test_what_was_asked_is_told_by_model():
    used = usage.Usage()
    for name in ("agent", "agent", "world"):
        used.call(name)
        used.answer(name, Usage(5, 2))
    used.unusable("agent")
    assert usage.asked(used.by_model) == {"agent": (2, 10, 4, 1, 0), "world": (1, 5, 2, 0, 0)}
