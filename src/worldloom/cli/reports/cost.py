"""Cost: what a run or an episode cost, in one line for people."""

import math
from collections.abc import Iterator

from worldloom.cli.terminal import counted
from worldloom.core.project import FILE_NAME
from worldloom.runs.cost import Cost, Part


def cost_line(cost: Cost, begun: int = 0, *, dead: bool = False) -> str | None:
    """The line, or None if no model was asked.

    Args:
        begun: episodes that have come to no stop yet, and are not in it.
        dead: whether nobody plays these any more.
    """
    if not cost.parts:
        return None
    parts = ", ".join(_part(part) for part in cost.parts if part.value is not None)
    told = f" ({parts})" if parts else ""
    episodes = counted("episode", begun)
    rest = f" Not in it: {episodes} {'cut short' if dead else 'under way'}." if begun else ""
    if cost.value is not None:
        return f"Cost: {_money(cost.value)} {cost.currency}{told}.{rest}"
    return f"Cost: unknown: {'; '.join(_unknown(cost))}{told}.{rest}"


def _unknown(cost: Cost) -> Iterator[str]:
    unpriced = dict.fromkeys(part.model for part in cost.parts if part.why.startswith("no price"))
    if unpriced:
        yield f"no price for {', '.join(unpriced)}; name it under prices in {FILE_NAME}, for the next run"
    yield from dict.fromkeys(
        part.why for part in cost.parts if part.value is None and part.model not in unpriced
    )


def _part(part: Part) -> str:
    names = " and ".join(part.names)
    seconds = "" if part.gpu_seconds is None else f" for {part.gpu_seconds:,.0f} GPU-seconds"
    return f"{names} {part.model} {_money(part.value or 0.0)}{seconds}"


def _money(value: float) -> str:
    """Two places, and of what is less than 0.1 two digits: what was paid does not look like nothing."""
    places = 2 if value == 0 or value >= 0.1 else 1 - math.floor(math.log10(value))
    return f"{value:,.{places}f}"
