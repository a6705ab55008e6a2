"""Parameters of an action: what an agent gave, checked against what the file declares, and nothing converted.

The words of JSON Schema mean what they mean in draft 7, so `3.0` is an integer and `"3"` is none. A world that runs by
rules promises to enforce what its file declares, so a word that is neither enforced nor a known remark is refused, and
so are words between which no value fits. Files without rules are not held to it: they load with any words.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldloom.core.canonical import Json, encodable
from worldloom.core.errors import UsageError, nearest
from worldloom.core.frozen import FrozenDict, FrozenList
from worldloom.core.yamlio import Fault, Path
from worldloom.core.yamlio.wording import allowed, quoted
from worldloom.worlds.aaw.body import EntityAction

MAX_WEIGHT = 20_000
"""Parts and characters of the arguments of one call."""
MAX_DEPTH = 32
_WORDS: Mapping[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
    "boolean": (),
}
_ANY_TYPE = ("type", "enum", "const", "default")
_REMARKS = ("title", "description", "examples", "format", "unit", "$comment")
_PAIRS = (("minLength", "maxLength"), ("minItems", "maxItems"))


class Refused(UsageError):
    """Arguments that do not fit; the text goes to the agent."""

    code = "arguments"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The declared parameters of one action, as schemas by name."""

    schemas: Mapping[str, Mapping[str, Json]]
    required: frozenset[str]
    defaults: Mapping[str, Json]

    @staticmethod
    def of(action: EntityAction) -> "Parameters":
        schemas = {name: parameter.json_schema() for name, parameter in action.parameters.items()}
        required = frozenset(name for name, parameter in action.parameters.items() if parameter.required)
        return Parameters(
            schemas,
            required,
            {name: schema["default"] for name, schema in schemas.items() if "default" in schema},
        )

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Json]:
        """The arguments as the rules see them: whole values of `number` are decimal, defaults are filled in.

        Raises:
            Refused: they do not fit; the text names the parameter, what was found and what is expected.
        """
        if not isinstance(arguments, Mapping):
            raise Refused("The arguments are no JSON object.")
        for name in arguments:
            if name not in self.schemas:
                raise Refused(self._unknown(name))
        budget = [MAX_WEIGHT]
        taken: dict[str, Json] = {**self.defaults}
        for name, schema in self.schemas.items():
            if name in arguments:
                taken[name] = _checked(arguments[name], schema, f"parameter '{name}'", budget)
            elif name in self.required and name not in self.defaults:
                raise Refused(
                    f"The required parameter '{name}' is missing; expected {allowed(schema, [schema])}."
                )
        return taken

    def faults(self, at: Path) -> Iterator[Fault]:
        """What cannot be enforced in the declarations, which stand at `at`."""
        for name, schema in self.schemas.items():
            yield from _schema_faults(schema, (*at, name))

    def _unknown(self, name: object) -> str:
        if not isinstance(name, str) or not encodable(name):
            return "The name of a parameter is no plain text."
        near = nearest(name, self.schemas)
        hint = f" Did you mean '{near}'?" if near else ""
        known = ", ".join(self.schemas)
        parameters = f"Parameters: {known}." if known else "It takes none."
        return f"There is no parameter '{name[:60]}'.{hint} {parameters}"


def _checked(value: Any, schema: Mapping[str, Json], where: str, budget: list[int], depth: int = 0) -> Json:
    kind = schema.get("type")
    result = _plain(value, where, budget, depth)
    if kind == "integer" and type(result) is float and result.is_integer():
        result = int(result)
    if ("type" in schema and type(result) not in _TYPES[str(kind)]) or not _within(result, schema):
        raise Refused(
            f"The {where} is {quoted(result)}; expected {allowed(schema, [schema])}{_bounds(schema)}."
        )
    if isinstance(result, list) and isinstance(items := schema.get("items"), dict):
        return [
            _checked(item, items, f"item {index} of {where}", budget, depth)
            for index, item in enumerate(result)
        ]
    if isinstance(result, dict):
        return _checked_object(result, schema, where, budget, depth)
    if kind == "number" and type(result) is int:
        return float(result)
    return result


def _checked_object(
    value: dict[str, Json], schema: Mapping[str, Json], where: str, budget: list[int], depth: int
) -> Json:
    required, extra = schema.get("required"), schema.get("additionalProperties", True)
    declared = schema.get("properties")
    properties = declared if isinstance(declared, dict) else {}
    for name in required if isinstance(required, list) else ():
        if name not in value:
            raise Refused(f"The {where} lacks '{name}'.")
    checked: dict[str, Json] = {}
    for name, item in value.items():
        inner = properties.get(name, extra)
        if inner is False:
            raise Refused(f"The {where} has no '{name[:60]}'; it has {', '.join(properties) or 'no keys'}.")
        shown = f"'{name[:60]}' of {where}"
        checked[name] = _checked(item, inner, shown, budget, depth) if isinstance(inner, dict) else item
    return checked


def _plain(value: Any, where: str, budget: list[int], depth: int) -> Json:
    """The value if it is JSON that a record can hold and that is not too large; -0.0 becomes 0.0."""
    budget[0] -= 1 + (len(value) if type(value) is str else 0)
    if budget[0] < 0:
        raise Refused("The arguments are too large.")
    if depth > MAX_DEPTH:
        raise Refused(f"The {where} is nested too deeply.")
    if value is None or type(value) is bool or (type(value) is int and -(2**63) <= value < 2**63):
        return value
    if type(value) is float and math.isfinite(value):
        return value + 0.0
    if type(value) is str and encodable(value):
        return value
    if type(value) in (list, FrozenList):
        return [_plain(item, where, budget, depth + 1) for item in value]
    if type(value) in (dict, FrozenDict) and all(type(key) is str and encodable(key) for key in value):
        budget[0] -= sum(map(len, value))
        return {key: _plain(item, where, budget, depth + 1) for key, item in value.items()}
    raise Refused(f"The {where} holds something that is no plain JSON value.")


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_LIMITS: tuple[tuple[str, tuple[type, ...], Callable[[Any, Any], bool]], ...] = (
    ("minimum", (int, float), lambda value, limit: value >= limit),
    ("maximum", (int, float), lambda value, limit: value <= limit),
    ("exclusiveMinimum", (int, float), lambda value, limit: value > limit),
    ("exclusiveMaximum", (int, float), lambda value, limit: value < limit),
    ("minLength", (str,), lambda value, limit: len(value) >= limit),
    ("maxLength", (str,), lambda value, limit: len(value) <= limit),
    ("minItems", (list,), lambda value, limit: len(value) >= limit),
    ("maxItems", (list,), lambda value, limit: len(value) <= limit),
)


def _within(value: Json, schema: Mapping[str, Json]) -> bool:
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list) and not any(_same(value, choice) for choice in choices):
        return False
    if len(schema) == 1:
        return True
    return all(
        type(value) not in types or fits(value, schema[word])
        for word, types, fits in _LIMITS
        if word in schema
    )


def _same(value: Json, choice: Json) -> bool:
    """Equal as JSON: `true` is not 1."""
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _bounds(schema: Mapping[str, Json]) -> str:
    """The limits on length, which the wording of files leaves out."""
    words = {"minLength": "at least {} characters", "maxLength": "at most {} characters"}
    words |= {"minItems": "at least {} items", "maxItems": "at most {} items"}
    said = [text.format(schema[word]) for word, text in words.items() if word in schema]
    return f" ({', '.join(said)})" if said else ""


def _schema_faults(schema: Mapping[str, Json], at: Path) -> Iterator[Fault]:
    kind = schema.get("type")
    if "type" in schema and (not isinstance(kind, str) or kind not in _WORDS):
        yield Fault((*at, "type"), f"the type {kind!r}", f"one of {', '.join(_WORDS)}")
        return
    words = _words_for(kind)
    faults = [fault for word in schema for fault in _word_faults(word, schema[word], words, (*at, word))]
    yield from faults or (*_empty_ranges(schema, at), *_unfit_values(schema, at))


def _words_for(kind: object) -> tuple[str, ...]:
    """The words that are enforced for values of a type; for those of any type, if none is given."""
    own = (
        _WORDS[kind] if isinstance(kind, str) else tuple(word for words in _WORDS.values() for word in words)
    )
    return tuple(dict.fromkeys((*_ANY_TYPE, *own)))


def _word_faults(word: str, value: Json, words: Collection[str], at: Path) -> Iterator[Fault]:
    if word in _REMARKS:
        return
    if word not in words:
        known = (*words, *_REMARKS)
        allowed = f"{', '.join(known)}; or a rule in `requires`"
        yield Fault(at, f"{word!r} would not be enforced", allowed, nearest(word, known), key=True)
    elif word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if type(value) not in (int, float):
            yield Fault(at, quoted(value), "a number")
    elif word in ("minLength", "maxLength", "minItems", "maxItems"):
        if type(value) is not int or value < 0:
            yield Fault(at, quoted(value), "a whole number of at least 0")
    elif word == "enum" and (not isinstance(value, list) or not value):
        yield Fault(at, quoted(value), "a list with at least one item")
    elif word == "required" and not (
        isinstance(value, list) and all(isinstance(name, str) for name in value)
    ):
        yield Fault(at, quoted(value), "a list of names")
    elif word in ("items", "properties", "additionalProperties"):
        yield from _inner_faults(word, value, at)


def _empty_ranges(schema: Mapping[str, Any], at: Path) -> Iterator[Fault]:
    """Limits between which there is nothing."""
    for least, most in _PAIRS:
        if least in schema and most in schema and schema[least] > schema[most]:
            yield Fault((*at, least), quoted(schema[least]), f"at most {schema[most]}, which is `{most}`")
    low, low_out = max(_limits(schema, "minimum", "exclusiveMinimum", 1), default=(-math.inf, False))
    high, high_out = max(_limits(schema, "maximum", "exclusiveMaximum", -1), default=(-math.inf, False))
    high = -high
    if schema.get("type") == "integer" and math.isfinite(low) and math.isfinite(high):
        low, low_out = (math.floor(low) + 1 if low_out else math.ceil(low)), False
        high, high_out = (math.ceil(high) - 1 if high_out else math.floor(high)), False
    if low > high or (low == high and (low_out or high_out)):
        words = allowed({}, [{"type": "number", **schema, "enum": None}])
        word = "minimum" if "minimum" in schema else "exclusiveMinimum"
        yield Fault((*at, word), f"no value is {words}", "limits between which there are values")


def _limits(schema: Mapping[str, Any], word: str, exclusive: str, sign: int) -> list[tuple[float, bool]]:
    """The limits of one side, the strictest one the greatest: its number, and whether that itself is out."""
    return [(sign * schema[name], name == exclusive) for name in (word, exclusive) if name in schema]


def _unfit_values(schema: Mapping[str, Any], at: Path) -> Iterator[Fault]:
    """Values that the schema itself lists and refuses."""
    free = {word: value for word, value in schema.items() if word not in ("enum", "const", "default")}
    choices = schema.get("enum", ())
    listed: list[tuple[Path, Json, Mapping[str, Json]]] = [
        ((*at, "enum", index), choice, free) for index, choice in enumerate(choices)
    ]
    if "const" in schema:
        listed.append(((*at, "const"), schema["const"], {**free, "enum": choices} if choices else free))
    if "default" in schema:
        listed.append(((*at, "default"), schema["default"], schema))
    for path, value, rest in listed:
        try:
            _checked(value, rest, "value", [MAX_WEIGHT])
        except Refused as refusal:
            inner = f": {refusal}" if isinstance(value, list | dict) else ""
            yield Fault(path, f"{quoted(value)}{inner}", allowed(rest, [rest]) + _bounds(rest))
    properties = schema.get("properties", {})
    for index, name in enumerate(schema.get("required", ())):
        if schema.get("additionalProperties") is False and name not in properties:
            known = (
                f"one of {', '.join(properties)}"
                if properties
                else "no names, since there are no `properties`"
            )
            yield Fault(
                (*at, "required", index),
                f"{name!r}, which may not be there",
                known,
                nearest(name, properties),
            )


def _inner_faults(word: str, value: Json, at: Path) -> Iterator[Fault]:
    if word == "additionalProperties" and isinstance(value, bool):
        return
    if not isinstance(value, dict):
        yield Fault(at, quoted(value), "a mapping")
    elif word == "properties":
        for name, schema in value.items():
            if isinstance(schema, dict):
                yield from _schema_faults(schema, (*at, name))
            else:
                yield Fault((*at, name), quoted(schema), "a mapping")
    else:
        yield from _schema_faults(value, at)
