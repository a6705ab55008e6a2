"""Rooms: a room is a folder with a `room.yaml`; adding one touches no list.

The registry reads these files and imports nothing of a room before it is used. Rooms come from the five
subject folders, from entry points `worldloom.rooms` and from the project file.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from worldloom.core.errors import UsageError, meant, offer
from worldloom.core.project import Project
from worldloom.core.yamlio import Fault, Faults, parse, validate

Role = Literal["world", "graph", "agent"]
Part = Literal["factory", "body", "scorer", "options", "view"]

ENTRY_POINTS = "worldloom.rooms"
FOLDERS = ("agents", "worlds", "graphs", "memory", "tools")
CARD = "room.yaml"
RULES = "rules"
"""Name of the engine that is a world's own factory."""
_REQUIRED: dict[Role, tuple[str, ...]] = {"world": ("kind", "body"), "graph": ("kind",), "agent": ()}
_REFUSED: dict[Role, tuple[str, ...]] = {
    "world": ("scorer", "view"),
    "graph": ("body", "options"),
    "agent": ("body", "scorer", "view"),
}


def _reference(text: str) -> str:
    module, colon, attribute = text.partition(":")
    names = [*module.removeprefix(".").split("."), attribute]
    if not colon or not all(name.isidentifier() for name in names):
        allowed = "`module:attribute`, or `.module:attribute` for a module in the room's own folder"
        raise Faults(Fault((), f"the text {text!r}", allowed))
    return text


Reference = Annotated[str, AfterValidator(_reference)]


class _Card(BaseModel):
    """What a `room.yaml` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    role: Role
    name: str = Field(min_length=1)
    summary: str = Field(min_length=1, description="one line for --help and doctor")
    kind: str | None = Field(
        default=None,
        min_length=1,
        description="world: the scenario kind it defines; graph: the one it plays; agent: the only one it can play",
    )
    factory: Reference
    body: Reference | None = Field(default=None, description="world: model of a scenario's `world:`")
    scorer: Reference | None = Field(default=None, description="graph: what scores a finished episode")
    options: Reference | None = Field(
        default=None,
        description="agent, engine of a world: what an argument such as a file's name stands for",
    )
    engines: dict[str, Reference] = Field(
        default_factory=dict, description="world: name -> another way to simulate it than by its own factory"
    )
    exports: dict[str, Reference] = Field(
        default_factory=dict,
        description="graph: format -> what turns an ended episode into JSON of that format",
    )
    view: Reference | None = Field(default=None, description="graph: what makes pictures of an episode")
    asks_model: bool = Field(default=False, description="agent: it decides with a language model")
    extras: tuple[str, ...] = Field(
        default=(), description="optional parts of the distribution that the room needs"
    )

    @model_validator(mode="after")
    def _fits_role(self) -> "_Card":
        faults = [
            Fault((), f"`{key}` is missing", f"`{key}`: a room with the role {self.role} needs it", key=True)
            for key in _REQUIRED[self.role]
            if getattr(self, key) is None
        ]
        faults += [
            Fault((key,), f"the key {key!r}", f"no `{key}` in a room with the role {self.role}", key=True)
            for key in _REFUSED[self.role]
            if getattr(self, key) is not None
        ]
        for key, role in (("exports", "graph"), ("engines", "world"), ("asks_model", "agent")):
            if getattr(self, key) and self.role != role:
                allowed = f"no `{key}` in a room with the role {self.role}"
                faults.append(Fault((key,), f"the key {key!r}", allowed, key=True))
        if RULES in self.engines:
            found = f"the engine {RULES!r}"
            faults.append(
                Fault(("engines", RULES), found, "another name: it is that of the factory", key=True)
            )
        if faults:
            raise Faults(*faults)
        return self


@dataclass(frozen=True, slots=True)
class Room:
    """A room as its card describes it; nothing of it has been imported.

    Attributes:
        role: world, graph or agent.
        name: unique within its role.
        summary: one line for people.
        kind: scenario kind that a world defines or a graph plays; of an agent the only one that it can play, if any.
        factory: reference `module:attribute` of what builds it.
        body: reference of the pydantic model of a scenario's `world:`; worlds only.
        scorer: reference of what scores a finished episode; graphs only.
        extras: optional parts of the distribution that it needs.
        place: its `room.yaml`, for messages.
        package: module to which references that begin with a dot are relative; None for a plain folder.
        exports: format -> reference of `(row, events, scores, scenario) -> JSON object`; graphs only.
        engines: name -> reference of `(scenario, options) -> World`, beside the factory, which is called `rules`;
            worlds only.
        options: reference of `(argument) -> options` for agents, `(engine, argument) -> options` for worlds: what an
            argument stands for, read once, so that a run does not depend on a file that may change.
        asks_model: whether an agent decides with a language model.
        view: reference of a `worldloom.core.picture.View`; graphs only.
    """

    role: Role
    name: str
    summary: str
    kind: str | None
    factory: str
    body: str | None
    scorer: str | None
    extras: tuple[str, ...]
    place: str
    package: str | None
    exports: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, str] = field(default_factory=dict)
    options: str | None = None
    asks_model: bool = False
    view: str | None = None

    def load(self, part: Part = "factory") -> object:
        """Import a part of the room.

        Raises:
            UsageError: the room has no such part, it cannot be imported, or the module lacks the attribute.
        """
        reference: str | None = getattr(self, part)
        if reference is None:
            raise UsageError(f"the {self.role} {self.name!r} ({self.place}) has no {part}")
        return self._attribute(part, reference)

    def load_export(self, format: str) -> object:
        """As `load`, for what exports an episode in a format of the room's own."""
        return self._attribute(f"exports: {format}", self.exports[format])

    def load_engine(self, name: str) -> object:
        """As `load`, for what simulates a world otherwise than by its factory.

        Raises:
            UsageError: the world has no such engine, or as `load`.
        """
        if name not in self.engines:
            choices = offer(name, [RULES, *self.engines])
            raise UsageError(f"worlds of kind {self.kind!r} have no engine {name!r}{choices}")
        return self._attribute(f"engines: {name}", self.engines[name])

    def _attribute(self, part: str, reference: str) -> object:
        module_name, _, attribute = reference.partition(":")
        module = self._import(module_name)
        try:
            return getattr(module, attribute)
        except AttributeError:
            raise UsageError(
                f"{self.place}: {part}: the module {module.__name__} has no {attribute!r}"
                f"{meant(attribute, vars(module))}"
            ) from None

    def _import(self, name: str) -> ModuleType:
        try:
            package = (
                _folder_package(self.place) if name.startswith(".") and not self.package else self.package
            )
            return importlib.import_module(name, package)
        except ImportError as error:
            needs = f"; it needs: pip install 'worldloom[{','.join(self.extras)}]'" if self.extras else ""
            raise UsageError(
                f"the {self.role} {self.name!r} ({self.place}) cannot be imported: {error}{needs}"
            ) from error


class Registry:
    """The rooms that this process knows. Made once and handed on."""

    def __init__(self, rooms: Iterable[Room]) -> None:
        self._rooms: dict[tuple[Role, str], Room] = {}
        worlds: dict[str, Room] = {}
        for room in rooms:
            first = self._rooms.setdefault((room.role, room.name), room)
            if first is not room:
                raise UsageError(
                    f"two rooms are the {room.role} {room.name!r}: {first.place} and {room.place}"
                )
            if room.role == "world" and room.kind is not None:
                other = worlds.setdefault(room.kind, room)
                if other is not room:
                    raise UsageError(
                        f"two worlds define the kind {room.kind!r}: {other.place} and {room.place}"
                    )
        self._worlds = worlds

    @classmethod
    def discover(cls, project: Project | None = None) -> "Registry":
        """The rooms of this distribution, of others, and of a project.

        Raises:
            UsageError: a room cannot be found or read, or two have the same name.
        """
        rooms = [*_own_rooms(), *_entry_point_rooms()]
        for entry in project.rooms if project else ():
            assert project is not None
            folder = project.file.parent / entry
            if (folder / CARD).is_file():
                rooms.append(_read(folder / CARD, None))
            else:
                rooms.append(_package_room(entry, f"{project.file}: rooms"))
        return cls(rooms)

    def rooms(self, role: Role | None = None) -> tuple[Room, ...]:
        """All rooms, or those of one role, by role and name."""
        return tuple(room for key, room in sorted(self._rooms.items()) if role in (None, key[0]))

    def foreign(self) -> tuple[Room, ...]:
        """The rooms that do not come with worldloom."""
        return tuple(
            room for room in self.rooms() if room.package is None or not room.package.startswith("worldloom.")
        )

    def get(self, role: Role, name: str) -> Room:
        """The room of that role and name.

        Raises:
            UsageError: there is none; names those there are and the nearest.
        """
        try:
            return self._rooms[role, name]
        except KeyError:
            names = [room.name for room in self.rooms(role)]
            raise UsageError(f"there is no {role} {name!r}{offer(name, names)}") from None

    def agents(self, kind: str) -> tuple[str, ...]:
        """Names of the agents that can play scenarios of a kind."""
        return tuple(room.name for room in self.rooms("agent") if room.kind in (None, kind))

    def kinds(self) -> tuple[str, ...]:
        """Scenario kinds that some world defines."""
        return tuple(sorted(self._worlds))

    def world_of(self, kind: str) -> Room:
        """The world that defines a scenario kind.

        Raises:
            UsageError: no world defines it.
        """
        if kind not in self._worlds:
            raise UsageError(f"there is no kind {kind!r}{offer(kind, self.kinds())}")
        return self._worlds[kind]

    def graph_of(self, kind: str) -> Room:
        """The graph that plays a kind by default: the one called like the kind, or the only one.

        Raises:
            UsageError: none plays it, or several do and none is called like it.
        """
        graphs = [room for room in self.rooms("graph") if room.kind == kind]
        for room in graphs:
            if room.name == kind or len(graphs) == 1:
                return room
        names = ", ".join(room.name for room in graphs)
        raise UsageError(
            f"several graphs play the kind {kind!r}: name one with `graph:`\n  allowed: {names}"
            if graphs
            else f"no graph plays the kind {kind!r}"
        )


def _own_rooms() -> Iterator[Room]:
    root = files("worldloom")
    for subject in FOLDERS:
        folder = root.joinpath(subject)
        for place in sorted(folder.iterdir(), key=lambda item: item.name) if folder.is_dir() else ():
            if place.joinpath(CARD).is_file():
                yield _read(place.joinpath(CARD), f"worldloom.{subject}.{place.name}")


def _entry_point_rooms() -> Iterator[Room]:
    for point in entry_points(group=ENTRY_POINTS):
        distribution = point.dist.name if point.dist else "?"
        yield _package_room(point.value, f"the entry point {point.name!r} of the distribution {distribution}")


def _package_room(package: str, named_by: str) -> Room:
    """The room that a package holds, found without importing it (its parents are imported)."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        if (Path(folder) / CARD).is_file():
            return _read(Path(folder) / CARD, package)
    raise UsageError(
        f"{named_by}: {package!r} is neither a folder with a {CARD} nor a package that holds one"
    )


def _read(card: Traversable, package: str | None) -> Room:
    content = validate(parse(card.read_bytes(), str(card)), _Card)
    return Room(
        content.role,
        content.name,
        content.summary,
        content.kind,
        content.factory,
        content.body,
        content.scorer,
        content.extras,
        str(card),
        package,
        content.exports,
        content.engines,
        content.options,
        content.asks_model,
        content.view,
    )


def _folder_package(place: str) -> str:
    """Make a plain folder with a room importable as a package of its own, and name it."""
    folder = Path(place).parent.absolute()
    name = f"_worldloom_room_{sha256(str(folder).encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        init = folder / "__init__.py"
        locations = [str(folder)]
        spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=locations)
        if spec is None or not init.is_file():
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = locations
        sys.modules[name] = importlib.util.module_from_spec(spec)
        if spec.loader is not None and init.is_file():
            spec.loader.exec_module(sys.modules[name])
    return name
