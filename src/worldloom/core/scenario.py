"""Scenario: a YAML file that says what is asked, in which world, and what counts as done.

The header is common to all kinds; `world:` is the kind's own, read by the model that the kind's room names.
What would give the answer away is `Hidden`. Files are untrusted: nothing in them is evaluated here.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
)
from pydantic_core import CoreSchema, core_schema

from worldloom.core.action import Action
from worldloom.core.canonical import Json, digest
from worldloom.core.errors import DocumentError, Problem, UsageError, nearest
from worldloom.core.frozen import freeze
from worldloom.core.hidden import Hidden
from worldloom.core.registry import Registry, Room
from worldloom.core.yamlio import Document, Fault, Faults, check, check_faults, parse, read
from worldloom.core.yamlio.decoding import invisible

DEFAULT_KIND = "aaw"
_STRICT = ConfigDict(extra="forbid", frozen=True)
# Other documents that people keep beside scenarios, and the keys that give them away.
_OTHERS = {
    "suite": ("suite", "scenarios"),
    "study": ("study", "vary"),
    "project": ("models", "rooms", "runs_dir"),
    "room": ("role", "factory"),
}


def _name(text: str) -> str:
    if text.strip() != text or invisible(text):
        raise Faults(Fault((), f"the text {text!a}", "text without invisible characters or spaces around it"))
    return text


def _prose(text: str) -> str:
    if not text.strip():
        raise Faults(Fault((), "text without a visible character", "text that is not empty"))
    return text


Name: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_name)]
Prose: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_prose)]
_Call: TypeAlias = Annotated[dict[str, dict[str, JsonValue]], Field(min_length=1, max_length=1)]


class _FromCall:
    """Reads `name: {arguments}` as an Action."""

    @staticmethod
    def __get_pydantic_core_schema__(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def action(call: Mapping[str, Mapping[str, Json]]) -> Action:
            ((name, arguments),) = call.items()
            return Action(name, freeze(arguments))

        return core_schema.no_info_after_validator_function(action, handler.generate_schema(_Call))


Step: TypeAlias = Annotated[Action, _FromCall]


class Seat(BaseModel):
    """Who sits at a seat. A name alone is the agent's."""

    model_config = _STRICT
    agent: Name
    count: int = Field(default=1, ge=1, description="how many of them")
    model: Name | None = Field(default=None, description="the model they use; default: from the command line")


class _FromName:
    """Reads a text as a Seat with that agent."""

    @staticmethod
    def __get_pydantic_core_schema__(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def seat(value: str | Seat) -> Seat:
            return Seat(agent=value) if isinstance(value, str) else value

        return core_schema.no_info_after_validator_function(seat, handler.generate_schema(Name | Seat))


def seats_of(cast: Mapping[str, Seat]) -> list[tuple[str, str]]:
    """(name of a seat, its group) for every agent of a cast: `group`, or `group-1`, `group-2`, … of several."""
    return [
        (group if who.count == 1 else f"{group}-{n}", group)
        for group, who in cast.items()
        for n in range(1, who.count + 1)
    ]


class ScenarioLimits(BaseModel):
    """Limits that a scenario sets for its episodes; None leaves them to the run."""

    model_config = _STRICT
    steps: int | None = Field(default=None, ge=1)
    model_calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    wall_s: float | None = Field(default=None, gt=0)


class Criterion(BaseModel):
    """One thing that must hold at the end.

    `criterion` and `pass_condition` are prose; `check` is an expression over final state, facts and metrics.
    """

    model_config = _STRICT
    criterion: Prose
    pass_condition: Prose | None = None
    check: Prose | None = None


class Paths(BaseModel):
    """Reference sequences: what a careless reader of the request does, and what passes."""

    model_config = _STRICT
    literal: tuple[Step, ...] = ()
    careful: tuple[Step, ...] = ()


class Header(BaseModel):
    """The keys that every kind shares. A kind may narrow them in a subclass."""

    model_config = _STRICT
    kind: Name = DEFAULT_KIND
    schema_version: Literal[1] = Field(default=1, alias="schema")
    id: Name
    category: Name | None = None
    title: Prose | None = None
    summary: Hidden[Prose | None] = Field(default_factory=lambda: Hidden(None))
    tags: tuple[Name, ...] = ()
    source: Prose | None = None
    licence: Prose | None = None
    user_prompt: Prose | None = Field(default=None, description="what the seat `agent` is told")
    world: JsonValue
    cast: dict[Name, Annotated[Seat, _FromName]] = Field(
        default_factory=dict, description="seat: agent, or seat: {agent, count, model}"
    )
    graph: Name | None = Field(default=None, description="default: the kind's")
    limits: ScenarioLimits = Field(default_factory=ScenarioLimits)
    evaluation_rubric: Hidden[tuple[Criterion, ...]] = Field(default_factory=lambda: Hidden(()))
    metrics: tuple[Name, ...] | None = Field(
        default=None, description="names of the kind's scorers; default all"
    )
    execution_rules: Hidden[tuple[Prose, ...]] = Field(default_factory=lambda: Hidden(()))
    paths: Hidden[Paths] = Field(default_factory=lambda: Hidden(Paths()))


class Body(BaseModel):
    """What a kind's `world:` holds. A world room derives its own from this and names it in `room.yaml`.

    Attributes:
        header: the header of scenarios of this kind: a subclass of `Header` where the kind asks for more.
        keyed: paths of collections that may be written as a list of items with `id` or as a mapping by id;
            the model sees the mapping, and each item holds its `id`.
        seats: names of the seats that `cast` may fill, one agent at each; None if it names groups of its own, each with
            as many seats as its `count` says.
    """

    model_config = _STRICT
    header: ClassVar[type[Header]] = Header
    keyed: ClassVar[tuple[tuple[str, ...], ...]] = ()
    seats: ClassVar[tuple[str, ...] | None] = ("agent",)

    @property
    def steps(self) -> int | None:
        """Steps after which the world comes to its end by itself; None if it never does."""
        return None

    def faults(self, header: Header) -> Iterable[Fault]:
        """Contradictions within the whole file that types cannot show; paths begin at the file's root."""
        return ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that was read and found sound.

    Attributes:
        kind, id, …: the keys of the header, as the file or its defaults give them.
        body: `world:` as the kind's model.
        digest: SHA-256 over the parsed content: comments, layout and order of keys do not change it.
        file: path as the person gave it.
        source_text: the file's text, for the record.
        document: places of all parts, by their path in the file: `document.locate(("world", …))`. Entities
            are found by id, however the file lists them.
    """

    kind: str
    id: str
    category: str | None
    title: str | None
    summary: Hidden[str | None]
    tags: tuple[str, ...]
    source: str | None
    licence: str | None
    user_prompt: str | None
    cast: Mapping[str, Seat]
    graph: str | None
    limits: ScenarioLimits
    evaluation_rubric: Hidden[tuple[Criterion, ...]]
    metrics: tuple[str, ...] | None
    execution_rules: Hidden[tuple[str, ...]]
    paths: Hidden[Paths]
    body: Body = field(repr=False)
    digest: str
    file: str = field(compare=False)
    source_text: Hidden[str] = field(compare=False)
    document: Document = field(repr=False, compare=False)


def load_scenario(path: str | os.PathLike[str], registry: Registry) -> Scenario:
    """Read a scenario file.

    Raises:
        DocumentError: it has problems; holds all that were found, in file order.
    """
    return scenario_from(read(FilePath(path)), registry)


def parse_scenario(text: str | bytes, file: str, registry: Registry) -> Scenario:
    """As `load_scenario`, for text that is already in memory; `file` is what problems call it."""
    return scenario_from(parse(text, file), registry)


def scenario_from(document: Document, registry: Registry) -> Scenario:
    """As `load_scenario`, for a document that has been read."""
    kind = _kind(document, registry)
    model = body_model(registry.world_of(kind))
    problems: list[Problem] = []
    for path in model.keyed:
        document, found = document.keyed(("world", *path))
        problems += found
    header, found = check(document, model.header)
    body = None
    if not problems and "world" in document.value:
        body, problems = check(document, model, ("world",))
    problems += found
    if header is not None and body is not None:
        problems += check_faults(
            document, [*_room_faults(header, model, document, registry), *body.faults(header)]
        )
    if problems or header is None or body is None:
        raise DocumentError(sorted(problems, key=lambda problem: (problem.line, problem.column)))
    return Scenario(
        kind=kind,
        id=header.id,
        category=header.category,
        title=header.title,
        summary=header.summary,
        tags=header.tags,
        source=header.source,
        licence=header.licence,
        user_prompt=header.user_prompt,
        cast=header.cast,
        graph=header.graph,
        limits=header.limits,
        evaluation_rubric=header.evaluation_rubric,
        metrics=header.metrics,
        execution_rules=header.execution_rules,
        paths=header.paths,
        body=body,
        digest=digest({"kind": kind, "schema": header.schema_version, **document.value}),
        file=document.file,
        source_text=Hidden(document.text),
        document=document,
    )


def _room_faults(
    header: Header, model: type[Body], document: Document, registry: Registry
) -> Iterable[Fault]:
    """Rooms and seats that the header names and that are not there, or belong to another kind."""
    graphs = {room.name: room.kind for room in registry.rooms("graph")}
    if header.graph is not None and graphs.get(header.graph) != header.kind:
        found = f"the graph {header.graph!r}"
        if header.graph in graphs:
            found += f", which plays the kind {graphs[header.graph]!r}"
        yield _no_room(("graph",), found, header.graph, [g for g in graphs if graphs[g] == header.kind])
    if model.seats is None:
        yield from _group_faults(header)
    agents = registry.agents(header.kind)
    for seat, who in header.cast.items():
        if model.seats is not None and seat not in model.seats:
            allowed = f"one of {', '.join(model.seats)}"
            yield Fault(("cast", seat), f"the seat {seat!r}", allowed, nearest(seat, model.seats), key=True)
        if model.seats is not None and who.count != 1:
            yield Fault(("cast", seat, "count"), f"{who.count} agents at the seat {seat!r}", "1")
        name = who.agent.partition(":")[0]
        if name not in agents:
            short = isinstance(document.get(("cast", seat)), str)
            yield _no_room(
                ("cast", seat) if short else ("cast", seat, "agent"), f"the agent {name!r}", name, agents
            )


def _group_faults(header: Header) -> Iterable[Fault]:
    """Casts that seat nobody, or two at one seat."""
    if not header.cast:
        yield Fault((), "nobody takes part", "`cast: {group: agent, or {agent, count, model}}`")
    seated: dict[str, str] = {}
    for seat, group in seats_of(header.cast):
        if seated.setdefault(seat, group) != group:
            found = f"the group {group!r} has a seat {seat!r}, and so has {seated[seat]!r}"
            yield Fault(("cast", group), found, "each seat once", key=True)


def _no_room(path: tuple[str, ...], found: str, name: str, names: Sequence[str]) -> Fault:
    return Fault(
        path, found, f"one of {', '.join(names)}" if names else "none is there yet", nearest(name, names)
    )


def body_model(world: Room) -> type[Body]:
    """The model of `world:` that a world room names.

    Raises:
        UsageError: the room's `body` is no subclass of `Body`.
    """
    model = world.load("body")
    if not (isinstance(model, type) and issubclass(model, Body)):
        raise UsageError(f"{world.place}: body: {world.body} is no subclass of worldloom.core.scenario.Body")
    return model


def _kind(document: Document, registry: Registry) -> str:
    """The kind that a document says or implies."""
    value = document.value
    for other, signs in _OTHERS.items():
        sign = next((key for key in signs if key in value), None)
        if value.get("kind") == other or (sign and "world" not in value):
            place = "kind" if value.get("kind") == other else sign or ""
            found = f"this is a {other} and no scenario"
            allowed = "a scenario: id, world, …" + (
                "; for a study: worldloom sweep" if other == "study" else ""
            )
            raise DocumentError([document.problem((place,), found, allowed, key=True)])
    if "kind" not in value:
        if problem := _missing_kind(document, registry):
            raise DocumentError([problem])
        return DEFAULT_KIND
    kind, kinds = value["kind"], registry.kinds()
    if isinstance(kind, str) and kind in kinds:
        return kind
    spelling = document.spelling(("kind",))
    near = nearest(kind, kinds) if isinstance(kind, str) else f"'{spelling}'" if spelling in kinds else None
    found = f"unknown kind {kind!r}" if isinstance(kind, str) else "a kind that is no text"
    raise DocumentError([document.problem(("kind",), found, f"one of {', '.join(kinds)}", near)])


def _missing_kind(document: Document, registry: Registry) -> Problem | None:
    """Whether the keys of `world` show that a file without `kind` is of another kind than the default."""
    world = document.value.get("world")
    if not isinstance(world, dict) or "entities" in world:
        return None
    keys = {kind: set(_keys(registry.world_of(kind))) for kind in registry.kinds()}
    for key in world:
        owners = [kind for kind in keys if key in keys[kind]]
        if owners and DEFAULT_KIND not in owners:
            found = f"`kind` is missing; {key!r} belongs to {' and '.join(owners)}"
            return document.problem(("world", key), found, f"`kind: {owners[0]}`", key=True)
    return None


def _keys(world: Room) -> Iterable[str]:
    """Keys that a kind's `world:` may have; none if its room cannot be imported here."""
    try:
        fields = body_model(world).model_fields
    except UsageError:
        return ()
    return [field.alias or name for name, field in fields.items()]
