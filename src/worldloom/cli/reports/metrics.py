"""Metrics: what the numbers of a run are, in the words of the scorer that gave them.

A run must be shown even where its scenarios or its scorer cannot be read any more: then nothing is said of its metrics.
Only the first scenario is read, so that a large run is shown as fast as a small one.
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


def metrics_of(folder: Path) -> Mapping[str, str]:
    """Metric -> what it is, for the run in a folder; empty where nobody can tell."""
    # A room of one's own may fail in any way when it is imported.
    with contextlib.suppress(Exception), RunStore(folder) as store:
        registry = Registry.discover(find_project(Path.cwd()))
        sha256, file = store.read_manifest("scenarios", _first)
        scenario = parse_scenario(store.blob(sha256), file, registry)
        plan = Plan((scenario,), contestant_of(store), 1, 0, limits_of(store), "", graph=graph_of(store))
        return dict(getattr(plan.room_of(scenario, registry).load("scorer"), "about", {}))
    return {}


def _first(scenarios: Any) -> tuple[str, str]:
    return scenarios[0]["text"]["sha256"], scenarios[0]["file"]
