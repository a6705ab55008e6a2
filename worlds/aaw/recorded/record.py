"""Record: episodes in the published format, read for what they say of the world.

A file is the published list of entries, or one entry. Of an entry `scenario_id` and, in `execution_log`, each step's
`action` and `feedback` are read; all else in it may be there or not. Of several episodes of a scenario the first is
taken.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.files import read_bytes
from worldloom.core.yamlio.wording import quoted

MAX_BYTES = 100 * 2**20
_SHOWN = 5
"""Faults of a file that are told."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Action(_Part):
    entity_id: str = Field(min_length=1)
    action: str = Field(min_length=1, validation_alias=AliasChoices("action", "action_name"))
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class _Feedback(_Part):
    success: bool
    message: str
    state_changes: dict[str, dict[str, JsonValue]] | None = None


class _Step(_Part):
    action: _Action
    feedback: _Feedback


class _Entry(_Part):
    scenario_id: str = Field(min_length=1)
    execution_log: list[_Step]


class Step(BaseModel):
    """One recorded step.

    Attributes:
        action: full name.
        changes: entity -> property -> new value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    action: str
    arguments: dict[str, JsonValue]
    success: bool
    message: str
    changes: dict[str, dict[str, JsonValue]]


def read_record(path: Path) -> dict[str, Json]:
    """Scenario id -> steps, each as a `Step` in JSON.

    Raises:
        UsageError: the file cannot be read, or is no record; names place, what was found and what is allowed.
    """
    value = _json(path)
    entries = value if isinstance(value, list) else [value]
    try:
        read = TypeAdapter(list[_Entry]).validate_python(entries)
    except ValidationError as wrong:
        faults = wrong.errors(include_url=False)
        shown = [f"{_place(fault['loc'], value)}: {_said(fault)}" for fault in faults[:_SHOWN]]
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise UsageError("\n".join([f"{path} is no record of a run:", *shown, *more])) from None
    episodes: dict[str, Json] = {}
    for entry in read:
        if entry.scenario_id not in episodes:
            episodes[entry.scenario_id] = [_step(step) for step in entry.execution_log]
    return episodes


def _step(step: _Step) -> Json:
    action, feedback = step.action, step.feedback
    name = f"{action.entity_id}.{action.action}"
    changes = feedback.state_changes or {}
    return Step(
        action=name,
        arguments=action.arguments,
        success=feedback.success,
        message=feedback.message,
        changes=changes,
    ).model_dump()


def _json(path: Path) -> Json:
    data = read_bytes(path, MAX_BYTES)
    try:
        value: Json = json.loads(
            data.decode("utf-8-sig"),
            parse_constant=_no_constant,
            parse_float=lambda text: float(text) + 0.0,  # -0.0 and 0.0 are one number in records
            object_pairs_hook=_once,
        )
        canonical(value)
    except json.JSONDecodeError as error:
        found = f"{path}:{error.lineno}:{error.colno}: {error.msg}"
        raise UsageError(f"{found}\n  allowed: JSON, as `runs export --format paper` writes it") from None
    except (ValueError, RecordError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON that can be used: {error}") from None
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return members


def _place(path: tuple[int | str, ...], value: Json) -> str:
    steps = path if isinstance(value, list) else path[1:]
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return f"  {shown.removeprefix('.') or 'the whole'}"


def _said(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "missing":
        return "is missing"
    return f"found {quoted(fault['input'])}; {str(fault['msg'])[:1].lower()}{str(fault['msg'])[1:]}"
