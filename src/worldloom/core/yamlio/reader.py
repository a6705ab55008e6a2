"""From text to a Document: the parser's events become JSON with places, bounded and without recursion."""

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

import yaml

from worldloom.core.canonical import Json
from worldloom.core.errors import DocumentError, Problem, nearest
from worldloom.core.files import read_bytes, too_large
from worldloom.core.yamlio.decoding import decode, forbidden, invisible, split_lines, unrecordable
from worldloom.core.yamlio.document import Document, Node, Place
from worldloom.core.yamlio.scalars import NotJson, resolve
from worldloom.core.yamlio.syntax import explain

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 100
MAX_VALUES = 1_000_000
MAX_PROBLEMS = 50
MAX_ALIAS_WEIGHT = 1_000_000  # parts and characters that aliases may add to a file

_COMMENT = re.compile(r"(?<![^ \t\r\n])#[^\r\n]*")

# libyaml is ten times as fast and reads the same language; wheels of PyYAML hold it.
_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def read(path: str | os.PathLike[str]) -> Document:
    """Read a YAML file.

    Raises:
        DocumentError: there is no such file, or it has problems; holds all that were found.
    """
    return parse(read_bytes(path, MAX_BYTES), os.fspath(path))


def parse(text: str | bytes, file: str) -> Document:
    """Read YAML that is already in memory; `file` is what problems call it.

    Raises:
        DocumentError: the text has problems; holds all that were found.
    """
    if len(text) > MAX_BYTES:
        raise too_large(file, MAX_BYTES)
    text = decode(text, file) if isinstance(text, bytes) else text.removeprefix("\ufeff")
    return _Builder(text, file).build()


@dataclass(slots=True)
class _Frame:
    """A container that is still open."""

    node: Node
    anchor: str | None
    key: str | None = None
    key_place: Place = (0, 0)
    key_end: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    """Line of each key, by its normal form: two spellings that look the same are the same key."""


class _Builder:
    """Builds one document; problems that leave the structure clear are collected, others end the reading."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._source = Document(file, text, split_lines(text), Node({}, (1, 1)))
        self._problems: list[Problem] = []
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._quoted: list[tuple[int, int]] = []
        self._values = 0
        self._alias_weight = 0
        self._root: Node | None = None

    def build(self) -> Document:
        if hit := forbidden(self._text):
            line, column = self._place_of(hit[0])
            self._stop(line, column, f"the character {hit[1]}", "visible characters, spaces and line breaks")
        documents = 0
        for event in self._events():
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                self._check_start(event, documents)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close()
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
        if "\t" in self._text:
            self._check_tabs()
        if self._root is None or (self._root.value is None and self._root.spelling == ""):
            self._stop(0, 0, "the file is empty", "a mapping: `key: value`")
        elif not isinstance(self._root.value, dict):
            found = f"{_kind(self._root.value)} at the top of the file"
            self._report(*self._root.place, found, "a mapping: `key: value`")
        if self._problems or self._root is None:
            raise self._error()
        return replace(self._source, root=self._root)

    def _events(self) -> Iterator[yaml.Event]:
        try:
            yield from yaml.parse(self._text, Loader=_Loader)
        except yaml.YAMLError as error:
            self._stop(*explain(error, self._source.lines))

    def _check_start(self, event: yaml.DocumentStartEvent, count: int) -> None:
        line, column = _place(event)
        if count > 1:
            self._stop(line, column, "a second document begins", "one document a file")
        if event.version not in (None, (1, 2)) or event.tags:
            self._report(line, column, "a directive (%…)", "no directive: every file is read as YAML 1.2")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        line, column = _place(event)
        self._check_tag(event.tag, line, column)
        plain = event.implicit[0] and event.style in (None, "")
        text: str = event.value
        value: Json = text
        if plain:
            try:
                value = resolve(text)
            except NotJson as error:
                self._report(line, column, str(error), "a finite number of at most 64 bits; quoted text")
        elif event.style == '"' and (name := unrecordable(text)):
            self._report(line, column, f"an escape for the character {name}", "characters of text")
        if not plain:
            self._quoted.append(_span(event))
        node = Node(value, (line, column), spelling=text if plain else None, weight=1 + len(text))
        frame = self._frames[-1] if self._frames else None
        if frame and isinstance(frame.node.value, dict) and frame.key is None:
            self._key(frame, node, _span(event)[1])
            if event.anchor:
                self._anchors[event.anchor] = node
            return
        if frame and frame.key is not None and plain and not text:
            self._check_colon(frame, _span(event)[0])
        self._add(node, event.anchor)

    def _key(self, frame: _Frame, node: Node, end: int) -> None:
        """Take a scalar as the next key of the innermost mapping."""
        line, column = node.place
        key = node.value if isinstance(node.value, str) else (node.spelling or "")
        if not isinstance(node.value, str):
            self._report(line, column, f"the key {key} is {_kind(node.value)}", f"text; quote it: '{key}'")
        elif key == "<<" and node.spelling:
            self._report(line, column, "a merge key (<<)", "each key written out: YAML 1.2 has no merging")
        elif not key.strip():
            self._report(line, column, "a key without a visible character", "text")
        elif name := invisible(key):
            self._report(line, column, f"the key {key!a} holds the invisible {name}", "visible characters")
        elif key != key.strip():
            self._report(line, column, f"spaces around the key {key!r}", "a key without spaces around it")
        looks = key if key.isascii() else unicodedata.normalize("NFC", key)
        if looks in frame.seen:
            found = f"the key {key!r} stands here a second time; first in line {frame.seen[looks]}"
            self._report(line, column, found, "each key once in a mapping")
        frame.seen.setdefault(looks, line)
        frame.key, frame.key_place, frame.key_end = key, node.place, end

    def _check_colon(self, frame: _Frame, start: int) -> None:
        """`{a:1}` and `{a, b}` are keys without a value to a parser; nobody means that."""
        if ":" not in self._text[frame.key_end : start]:
            self._report(
                *frame.key_place,
                f"{frame.key!r} is a key without a colon and a value",
                "`key: value` with a space after the colon; `key: null` for nothing",
            )

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        line, column = _place(event)
        self._check_tag(event.tag, line, column)
        if self._frames and isinstance(self._frames[-1].node.value, dict) and self._frames[-1].key is None:
            self._stop(line, column, "a list or mapping as a key", "text; quoted, if it begins with [ or {")
        if len(self._frames) >= MAX_DEPTH:
            self._stop(line, column, "too many levels inside one another", f"at most {MAX_DEPTH} levels")
        value: Json = {} if isinstance(event, yaml.MappingStartEvent) else []
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        self._frames.append(_Frame(Node(value, (line, column), {}, {}), event.anchor))

    def _close(self) -> None:
        frame = self._frames.pop()
        self._add(frame.node, frame.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        line, column = _place(event)
        name = event.anchor or ""
        if self._frames and isinstance(self._frames[-1].node.value, dict) and self._frames[-1].key is None:
            self._stop(line, column, f"the alias *{name} as a key", "text")
        if any(frame.anchor == name for frame in self._frames):
            self._stop(
                line, column, f"the alias *{name} is inside what it names", "an alias to something complete"
            )
        target = self._anchors.get(name)
        if target is None:
            near = nearest(name, self._anchors)
            self._stop(line, column, f"no anchor &{name} stands before this", "an anchor of this file", near)
        self._alias_weight += target.weight
        if self._alias_weight > MAX_ALIAS_WEIGHT or len(self._frames) + target.height > MAX_DEPTH:
            self._stop(line, column, "aliases make this file too large", "values written out")
        self._add(replace(target, value=_copy(target), place=(line, column), spelling=None))

    def _add(self, node: Node, anchor: str | None = None) -> None:
        """Put a finished node where it belongs."""
        self._values += 1
        if self._values > MAX_VALUES:
            self._stop(*node.place, "too many values", f"at most {MAX_VALUES} in a file")
        if anchor:
            self._anchors[anchor] = node
        if not self._frames:
            self._root = node
            return
        frame = self._frames[-1]
        parent = frame.node
        if isinstance(parent.value, dict):
            key = frame.key
            assert key is not None
            parent.value[key] = node.value
            parent.children[key], parent.keys[key], frame.key = node, frame.key_place, None
            parent.weight += len(key)
        else:
            assert isinstance(parent.value, list)
            parent.children[len(parent.value)] = node
            parent.value.append(node.value)
        parent.weight += node.weight
        parent.height = max(parent.height, node.height + 1)

    def _check_tag(self, tag: str | None, line: int, column: int) -> None:
        if tag is not None:
            self._report(line, column, "a tag (!…)", "no tags; quoted text, if the value begins with !")

    def _check_tabs(self) -> None:
        """Tabs are text in quoted and block scalars and free in comments; elsewhere nobody sees them."""
        start = 0
        for begin, end in (*self._quoted, (len(self._text), 0)):
            gap = _COMMENT.sub(lambda comment: " " * len(comment.group()), self._text[start:begin])
            if "\t" in gap:
                place = self._place_of(start + gap.index("\t"))
                self._report(*place, "a tab", "spaces; quoted text, if it holds a tab")
                return
            start = end

    def _place_of(self, offset: int) -> Place:
        before = split_lines(self._text[:offset])
        return len(before), len(before[-1]) + 1

    def _report(self, line: int, column: int, found: str, allowed: str, near: str | None = None) -> None:
        self._problems.append(self._source.problem_at(line, column, found, allowed, near))
        if len(self._problems) >= MAX_PROBLEMS:
            raise self._error()

    def _stop(self, line: int, column: int, found: str, allowed: str, near: str | None = None) -> NoReturn:
        self._problems.append(self._source.problem_at(line, column, found, allowed, near))
        raise self._error()

    def _error(self) -> DocumentError:
        return DocumentError(sorted(self._problems, key=lambda problem: (problem.line, problem.column)))


def _place(event: yaml.Event) -> Place:
    assert event.start_mark is not None
    return event.start_mark.line + 1, event.start_mark.column + 1


def _span(event: yaml.Event) -> tuple[int, int]:
    """Offsets in the text at which an event begins and ends."""
    assert event.start_mark is not None and event.end_mark is not None
    return event.start_mark.index, event.end_mark.index


def _copy(node: Node) -> Json:
    """The value of a node, sharing nothing with it that could be changed."""
    if isinstance(node.value, dict):
        return {str(key): _copy(child) for key, child in node.children.items()}
    if isinstance(node.value, list):
        return [_copy(child) for child in node.children.values()]
    return node.value


def _kind(value: Json) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a mapping"
