"""Document: the value of a file together with the place of each of its parts."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import Problem

Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[int, int]


@dataclass(slots=True, eq=False)
class Node:
    """A value and where it stands. Not changed once its container is closed.

    Attributes:
        value: JSON.
        place: line and column of the value, both from 1.
        children: nodes of a mapping by key, of a list by index.
        keys: places of a mapping's keys.
        spelling: a plain scalar as it was written; None for quoted text and containers.
        weight: parts and characters, so that aliases cannot multiply them without bound.
        height: levels of containers below.
    """

    value: Json
    place: Place
    children: dict[str | int, "Node"] = field(default_factory=lambda: _NO_CHILDREN)
    keys: dict[str, Place] = field(default_factory=lambda: _NO_KEYS)
    spelling: str | None = None
    weight: int = 1
    height: int = 0


# Shared by all scalars, and never filled: two dictionaries each would take most of a large file's memory.
_NO_CHILDREN: dict[str | int, Node] = {}
_NO_KEYS: dict[str, Place] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A file that was read. Its value is JSON; treat it as immutable.

    Attributes:
        file: path as the person gave it.
        text: what the file holds, without a byte order mark.
        lines: the text, line by line.
        root: the value and all places.
    """

    file: str
    text: str = field(repr=False)
    lines: list[str] = field(repr=False)
    root: Node = field(repr=False)

    @property
    def value(self) -> dict[str, Json]:
        """The root mapping."""
        assert isinstance(self.root.value, dict)
        return self.root.value

    def get(self, path: Iterable[str | int]) -> Json:
        """The value at a path; None if there is none."""
        node = self.root
        for part in path:
            if part not in node.children:
                return None
            node = node.children[part]
        return node.value

    def spelling(self, path: Path) -> str | None:
        """A plain scalar as it was written, e.g. `1.10`; None for anything else."""
        node, rest, _ = self._walk(path)
        return None if rest else node.spelling

    def locate(self, path: Path, *, key: bool = False) -> Place:
        """Line and column, both from 1, of the value at a path, or of its key.

        A path that leads nowhere gives the place of the nearest part that exists: of its key, if it has one.
        """
        node, rest, place = self._walk(path)
        return place if (key or rest) and place is not None else node.place

    def problem(
        self, path: Path, found: str, allowed: str, nearest: str | None = None, *, key: bool = False
    ) -> Problem:
        """A problem at the place of a path."""
        line, column = self.locate(path, key=key)
        return self.problem_at(line, column, found, allowed, nearest)

    def problem_at(
        self, line: int, column: int, found: str, allowed: str, nearest: str | None = None
    ) -> Problem:
        """A problem at a line and column, both from 1."""
        source = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return Problem(self.file, line, column, found, allowed, nearest, source)

    def keyed(self, path: Path, by: str = "id") -> tuple["Document", list[Problem]]:
        """Bring a collection that people write as a list or as a mapping into one form.

        The collection at `path` becomes a mapping by each item's `by`, and every item holds that key. Places
        follow, so `locate` takes the path of the mapping however the file spells it. What is no collection
        stays as it is.
        """
        collection, rest, _ = self._walk(path)
        if rest or not isinstance(collection.value, list | dict):
            return self, []
        as_list = isinstance(collection.value, list)
        result = Node({}, collection.place, {}, {}, weight=collection.weight, height=collection.height)
        problems: list[Problem] = []
        for part, node in collection.children.items():
            name = node.children.get(by)
            if not isinstance(node.value, dict):
                found = "an item that is no mapping"
                problems.append(self.problem((*path, part), found, f"a mapping with `{by}`"))
            elif as_list and (name is None or not isinstance(name.value, str)):
                found = f"`{by}` is missing" if name is None else f"`{by}` is no text"
                problems.append(
                    self.problem((*path, part, by), found, f"`{by}`: text, in each item of the list")
                )
            elif not as_list and name is not None and name.value != part:
                found = f"`{by}` says {name.value!r} under the key {part!r}"
                problems.append(self.problem((*path, part, by), found, f"the key again, or no `{by}`"))
            else:
                problems += self._add(result, path, part, node, by)
        if problems:
            return self, problems
        return replace(self, root=_replaced(self.root, path, result)), []

    def _add(self, result: Node, path: Path, part: str | int, node: Node, by: str) -> list[Problem]:
        """Put one item under its name into a collection that `keyed` builds."""
        named = node.children.get(by) or Node(part, self.locate((*path, part), key=True))
        name, place = str(named.value), named.place
        if name in result.keys:
            found = f"a second {by} {name!r}; the first is in line {result.keys[name][0]}"
            return [self.problem_at(*place, found, f"each {by} once")]
        children, keys = {by: named, **node.children}, {by: place, **node.keys}
        value: Json = {str(key): child.value for key, child in children.items()}
        item = replace(node, value=value, children=children, keys=keys)
        result.children[name], result.keys[name] = item, place
        assert isinstance(result.value, dict)
        result.value[name] = item.value
        return []

    def _walk(self, path: Path) -> tuple[Node, Path, Place | None]:
        """The deepest node on a path, the rest of the path, and the place of the node's key."""
        node, place = self.root, None
        for index, part in enumerate(path):
            if part not in node.children:
                return node, path[index:], place
            place = node.keys.get(part) if isinstance(part, str) else None
            node = node.children[part]
        return node, (), place


def _replaced(node: Node, path: Path, new: Node) -> Node:
    """A copy of the tree with another node at `path`; what is not on the path is shared."""
    if not path:
        return new
    child = _replaced(node.children[path[0]], path[1:], new)
    children = {**node.children, path[0]: child}
    if isinstance(node.value, list):
        return replace(node, value=[part.value for part in children.values()], children=children)
    return replace(node, value={str(key): part.value for key, part in children.items()}, children=children)
