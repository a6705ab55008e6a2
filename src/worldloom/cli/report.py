"""Report: a run as people read it: the table, why episodes ended, which limits applied, what to do next."""

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from worldloom.api import fidelity
from worldloom.api.cast import CastSpec
from worldloom.api.comparing import repeats_of
from worldloom.api.judging import Judged, judged
from worldloom.api.planning import contestant_of, limits_of
from worldloom.api.result import Line, RunResult, Simulator
from worldloom.cli.fidelity_report import print_fidelity
from worldloom.cli.pulling import weights_of
from worldloom.cli.terminal import cell, near, say, table
from worldloom.core.errors import UsageError
from worldloom.models.weights import CATALOGUE
from worldloom.runs.agreement import Measure
from worldloom.runs.ending import REASONS
from worldloom.runs.limits import Limits
from worldloom.runs.statistics import Estimate
from worldloom.runs.store import EpisodeRow, RunStore, Score

ROLES = {"literal": "floor", "careful": "ceiling"}
"""What the reference agents stand for."""

_SHORTEST_NAME = 12  # columns that are left to names in a narrow terminal
_FAILURES = 5  # shown with their details; the others are in the record


def print_report(screen: Console, result: RunResult) -> None:
    """Print the report of a run, however far it has come."""
    with RunStore(result.folder) as store:
        seed, epochs = store.manifest("seed", int), store.manifest("epochs", int)
        contestant, limits = contestant_of(store), limits_of(store)
    count = len({row.scenario for row in result.episodes})
    seeds = f"seed {seed}" + (f", {epochs} epochs" if epochs > 1 else "")
    scenarios = "1 scenario" if count == 1 else f"{count:,} scenarios"
    say(screen, f"{result.title}: {scenarios}, {seeds}, {result.status}", "bold")
    found = fidelity.report(result)
    if found is not None:
        print_fidelity(screen, found)
        _next_steps(screen, result)
        return
    lines = result.lines()
    made = _wide_table(result, lines)
    if _excess(screen, made) > 0:
        made = _narrow_table(result, lines)
        longest = max((len(name) for _, name, _ in _named(lines)), default=0)
        # Names give way before numbers do.
        made.columns[0].max_width = max(_SHORTEST_NAME, longest - max(0, _excess(screen, made)))
    screen.print(made)
    screen.print()
    for text in _remarks(result, contestant, limits, lines, judged(result)):
        say(screen, text)
    _next_steps(screen, result)


def shown_json(result: RunResult) -> dict[str, Any]:
    """The same facts for `--json`."""
    judge, found = judged(result), fidelity.report(result)
    shown = {**result.to_json(), "judge": None if judge is None else judge.to_json()}
    if found is not None:
        return {**shown, "fidelity": found.to_json()}
    with contextlib.suppress(UsageError):  # a fork is one episode: nothing in it is repeated
        shown["repeats"] = {name: one.to_json() for name, one in repeats_of(result).items()}
    return shown


def command(*words: str | Path) -> str:
    """A command as it can be typed."""
    return shlex.join(["worldloom", *(str(word) for word in words)])


def _excess(screen: Console, made: Table) -> int:
    """Columns that a table would need beyond those of the screen."""
    return Measurement.get(screen, screen.options.update(width=10_000), made).maximum - screen.width


def _metrics(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.metrics))


def _wide_table(result: RunResult, lines: list[Line]) -> Table:
    """A column for everything."""
    metrics, unscored = _metrics(lines), any(line.unscored for line in lines)
    numbers = ["episodes", *metrics, "steps", "tokens", "failed", *(["unscored"] if unscored else [])]
    made = table("", *numbers, right=numbers)
    for line, name, style in _named(lines):
        values = [cell(name, style), cell(_episodes(result, line), style)]
        values += [_estimate(line.metrics.get(metric), style) for metric in metrics]
        values += [cell(_mean(line.steps, 1), style), cell(_mean(line.tokens, 0), style)]
        values.append(cell(line.failed, "red" if line.failed else style))
        made.add_row(*values, *([cell(line.unscored, style)] if unscored else []))
    return made


def _narrow_table(result: RunResult, lines: list[Line]) -> Table:
    """Intervals below their means, and what is rarely asked below what is often asked."""
    metrics = _metrics(lines)
    numbers = ["episodes", *metrics, "steps\ntokens"]
    made = table("", *numbers, right=numbers, dense=True)
    for line, name, style in _named(lines):
        episodes = cell(_episodes(result, line), style)
        if line.failed:
            episodes.append(f"\n{line.failed:,} failed", "red")
        if line.unscored:
            episodes.append(f"\n{line.unscored:,} unscored", "")
        values = [_estimate(line.metrics.get(metric), style, between="\n") for metric in metrics]
        spent = f"{_mean(line.steps, 1) or '–'}\n{_mean(line.tokens, 0) or '–'}"
        made.add_row(cell(name, style), episodes, *values, cell(spent, style))
    return made


def _named(lines: list[Line]) -> Iterator[tuple[Line, str, str]]:
    """Each line with its name and style; the contestant, who comes last, is marked."""
    last = lines[-1].cast_name if lines else ""
    for line in lines:
        if line.category is not None:
            yield line, f" {line.category or '(no category)'}", ""
        elif line.cast_name in ROLES and line.cast_name != last:
            yield line, f"{line.cast_name} ({ROLES[line.cast_name]})", ""
        else:
            yield line, line.cast_name, "bold" if line.cast_name == last else ""


def _episodes(result: RunResult, line: Line) -> str:
    ended = sum(
        row.cast_name == line.cast_name and line.category in (None, row.category) and row.status == "ended"
        for row in result.episodes
    )
    return f"{ended:,}" if ended == line.episodes else f"{ended:,} of {line.episodes:,}"


def _mean(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:,.{digits}f}"


def _estimate(found: Estimate | None, style: str, between: str = " ") -> Text:
    if found is None or found.mean is None:
        return cell(None)
    shown = Text(f"{found.mean:.2f}", style)
    if found.low is not None:
        shown.append(f"{between}[{found.low:.2f}, {found.high:.2f}]", "dim")
    return shown


def _unjudged(result: RunResult) -> list[str]:
    """Each criterion that could not be judged, once, with the first reason."""
    found: dict[str, str] = {}
    for row in result.episodes:
        for score in result.scores.get(row.row, ()):
            if score.unit == "criterion" and score.value is None:
                found.setdefault(f"{row.scenario}: {score.name}", score.detail)
    return [f"{criterion} ({why})" for criterion, why in found.items()]


def _remarks(
    result: RunResult, contestant: CastSpec, limits: Limits, lines: list[Line], judge: Judged | None
) -> Iterator[str]:
    if any(line.metrics for line in lines):
        yield (
            "Metrics: means over scenarios with 95 % intervals: bootstraps, or Wilson's where scenarios do not differ. "
            "Steps and tokens: means over episodes."
        )
    if any("NSS" in line.metrics for line in lines):
        yield (
            "SPR: share of scenarios in which all criteria passed. NSS: mean share of criteria that passed, those "
            "included that hold if nothing is done. explore: share of steps that looked before anything was changed."
        )
    reasons = [f"{reason} {count:,} ({_meaning(reason)})" for reason, count in result.reasons().items()]
    if reasons:
        yield f"Ended: {'; '.join(reasons)}."
    yield from _unsound(result)
    failures = [row for row in result.episodes if row.fault not in (None, "none", "agent", "person")]
    if failures:
        yield f"Failed, by no fault of the agent, and left out of the metrics: {len(failures):,}"
        yield from (f"  {_failure(row)}" for row in failures[:_FAILURES])
    unscored = _unjudged(result)
    if unscored:
        yield f"Unscored: criteria that could not be judged, {len(unscored):,} in all; they count neither way."
        yield from (f"  {text}" for text in unscored[:_FAILURES])
    if result.simulator is not None:
        yield from _simulator(result.simulator)
    if judge is not None:
        yield from _judge(result, judge)
    yield f"Limits of an episode: {'; '.join(_limits(limits, contestant))}."
    weights = [weights_of(spec.model) for spec in contestant.models.values()]
    if CATALOGUE["smollm2"] in weights:
        yield (
            "The embedded model has 135 million parameters: its score proves that the machinery works and says nothing "
            "about what models can do. For that: --model hosted_vllm/NAME --base-url http://HOST:PORT/v1"
        )


def _simulator(found: Simulator) -> Iterator[str]:
    """Which model simulated the worlds, and what that took."""
    sent_back = f" At least {found.sent_back:,} of its replies were sent back." if found.sent_back else ""
    yield (
        f"World: simulated by {found.model}. Per episode, floors and ceilings included, it took "
        f"{_mean(found.calls, 1) or '–'} calls and {_mean(found.tokens, 0) or '–'} tokens, which the table leaves out."
        f"{sent_back}"
    )
    if weights_of(found.model) is CATALOGUE["smollm2"]:
        yield (
            "  The small embedded model is no simulator: most of what it says of a world is wrong. Of another model, "
            "find out: worldloom fidelity --world-model hosted_vllm/NAME --world-base-url http://HOST:PORT/v1"
        )


def _judge(result: RunResult, judge: Judged) -> Iterator[str]:
    """Who judged what could not be checked, and how far that is to be trusted."""
    counts = judge.outcomes
    asked, given = sum(counts.values()), counts["met"] + counts["not_met"]
    yield (
        f"Judge: {judge.judge} judged {given:,} of {asked:,} criteria that cannot be checked; no usable verdict "
        f"{counts['unparseable']:,}, changed with the order {counts['order']:,}, cannot tell "
        f"{counts['cannot_tell']:,}, did not answer {counts['failed']:,}."
    )
    if judge.pass_rate.value is not None:
        yield f"  Of the contestant's, it says that {_measure(judge.pass_rate)} passed (n {judge.pass_rate.n:,})."
    if judge.calibration is None:
        why = f" ({judge.problem})" if judge.problem else ""
        calibrate = command("judge", "calibrate", near(result.folder))
        yield f"  NOT calibrated{why}: how often it is right is not known. Find out: {calibrate}"
        return
    known, corrected = judge.calibration.agreement(), judge.corrected
    scenarios = "1 scenario" if known.scenarios == 1 else f"{known.scenarios:,} scenarios"
    yield (
        f"  Calibrated: agreement {_measure(known.agreement)}, kappa {_measure(known.kappa)}, "
        f"n {known.judged:,} in {scenarios} ({near(judge.file) if judge.file else '?'})."
    )
    if corrected is not None:
        yield f"  Corrected for what it gets wrong (Rogan and Gladen): {_measure(corrected)} passed."


def _measure(found: Measure) -> str:
    if found.value is None:
        return f"unknown ({found.why})"
    interval = f" [{found.low:.2f}, {found.high:.2f}]" if found.low is not None else ""
    return f"{found.value:.2f}{interval}"


def _unsound(result: RunResult) -> Iterator[str]:
    """Scenarios whose careful path does not pass: for these the ceiling is none."""
    failed = [
        row.scenario
        for row in result.episodes
        if row.cast_name == "careful" and any(score.value == 0.0 for score in _spr(result, row))
    ]
    if failed:
        yield (
            f"The careful path does not pass in {', '.join(failed[:_FAILURES])}: there it is no ceiling. Which step "
            "fails, shows `worldloom runs show RUN --episode N`."
        )


def _spr(result: RunResult, row: EpisodeRow) -> list[Score]:
    return [score for score in result.scores.get(row.row, ()) if score.name == "SPR"]


def _meaning(reason: str) -> str:
    if reason in REASONS:
        return REASONS[reason][1]
    return {"planned": "not begun", "running": "not finished"}.get(reason, reason)


def _failure(row: EpisodeRow) -> str:
    detail = f": {row.detail}" if row.detail else ""
    return f"{row.scenario}, {row.cast_name}, {row.reason}{detail}"


def _limits(limits: Limits, contestant: CastSpec) -> Iterator[str]:
    options = contestant.options
    yield f"{limits.steps:,} steps"
    for limit, unit in (
        (limits.model_calls, "model calls"),
        (limits.tokens, "tokens"),
        (limits.wall_s, "seconds"),
    ):
        if limit is not None:
            yield f"{limit:,} {unit}"
    if "max_tokens" in options:
        yield f"answers of at most {options['max_tokens']:,} tokens"
    if "thought_characters" in options:
        yield f"a rationale of at most {options['thought_characters']:,} characters"
    yield f"{limits.repeats:,} times the same failure in a row"
    yield "a scenario's own where they are stricter"


def _next_steps(screen: Console, result: RunResult) -> None:
    say(screen, f"Record: {near(result.folder)}", wrap=False)
    if result.status != "completed":
        say(screen, f"Resume: {command('resume', near(result.folder))}", wrap=False)
    say(screen, f"Replay: {command('replay', near(result.folder))}", wrap=False)
    say(screen, f"Look closer: {command('runs', 'show', near(result.folder))}", wrap=False)
