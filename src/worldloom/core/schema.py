"""JSON Schema (draft 7) of scenario files, for editors: the common header, then what each kind asks for.

It says what types can say; contradictions between parts of a file are found by loading it.
"""

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import BaseModel

from worldloom.core.canonical import Json
from worldloom.core.registry import Registry
from worldloom.core.scenario import DEFAULT_KIND, Body, Header, body_model

_Object: TypeAlias = dict[str, Json]
DRAFT = "http://json-schema.org/draft-07/schema#"


def scenario_schema(registry: Registry) -> dict[str, Json]:
    """The schema of a scenario of any kind that the registry knows.

    Raises:
        UsageError: the room of a kind cannot be imported.
    """
    definitions: _Object = {}
    header = _model_schema(Header, "Header", definitions)
    properties = _object(header["properties"])
    kinds: list[Json] = list(registry.kinds())
    properties["kind"] = {"enum": kinds, "default": DEFAULT_KIND}
    return {
        "$schema": DRAFT,
        "title": "worldloom scenario",
        "type": "object",
        "properties": properties,
        "required": header["required"],
        "additionalProperties": False,
        "allOf": [_kind(kind, body_model(registry.world_of(kind)), definitions) for kind in registry.kinds()],
        "definitions": definitions,
    }


def _kind(kind: str, body: type[Body], definitions: _Object) -> _Object:
    """What a scenario of one kind must hold."""
    header = _model_schema(body.header, f"{kind}.header", definitions)
    common = Header.model_fields
    narrowed = {
        field.alias or name for name, field in body.header.model_fields.items() if field != common.get(name)
    }
    properties = {key: value for key, value in _object(header["properties"]).items() if key in narrowed}
    world = _model_schema(body, kind, definitions)
    for path in body.keyed:
        _accept_list(world, path)
    condition: _Object = {"properties": {"kind": {"const": kind}}}
    if kind != DEFAULT_KIND:  # an absent key fulfils every condition on its value
        condition["required"] = ["kind"]
    return {
        "if": condition,
        "then": {"properties": {**properties, "world": world}, "required": header["required"]},
    }


def _accept_list(schema: _Object, path: tuple[str, ...]) -> None:
    """Let the collection at a path be a list of items with `id` too."""
    for part in path[:-1]:
        schema = _object(_object(schema["properties"])[part])
    properties = _object(schema["properties"])
    mapping = _object(properties[path[-1]])
    items: Json = {"allOf": [mapping["additionalProperties"], {"required": ["id"]}]}
    as_list: Json = {"type": "array", "items": items, "minItems": mapping.get("minProperties", 0)}
    properties[path[-1]] = {"anyOf": [mapping, as_list]}


def _model_schema(model: type[BaseModel], prefix: str, definitions: _Object) -> _Object:
    """A model's schema; what it refers to is put among the definitions, under names with the prefix."""
    schema: _Object = model.model_json_schema(ref_template=f"#/definitions/{prefix}.{{model}}")
    for name, definition in _object(schema.pop("$defs", {})).items():
        definitions[f"{prefix}.{name}"] = _draft7(definition)
    return _object(_draft7(schema))


def _draft7(schema: Json) -> Json:
    """Say in draft 7 what pydantic says in a later one: there, `$ref` may have siblings."""
    if isinstance(schema, list):
        return [_draft7(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: _draft7(value) for key, value in schema.items() if key != "title" or isinstance(value, dict)
    }
    if "$ref" in inner and len(inner) > 1:
        return {"allOf": [{"$ref": inner.pop("$ref")}], **inner}
    return inner


def _object(value: Json | Mapping[str, Json]) -> _Object:
    assert isinstance(value, dict)
    return value
