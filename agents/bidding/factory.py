"""What follows a policy's name: nothing, or for those that learn, their settings: `q_learner:exploration=0.05`."""

from collections.abc import Mapping

from worldloom.agents.agent import AgentConfig
from worldloom.core.errors import UsageError, offer


def without_argument(name: str, config: AgentConfig) -> None:
    """Refuse settings that would do nothing.

    Raises:
        UsageError: an argument or options were given.
    """
    if config.argument or config.options:
        given = config.argument or ", ".join(config.options)
        raise UsageError(f"the agent `{name}` takes no argument, and was given {given!r}\n  allowed: {name}")


def settings_of(name: str, config: AgentConfig, known: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """The settings in an argument such as `exploration=0.05,discount=0.5`, by name.

    Args:
        known: name of a setting -> its smallest and its largest value.

    Raises:
        UsageError: one is not known, stands twice or is out of its range, or options were given.
    """
    allowed = {setting: f"{setting}={low:g}…{high:g}" for setting, (low, high) in known.items()}
    found: dict[str, float] = {}
    for word in [*(config.argument.split(",") if config.argument else ()), *config.options]:
        setting, _, text = word.strip().partition("=")
        value = _number(text)
        low, high = known.get(setting, (0.0, 0.0))
        if setting not in known or setting in found or value is None or not low <= value <= high:
            raise UsageError(f"agent {name}: the setting {word.strip()!r}{offer(setting, allowed.values())}")
        found[setting] = value
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
