"""Fidelity as a LangGraph state machine: `agent` decides, `compare` lets the rules act and asks the model what it says.

The trajectory goes on from what the rules did, so one wrong reply costs one call and not the rest of an episode. Only
first replies are asked for: none is sent back.
"""

from collections.abc import Mapping
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from worldloom.agents.agent import Decision
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.errors import ModelError, ReplyError, UsageError
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.node import HouseState, house_node
from worldloom.models.reply import LONGEST
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.worlds.aaw.parameters import Refused
from worldloom.worlds.aaw.simulated.delta import read_proposal
from worldloom.worlds.aaw.simulated.simulator import Call, Simulator
from worldloom.worlds.aaw.simulated.world import ModelWorld
from worldloom.worlds.aaw.state import SEAT, AawState
from worldloom.worlds.aaw.world import RulesWorld

REPEATS = 3
"""How often a call is put to the model, unless the option `repeats` says otherwise."""


class State(HouseState, TypedDict, total=False):
    """What is carried from turn to turn.

    Attributes:
        truth: the state that the rules have made.
        decision: what the agent decided last, with its memo.
    """

    truth: AawState
    decision: Decision


def build(config: GraphConfig) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of one agent in a world that is simulated twice.

    Nodes: `agent` (emits `decided.1`), `compare` (emits `stepped.1`, what the rules did, and `proposed.1`, what the
    model said; not where the model would not have been asked).

    Raises:
        UsageError: the world is not the model's, an option cannot be used, or the scenario has no rules.
    """
    if not isinstance(config.world, ModelWorld):
        raise UsageError("the graph `fidelity` measures the world `model`, and was given another")
    rules, simulator, agent = RulesWorld(config.scenario), config.world.simulator, config.agents[SEAT]
    repeats = _repeats(config.options)

    async def decide(state: State, ctx: Context) -> State:
        truth, last = state["truth"] if "truth" in state else rules.initial(ctx.seed), state.get("decision")
        decision = await agent.act(None if last is None else last.memo, truth.view(SEAT), ctx)
        action = decision.action.to_json() if decision.action else None
        ctx.emit("decided.1", {"action": action, "rationale": decision.rationale})
        update: State = {"truth": truth, "decision": decision}
        if decision.action is None:
            update["ended"] = End("completed", key=ctx.here)
        return update

    async def compare(state: State, ctx: Context) -> State:
        before, action = state["truth"], state["decision"].action
        assert action is not None, "the episode has ended"
        after, fact = rules.apply(before, action)
        ctx.emit("stepped.1", fact)
        ctx.usage.steps += 1
        if "fault" in fact:  # a rule without a value: what would be true is not known
            return {"ended": End("world_failed", str(fact["fault"]), ctx.here)}
        call = _call(simulator, action)
        if call is not None:

            async def ask(child: Context, _: int) -> dict[str, Json]:
                return await _reply(simulator, before, call, child)

            ctx.emit("proposed.1", {"replies": await ctx.map(ask, range(repeats), calls_each=0)})
        over = End("step_limit", key=ctx.here) if after.step >= ctx.limits.steps else None
        return {"truth": after, "ended": over}

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("agent", house_node(decide, then="compare"), destinations=("compare", END))
    graph.add_node("compare", house_node(compare, then="agent"), destinations=("agent", END))
    graph.add_edge(START, "agent")
    return graph.compile()


def _repeats(options: Mapping[str, Json]) -> int:
    repeats = options.get("repeats", REPEATS)
    if set(options) - {"repeats"} or not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
        raise UsageError(
            f"graph fidelity: options {dict(options)!r}; allowed: repeats, a whole number from 1"
        )
    return repeats


def _call(simulator: Simulator, action: Action) -> Call | None:
    """The call as the model is asked about it; None where it is not asked."""
    if action.name not in simulator.actions:
        return None
    try:
        return simulator.call(action)
    except Refused:
        return None


async def _reply(simulator: Simulator, before: AawState, call: Call, ctx: Context) -> dict[str, Json]:
    """What the model proposes, and why it would be refused; or only why it cannot be read."""
    try:
        completion = await simulator.propose(before.entities, call, ctx)
    except ModelError as error:
        if error.kind not in ("overflow", "refusal"):
            raise
        return {"unreadable": f"there is no reply: {error.kind}"}
    try:
        proposal = read_proposal(completion, LONGEST)
        for entity, properties in proposal.changes.items():
            if not isinstance(properties, dict):
                raise ReplyError(
                    f"state_changes.{entity[:60]} must be an object: property, then its new value."
                )
    except ReplyError as wrong:
        return {"unreadable": str(wrong)}
    said: dict[str, Json] = {
        "success": proposal.success,
        "message": proposal.message,
        "changes": dict(proposal.changes),
    }
    try:
        simulator.check(before.entities, call, completion, before.trace)
    except ReplyError as wrong:
        said["refused"] = str(wrong)
    return said
