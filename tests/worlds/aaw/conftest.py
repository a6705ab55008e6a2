"""Small scenarios of kind `aaw`, made from Python values and read as files are."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, parse_scenario

Make = Callable[..., Scenario]


@pytest.fixture(scope="session")
def scenario_of() -> Make:
    """Makes a scenario of entities; `rubric`, `context` and `header` are optional."""
    registry = Registry.discover()

    def make(
        entities: dict[str, Any],
        rubric: list[dict[str, str]] | None = None,
        context: dict[str, Any] | None = None,
        **header: Any,
    ) -> Scenario:
        document = {
            "id": "made",
            "category": "accessibility",
            "user_prompt": "Do it.",
            "world": {"context": context or {}, "entities": entities},
            "evaluation_rubric": rubric or [{"criterion": "It is done.", "pass_condition": "It is."}],
            **header,
        }
        return parse_scenario(json.dumps(document, indent=1), "made.yaml", registry)

    return make


@pytest.fixture
def lamp_entity() -> dict[str, Any]:
    return {
        "type": "app",
        "name": "Thing",
        "state": {"on": False, "level": 3, "colour": None},
        "actions": [
            {
                "name": "read",
                "description": "Read it.",
                "returns": "NO STATE CHANGES. Read-only operation.",
                "result": "=lamp",
            },
            {"name": "turn_on", "description": "Turn it on.", "effects": [{"set": {"lamp.on": True}}]},
            {
                "name": "dim",
                "description": "Dim it.",
                "parameters": {"level": {"type": "integer", "minimum": 0, "maximum": 9, "required": True}},
                "requires": [{"that": "lamp.on", "else": "The lamp is off."}],
                "effects": [{"set": {"lamp.level": "=args.level"}}],
                "result": {"level": "=lamp.level"},
            },
        ],
    }
