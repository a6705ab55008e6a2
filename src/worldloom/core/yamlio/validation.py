"""From a Document to a pydantic model, with every fault said in plain words at its place."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from worldloom.core.canonical import Json
from worldloom.core.errors import DocumentError, Problem, nearest
from worldloom.core.yamlio.document import Document, Path
from worldloom.core.yamlio.reader import MAX_PROBLEMS
from worldloom.core.yamlio.wording import (
    Schema,
    allowed,
    choices_of,
    keys_of,
    names_at,
    quoted,
    schemas_at,
    types_of,
)

M = TypeVar("M", bound=BaseModel)
_UNDERSCORED = re.compile("[0-9]+(_[0-9]+)*")
_TRUTH = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


@dataclass(frozen=True, slots=True)
class Fault:
    """What a validator found.

    Attributes:
        path: where, below the value that is validated.
        found: what stands there, in words or quoted.
        allowed: what may stand there.
        nearest: what they may have meant.
        key: the fault is in the key, not in the value.
    """

    path: Path
    found: str
    allowed: str
    nearest: str | None = None
    key: bool = False


class Faults(ValueError):
    """Raised by a validator of a model: one or more faults, each with its path below the model."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("; ".join(fault.found for fault in faults))


def validate(document: Document, model: type[M], at: Path = ()) -> M:
    """Make a model of a document, or of the part of it at `at`.

    Raises:
        DocumentError: it does not fit; holds its problems, in file order: the first MAX_PROBLEMS.
    """
    result, problems = check(document, model, at)
    if result is None:
        raise DocumentError(problems)
    return result


def check(document: Document, model: type[M], at: Path = ()) -> tuple[M | None, list[Problem]]:
    """As `validate`, but hands out the problems, so that a caller can join them with others."""
    try:
        # JSON mode is strict about types ("1" is no number) and still makes tuples out of lists.
        return model.model_validate_json(json.dumps(document.get(at)), strict=True), []
    except ValidationError as error:
        return None, _translate(document, model, at, error)


def check_faults(document: Document, faults: Iterable[Fault]) -> list[Problem]:
    """The first problems at the places of faults, whose paths begin at the document's root."""
    found = [document.problem(f.path, f.found, f.allowed, f.nearest, key=f.key) for f in faults]
    return sorted(found, key=lambda problem: (problem.line, problem.column))[:MAX_PROBLEMS]


def _translate(document: Document, model: type[BaseModel], at: Path, error: ValidationError) -> list[Problem]:
    schema: Schema = model.model_json_schema()
    faults: dict[Fault, None] = {}
    missing: dict[Fault, str] = {}
    loose: list[Fault] = []  # of a wrong type: one alternative of several, unless another one went deeper
    for detail in error.errors(include_url=False):
        path, is_key = _path(document, at, detail["loc"])
        kind, reason = detail["type"], detail.get("ctx", {}).get("error")
        if kind == "extra_forbidden":
            faults[_unknown_key(schema, at, path)] = None
        elif kind == "missing":
            name = str(detail["loc"][-1])
            missing[_missing_key(schema, at, path, name)] = name
        elif isinstance(reason, Faults):
            for fault in reason.faults:
                whole = (*path, *fault.path)
                faults[Fault(whole, fault.found, fault.allowed, fault.nearest, fault.key or is_key)] = None
        elif isinstance(reason, ValueError):
            faults[Fault(path, str(reason), _allowed_at(schema, at, path), None, is_key)] = None
        else:
            loose.append(_wrong_value(document, schema, at, path, is_key))
    # A misspelt key is one fault, not an unknown key and a missing one.
    misspelt = {(fault.path[:-1], fault.nearest) for fault in faults if fault.nearest}
    faults |= {fault: None for fault, name in missing.items() if (fault.path, name) not in misspelt}
    covered = {fault.path[:depth] for fault in faults for depth in range(len(fault.path) + 1)}
    covered |= {fault.path[:depth] for fault in loose for depth in range(len(fault.path))}
    for fault in loose:
        if fault.path not in covered:
            faults[fault] = None
            covered.add(fault.path)
    return check_faults(document, faults)


def _path(document: Document, at: Path, location: tuple[str | int, ...]) -> tuple[Path, bool]:
    """The part of pydantic's location that exists in the document: names of alternatives drop out."""
    path: Path = at
    for part in location:
        if part == "[key]":
            return path, True
        value = document.get(path)
        inside = isinstance(value, dict) and part in value
        inside = inside or (isinstance(value, list) and isinstance(part, int) and part < len(value))
        path = (*path, part) if inside else path
    return path, False


def _unknown_key(schema: Schema, at: Path, path: Path) -> Fault:
    keys = keys_of(schemas_at(schema, path[len(at) : -1]))
    key = str(path[-1])
    words = f"the keys {', '.join(keys)}" if keys else "no keys"
    return Fault(path, f"unknown key {key!r}", words, nearest(key, keys), key=True)


def _missing_key(schema: Schema, at: Path, path: Path, name: str) -> Fault:
    words = f"`{name}`: {_allowed_at(schema, at, (*path, name))}"
    return Fault(path, f"`{name}` is missing", words, key=True)


def _wrong_value(document: Document, schema: Schema, at: Path, path: Path, is_key: bool) -> Fault:
    value, spelling = document.get(path), document.spelling(path)
    if is_key:
        names, key = names_at(schema, path[len(at) : -1]), str(path[-1])
        return Fault(path, f"the key {key!r}", allowed(schema, names), nearest(key, choices_of(names)), True)
    schemas = schemas_at(schema, path[len(at) :])
    words, near = allowed(schema, schemas), None
    types = types_of(schemas)
    if isinstance(value, str):
        near = nearest(value, choices_of(schemas))
        if "boolean" in types:
            near = _TRUTH.get(value.lower(), near)
        if types & {"integer", "number"} and _UNDERSCORED.fullmatch(value):
            near = value.replace("_", "")
    elif "string" in types and spelling is not None and value is not None and spelling.isprintable():
        words += f'; quote it: "{spelling}"'
    return Fault(path, _found(value, spelling), words, near)


def _found(value: Json, spelling: str | None) -> str:
    if value == "" or value == [] or value == {}:
        return "empty text" if value == "" else f"{quoted(value)} without any item"
    return quoted(value, None if isinstance(value, str) else spelling)


def _allowed_at(schema: Schema, at: Path, path: Path) -> str:
    return allowed(schema, schemas_at(schema, path[len(at) :]))
