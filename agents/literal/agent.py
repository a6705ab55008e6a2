"""The literal reference agent plays the scenario's own literal path.

It is no contestant: it reads what others may not see.
"""

from worldloom.agents.agent import AgentConfig
from worldloom.agents.scripted.agent import ScriptedAgent
from worldloom.core.errors import UsageError


def build(config: AgentConfig) -> ScriptedAgent:
    """The agent that plays the scenario's literal path.

    Raises:
        UsageError: the scenario has none.
    """
    path = config.scenario.paths.reveal().literal
    if not path:
        raise UsageError(
            f"{config.scenario.file}: the agent `literal` needs `paths: {{literal: [...]}}` in the scenario"
        )
    return ScriptedAgent(path)
