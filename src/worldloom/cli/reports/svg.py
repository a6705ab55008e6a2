"""Plotting: pictures as SVG, by matplotlib: the same picture gives the same bytes, and says what it shows to those who
cannot see it. Tables are not drawn.
"""

import io
import re
import textwrap
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from worldloom.cli.terminal import visible
from worldloom.core.errors import UsageError
from worldloom.core.picture import Bars, Edge, Frame, Lines, Network, Picture, Scatter

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ImportError as missing:
    raise UsageError(
        f"SVG is drawn by matplotlib, which cannot be imported: {missing}; it needs: pip install 'worldloom[plot]'"
        "\n  allowed: no --output, which draws in the terminal, or --json"
    ) from missing

MOST_FRAMES = 6
"""Frames of a network that stand beside each other."""

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Told apart by the colour-blind (Okabe and Ito)."""
_MARKERS, _DASHES = "os^Dv*Px", ("-", "--", "-.", ":")
_NO_XML = re.compile("[\ufffe\uffff]")


def svg_of(picture: Picture) -> str:
    """The picture as SVG.

    Raises:
        UsageError: it is a table.
    """
    made = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own settings say: the same picture everywhere
        matplotlib.rcParams.update(
            {
                "svg.hashsalt": picture.name,
                "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and copied
                "text.parse_math": False,  # names come from strangers: a dollar sign is a dollar sign
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.titlesize": "small",
                "legend.frameon": False,
                "legend.fontsize": "small",
            }
        )
        figure = _figure(picture)
        title = textwrap.wrap(_said(picture.title), width=int(figure.get_figwidth() * 11))
        figure.suptitle("\n".join(title), fontsize="medium")
        figure.savefig(made, format="svg", metadata={"Date": None, "Creator": None})
    return _accessible(made.getvalue(), picture)


def _said(text: str) -> str:
    """Text as it may stand in XML."""
    return _NO_XML.sub("?", visible(text))


def _accessible(svg: str, picture: Picture) -> str:
    """The SVG with a title and a description that screen readers read."""
    name, about = picture.name, picture.about
    if isinstance(picture, Lines) and any(one.low for one in picture.series):
        about = f"{about} {picture.band}"
    said = "".join(
        f'\n <{tag} id="{name}-{tag}">{escape(_said(text))}</{tag}>'
        for tag, text in (("title", picture.title), ("desc", about))
    )
    role = f'<svg role="img" aria-labelledby="{name}-title {name}-desc" '
    head, opening, rest = svg.partition("<svg ")
    attributes, closing, body = rest.partition(">")
    assert opening and closing, "matplotlib writes one SVG element"
    return f"{head}{role}{attributes}>{said}{body}"


def _figure(picture: Picture) -> Figure:
    if isinstance(picture, Lines | Scatter):
        return _chart(picture)
    if isinstance(picture, Bars):
        return _bars(picture)
    if isinstance(picture, Network):
        return _network(picture)
    raise UsageError(f"the picture {picture.name!r} is a table\n  allowed: FILE.csv, or no --output")


def _chart(picture: Lines | Scatter) -> Figure:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    curves = isinstance(picture, Lines)
    for number, series in enumerate(picture.series):
        colour, marker = _colour(number), _MARKERS[number % len(_MARKERS)]
        x, y = _floats(series.x), _floats(series.y)
        dash = _DASHES[number // len(_COLOURS) % len(_DASHES)] if curves else "none"
        step = max(1, len(x) // 8)
        axes.plot(
            x, y, color=colour, linestyle=dash, marker=marker, markersize=4, markevery=step if curves else 1
        )
        if series.low:
            axes.fill_between(
                x, _floats(series.low), _floats(series.high), color=colour, alpha=0.15, linewidth=0
            )
    axes.set_xlabel(_said(picture.x))
    axes.set_ylabel(_said(picture.y))
    axes.grid(visible=True, alpha=0.25)
    if isinstance(picture, Lines) and any(one.low for one in picture.series):
        axes.set_title(_said(picture.band), fontsize="x-small", color="#555555", loc="right")
    _legend(figure, axes.get_lines(), [series.name for series in picture.series])
    return figure


def _bars(picture: Bars) -> Figure:
    groups = picture.groups
    figure = Figure(figsize=(8, 1.2 + 0.22 * len(picture.bars)), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(picture.bars))
    colours = [_colour(groups.index(bar.group)) for bar in picture.bars]
    axes.barh(places, _floats([bar.value for bar in picture.bars]), color=colours)
    axes.set_yticks(places, [_said(bar.name) for bar in picture.bars], fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(_said(picture.y))
    if len(groups) > 1:
        _legend(figure, [Line2D([], [], color=_colour(n), linewidth=6) for n in range(len(groups))], groups)
    return figure


def _network(picture: Network) -> Figure:
    frames = _beside(picture.frames)
    columns = max(1, min(3, len(frames)))
    lines = -(-len(frames) // columns)
    tall = 0.8 + 0.16 * max(len(picture.lefts), len(picture.rights), 8)
    figure = Figure(figsize=(max(5.0, 3.6 * columns), tall * lines + 1), layout="constrained")
    groups = picture.groups
    for place, frame in enumerate(frames):
        _draw_frame(figure.add_subplot(lines, columns, place + 1), picture, frame)
    handles = [Line2D([], [], color=_colour(number), marker="o") for number in range(len(groups))]
    handles += [Line2D([], [], color="#999999", linewidth=0.5), Line2D([], [], color="#333333", linewidth=3)]
    _legend(figure, handles, [*groups, picture.thin, picture.thick])
    return figure


def _beside(frames: Sequence[Frame]) -> list[Frame]:
    """The first frame, and of the others some that are evenly apart, the last among them."""
    if len(frames) <= MOST_FRAMES:
        return list(frames)
    step = (len(frames) - 2) / (MOST_FRAMES - 2)
    return [frames[0], *(frames[1 + round(place * step)] for place in range(MOST_FRAMES - 1))]


def _draw_frame(axes: Axes, picture: Network, frame: Frame) -> None:
    heights = [_heights(len(nodes)) for nodes in (picture.lefts, picture.rights)]
    colours = (
        [_colour(picture.groups.index(node.group)) for node in picture.lefts],
        ["#333333"] * len(picture.rights),
    )
    if frame.edges:
        axes.add_collection(_edges(frame.edges, heights, colours[0]))
    for side, nodes in enumerate((picture.lefts, picture.rights)):
        axes.scatter(
            [side] * len(nodes), heights[side], c=colours[side], marker="s" if side else "o", s=9, zorder=3
        )
        away, align = (1.03, "left") if side else (-0.03, "right")
        for node, height in zip(nodes, heights[side], strict=True):
            # It lies inside the axes: to lay all names out again and again takes seconds.
            axes.text(away, height, _said(node.name), fontsize=5.5, ha=align, va="center", in_layout=False)
    axes.set_title(_said(frame.name))
    axes.set_xlim(-0.45, 1.45)
    axes.set_ylim(0, 1)
    axes.set_axis_off()


def _edges(
    edges: Sequence[Edge], heights: Sequence[Sequence[float]], colours: Sequence[str]
) -> LineCollection:
    """Lines from left to right, the thick ones on top."""
    edges = sorted(edges, key=lambda edge: edge.thick)
    thick, thin = max(edge.thick for edge in edges) or 1, max(edge.thin for edge in edges) or 1
    much = [edge.thick / thick for edge in edges]
    return LineCollection(
        [((0.0, heights[0][edge.left]), (1.0, heights[1][edge.right])) for edge in edges],
        colors=[colours[edge.left] if edge.thick else "#999999" for edge in edges],
        linewidths=[
            0.4 + 2.6 * part if part else 0.3 + 0.4 * edge.thin / thin
            for edge, part in zip(edges, much, strict=True)
        ],
        alpha=[0.15 + 0.7 * part if part else 0.6 for part in much],
    )


def _heights(count: int) -> list[float]:
    """Places from the top down, evenly apart."""
    return [1.0 - (place + 0.5) / count for place in range(count)]


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _legend(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    longest = max((len(name) for name in names), default=0)
    columns = max(1, min(len(names), int(figure.get_figwidth() * 11 / (longest + 6))))
    figure.legend(handles, [_said(name) for name in names], loc="outside lower center", ncols=columns)


def _floats(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
