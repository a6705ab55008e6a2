"""Agent-as-a-World as a LangGraph state machine: `agent` decides, `world` answers, until one of them ends it.

Source: Sirdeshmukh & Wetter, arXiv 2602.20424: one action a turn, no questions to the user, until TASK_COMPLETE or 50
steps. A turn without a usable reply is a step as well. Beyond the paper, an agent that fails in the same way again
and again is stopped.
"""

from dataclasses import replace

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from worldloom.core.action import Action, Feedback
from worldloom.core.canonical import Json, canonical
from worldloom.graphs.aaw.state import State, Turns
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.node import house_node
from worldloom.runs.context import Context
from worldloom.runs.ending import End
from worldloom.worlds.aaw.state import SEAT

_NO_REPLY = "no usable reply"


def build(config: GraphConfig) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of one agent in one world.

    Nodes: `agent` (asks the agent, emits `decided.1`), `world` (steps the world, emits `stepped.1`).
    """
    world, agent = config.world, config.agents[SEAT]

    async def decide(state: State, ctx: Context) -> State:
        place = state["world"] if "world" in state else world.initial(ctx.seed)
        view, last = place.view(SEAT), state.get("decision")
        if last is not None and last.fault:  # a turn of which the world knows nothing
            view = replace(view, feedback=Feedback(False, last.fault))
        decision = await agent.act(last.memo if last is not None else None, view, ctx)
        shown: dict[str, Json] = {
            "action": decision.action.to_json() if decision.action else None,
            "rationale": decision.rationale,
        }
        if decision.fault:
            shown["fault"] = decision.fault
        ctx.emit("decided.1", shown)
        update: State = {"decision": decision}
        if "world" not in state:
            update["world"] = place
        if decision.action is None and not decision.fault:
            update["ended"] = End("completed", key=ctx.here)
        return update

    async def step(state: State, ctx: Context) -> State:
        decision, update = state["decision"], State()
        if decision.action is None:
            failure = _NO_REPLY
        else:
            transition = await world.step(state["world"], {SEAT: decision.action}, ctx)
            update["world"] = transition.state
            for fact in transition.facts:
                ctx.emit("stepped.1", fact)
                if "fault" in fact:  # a rule without a value is the scenario's fault, and none of the agent's
                    update["ended"] = End("world_failed", str(fact["fault"]), ctx.here)
            failure = _failure(decision.action, transition.feedback[SEAT])
        ctx.usage.steps += 1
        update["turns"] = state.get("turns", Turns()).after(failure)
        if "ended" not in update and (over := _over(ctx, update["turns"], decision.fault)) is not None:
            update["ended"] = over
        return update

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("agent", house_node(decide, then="world"), destinations=("world", END))
    graph.add_node("world", house_node(step, then="agent"), destinations=("agent", END))
    graph.add_edge(START, "agent")
    return graph.compile()


def _failure(action: Action, feedback: Feedback) -> str:
    return "" if feedback.success else f"{canonical(action.to_json()).decode()}\n{feedback.message}"


def _over(ctx: Context, turns: Turns, fault: str) -> End | None:
    if turns.repeated >= ctx.limits.repeats:
        if turns.failure == _NO_REPLY:
            return End("invalid_replies", fault, ctx.here)
        return End("repeat_limit", turns.failure, ctx.here)
    if turns.taken >= ctx.limits.steps:
        return End("step_limit", key=ctx.here)
    return None
