"""Agent-as-a-World as a LangGraph state machine: `agent` decides, `world` answers, until one of them ends it.

Source: Sirdeshmukh & Wetter, arXiv 2602.20424: one action a turn, no questions to the user, until TASK_COMPLETE or 50
steps. A turn without a usable reply is a step as well. Beyond the paper, an agent that fails in the same way again
and again is stopped.
"""

from dataclasses import replace

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from worldloom.core.action import Feedback
from worldloom.core.canonical import Json, canonical
from worldloom.graphs.aaw.state import State
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.node import house_node
from worldloom.runs.context import Context
from worldloom.runs.ending import End

SEAT = "agent"


def build(config: GraphConfig) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of one agent in one world.

    Nodes: `agent` (asks the agent, emits `decided.1`), `world` (steps the world, emits `stepped.1`).
    """
    world, agent = config.world, config.agents[SEAT]

    async def decide(state: State, ctx: Context) -> State:
        place = state["world"] if "world" in state else world.initial(ctx.seed)
        view = place.view(SEAT)
        if (heard := state.get("heard")) is not None:
            view = replace(view, feedback=heard)
        decision = await agent.act(state.get("memo"), view, ctx)
        shown: dict[str, Json] = {
            "action": decision.action.to_json() if decision.action else None,
            "rationale": decision.rationale,
        }
        if decision.fault:
            shown["fault"] = decision.fault
        ctx.emit("decided.1", shown)
        done = decision.action is None and not decision.fault
        return {
            "world": place,
            "memo": decision.memo,
            "decision": decision,
            "ended": End("completed", key=ctx.here) if done else None,
        }

    async def step(state: State, ctx: Context) -> State:
        decision = state["decision"]
        if decision.action is None:
            feedback = Feedback(False, decision.fault)
            update: State = {"heard": feedback}
            move = "no usable reply"
        else:
            transition = await world.step(state["world"], {SEAT: decision.action}, ctx)
            feedback = transition.feedback[SEAT]
            update = {"world": transition.state, "heard": None}
            move = canonical(decision.action.to_json()).decode()
            for fact in transition.facts:
                ctx.emit("stepped.1", fact)
        ctx.usage.steps += 1
        update["steps"] = state.get("steps", 0) + 1
        update["failing"] = _failing(state.get("failing", ("", 0)), move, feedback)
        update["ended"] = _over(ctx, update, decision.action is None)
        return update

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("agent", house_node(decide, then="world"), destinations=("world", END))
    graph.add_node("world", house_node(step, then="agent"), destinations=("agent", END))
    graph.add_edge(START, "agent")
    return graph.compile()


def _failing(before: tuple[str, int], move: str, feedback: Feedback) -> tuple[str, int]:
    if feedback.success:
        return ("", 0)
    failure = f"{move}\n{feedback.message}" if move != "no usable reply" else move
    return (failure, before[1] + 1 if before[0] == failure else 1)


def _over(ctx: Context, after: State, unusable: bool) -> End | None:
    if after["failing"][1] >= ctx.limits.repeats:
        return End("invalid_replies" if unusable else "repeat_limit", key=ctx.here)
    if after["steps"] >= ctx.limits.steps:
        return End("step_limit", key=ctx.here)
    return None
