"""Actions per second of the rules world on one core: a mix of reads, writes, guards that fail and faulty calls.

    python benchmarks/rules_world.py

Prints the rate of `step`, which includes the fact for the record, and its ratio to the 10,000 actions/s that are
promised. Set `--floor 1` to exit with 1 below that ratio.
"""

import argparse
import asyncio
import time
from pathlib import Path

from worldloom.core.action import Action
from worldloom.core.registry import Registry
from worldloom.core.scenario import load_scenario
from worldloom.runs.context import Context
from worldloom.worlds.aaw.world import RulesWorld

PROMISED = 10_000
ACTIONS = (
    Action("bluetooth.list_devices"),
    Action("media.status"),
    Action("bluetooth.connect", {"device_id": "buds"}),
    Action("bluetooth.connect", {"device_id": "car"}),
    Action("bluetooth.pair", {"device_id": "car", "paired": True}),
    Action("bluetooth.pair", {"device_id": "car", "paired": False}),
    Action("heating.status"),
    Action("heating.set_room", {"room": "bath", "celsius": 23}),
    Action("heating.set_room", {"room": "bath", "celsius": "23"}),
    Action("media.set_volume", {"value": 0.5}),
    Action("media.louder"),
    Action("media.play"),
    Action("notes.add", {"id": 7, "text": "Take out the bins."}),
    Action("notes.drop", {"id": 7}),
)


async def rate(world: RulesWorld, seconds: float) -> float:
    """Actions per second of processor time over about `seconds` of work."""
    ctx, state, done = Context.null(), world.initial(0), 0
    start = time.process_time()
    while (passed := time.process_time() - start) < seconds:
        for action in ACTIONS:
            state = (await world.step(state, {"agent": action}, ctx)).state
        done += len(ACTIONS)
    return done / passed


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--floor", type=float, default=0.0, help="exit with 1 if the ratio is below this")
    options = parser.parse_args()
    scenario = load_scenario(Path(__file__).with_suffix(".yaml"), Registry.discover())
    found = asyncio.run(rate(RulesWorld(scenario), options.seconds))
    print(
        f"rules world: {found:,.0f} actions/s on one core, {found / PROMISED:.1f} x the promised {PROMISED:,}"
    )
    return int(found / PROMISED < options.floor)


if __name__ == "__main__":
    raise SystemExit(main())
