"""What the factories of all policies ask of a config: nothing may follow the policy's name."""

from worldloom.agents.agent import AgentConfig
from worldloom.core.errors import UsageError


def without_argument(name: str, config: AgentConfig) -> None:
    """Refuse settings that would do nothing.

    Raises:
        UsageError: an argument or options were given.
    """
    if config.argument or config.options:
        given = config.argument or ", ".join(config.options)
        raise UsageError(f"the agent `{name}` takes no argument, and was given {given!r}\n  allowed: {name}")
