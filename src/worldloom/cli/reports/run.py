"""Report: a run as people read it: the table, why episodes ended, which limits applied, what to do next."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from worldloom.api import fidelity, sweeping
from worldloom.api.comparing import repeats_of
from worldloom.api.judging import Judged, judged
from worldloom.api.plans.cast import CastSpec
from worldloom.api.plans.manifest import contestant_of, limits_of
from worldloom.api.results.result import Line, RunResult, Simulator
from worldloom.cli.pulling import weights_of
from worldloom.cli.reports.attribution import print_attribution
from worldloom.cli.reports.cost import cost_line
from worldloom.cli.reports.fidelity import print_fidelity
from worldloom.cli.reports.metrics import metrics_of
from worldloom.cli.reports.scores import PART, mean, print_scores
from worldloom.cli.reports.sweep import print_sweep
from worldloom.cli.terminal import command, near, say
from worldloom.core.errors import UsageError
from worldloom.models.weights import CATALOGUE
from worldloom.runs.agreement import Measure
from worldloom.runs.ending import RUN_LIMIT, WAITING
from worldloom.runs.limits import Limits
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import RunStore

_FAILURES = 5  # shown with their details; the others are in the record


def print_report(screen: Console, result: RunResult, *, full: bool = False) -> None:
    """Print the report of a run, however far it has come.

    Args:
        full: tell who failed in tables, even if nobody did.
    """
    with RunStore(result.folder) as store:
        seed, epochs = store.manifest("seed", int), store.manifest("epochs", int)
        contestant, limits = contestant_of(store), limits_of(store)
    count = len({row.scenario for row in result.episodes})
    seeds = f"seed {seed}" + (f", {epochs} epochs" if epochs > 1 else "")
    scenarios = "1 scenario" if count == 1 else f"{count:,} scenarios"
    heading = f"{result.title}: {scenarios}, {seeds}, {result.status}"
    swept, found, about = sweeping.report(result), fidelity.report(result), list[str]()
    if found is not None:
        say(screen, heading, "bold")
        print_fidelity(screen, found)
        _next_steps(screen, result)
        return
    if swept is not None:
        print_sweep(screen, swept, full=full)
    else:
        say(screen, heading, "bold")
        lines = result.lines()
        print_scores(screen, result, lines)
        about = [*_about(lines, metrics_of(result.folder))]
    print_attribution(screen, result.attributions(), full=full)
    for text in (*about, *_remarks(result, contestant, limits, judged(result))):
        say(screen, text)
    _next_steps(screen, result)


def shown_json(result: RunResult) -> dict[str, Any]:
    """The same facts for `--json`."""
    judge, found, swept = judged(result), fidelity.report(result), sweeping.report(result)
    shown = {**result.to_json(), "judge": None if judge is None else judge.to_json()}
    if found is not None:
        return {**shown, "fidelity": found.to_json()}
    if swept is not None:
        return {**shown, "sweep": swept.to_json()}
    with contextlib.suppress(UsageError):  # a fork is one episode: nothing in it is repeated
        shown["repeats"] = {name: one.to_json() for name, one in repeats_of(result).items()}
    return shown


def _unjudged(result: RunResult) -> list[str]:
    """Each criterion that could not be judged, once, with the first reason."""
    found: dict[str, str] = {}
    for row in result.episodes:
        for score in result.scores.get(row.row, ()):
            if score.is_criterion and score.value is None:
                found.setdefault(f"{row.scenario}: {score.name}", score.detail)
    return [f"{criterion} ({why})" for criterion, why in found.items()]


def _about(lines: list[Line], meanings: Mapping[str, str]) -> Iterator[str]:
    """What the numbers of the table are; `meanings` says it of each metric."""
    if any(line.metrics for line in lines):
        unit = lines[0].unit
        yield (
            f"Metrics: means over {unit}s with 95 % intervals: bootstraps, or Wilson's where {unit}s do not differ. "
            "Steps and tokens: means over episodes."
        )
    shown = dict.fromkeys(name.partition(PART)[0] for line in lines for name in line.metrics)
    yield from (f"  {name}: {meanings[name]}" for name in shown if name in meanings)


def _remarks(result: RunResult, contestant: CastSpec, limits: Limits, judge: Judged | None) -> Iterator[str]:
    """What a reader has to know of any run, whatever its table is."""
    yield from _unsound(result)
    failures = [row for row in result.episodes if row.status == "ended" and not row.counts]
    if failures:
        yield f"Failed, by no fault of the agent, and left out of the metrics: {len(failures):,}"
        yield from (f"  {_failure(row)}" for row in failures[:_FAILURES])
    changed = sum(row.making > 0 for row in result.episodes)
    if changed:
        yield (
            f"Not all of one make: {changed:,} of {len(result.episodes):,} episodes were played after a change of "
            "code, versions or models that was accepted."
        )
    unscored = _unjudged(result)
    if unscored:
        criteria = "1 criterion" if len(unscored) == 1 else f"{len(unscored):,} criteria"
        yield f"Unscored, and counted neither way: {criteria} that could not be judged."
        yield from (f"  {text}" for text in unscored[:_FAILURES])
    if result.simulator is not None:
        yield from _simulator(result.simulator)
    if judge is not None:
        yield from _judge(result, judge)
    yield f"Limits of an episode: {'; '.join(_limits(limits, contestant, result.prices.currency))}."
    if any("seed" not in spec.parameters for spec in contestant.models.values()):
        yield (
            "The seed is that of the worlds: no model was given one, so the same command may come to something else. "
            "What this run holds, replays."
        )
    weights = [weights_of(spec.model) for spec in contestant.models.values()]
    if CATALOGUE["smollm2"] in weights:
        yield (
            "The embedded model has 135 million parameters: its score proves that the machinery works and says nothing "
            "about what models can do. For that: --model hosted_vllm/NAME --base-url http://HOST:PORT/v1"
        )


def _simulator(found: Simulator) -> Iterator[str]:
    """Which model simulated the worlds, and what that took."""
    unusable = f" Replies that could not be used: {found.unusable:,}." if found.unusable else ""
    yield (
        f"World: simulated by {found.model}. Per episode, floors and ceilings included, it took "
        f"{mean(found.calls, 1) or '–'} calls and {mean(found.tokens, 0) or '–'} tokens, which the table leaves out."
        f"{unusable}"
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
    interval = f" [{found.low:z.2f}, {found.high:z.2f}]" if found.low is not None else ""
    return f"{found.value:z.2f}{interval}"


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


def _failure(row: EpisodeRow) -> str:
    detail = f": {row.detail}" if row.detail else ""
    return f"{row.scenario}, {row.cast_name}, {row.reason}{detail}"


def _limits(limits: Limits, contestant: CastSpec, currency: str) -> Iterator[str]:
    options = contestant.options
    yield f"{limits.steps:,} steps"
    for limit, unit in (
        (limits.model_calls, "model calls"),
        (limits.tokens, "tokens"),
        (limits.wall_s, "seconds"),
        (limits.cost, currency),
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
    begun = sum(row.status == "running" for row in result.episodes)
    cost = cost_line(result.cost, begun, dead=result.status != "running")
    if cost is not None:
        say(screen, cost)
    if result.status == RUN_LIMIT:
        say(
            screen,
            "Stopped: what --run-limit allows has been used. A resume goes on, with a limit of its own.",
        )
    say(screen, f"Record: {near(result.folder)}", wrap=False)
    if result.status == WAITING:
        say(screen, f"Answer: {command('answer', near(result.folder))}", wrap=False)
    if result.status != "completed":
        say(screen, f"Resume: {command('resume', near(result.folder))}", wrap=False)
    say(screen, f"Replay: {command('replay', near(result.folder))}", wrap=False)
    say(screen, f"Look closer: {command('runs', 'show', near(result.folder))}", wrap=False)
