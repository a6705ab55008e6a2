"""Picture: what a room shows of an episode, as plain data; whoever renders it, a terminal or a page, decides how.

A graph's card names `view: .view:pictures`, a function `(scenario, events, blob) -> list[Picture]`: `events` are those
of one episode in key order, `blob(sha256)` reads what stands beside them. Numbers that are not finite become
None, a gap.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from worldloom.core.errors import UsageError, offer
from worldloom.core.event import Event
from worldloom.core.scenario import Scenario

Number: TypeAlias = float | None
Cell: TypeAlias = str | int | float | None
P = TypeVar("P", bound="Picture")
_NAME = re.compile(r"[a-z][a-z0-9-]*")  # it becomes the name of a file


def numbers(values: Iterable[float | None]) -> tuple[Number, ...]:
    """The values as numbers; None in place of what is missing, NaN or infinite."""
    return tuple(None if one is None or not math.isfinite(one) else float(one) for one in values)


@dataclass(frozen=True)
class Series:
    """Points that belong together.

    Attributes:
        name: as the legend calls it.
        x, y: of each point.
        low, high: band around y; empty for none.
    """

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()

    def __post_init__(self) -> None:
        counts = []
        for name in ("x", "y", "low", "high"):
            object.__setattr__(self, name, numbers(getattr(self, name)))
            counts.append(len(getattr(self, name)))
        if counts[1] != counts[0] or counts[2] != counts[3] or counts[2] not in (0, counts[0]):
            raise UsageError(
                f"the series {self.name!r} has {counts} values of x, y, low, high\n  allowed: as many of each"
            )


@dataclass(frozen=True)
class Picture:
    """What all pictures have.

    Attributes:
        name: by which a person asks for it: lower case, digits and `-`.
        title: what is seen; it says as well what was left out.
        about: one or two sentences for those who cannot see it, or do not know such pictures.
    """

    name: str
    title: str
    about: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"a picture is called {self.name!r}\n  allowed: lower case letters, digits and `-`"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """What can be shown of it one at a time, by name; empty if it is one whole."""
        return ()

    def part(self: P, name: str) -> P:
        """The picture of one part.

        Raises:
            UsageError: it has no such part.
        """
        raise UsageError(f"the picture {self.name!r} has no part {name!r}: it is one whole")

    def to_json(self) -> dict[str, Any]:
        """The picture as JSON; `kind` says what it is."""
        return {"kind": type(self).__name__.lower(), **asdict(self)}


@dataclass(frozen=True)
class Lines(Picture):
    """Curves over one axis.

    Attributes:
        x, y: names of the axes.
        series: the points of each in the order of x.
        band: what the bands of the series hold, in a sentence; not everyone who draws the picture draws bands.
    """

    x: str
    y: str
    series: tuple[Series, ...]
    band: str = ""


@dataclass(frozen=True)
class Scatter(Picture):
    """Points in a plane; `x` and `y` name the axes."""

    x: str
    y: str
    series: tuple[Series, ...]


class Bar(NamedTuple):
    """One bar; those of one group look alike."""

    name: str
    group: str
    value: Number


@dataclass(frozen=True)
class Bars(Picture):
    """Quantities side by side.

    Attributes:
        y: what they are.
        groups: of bars, in an order that all pictures of an episode keep.
    """

    y: str
    groups: tuple[str, ...]
    bars: tuple[Bar, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        known = numbers(bar.value for bar in self.bars)
        bars = tuple(bar._replace(value=value) for bar, value in zip(self.bars, known, strict=True))
        object.__setattr__(self, "bars", bars)


class Node(NamedTuple):
    """A node of a network; those of one group look alike."""

    name: str
    group: str


class Edge(NamedTuple):
    """An edge between two nodes, by their places: how much there was, and how much of it counts."""

    left: int
    right: int
    thin: int
    thick: int


class Frame(NamedTuple):
    """A network at one time."""

    name: str
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Network(Picture):
    """Two columns of nodes and what is between them, frame by frame.

    Attributes:
        left, right: what the nodes of the columns are.
        thin, thick: what the quantities of an edge are.
        groups: of nodes on the left, in an order that all pictures of an episode keep.
        lefts, rights: the nodes, from the top.
        frames: what is shown one at a time or beside each other, the most telling first.
    """

    left: str
    right: str
    thin: str
    thick: str
    groups: tuple[str, ...]
    lefts: tuple[Node, ...]
    rights: tuple[Node, ...]
    frames: tuple[Frame, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(frame.name for frame in self.frames)

    def part(self, name: str) -> "Network":
        return replace(self, frames=(_named(self, name, self.frames),))


class Page(NamedTuple):
    """The rows of a table that stand on one page."""

    name: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Table(Picture):
    """Rows under common columns, page by page."""

    columns: tuple[str, ...]
    pages: tuple[Page, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        pages = (page._replace(rows=tuple(map(_cells, page.rows))) for page in self.pages)
        object.__setattr__(self, "pages", tuple(pages))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(page.name for page in self.pages)

    def part(self, name: str) -> "Table":
        return replace(self, pages=(_named(self, name, self.pages),))


def _cells(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    return tuple(numbers([cell])[0] if isinstance(cell, float) else cell for cell in row)


View: TypeAlias = Callable[[Scenario, Sequence[Event], Callable[[str], bytes]], Sequence[Picture]]
"""What a room's `view` is."""

N = TypeVar("N", Frame, Page)


def _named(picture: Picture, name: str, parts: Sequence[N]) -> N:
    for part in parts:
        if part.name == name:
            return part
    raise UsageError(f"the picture {picture.name!r} has no part {name!r}{offer(name, picture.parts)}")


def chosen(pictures: Sequence[Picture], wanted: str) -> Picture:
    """The picture that `NAME` means, or what `NAME:PART` means of it.

    Raises:
        UsageError: there is no such picture, or no such part of it.
    """
    name, colon, part = wanted.partition(":")
    for picture in pictures:
        if picture.name == name:
            return picture.part(part) if colon else picture
    raise UsageError(f"there is no picture {name!r}{offer(name, [one.name for one in pictures])}")
