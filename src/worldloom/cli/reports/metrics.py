"""Metrics: what the numbers of a run are, in the words of the scorer that gave them.

A run is shown however long ago it was made: where its scenarios or its scorer cannot be read any more, this is left out.
Only the first scenario is read, as all of a run are of one kind.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldloom.api.plans.manifest import contestant_of, graph_of, limits_of
from worldloom.api.plans.plan import Plan
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.runs.store import RunStore


def metrics_of(store: RunStore) -> Mapping[str, str]:
    """Metric -> what it is; empty where nobody can tell."""
    # A room of one's own may fail in any way when it is imported.
    with contextlib.suppress(Exception):
        registry = Registry.discover(find_project(Path.cwd()))
        sha256, file = store.read_manifest("scenarios", _first)
        scenario = parse_scenario(store.blob(sha256), file, registry)
        plan = Plan((scenario,), contestant_of(store), 1, 0, limits_of(store), "", graph=graph_of(store))
        return dict(getattr(plan.room_of(scenario, registry).load("scorer"), "about", {}))
    return {}


def _first(scenarios: Any) -> tuple[str, str]:
    return scenarios[0]["text"]["sha256"], scenarios[0]["file"]
