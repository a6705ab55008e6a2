"""Comparison: two runs side by side, as people read it: a verdict, the numbers, and what it would take to tell more."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from worldloom.api.comparing import Comparison
from worldloom.api.results.side import Side
from worldloom.cli.terminal import cell, counted, say, table, with_interval
from worldloom.runs.repeats import AtK
from worldloom.runs.store import DEFAULT_SCORING


def print_comparison(screen: Console, found: Comparison) -> None:
    """Print the verdict first, then the numbers, then what else a reader has to know."""
    for side in (found.a, found.b):
        say(screen, _side(side))
    say(screen, found.verdict, "bold")
    screen.print()
    _differences(screen, found)
    for name, both in found.repeated.items():
        screen.print()
        _repeated(screen, name, both)
    screen.print()
    for text in (*found.remarks, *_power(found)):
        say(screen, text)
    say(
        screen,
        "B − A: mean over the n scenarios with a 95 % bootstrap interval over them. p: test by sign flips of "
        "scenarios. A difference is told where both say so; of many metrics, some differ by chance.",
    )


def _side(side: Side) -> str:
    scenarios = counted("scenario", len(side.digests))
    epochs = f", {counted('epoch', side.epochs)}" if side.epochs > 1 else ""
    one = side.scoring
    scored = "" if one.name == DEFAULT_SCORING else f", scoring {one.name} ({one.who})"
    return (
        f"{side.name}: {side.contestant.name}, {side.folder.name}: {scenarios}{epochs}, {side.status}{scored}"
    )


def _differences(screen: Console, found: Comparison) -> None:
    numbers = ("A", "B", "B − A", "p", "B above", "below", "n")
    made = table("", *numbers, right=numbers)
    for name, one in found.differences.items():
        style = "bold" if name == found.metric else ""
        p = None if one.p is None else f"{one.p:.3f}" if one.p >= 0.001 else "<0.001"
        row = [cell(name, style), cell(_number(one.a), style), cell(_number(one.b), style)]
        row.append(with_interval(one.difference, one.low, one.high, style, sign="+"))
        made.add_row(*row, *(cell(value, style) for value in (p, one.better, one.worse, one.scenarios)))
    screen.print(made)


def _repeated(screen: Console, name: str, both: tuple[Sequence[AtK], Sequence[AtK]]) -> None:
    """How often at least one of k episodes of a scenario passes, and how often all do."""
    made = table(name, "k", "any of k", "all of k", "n", right=("k", "any of k", "all of k", "n"))
    for side, chances in zip("AB", both, strict=True):
        for place, one in enumerate(chances):
            some, every = (with_interval(each.mean, each.low, each.high) for each in (one.any, one.all))
            made.add_row(cell("" if place else side), cell(one.k), some, every, cell(one.any.scenarios))
    screen.print(made)


def _power(found: Comparison) -> Iterator[str]:
    """What it would take to tell the difference that was observed."""
    one = found.differences[found.metric]
    power, difference = one.power, one.difference
    if power.detectable is None or difference is None:
        return
    yield (
        f"With these scenarios and episodes, a difference of {power.detectable:z.2f} in {found.metric} is found with "
        "a chance of 80 %."
    )
    if power.scenarios is None:
        return
    each = one.pairs / one.scenarios
    episodes = f", {counted('episode', round(power.scenarios * each))} a run" if each > 1 else ""
    needed = f"{power.scenarios:,} scenarios such as these{episodes}"
    if power.scenarios > _MANY:
        needed = f"more than {_MANY:,} scenarios such as these"
    also = f"or {power.epochs:,} epochs of these" if power.epochs else power.why
    yield f"For one of {abs(difference):.2g} that takes {needed}; {also}."


_MANY = 100_000
"""Scenarios beyond which a number of them would be no plan."""


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:z.2f}"
