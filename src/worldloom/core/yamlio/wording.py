"""What a JSON Schema allows, in words; and what stands in a document, in words.

Problems are worded from the schema that editors get too, so that both say the same.
"""

import json
from collections.abc import Iterator, Mapping

from worldloom.core.canonical import Json
from worldloom.core.yamlio.document import Path

Schema = Mapping[str, Json]
_MOST_CHOICES = 20
_LONGEST_QUOTE = 60


def schemas_at(root: Schema, path: Path) -> list[Schema]:
    """Schemas that apply at a path below a root schema; several where there are alternatives."""
    current = list(_alternatives(root, root))
    for part in path:
        below = [child for schema in current for child in _child(schema, part)]
        current = [inner for child in below for inner in _alternatives(root, child)]
    return current


def keys_of(schemas: list[Schema]) -> list[str]:
    """Keys that mappings of these schemas name."""
    keys: dict[str, None] = {}
    for schema in schemas:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            keys.update(dict.fromkeys(properties))
    return list(keys)


def names_at(root: Schema, path: Path) -> list[Schema]:
    """Schemas of the keys of open mappings at a path."""
    names = [schema.get("propertyNames") for schema in schemas_at(root, path)]
    return [inner for name in names if isinstance(name, dict) for inner in _alternatives(root, name)]


def allowed(root: Schema, schemas: list[Schema]) -> str:
    """What these alternatives allow, e.g. "text or a list; each item: a whole number of at least 1"."""
    words = dict.fromkeys(_words(root, schema) for schema in schemas)
    return " or ".join(words) or "any value"


def types_of(schemas: list[Schema]) -> set[str]:
    """JSON types that these alternatives allow."""
    return {str(schema["type"]) for schema in schemas if "type" in schema}


def choices_of(schemas: list[Schema]) -> list[str]:
    """Texts among which these alternatives let one choose."""
    return [choice for schema in schemas for choice in _choices(schema) if isinstance(choice, str)]


def quoted(value: Json, spelling: str | None = None) -> str:
    """A value as a problem quotes it: short, with what it is."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing (null)"
    text = spelling if spelling is not None else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
    if isinstance(value, str):
        return f"the text {shown}"
    return f"the truth value {shown}" if isinstance(value, bool) else f"the number {shown}"


def _alternatives(root: Schema, schema: Schema) -> Iterator[Schema]:
    """Follow references and open up `anyOf`; null is left out, it only says that a key may be absent."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        definitions = root.get("$defs")
        target = definitions.get(reference.rsplit("/", 1)[-1]) if isinstance(definitions, dict) else None
        if isinstance(target, dict):
            yield from _alternatives(root, target)
        return
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if isinstance(branches, list):
            for branch in branches:
                if isinstance(branch, dict) and branch.get("type") != "null":
                    yield from _alternatives(root, branch)
            return
    yield schema


def _child(schema: Schema, part: str | int) -> Iterator[Schema]:
    if isinstance(part, int):
        items = schema.get("items")
        if isinstance(items, dict):
            yield items
        return
    properties = schema.get("properties")
    child = properties.get(part) if isinstance(properties, dict) else None
    if child is None:
        child = schema.get("additionalProperties")
    if isinstance(child, dict):
        yield child


def _choices(schema: Schema) -> list[Json]:
    if "const" in schema:
        return [schema["const"]]
    enum = schema.get("enum")
    return enum if isinstance(enum, list) else []


def _words(root: Schema, schema: Schema) -> str:
    if choices := _choices(schema):
        shown = [json.dumps(choice, ensure_ascii=False) for choice in choices[:_MOST_CHOICES]]
        more = ", …" if len(choices) > _MOST_CHOICES else ""
        return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}{more}"
    kind = schema.get("type")
    if kind == "string":
        return "text that is not empty" if schema.get("minLength") else "text"
    if kind == "boolean":
        return "true or false"
    if kind in ("integer", "number"):
        return ("a whole number" if kind == "integer" else "a number") + _range(schema)
    if kind == "array":
        return _list_words(root, schema)
    if kind == "object":
        return _mapping_words(root, schema)
    return "any value"


def _list_words(root: Schema, schema: Schema) -> str:
    start = "a list with at least one item" if schema.get("minItems") else "a list"
    items = schema.get("items")
    if not isinstance(items, dict):
        return start
    return f"{start}; each item: {allowed(root, list(_alternatives(root, items)))}"


def _mapping_words(root: Schema, schema: Schema) -> str:
    if keys := keys_of([schema]):
        return f"a mapping with the keys {', '.join(keys)}"
    start = "a mapping with one key" if schema.get("maxProperties") == 1 else "a mapping"
    extra = schema.get("additionalProperties")
    inner = allowed(root, list(_alternatives(root, extra))) if isinstance(extra, dict) else "any value"
    return start if inner == "any value" else f"{start}; each value: {inner}"


def _range(schema: Schema) -> str:
    parts = [
        f"{words} {json.dumps(schema[key])}"
        for key, words in (
            ("minimum", "of at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "of at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in schema
    ]
    return f" {' and '.join(parts)}" if parts else ""
