"""Limiting: `--limit NAME=VALUE` and `--run-limit NAME=VALUE` as limits of an episode and of a run."""

import contextlib
from collections.abc import Sequence
from typing import Any

from worldloom.core.arguments import shown
from worldloom.core.errors import UsageError, offer
from worldloom.runs.limits import RunLimits

_OF_EPISODES = ("model_calls", "tokens", "wall_s", "cost", "repeats")
_OF_RUNS = ("model_calls", "tokens", "wall_s", "cost")
_AMOUNTS = ("wall_s", "cost")


def episode_limits(given: Sequence[str]) -> dict[str, Any]:
    """The limits of each episode that `--limit` names.

    Raises:
        UsageError: one is unknown, given twice, or no number.
    """
    return _limits("--limit", given, _OF_EPISODES)


def run_limits(given: Sequence[str]) -> RunLimits:
    """What `--run-limit` lets one `run` or `resume` use in all.

    Raises:
        UsageError: one is unknown, given twice, no number or out of range.
    """
    return RunLimits(**_limits("--run-limit", given, _OF_RUNS))


def _limits(option: str, given: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if name == "steps":
            raise UsageError(f"{option}: steps are limited by --max-steps N, in each episode")
        if not equals or name not in names:
            raise UsageError(
                f"{option}: no limit is called {shown(name)}{offer(name, names)}, each as NAME=VALUE"
            )
        if name in found:
            raise UsageError(f"{option} {name} is given twice; allowed: once")
        found[name] = _number(option, name, value)
    return found


def _number(option: str, name: str, value: str) -> int | float:
    with contextlib.suppress(ValueError):
        return float(value) if name in _AMOUNTS else int(value)
    allowed = "a number" if name in _AMOUNTS else "a whole number"
    raise UsageError(f"{option} {name} is {shown(value)}; allowed: {allowed}")
