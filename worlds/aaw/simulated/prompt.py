"""Prompts of the model world: the scenario's prose first, which never changes, then state and action."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from worldloom.core.canonical import Json
from worldloom.core.scenario import Scenario
from worldloom.worlds.aaw.body import Entity, EntityAction, body_of


@cache
def prompt_text(name: str) -> str:
    """The text of `prompts/<name>.md`."""
    place = files("worldloom.worlds.aaw.simulated").joinpath("prompts", f"{name}.md")
    return place.read_text("utf-8").strip()


def world_text(scenario: Scenario) -> str:
    """Duties, and what the file says of the world in prose: no state, no expressions, nothing of the rubric."""
    body = body_of(scenario)
    rules = [f"- {rule}" for rule in scenario.execution_rules.reveal()]
    return prompt_text("system").format(
        task=scenario.user_prompt,
        context="\n".join(f"- {name}: {_plain(value)}" for name, value in body.context.items()) or "- (none)",
        rules="\n".join(rules) or "- (none)",
        entities="\n\n".join("\n".join(_entity_lines(entity)) for entity in body.entities.values()),
    )


def turn_text(states: Mapping[str, Json], action: str, arguments: Mapping[str, Json]) -> str:
    """What is asked of the model in one step."""
    shown = "\n".join(f"{entity}: {_plain(state)}" for entity, state in states.items())
    return prompt_text("turn").format(state=shown, action=action, arguments=_plain(dict(arguments)))


def again_text(why: str) -> str:
    """What is said of a reply that is sent back."""
    return prompt_text("again").format(why=why)


def _entity_lines(entity: Entity) -> Iterator[str]:
    about = f": {entity.description}" if entity.description else ""
    yield f"## {entity.id}: {entity.name} ({entity.type}){about}"
    for action in entity.actions:
        yield from _action_lines(action)


def _action_lines(action: EntityAction) -> Iterator[str]:
    parameters: dict[str, Json] = {
        name: parameter.json_schema() for name, parameter in action.parameters.items()
    }
    yield f"- {action.name}({_plain(parameters) if parameters else ''}): {action.description}"
    yield from (f"  {line}" for line in action.returns.reveal().splitlines() if line.strip())


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
