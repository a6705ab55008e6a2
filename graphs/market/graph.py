"""AI-Work as a LangGraph state machine: `decide` asks every agent, `market` plays the round, until the market is over.

Source: Chiu, Zhang and van der Schaar, arXiv 2512.04988. Two supersteps a round, however many agents take part: those
that talk to a model are asked side by side in one node, those that follow a fixed policy as columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from worldloom.agents.agent import Agent, Decision
from worldloom.agents.cohort import Cohort, Columns, Informed
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.scenario import seats_of
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.market.seen import seen_by
from worldloom.graphs.market.state import State
from worldloom.graphs.market.summary import MARKET, ROUND, summary
from worldloom.graphs.node import house_node
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.worlds.market.moves import NONE, MoveColumns, read_actions
from worldloom.worlds.market.rules import Ints
from worldloom.worlds.market.state import MarketState
from worldloom.worlds.market.world import MarketWorld

HANDED = "handed.1"
"""Type of the fact that a policy is handed what is hidden."""
CALLS = 3
"""Model calls that are reserved for each agent in a round: an answer, and two more if it cannot be used."""


@dataclass(frozen=True, eq=False)
class Group:
    """Those who decide alike.

    Attributes:
        name: as the cast calls it.
        who: an agent, asked once for each seat, or a cohort, asked once for all.
        seats: their numbers, ascending.
    """

    name: str
    who: Agent | Cohort
    seats: Ints


def build(config: GraphConfig) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of one market.

    Nodes: `decide` (asks all agents, emits `decided.1` for each that is asked alone), `market` (plays the round, emits
    its blocks, `round.1` and, after the last, `market.1`).
    """
    world: MarketWorld = config.world  # type: ignore[assignment]  # the registry pairs kind and world
    groups = _groups(config)

    async def decide(state: State, ctx: Context) -> State:
        place = state["world"] if "world" in state else world.initial(ctx.seed)
        memos, moves = dict(state.get("memos", {})), _no_moves(place)
        for group in groups:
            if isinstance(group.who, Cohort):
                decided = await group.who.act_many(
                    memos.get(group.name, {}), group.seats, _seen(place, group, ctx), ctx
                )
                memos[group.name], wanted = decided.memo, MoveColumns.of(**decided.moves)
                moves = moves.beside(wanted)
        for group, acted, memo in await _asked(groups, place, memos, ctx):
            memos[group.name], moves = memo, moves.beside(read_actions(place.rules, acted))
        return {"world": place, "moves": moves, "memos": memos}

    async def market(state: State, ctx: Context) -> State:
        transition = await world.step(state["world"], state["moves"], ctx)
        after, past = transition.state, (*state.get("past", ()), transition.state.history[-1])
        for fact in transition.facts:
            ctx.emit(ROUND, fact)
        ctx.usage.steps += 1
        update: State = {"world": after, "past": past}
        if after.over or ctx.usage.steps >= ctx.limits.steps:
            ctx.emit(MARKET, summary(past, after, {group.name: group.seats for group in groups}))
            update["ended"] = End("finished" if after.over else "step_limit", key=ctx.here)
        return update

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("decide", house_node(decide, then="market"), destinations=("market", END))
    graph.add_node("market", house_node(market, then="decide"), destinations=("decide", END))
    graph.add_edge(START, "decide")
    return graph.compile()


def _seen(place: MarketState, group: Group, ctx: Context) -> Columns:
    """What a cohort may see; that it is handed what is hidden, is recorded once."""
    needs = group.who.needs if isinstance(group.who, Informed) else ()
    if needs and place.round == 0:
        ctx.emit(HANDED, {"group": group.name, "hidden": list(needs)})
    return seen_by(place, group.seats, needs)


def _groups(config: GraphConfig) -> list[Group]:
    cast = config.scenario.cast
    named = [group for _, group in seats_of(cast)]
    return [
        Group(name, config.agents[name], np.flatnonzero(np.array(named) == name).astype(np.int64))
        for name in cast
    ]


async def _asked(
    groups: list[Group], place: MarketState, memos: Mapping[str, Any], ctx: Context
) -> list[tuple[Group, dict[str, Action], dict[str, Json]]]:
    """What the agents decided that are asked one by one: actions and memos by seat, of each group."""
    talking = [group for group in groups if not isinstance(group.who, Cohort)]
    items = [(group, place.rules.seats[number]) for group in talking for number in group.seats.tolist()]

    async def ask(child: Context, item: tuple[Group, str]) -> Decision:
        group, seat = item
        assert not isinstance(group.who, Cohort)
        decision = await group.who.act(memos.get(group.name, {}).get(seat), place.view(seat), child)
        shown: dict[str, Json] = {
            "seat": seat,
            "action": decision.action.to_json() if decision.action else None,
            "rationale": decision.rationale,
        }
        child.emit("decided.1", {**shown, "fault": decision.fault} if decision.fault else shown)
        return decision

    decided = dict(zip([seat for _, seat in items], await ctx.map(ask, items, calls_each=CALLS), strict=True))
    found = []
    for group in talking:
        own = {seat: decided[seat] for seat in (place.rules.seats[number] for number in group.seats.tolist())}
        acted = {seat: decision.action for seat, decision in own.items() if decision.action is not None}
        found.append((group, acted, {seat: decision.memo for seat, decision in own.items()}))
    return found


def _no_moves(place: MarketState) -> MoveColumns:
    nobody = np.zeros(0, dtype=np.int64)
    places = place.rules.body.mechanism.max_bids
    return MoveColumns.of(nobody, nobody, np.full((0, places), NONE), np.zeros((0, places)))
