"""GraphProgram: a compiled house graph as an episode that the executor can run."""

from dataclasses import dataclass
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from worldloom.runs.context import Context
from worldloom.runs.ending import End


@dataclass(frozen=True, slots=True)
class GraphProgram:
    """Runs a graph, whose state is a `HouseState`, in the scope `name`."""

    name: str
    graph: CompiledStateGraph[Any, Any, Any, Any]

    async def run(self, ctx: Context) -> End:
        """Play the graph from its empty state; a graph that ends by itself has `finished`."""
        final = await ctx.subgraph(self.name, self.graph, {}, outputs=("ended",))
        ended: End | None = final.get("ended")
        return ended if ended is not None else End("finished")
