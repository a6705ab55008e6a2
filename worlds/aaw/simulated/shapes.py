"""Shapes: what kind of value a property has, learnt from the values that it has and had at first.

A number stays a number and a text a text. Whole numbers may stand for decimal ones; the other way round only if the
call brings a decimal number, as a price does that is taken from a balance of 210. Items of a list of mappings have the
fields that the items have which are there. Below a property, null may stand anywhere. Where there is no sample but
null, anything goes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.errors import ReplyError
from worldloom.core.yamlio.wording import quoted

_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_WORDS = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What values may be.

    Attributes:
        kinds: JSON Schema types; none if nothing is known.
        items: of lists.
        fields: of objects.
        required: fields that all objects have; None if objects may have other fields than `fields`.
    """

    kinds: frozenset[str] = frozenset()
    items: "Shape | None" = None
    fields: "Mapping[str, Shape]" = field(default_factory=dict)
    required: tuple[str, ...] | None = None

    @staticmethod
    def of(
        samples: Iterable[Json], *, decimal: bool = False, inner: bool = False, alike: bool = False
    ) -> "Shape":
        """The shape that samples have between them.

        Args:
            samples: values that are lawful.
            decimal: decimal numbers may stand where whole ones are.
            inner: they stand below a property.
            alike: they are items of one list.
        """
        values = list(samples)
        kinds = {_KINDS[type(value)] for value in values}
        if kinds <= {"null"}:
            return Shape()
        if decimal and "integer" in kinds:
            kinds.add("number")
        objects = [value for value in values if isinstance(value, dict)]
        names = dict.fromkeys(name for value in objects for name in value)
        fields = {
            name: Shape.of((value[name] for value in objects if name in value), decimal=decimal, inner=True)
            for name in names
        }
        items = [item for value in values if isinstance(value, list) for item in value]
        required = tuple(name for name in names if all(name in value for value in objects))
        return Shape(
            frozenset({*kinds, "null"} if inner else kinds),
            Shape.of(items, decimal=decimal, inner=True, alike=True) if items else None,
            fields,
            required if alike and objects else None,
        )

    def fit(self, value: Json, where: str) -> Json:
        """The value as it enters the state: whole numbers among decimal ones become decimal.

        Raises:
            ReplyError: it does not fit; `where` names its place.
        """
        kind = _KINDS[type(value)]
        if not self.kinds:
            return value
        if kind == "integer" and "integer" not in self.kinds and "number" in self.kinds:
            return float(value)  # type: ignore[arg-type]  # an int
        if kind == "number" and "number" not in self.kinds and float(value).is_integer():  # type: ignore[arg-type]
            kind, value = "integer", int(value)  # type: ignore[arg-type]  # a float
        if kind not in self.kinds:
            words = " or ".join(_WORDS[name] for name in _WORDS if name in self.kinds)
            raise ReplyError(f"{where} is {quoted(value)}; it must be {words}.")
        if isinstance(value, list):
            items = self.items or Shape()
            return [items.fit(item, f"{where}[{index}]") for index, item in enumerate(value)]
        if isinstance(value, dict):
            return self._object(value, where)
        return value

    def _object(self, value: Mapping[str, Json], where: str) -> Json:
        if self.required is not None:
            missing = [name for name in self.required if name not in value]
            if missing:
                raise ReplyError(f"{where} lacks {missing[0]!r}; give every item of a list whole.")
            unknown = [name for name in value if name not in self.fields]
            if unknown:
                raise ReplyError(
                    f"{where} has the unknown field {unknown[0][:60]!r}; it has {', '.join(self.fields)}."
                )
        return {
            name: self.fields.get(name, Shape()).fit(item, f"{where}.{name[:60]}")
            for name, item in value.items()
        }

    def schema(self) -> dict[str, Json]:
        """JSON Schema (draft 7) of what fits."""
        kinds = sorted(self.kinds - {"integer"} if "number" in self.kinds else self.kinds)
        if not kinds:
            return {}
        schema: dict[str, Json] = {"type": _one(kinds)}
        if self.items is not None:
            schema["items"] = self.items.schema()
        if "object" in kinds:
            schema["properties"] = {name: shape.schema() for name, shape in self.fields.items()}
            if self.required is not None:
                schema |= {"required": [*self.required], "additionalProperties": False}
        return schema


def _one(kinds: Sequence[Any]) -> Json:
    return kinds[0] if len(kinds) == 1 else list(kinds)
