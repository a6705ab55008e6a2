"""House nodes: how a LangGraph node gets its scope, and how its faults come to rest.

A house node is `async def node(state, ctx) -> update`. `house_node` opens the scope that belongs to its superstep and
its name (or push index), so that keys never depend on arrival. A fault of one node must not cancel its siblings, as
LangGraph would do: it becomes an `End` in the state's `ended` channel, and of several the one with the smallest key
counts. Retries live at the model boundary, so LangGraph's own retries, caches and time-outs are not used here.

Where a graph goes next: a node that runs alone names its successor (`then`), which costs nothing; where several nodes
run side by side, the router of a conditional edge looks at `ended`, and must be `async`, or LangGraph hands it to a
thread (40 % of a superstep).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypedDict, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command

from worldloom.runs.context import Context
from worldloom.runs.ending import End, earliest
from worldloom.runs.episode import end_of

S = TypeVar("S")


class HouseState(TypedDict, total=False):
    """What the state of every house graph has: how the episode ended, once it has."""

    ended: Annotated[End | None, earliest]


def house_node(node: Callable[[S, Context], Awaitable[Mapping[str, Any]]], *, then: str | None = None) -> Any:
    """The LangGraph node of a house node.

    Args:
        then: the node that follows, unless the episode has ended; only for a node that runs alone.
    """

    async def run(state: S, runtime: Runtime[Context], config: RunnableConfig) -> Any:
        metadata = config["metadata"]
        path = metadata["langgraph_path"]
        label = path[1]  # ("__pregel_pull", name) or ("__pregel_push", index, …)
        graph = runtime.context if runtime.context is not None else Context.null()
        ctx = graph.node(metadata["langgraph_step"], label)
        try:
            ctx.check()
            update = await node(state, ctx)
        except Exception as error:  # noqa: BLE001  # the boundary of a node: see above
            update = {"ended": end_of(error, ctx.here)}
        graph.join(ctx)
        if then is None:
            return update
        return Command(update=update, goto=END if update.get("ended") else then)

    run.__name__ = getattr(node, "__name__", "node")
    return run
