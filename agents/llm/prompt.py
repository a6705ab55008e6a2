"""Prompts of the llm agent, built from a `View` and from nothing else."""

import json
from functools import cache
from importlib.resources import files

from worldloom.core.action import ActionSpec
from worldloom.core.canonical import Json
from worldloom.core.frozen import thaw
from worldloom.core.view import View


@cache
def prompt_text(name: str) -> str:
    """The text of `prompts/<name>.md`."""
    return files("worldloom.agents.llm").joinpath("prompts", f"{name}.md").read_text("utf-8").strip()


def task_text(view: View) -> str:
    """The first message of the user: request, context, and what can be done where."""
    context = "\n".join(f"- {name}: {_plain(value)}" for name, value in view.context.items()) or "- (none)"
    lines: list[str] = []
    for place, about in view.places.items():
        lines.append(f"## {place}: {about}" if about else f"## {place}")
        lines += [_action_line(spec) for spec in view.actions if spec.name.partition(".")[0] == place]
    return prompt_text("task").format(task=view.task, context=context, places="\n".join(lines))


def _action_line(spec: ActionSpec) -> str:
    properties = spec.parameters.get("properties")
    required = spec.parameters.get("required")
    shown = []
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        needed = isinstance(required, list) and name in required
        shown.append(f"{name}: {_plain(schema)}" + ("" if needed else " (optional)"))
    return f"- {spec.name.partition('.')[2]}({'; '.join(shown)}): {spec.description}"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def reply_schema(view: View, thought_characters: int | None) -> dict[str, Json]:
    """JSON Schema of a reply: a thought, and one of the actions in view or the word that ends the task."""
    thought: dict[str, Json] = {"type": "string"}
    if thought_characters is not None:
        thought["maxLength"] = thought_characters
    choices: list[Json] = [{"const": DONE}]
    for spec in view.actions:
        entity_id, _, action_name = spec.name.partition(".")
        choices.append(
            {
                "type": "object",
                "properties": {
                    "entity_id": {"const": entity_id},
                    "action_name": {"const": action_name},
                    "arguments": thaw(spec.parameters),
                },
                "required": ["entity_id", "action_name", "arguments"],
                "additionalProperties": False,
            }
        )
    return {
        "type": "object",
        "properties": {"thought_process": thought, "action": {"anyOf": choices}},
        "required": ["thought_process", "action"],
        "additionalProperties": False,
    }


DONE = "TASK_COMPLETE"
