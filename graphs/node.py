"""House nodes: how a LangGraph node gets its scope, and how its faults come to rest.

A house node is `async def node(state, ctx) -> update`. `house_node` opens the scope that belongs to its superstep and
its name (or push index), so that keys never depend on arrival. A fault of one node must not cancel its siblings, as
LangGraph would do: it becomes an `End` in the state's `ended` channel, and of several the one with the smallest key
counts. Retries live at the model boundary, so LangGraph's own retries, caches and time-outs are not used here.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypedDict, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from worldloom.runs.context import Context
from worldloom.runs.ending import End, earliest
from worldloom.runs.episode import end_of

S = TypeVar("S")


class HouseState(TypedDict, total=False):
    """What the state of every house graph has: how the episode ended, once it has."""

    ended: Annotated[End | None, earliest]


def house_node(node: Callable[[S, Context], Awaitable[Mapping[str, Any]]]) -> Any:
    """The LangGraph node of a house node."""

    async def run(state: S, runtime: Runtime[Context], config: RunnableConfig) -> Mapping[str, Any]:
        metadata = config["metadata"]
        path = metadata["langgraph_path"]
        label = path[1]  # ("__pregel_pull", name) or ("__pregel_push", index, …)
        graph = runtime.context if runtime.context is not None else Context.null()
        ctx = graph.node(metadata["langgraph_step"], label)
        try:
            ctx.check()
            return await node(state, ctx)
        except Exception as error:  # noqa: BLE001  # the boundary of a node: see above
            return {"ended": end_of(error, ctx.here)}

    run.__name__ = getattr(node, "__name__", "node")
    return run
