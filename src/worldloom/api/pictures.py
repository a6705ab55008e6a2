"""Pictures: what the rooms of a run show of its episodes, as data."""

from collections.abc import Sequence
from typing import cast

from worldloom.api.plans.cast import called
from worldloom.api.plans.manifest import plan_of
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.picture import Picture, View
from worldloom.core.registry import Registry
from worldloom.runs.store import RunStore


def pictures_of(store: RunStore, number: int, registry: Registry) -> Sequence[Picture]:
    """The pictures of one episode, as far as it has come.

    Raises:
        UsageError: the run has no episode of this number, its room makes no pictures, or there is nothing to see yet.
        RecordError: what it shows cannot be read.
    """
    row, plan = store.episode(number), plan_of(store, registry)
    scenario = next(one for one in plan.scenarios if one.id == row.scenario)
    room = plan.room_of(scenario, registry)
    if room.view is None:
        seen = [one.name for one in registry.rooms("graph") if one.view is not None]
        raise UsageError(
            f"episode {number} was played by the graph {room.name!r}, which makes no pictures"
            f"\n  allowed: episodes of {', '.join(seen) or 'no graph that is known here'}"
        )
    view = cast(View, called(room.load("view")))
    try:
        made = view(scenario, list(store.events(number).values()), store.blob)
    except RecordError as damage:
        raise RecordError(f"{store.path}: episode {number} cannot be drawn: {damage}") from damage
    if not made:
        raise UsageError(f"episode {number} ({row.status}) has not come far enough to show anything")
    return made
