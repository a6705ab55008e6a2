"""The body of kind `aaw`: context and entities, with rules beside the prose.

Published files load unchanged: prose is for people and for model worlds, rules are what the rules world
executes. Expressions stay text here; their places are found by the path in the file, e.g.
`scenario.document.locate(("world", "entities", "lamp", "actions", 0, "requires", 0, "that"))`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from worldloom.core.canonical import Json
from worldloom.core.errors import nearest
from worldloom.core.hidden import Hidden
from worldloom.core.scenario import Body, Criterion, Header, Name, Prose, Scenario
from worldloom.core.yamlio import Fault, Faults
from worldloom.core.yamlio import Path as YamlPath

Category: TypeAlias = Literal["implicit_reasoning", "catastrophic_risk", "privacy_security", "accessibility"]
ParameterType: TypeAlias = Literal["string", "boolean", "number", "integer", "array", "object"]

_STRICT = ConfigDict(extra="forbid", frozen=True)
_RULE_KEYS = frozenset({"requires", "let", "effects", "result", "error"})
# What expressions name besides entities, and the words that CEL keeps for itself.
RESERVED = frozenset(
    {
        *("args", "context", "trace", "called", "never", "before", "count"),
        *("in", "true", "false", "null", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
MAX_CRITERIA = 100
"""Criteria of a rubric: each may take as many steps as an action."""
_CEL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ROOT = re.compile(r"[^.\[\s]*")


class Parameter(BaseModel):
    """One argument of an action. Further keys are those of JSON Schema: minimum, enum, items, …"""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, JsonValue]
    type: ParameterType
    required: bool = False

    def json_schema(self) -> dict[str, Json]:
        """The schema of the argument: all keys but `required`, which JSON Schema says elsewhere."""
        return {"type": self.type, **self.__pydantic_extra__}


class Requirement(BaseModel):
    """A guard: if the expression `that` is false, nothing changes and the failure says `else`."""

    model_config = _STRICT
    that: Prose
    otherwise: Prose | None = Field(default=None, alias="else")


class Effect(BaseModel):
    """One change of state: `set` gives values, `append` adds an item, `remove` drops the items that match."""

    model_config = _STRICT
    set: dict[Name, JsonValue] | None = Field(default=None, min_length=1)
    append: dict[Name, JsonValue] | None = Field(default=None, min_length=1)
    remove: dict[Name, Prose] | None = Field(default=None, min_length=1)
    when: Prose | None = None

    @model_validator(mode="after")
    def _one_change(self) -> "Effect":
        named = [key for key in ("set", "append", "remove") if getattr(self, key) is not None]
        if len(named) != 1:
            found = f"{' and '.join(named)} in one effect" if named else "an effect that changes nothing"
            raise Faults(Fault((), found, "one of set, append, remove in each effect"))
        return self

    def targets(self) -> tuple[tuple[str, str], ...]:
        """(set, append or remove; path) of each change, in order."""
        kinds = (("set", self.set), ("append", self.append), ("remove", self.remove))
        return tuple((kind, path) for kind, changes in kinds for path in changes or ())


class EntityAction(BaseModel):
    """What can be done with an entity. An agent sees name, description and parameters, and nothing else."""

    model_config = _STRICT
    name: Name
    description: str
    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    returns: Hidden[str] = Field(default_factory=lambda: Hidden(""))
    requires: Hidden[tuple[Requirement, ...]] = Field(default_factory=lambda: Hidden(()))
    let: Hidden[dict[Name, JsonValue]] = Field(default_factory=lambda: Hidden({}))
    effects: Hidden[tuple[Effect, ...]] = Field(default_factory=lambda: Hidden(()))
    result: Hidden[JsonValue] = Field(default_factory=lambda: Hidden(None))
    error: Hidden[Prose | None] = Field(default_factory=lambda: Hidden(None))

    @property
    def has_rules(self) -> bool:
        """Whether a rules world can execute this action."""
        return bool(_RULE_KEYS & self.model_fields_set)

    def arguments_schema(self) -> dict[str, Json]:
        """JSON Schema (draft 7) of the arguments object."""
        required: list[Json] = [name for name, parameter in self.parameters.items() if parameter.required]
        return {
            "type": "object",
            "properties": {name: parameter.json_schema() for name, parameter in self.parameters.items()},
            "required": required,
            "additionalProperties": False,
        }


class Entity(BaseModel):
    """A thing with state and actions. `id` is its key in the body, however the file lists entities."""

    model_config = _STRICT
    id: Name = ""
    type: Name
    name: Name
    description: str = ""
    state: Hidden[dict[Name, JsonValue]] = Field(default_factory=lambda: Hidden({}))
    invariants: Hidden[tuple[Prose, ...]] = Field(default_factory=lambda: Hidden(()))
    actions: tuple[EntityAction, ...] = ()


class AawHeader(Header):
    """What kind `aaw` asks for beyond the common header."""

    category: Category
    user_prompt: Prose = Field(description="what the seat `agent` is told")
    evaluation_rubric: Hidden[Annotated[tuple[Criterion, ...], Field(min_length=1)]]
    metrics: tuple[Literal["SPR", "NSS", "explore"], ...] | None = Field(
        default=None, description="default all"
    )


class AawBody(Body):
    """`world:` of kind `aaw`."""

    header: ClassVar[type[Header]] = AawHeader
    keyed: ClassVar[tuple[tuple[str, ...], ...]] = (("entities",),)

    context: dict[Name, JsonValue] = Field(
        default_factory=dict, description="open facts that the agent is shown"
    )
    entities: dict[Name, Entity] = Field(min_length=1)

    @property
    def has_rules(self) -> bool:
        """Whether the file holds rules; if not, a model has to simulate its world."""
        return any(
            "invariants" in entity.model_fields_set or any(action.has_rules for action in entity.actions)
            for entity in self.entities.values()
        )

    def action(self, name: str) -> EntityAction | None:
        """The action with a full name, `<entity>.<action>`; None if there is none."""
        entity_id, _, action_name = name.partition(".")
        entity = self.entities.get(entity_id)
        return (
            next((action for action in entity.actions if action.name == action_name), None)
            if entity
            else None
        )

    def faults(self, header: Header) -> Iterable[Fault]:
        """Names that clash, cannot be used in `entity.action`, or lead nowhere; criteria that say nothing."""
        yield from _header_faults(header)
        unusable = [fault for entity_id in self.entities for fault in self._id_faults(entity_id)]
        if unusable:  # the rest would only follow from these
            yield from unusable
            return
        for entity in self.entities.values():
            at: YamlPath = ("world", "entities", entity.id)
            yield from _action_faults(entity, at)
            for index, action in enumerate(entity.actions):
                yield from self._target_faults(action, (*at, "actions", index))
        paths = header.paths.reveal()
        for name, steps in (("literal", paths.literal), ("careful", paths.careful)):
            for index, step in enumerate(steps):
                yield from self._step_faults(step.name, step.arguments, ("paths", name, index))

    def _id_faults(self, entity_id: str) -> Iterator[Fault]:
        at: YamlPath = ("world", "entities", entity_id)
        if re.search(r"[.\[\]\s]", entity_id):
            yield Fault(
                at, f"the entity id {entity_id!r}", "an id without dots, brackets and spaces", key=True
            )
        elif self.has_rules and (not _CEL_NAME.fullmatch(entity_id) or entity_id in RESERVED):
            found = f"the entity id {entity_id!r} cannot be named in an expression"
            yield Fault(at, found, f"letters, digits and _; none of {', '.join(sorted(RESERVED))}", key=True)

    def _target_faults(self, action: EntityAction, at: YamlPath) -> Iterator[Fault]:
        for index, effect in enumerate(action.effects.reveal()):
            for kind, target in effect.targets():
                match = _ROOT.match(target)
                root = match.group() if match else ""
                if root not in self.entities:
                    path = (*at, "effects", index, kind, target)
                    yield self._unknown(path, f"{target!r} begins with no entity", root, self.entities)

    def _step_faults(self, name: str, arguments: Mapping[str, Json], at: YamlPath) -> Iterator[Fault]:
        action = self.action(name)
        if action is None:
            names = [
                f"{entity.id}.{action.name}" for entity in self.entities.values() for action in entity.actions
            ]
            yield self._unknown((*at, name), f"{name!r} is no action of this world", name, names)
            return
        for argument in arguments:
            if argument not in action.parameters:
                found = f"{name} has no parameter {argument!r}"
                yield self._unknown((*at, name, argument), found, argument, action.parameters)

    @staticmethod
    def _unknown(path: YamlPath, found: str, word: str, choices: Iterable[str]) -> Fault:
        names = list(choices)
        return Fault(
            path, found, f"one of {', '.join(names)}" if names else "none", nearest(word, names), key=True
        )


def body_of(scenario: Scenario) -> AawBody:
    """The body of a scenario of kind `aaw`."""
    body = scenario.body
    assert isinstance(body, AawBody), "the registry gives scenarios of kind aaw this body"
    return body


def _header_faults(header: Header) -> Iterator[Fault]:
    rubric = header.evaluation_rubric.reveal()
    if len(rubric) > MAX_CRITERIA:
        yield Fault(("evaluation_rubric", MAX_CRITERIA), f"{len(rubric)} criteria", f"at most {MAX_CRITERIA}")
    for index, criterion in enumerate(rubric):
        if criterion.pass_condition is None and criterion.check is None:
            allowed = "`pass_condition` in prose, `check` as an expression, or both"
            yield Fault(("evaluation_rubric", index), "a criterion without anything to judge it by", allowed)


def _action_faults(entity: Entity, at: YamlPath) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, action in enumerate(entity.actions):
        path = (*at, "actions", index, "name")
        if re.search(r"[.\[\]]", action.name):
            yield Fault(path, f"the action name {action.name!r}", "a name without dots and brackets")
        if action.name in seen:
            yield Fault(
                path, f"{entity.id} has a second action {action.name!r}", "each action name once in an entity"
            )
        seen.add(action.name)
