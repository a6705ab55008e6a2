"""worldloom: agents in worlds written as YAML, with a record that can be replayed.

    import worldloom as wl
    wl.run(["my_scenario.yaml"], model="hosted_vllm/Qwen/Qwen3-8B")

The public names are below and nowhere else. They are fetched on first use, so that importing the
package takes milliseconds and loads no graph, no model and no numeric library.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldloom.api import (
        answer,
        build_graph,
        fork,
        load_scenario,
        load_suite,
        questions,
        replay,
        rescore,
        resume,
        run,
        verify_effects,
    )
    from worldloom.api.comparing import compare
    from worldloom.api.results.result import RunResult
    from worldloom.api.sweeping import sweep
    from worldloom.core.errors import (
        Divergence,
        DocumentError,
        ModelError,
        ToolError,
        UsageError,
        WorldloomError,
    )
    from worldloom.core.scenario import Scenario
    from worldloom.runs.context import Context
    from worldloom.runs.limits import Limits, RunLimits

    __version__: str

__all__ = [
    "Context",
    "Divergence",
    "DocumentError",
    "Limits",
    "ModelError",
    "RunLimits",
    "RunResult",
    "Scenario",
    "ToolError",
    "UsageError",
    "WorldloomError",
    "__version__",
    "answer",
    "build_graph",
    "compare",
    "fork",
    "load_scenario",
    "load_suite",
    "questions",
    "replay",
    "rescore",
    "resume",
    "run",
    "sweep",
    "verify_effects",
]

_WHERE = {
    "Context": "worldloom.runs.context:Context",
    "Divergence": "worldloom.core.errors:Divergence",
    "DocumentError": "worldloom.core.errors:DocumentError",
    "Limits": "worldloom.runs.limits:Limits",
    "ModelError": "worldloom.core.errors:ModelError",
    "RunLimits": "worldloom.runs.limits:RunLimits",
    "RunResult": "worldloom.api.results.result:RunResult",
    "Scenario": "worldloom.core.scenario:Scenario",
    "ToolError": "worldloom.core.errors:ToolError",
    "UsageError": "worldloom.core.errors:UsageError",
    "WorldloomError": "worldloom.core.errors:WorldloomError",
    "answer": "worldloom.api:answer",
    "build_graph": "worldloom.api:build_graph",
    "fork": "worldloom.api:fork",
    "compare": "worldloom.api.comparing:compare",
    "load_scenario": "worldloom.api:load_scenario",
    "load_suite": "worldloom.api:load_suite",
    "questions": "worldloom.api:questions",
    "replay": "worldloom.api:replay",
    "rescore": "worldloom.api:rescore",
    "resume": "worldloom.api:resume",
    "run": "worldloom.api:run",
    "sweep": "worldloom.api.sweeping:sweep",
    "verify_effects": "worldloom.api:verify_effects",
}


if not TYPE_CHECKING:  # a type checker that sees this believes in every misspelt name

    def __getattr__(name: str) -> object:
        value: object
        if name == "__version__":
            value = import_module("importlib.metadata").version("worldloom")
        elif name in _WHERE:
            module, attribute = _WHERE[name].split(":")
            value = getattr(import_module(module), attribute)
        else:
            raise AttributeError(f"module 'worldloom' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
