"""Variant: a scenario with other values at some paths of its file, as a scenario of its own.

A path such as `world.mechanism.capacity` goes by keys of the file and by positions in its lists, from 0. A key that the
file leaves to its default may be named if the kind of scenario has it; any other would change nothing without a word.
Entities go by id, however the file lists them.
"""

from collections.abc import Iterator, Mapping

from worldloom.core.canonical import Json
from worldloom.core.errors import DocumentError, Problem, nearest
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario, body_model, scenario_from
from worldloom.core.yamlio import Document, Fault, Faults, Path, parse, write
from worldloom.core.yamlio.document import Node, Place
from worldloom.core.yamlio.wording import keys_of, quoted, schemas_at


def find_path(base: Scenario, text: str, registry: Registry) -> Path:
    """The path in a scenario's file that a text spells.

    Raises:
        Faults: it leads nowhere; the fault's own path is empty.
    """
    if text == "id":
        raise Faults(Fault((), "the id, which a variant's name is added to", "a path to anything else"))
    path: Path = ()
    rest = text
    while rest:
        node = node_at(base.document, path)
        names = _names(base, path, node, registry)
        # A key may hold dots itself: the longest that fits is meant.
        fitting = [name for name in names if f"{rest}.".startswith(f"{name}.")]
        if not fitting:
            raise Faults(_nowhere(rest.partition(".")[0], path, node, names))
        name = max(fitting, key=len)
        path = (*path, int(name) if node is not None and isinstance(node.value, list) else name)
        rest = rest[len(name) + 1 :]
    return path


def node_at(document: Document, path: Path) -> Node | None:
    """What stands at a path; None if nothing does."""
    node: Node | None = document.root
    for part in path:
        node = None if node is None else node.children.get(part)
    return node


def varied(
    base: Scenario, name: str, changes: Mapping[Path, Json], registry: Registry
) -> tuple[Scenario | None, list[tuple[Path | None, Problem]]]:
    """The variant; where it is not sound, its problems, each with the change that it is about, if it is about one.

    Args:
        name: what is added to the scenario's id.
        changes: path -> new value.
    """
    value: Json = {**base.document.value, "id": f"{base.id} {name}"}
    for path, new in changes.items():
        value = _changed(value, path, new)
    assert isinstance(value, dict), "no change is made at the root"
    # Problems that only show when its world is built quote lines of this text and not of the file.
    document = parse(write(value), f"{base.file} ({name})")
    try:
        return scenario_from(document, registry), []
    except DocumentError as error:
        places = {path: set(_places(document, path)) for path in changes}
        return None, [(_owner(places, problem), problem) for problem in error.problems]


def _changed(value: Json, path: Path, new: Json) -> Json:
    """A copy with another value at a path; what is not on the path is shared."""
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(value, list):
        assert isinstance(part, int), "the path was found in this file"
        return [*value[:part], _changed(value[part], rest, new), *value[part + 1 :]]
    inner = value if isinstance(value, dict) else {}
    return {**inner, str(part): _changed(inner.get(str(part)), rest, new)}


def _names(base: Scenario, path: Path, node: Node | None, registry: Registry) -> list[str]:
    """What a path may go on with: what is there, and what the kind's model knows."""
    here = [] if node is None else [str(part) for part in node.children]
    if node is not None and not isinstance(node.value, dict | None):
        return here
    model = body_model(registry.world_of(base.kind))
    if path[:1] == ("world",):
        known = schemas_at(model.model_json_schema(), path[1:])
    else:
        known = schemas_at(model.header.model_json_schema(), path)
    return list(dict.fromkeys([*here, *keys_of(known)]))


def _nowhere(part: str, path: Path, node: Node | None, names: list[str]) -> Fault:
    above = ".".join(str(each) for each in path) or "the scenario"
    if not names:
        held = "" if node is None else f", which is {quoted(node.value)}"
        return Fault((), f"there is nothing below {above}{held}", "a path that ends there")
    return Fault((), f"there is no {part!r} in {above}", f"one of {', '.join(names)}", nearest(part, names))


def _places(document: Document, path: Path) -> Iterator[Place]:
    """Places of a value, of its key, and of all within it."""
    yield document.locate(path, key=True)
    node = node_at(document, path)
    waiting = [node] if node is not None else []
    while waiting:
        node = waiting.pop()
        yield node.place
        yield from node.keys.values()
        waiting += node.children.values()


def _owner(places: Mapping[Path, set[Place]], problem: Problem) -> Path | None:
    return next((path for path, held in places.items() if (problem.line, problem.column) in held), None)
