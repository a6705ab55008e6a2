"""The careful reference agent plays the scenario's own careful path.

It is no contestant: it reads what others may not see.
"""

from worldloom.agents.agent import AgentConfig
from worldloom.agents.scripted.agent import ScriptedAgent
from worldloom.core.errors import UsageError


def build(config: AgentConfig) -> ScriptedAgent:
    """The agent that plays the scenario's careful path.

    Raises:
        UsageError: the scenario has none.
    """
    path = config.scenario.paths.reveal().careful
    if not path:
        raise UsageError(
            f"{config.scenario.file}: the agent `careful` needs `paths: {{careful: [...]}}` in the scenario"
        )
    return ScriptedAgent(path)
