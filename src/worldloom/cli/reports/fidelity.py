"""Fidelity report: how faithful a simulator was, kind by kind, with the published figures beside its consistency."""

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table

from worldloom.api.fidelity import PUBLISHED, FidelityReport
from worldloom.cli.terminal import cell, say, table
from worldloom.runs.statistics import Rate

_MEASURES: Mapping[str, str] = {
    "exact": "same success, changes and confirmed fields as the rules",
    "action_type": "the same properties change",
    "message": "confirmed fields of the message are right",
    "accepted": "would pass the checks of the world `model`",
    "unreadable": "no reply in the form that was asked for",
    "wrong_success": "fails where it should not, or the other way round",
    "wrong_value": "a property becomes something else",
    "missing_change": "a property stays that should change",
    "extra_change": "a property changes that should not",
    "invented": "an entity or property that does not exist",
    "leaked_rule": "the message gives a hidden rule away",
    "read_that_wrote": "an action that only reads changes something",
    "self_exact": "two replies to one call are the same",
    "self_type": "they change the same properties",
}


def print_fidelity(screen: Console, found: FidelityReport) -> None:
    """Print what a fidelity run found."""
    say(screen, f"Simulator: {found.simulator}, each call put to it {_times(found.repeats)}")
    made = table(
        "", "share, %", "95 % interval", "n", "published", "what", right=("share, %", "n", "published")
    )
    for name, what in _MEASURES.items():
        one = found.all.measures.get(name)
        published = PUBLISHED.get(name)
        anchor = None if published is None else _percent(published)
        made.add_row(*(cell(text) for text in (_title(name), *_values(one), anchor, what)))
    screen.print(made)
    if len(found.parts) > 1:
        screen.print()
        screen.print(_by_trajectory(found))
    screen.print()
    for text in _remarks(found):
        say(screen, text)


def _by_trajectory(found: FidelityReport) -> Table:
    shown = ("exact", "action_type", "message", "accepted")
    names = [_title(name) for name in shown]
    made = table("trajectories", *names, "n", right=(*names, "n"))
    for part in found.parts:
        rates = [part.measures.get(name) for name in shown]
        n = rates[0].n if rates[0] is not None else 0
        shares = [None if one is None or one.value is None else _percent(one.value) for one in rates]
        made.add_row(*(cell(text) for text in (part.name, *shares, n)))
    return made


def _remarks(found: FidelityReport) -> Iterator[str]:
    yield (
        "Shares are of replies, each the first to its call, from the state that the rules had made; those of pairs of "
        "replies in the last two lines. A reply may disagree in several ways. Intervals: bootstrap over scenarios."
    )
    yield (
        "published: the best simulator of arXiv 2602.20424, measured on other scenarios; the world `rules` has 100 % "
        "everywhere."
    )
    changing = found.all.measures.get("changing")
    if changing is not None and changing.value is not None:
        yield (
            f"The rules change something in {_percent(changing.value)} % of these calls: a simulator that never "
            f"changes anything has an action type of {_percent(1 - changing.value)} %."
        )
    exact = found.all.measures.get("exact")
    if exact is not None and 0 < exact.scenarios < _FEW:
        noun = "1 scenario is" if exact.scenarios == 1 else f"{exact.scenarios} scenarios are"
        yield f"{noun} too few for intervals to be trusted."
    if found.repeats == 1:
        yield "Consistency needs each call twice or more: --repeats."
    if found.failed:
        yield f"Failed by no fault of the simulator, and left out: {found.failed:,} episodes."


_FEW = 10
"""Scenarios below which a bootstrap over them is known to give intervals that are too narrow."""


def _values(one: Rate | None) -> tuple[object, ...]:
    if one is None or one.value is None:
        return None, None, 0
    interval = None if one.low is None or one.high is None else f"[{_percent(one.low)}, {_percent(one.high)}]"
    return _percent(one.value), interval, one.n


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _title(name: str) -> str:
    return name.replace("_", " ")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
