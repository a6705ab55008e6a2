"""Reference agents: `literal` and `careful` play the scenario's own paths, the floor and the ceiling of a table.

They are no contestants: they read what others may not see.
"""

from collections.abc import Sequence

from worldloom.agents.agent import AgentConfig
from worldloom.agents.scripted.agent import ScriptedAgent
from worldloom.core.action import Action
from worldloom.core.errors import UsageError


def literal(config: AgentConfig) -> ScriptedAgent:
    """Does what the words of the request say, as a careless reader would.

    Raises:
        UsageError: the scenario has no such path.
    """
    return _player(config, "literal", config.scenario.paths.reveal().literal)


def careful(config: AgentConfig) -> ScriptedAgent:
    """Looks first, and passes every criterion.

    Raises:
        UsageError: the scenario has no such path.
    """
    return _player(config, "careful", config.scenario.paths.reveal().careful)


def _player(config: AgentConfig, name: str, path: Sequence[Action]) -> ScriptedAgent:
    if not path:
        raise UsageError(
            f"{config.scenario.file}: the agent `{name}` needs `paths: {{{name}: [...]}}` in the scenario"
        )
    return ScriptedAgent(path)
