"""Attribution: who failed, as people read it: why episodes ended, how often each failed, what the scores are over."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from worldloom.api.results.attribution import Attribution, Basis, Share, meaning_of
from worldloom.cli.terminal import cell, counted, say, table, with_interval

_RATES = {
    "agent_faults": "agent: faults",
    "world_faults": "world: faults",
    "infrastructure_faults": "infrastructure: faults",
    "limits": "ended at a limit",
    "agent_replies": "agent: unusable replies",
    "world_replies": "world: unusable replies",
    "judge_replies": "judge: unusable verdicts",
    "judge_faults": "judge: no verdict",
    "unscored": "without a score",
}
_SINGULAR = {"episodes": "episode", "requests": "request", "criteria": "criterion"}


def print_attribution(screen: Console, casts: list[Attribution], *, full: bool) -> None:
    """Print who failed: one line if nobody did and not all is asked for, else tables.

    Args:
        casts: of a run, the contestant last.
        full: print the tables in any case.
    """
    if not casts:
        return
    *floors, contestant = casts
    if not contestant.ended:
        say(screen, f"No episode of {contestant.cast_name} has ended: {_told(contestant)}.")
    elif contestant.plain and not full:
        say(screen, _plain(contestant))
    else:
        say(screen, f"Who failed, {contestant.cast_name}: {_counted(contestant)}.", "bold")
        for made in (_endings(contestant), _rates(contestant), _scores(contestant)):
            if made.row_count:
                screen.print()
                screen.print(made)
        screen.print()
        say(screen, _reasons(contestant))
        partly = ", ".join(f"{name} {one.partly:,}" for name, one in contestant.scores.items() if one.partly)
        if partly:
            say(screen, f"Episodes in which a score is over some of the criteria only: {partly}.")
        say(
            screen,
            "Intervals: 95 %, Wilson's, wider where what comes from one scenario resembles itself.",
        )
    for one in floors:
        left_out = ", ".join(f"{each.reason} {each.episodes:,}" for each in one.endings if not each.counts)
        if left_out:
            say(screen, f"{one.cast_name}: {_counted(one)}; left out: {left_out}.")


def _counted(found: Attribution) -> str:
    episodes = counted("episode counts", found.episodes, "episodes count")
    return f"{found.in_scores:,} of {episodes} in the scores"


def _reasons(found: Attribution) -> str:
    return f"Ended: {_told(found)}."


def _told(found: Attribution) -> str:
    return "; ".join(f"{one.reason} {one.episodes:,} ({meaning_of(one.reason)})" for one in found.endings)


def _plain(found: Attribution) -> str:
    """Nobody failed, and how much could have stayed unseen."""
    rates = [("Faults", found.rates["world_faults"])]
    rates += [(_RATES[name], one) for name, one in found.rates.items() if name.endswith("_replies")]
    told = "; ".join(f"{name} {_share(one).plain} of {_number(one)}" for name, one in rates)
    return f"{_reasons(found)} {told}."


def _endings(found: Attribution) -> Table:
    made = table("whose fault", "ended as", "number", "share", "in the scores", right=("number",))
    for one in found.endings:
        style = "" if one.counts else "red" if one.fault else "dim"
        whose = {"none": "nobody's", None: "–"}.get(one.fault, one.fault)
        texts = [cell(text, style) for text in (whose, one.reason, one.episodes)]
        made.add_row(*texts, _share(one.share), cell("yes" if one.counts else "no", style))
    return made


def _rates(found: Attribution) -> Table:
    made = table("rate", "number", "share", right=("number",))
    for name, one in found.rates.items():
        made.add_row(cell(_RATES[name]), cell(f"{one.hits:,} of {_number(one)}"), _share(one))
    return made


def _scores(found: Attribution) -> Table:
    """Empty if nothing is left out of any score, or no score is over anything."""
    numbers = ("episodes", "mean", "with these as 0, 1")
    made = table("score", "episodes", "left out, by whose fault", *numbers[1:], right=numbers)
    over = found.scores.values()
    if any(one.left_out for one in over) and any(one.episodes for one in over):
        for name, one in found.scores.items():
            bounds = None if one.low is None or one.high is None else f"{one.low:z.2f}, {one.high:z.2f}"
            why = "; ".join(_left_out(one))
            made.add_row(
                cell(name),
                cell(one.episodes),
                cell(why or None),
                with_interval(one.mean, None, None),
                cell(bounds),
            )
    return made


def _left_out(found: Basis) -> Iterator[str]:
    for why, count in sorted(found.left_out.items(), key=lambda item: -item[1]):
        yield f"{why} {count:,}"


def _number(found: Share) -> str:
    return counted(_SINGULAR[found.of], found.n, found.of)


def _share(found: Share | None) -> Text:
    return cell(None) if found is None else with_interval(found.value, found.low, found.high)
