"""Rescored: a further pass of scoring beside an older one, as people read it: metrics, verdicts, episodes."""

from collections.abc import Iterator, Mapping

from rich.console import Console

from worldloom.api.rescoring import Rescored
from worldloom.api.results.changed import KEPT, KINDS, Changed, Kind, Moved
from worldloom.cli.terminal import cell, command, counted, near, say, table, with_interval
from worldloom.runs.agreement import Measure
from worldloom.runs.store import DEFAULT_SCORING

_SHOWN = 10  # criteria and episodes that changed most; --json has all
_TITLES: Mapping[Kind, str] = {
    "same": "same",
    "to_not_met": "met → not met",
    "to_met": "not met → met",
    "now_scored": "now scored",
    "now_unscored": "now unscored",
    "unscored": "never scored",
}


def print_rescored(screen: Console, found: Rescored) -> None:
    """Print what the new pass says otherwise, and what of the run stayed as it was."""
    new, old = found.scoring, found.changed.old.scoring
    say(screen, f"{found.changed.new.title}: pass {new.name} against {old.name}", "bold")
    for side, one in (("old", old), ("new", new)):
        say(screen, f"{side}: {one.name}, {one.who}")
    screen.print()
    _metrics(screen, found.changed)
    screen.print()
    if found.changed.criteria:
        _criteria(screen, found.changed)
    _moved(screen, found.changed)
    for text in _remarks(found):
        say(screen, text)
    show = command("runs", "show", near(found.folder), "--scoring", new.name)
    say(screen, f"Look closer: {show}", wrap=False)


def _metrics(screen: Console, found: Changed) -> None:
    numbers = ("old", "new", "new − old", "n")
    made = table("", *numbers, right=numbers)
    who = found.new.contestant.name
    moved = {name for one in found.moved if one.cast_name == who for name in one.metrics}
    for name, one in found.metrics.items():
        means = [with_interval(each.mean, each.low, each.high) for each in (one.old, one.new)]
        paired = one.difference
        by = with_interval(paired.difference, paired.low, paired.high, sign="+")
        if paired.scenarios and name not in moved:
            by = cell("unchanged")
        made.add_row(cell(name), *means, by, cell(paired.scenarios))
    screen.print(made)


def _criteria(screen: Console, found: Changed) -> None:
    """What became of the verdicts: of the criteria that changed, and of all."""
    counts = found.counts
    kinds = [kind for kind in KINDS if counts[kind] or kind not in KEPT]
    titles = [_TITLES[kind] for kind in kinds]
    made = table("verdicts", *titles, right=titles)
    moved = [one for one in found.criteria if one.moved]
    for one in moved[:_SHOWN]:
        made.add_row(cell(f"{one.scenario}: {one.criterion}"), *(cell(one.counts[kind]) for kind in kinds))
    made.add_row(
        cell(f"all {counted('criterion', len(found.criteria), 'criteria')}", "bold"),
        *(cell(counts[kind], "bold") for kind in kinds),
    )
    screen.print(made)
    if len(moved) > _SHOWN:
        say(
            screen,
            f"… and {counted('more criterion', len(moved) - _SHOWN, 'more criteria')} that changed: --json has all.",
        )
    screen.print()


def _moved(screen: Console, found: Changed) -> None:
    if not found.moved:
        say(screen, "No episode has other scores than before.")
        return
    made = table("no.", "scenario", "cast", "changed most", right=("no.",))
    for one in found.moved[:_SHOWN]:
        values = (one.episode, one.scenario, one.cast_name, "; ".join(_told(one)))
        made.add_row(*(cell(value) for value in values))
    screen.print(made)
    if len(found.moved) > _SHOWN:
        say(screen, f"… and {counted('more episode', len(found.moved) - _SHOWN)}: --json has all.")
    screen.print()


def _told(one: Moved) -> Iterator[str]:
    if one.criteria:
        yield counted("criterion", len(one.criteria), "criteria")
    for name, (old, new) in one.metrics.items():
        yield f"{name} {_value(old)} → {_value(new)}"


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:z.2f}"


def _remarks(found: Rescored) -> Iterator[str]:
    changed = found.changed
    if changed.agreement is not None and changed.kappa is not None:
        yield (
            f"Judges: {changed.judged:,} criteria have a verdict in both passes and a judge's in one or both; of these "
            f"{_measure(changed.agreement)} are the same, kappa {_measure(changed.kappa)}."
        )
    yield (
        "Metrics: of the contestant; means over scenarios with 95 % intervals, new − old over the n scenarios that "
        "both passes have scored."
    )
    if changed.criteria:
        yield "Verdicts: of all ended episodes, floors and ceilings included."
    if not found.same_code:
        yield "The code has changed between the two passes: what differs may come from scorers as well as from judges."
    if found.not_ended:
        yield f"Not scored, because they have not ended: {counted('episode', found.not_ended)}."
    for episode, why in [*found.broken.items()][:_SHOWN]:
        yield f"Episode {episode} has no scores, because its scorer failed: {why}"
    kept = f"episodes, fingerprints and the pass {DEFAULT_SCORING}"
    whole = f" (run {found.fingerprint[:16]}…)" if found.fingerprint else ""
    yield f"As before: {kept}{whole}." if found.untouched else f"NOT as before: {kept}. Look at the record."


def _measure(found: Measure) -> str:
    if found.value is None:
        return f"unknown ({found.why})"
    return with_interval(found.value, found.low, found.high).plain
