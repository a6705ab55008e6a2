"""Comparing: is run B better than run A? What can be compared, what cannot and why, and a verdict in one sentence.

A verdict is given only if nothing but the contestant could have made the difference: what the scores measure must be
the same in both runs. What is not the agent's fault is no score; it is counted and compared apart, and a verdict that
would not survive if all of it had gone the other way is not given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from worldloom.api.plans.plan import GraphSpec
from worldloom.api.results.result import RunResult
from worldloom.api.results.side import Side, side_of
from worldloom.core.arguments import PathLike
from worldloom.core.errors import UsageError, meant
from worldloom.models.spec import ModelSpec
from worldloom.runs.comparison import FEWEST, Difference, Scored, difference
from worldloom.runs.ending import LIMITS
from worldloom.runs.repeats import AtK, Variance, at_k, variance
from worldloom.runs.statistics import Rate
from worldloom.runs.store import DEFAULT_SCORING


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run B against run A.

    Attributes:
        metric: what the verdict is about.
        scenarios: that both have with the same content; only these are compared.
        differences: metric -> B − A.
        failure_rates: of A and of B: ended episodes that failed by no fault of the agent.
        failures: B − A in such episodes, 1 for each that failed and 0 for the others.
        repeated: metric -> pass@k and pass^k of A and of B; only 0/1 metrics of runs with several epochs.
        obstacles: why no verdict is given; the numbers stand beside it all the same.
        remarks: what else a reader has to know.
        verdict: one sentence.
    """

    a: Side
    b: Side
    metric: str
    scenarios: Sequence[str]
    differences: Mapping[str, Difference]
    failure_rates: tuple[Rate, Rate]
    failures: Difference
    repeated: Mapping[str, tuple[Sequence[AtK], Sequence[AtK]]]
    obstacles: Sequence[str]
    remarks: Sequence[str]
    verdict: str

    def to_json(self) -> dict[str, Any]:
        return {
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "metric": self.metric,
            "verdict": self.verdict,
            "obstacles": list(self.obstacles),
            "remarks": list(self.remarks),
            "scenarios": list(self.scenarios),
            "differences": {name: _shown(one) for name, one in self.differences.items()},
            "failures": {
                **_shown(self.failures),
                "rates": {side: asdict(one) for side, one in zip("ab", self.failure_rates, strict=True)},
            },
            "repeated": {
                name: {side: [asdict(one) for one in found] for side, found in zip("ab", both, strict=True)}
                for name, both in self.repeated.items()
            },
        }

    def __str__(self) -> str:
        return self.verdict


def _shown(one: Difference) -> dict[str, Any]:
    return {**asdict(one), "told": one.told}


def compare(
    a: RunResult | PathLike, b: RunResult | PathLike, *, metric: str | None = None, scoring: str | None = None
) -> Comparison:
    """Is run B better than run A?

    Args:
        a, b: results, or folders of runs.
        metric: what the verdict is about, e.g. `NSS`; without one, the first that both runs score. Name it before you
            look: of many metrics, one will differ by chance.
        scoring: the pass whose scores are compared, e.g. `checks`; both runs have to hold it. Without one, that of the
            results, and `default` for folders.

    Raises:
        UsageError: the two have nothing that could be compared.
        RecordError: a record cannot be read.
    """
    one, other = side_of("A", a, scoring=scoring), side_of("B", b, scoring=scoring)
    if one.folder.resolve() == other.folder.resolve():
        raise UsageError(f"A and B are the same run, {one.folder}")
    scenarios = [name for name, found in one.digests.items() if other.digests.get(name) == found]
    if not scenarios:
        raise UsageError(
            f"nothing can be compared: {one.folder} and {other.folder} have no scenario in common"
            + "".join(f"\n  {text}" for text in _lacking(one, other))
        )
    metrics = [name for name in one.metrics if name in other.metrics]
    if not metrics:
        raise UsageError(
            f"nothing can be compared: no score of one run is in the other"
            f"\n  A: {', '.join(one.metrics) or 'none'}\n  B: {', '.join(other.metrics) or 'none'}"
        )
    if metric is not None and metric not in metrics:
        raise UsageError(
            f"no metric {metric!r} in both runs{meant(metric, metrics)}\n  allowed: {', '.join(metrics)}"
        )
    chosen = metrics[0] if metric is None else metric
    values = {name: (one.values(name, scenarios), other.values(name, scenarios)) for name in metrics}
    differences = {name: difference(*both) for name, both in values.items()}
    rates = (one.failure_rate(scenarios), other.failure_rate(scenarios))
    failures = difference(one.failures(scenarios), other.failures(scenarios))
    obstacles = list(_obstacles(one, other))
    found = differences[chosen]
    remarks = [*_lacking(one, other), *_remarks(one, other, scenarios, found), _failed(rates, failures)]
    # What the record counts, such as steps that looked first, is neither good nor bad.
    better = "higher" if one.metrics[chosen] == "record" else "better"
    verdict = _verdict(chosen, better, found, obstacles)
    repeated = {name: both for name, both in _repeated(values) if max(one.epochs, other.epochs) > 1}
    return Comparison(
        one, other, chosen, scenarios, differences, rates, failures, repeated, obstacles, remarks, verdict
    )


def _repeated(
    values: Mapping[str, tuple[list[Scored], list[Scored]]],
) -> Iterator[tuple[str, tuple[list[AtK], list[AtK]]]]:
    for name, both in values.items():
        a, b = (at_k((scenario, value) for scenario, _, value in side) for side in both)
        if a and b:
            yield name, (a, b)


def _lacking(one: Side, other: Side) -> Iterator[str]:
    """Scenarios that are left out, and why."""
    for side, opposite in ((one, other), (other, one)):
        only = [name for name in side.digests if name not in opposite.digests]
        if only:
            yield f"Left out, because only {side.name} has it: {_few(only)}."
    changed = [
        name for name in one.digests if other.digests.get(name, one.digests[name]) != one.digests[name]
    ]
    if changed:
        yield f"Left out, because its content differs: {_few(changed)}."


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _obstacles(one: Side, other: Side) -> Iterator[str]:
    """What beside the contestant may have made a difference."""
    for side in (one, other):
        left = sum(row.status != "ended" for row in side.episodes)
        if left:
            yield f"{side.name} is not finished: {left} of its {len(side.episodes)} episodes have not ended"
        bare = sum(row.status == "ended" and not side.scores.get(row.row) for row in side.episodes)
        if bare and side.scoring.name != DEFAULT_SCORING:
            yield f"the scoring {side.scoring.name!r} of {side.name} has no scores of {bare} of its episodes"
    if one.world.identity != other.world.identity:
        yield f"what simulates the worlds differs: {one.simulator} in A, {other.simulator} in B"
    if one.scoring.asks != other.scoring.asks and (one.judged or other.judged):
        judges = [_name(side.scoring.judge) for side in (one, other)]
        how = " (its parameters, or how it is asked)" if judges[0] == judges[1] else ""
        yield f"the judge differs: {judges[0]} in A, {judges[1]} in B{how}"
    if one.graph != other.graph:
        yield f"what plays the scenarios differs: {_graph(one.graph)} in A, {_graph(other.graph)} in B"
    if one.limits != other.limits:
        struck = sum(row.reason in LIMITS for side in (one, other) for row in side.episodes)
        if struck:  # a limit that nobody reached made no difference
            yield f"the limits differ ({_limits(one, other)}), and episodes ended at one: {struck:,}"


def _limits(one: Side, other: Side) -> str:
    a, b = asdict(one.limits), asdict(other.limits)
    return ", ".join(f"{name} {a[name]} in A and {b[name]} in B" for name in a if a[name] != b[name])


def _name(judge: ModelSpec | None) -> str:
    return "nobody" if judge is None else judge.model


def _graph(graph: GraphSpec | None) -> str:
    return "their own graph" if graph is None else graph.name


def _remarks(one: Side, other: Side, scenarios: Sequence[str], found: Difference) -> Iterator[str]:
    if one.contestant.identity == other.contestant.identity:
        yield "Both runs have the same contestant."
    if one.limits != other.limits and not any("the limits" in text for text in _obstacles(one, other)):
        yield f"The limits differ ({_limits(one, other)}), but no episode ended at one."
    if one.scoring.name != DEFAULT_SCORING and one.scoring.code != other.scoring.code:
        yield f"The code has changed between the two passes {one.scoring.name!r}."
    if not found.by_seed:
        yield "The runs share no seed: the first episodes of a scenario are paired, the second ones, and so on."
    if found.unpaired:
        yield f"Without a counterpart, and left out: {found.unpaired:,} episodes."
    unjudged = [side.unjudged(scenarios) for side in (one, other)]
    if any(unjudged):
        yield f"Criteria that could not be judged, and count neither way: {unjudged[0]:,} in A, {unjudged[1]:,} in B."
    if found.unscored:
        yield f"Without a score on both sides, and left out: {found.unscored:,} pairs of episodes."


def _failed(rates: tuple[Rate, Rate], failures: Difference) -> str:
    """What is not the agent's fault, beside the scores."""
    if not any(rate.value for rate in rates):
        return "No episode failed by a fault that is not the agent's."
    each = []
    for name, rate in zip("AB", rates, strict=True):
        interval = "" if rate.low is None else f" [{rate.low:.2f}, {rate.high:.2f}]"
        each.append(f"{name} {rate.value or 0.0:.2f}{interval} of {rate.n:,}")
    more = f"; B − A {_signed(failures)}" if failures.difference is not None else ""
    return f"Episodes that failed by no fault of the agent: {', '.join(each)}{more}."


def _verdict(metric: str, better: str, found: Difference, obstacles: Sequence[str]) -> str:
    """One sentence."""
    if found.difference is None:
        return f"no verdict: no scenario has a {metric} in both runs"
    what = f"{_signed(found)} {metric} over {_scenarios(found.scenarios)}"
    if obstacles:
        return f"no verdict: {what}, but {'; '.join(obstacles)}"
    if found.stands:
        return f"{'B' if found.difference > 0 else 'A'} is {better}: {what}"
    if found.scenarios < FEWEST:
        return f"no difference can be told: {what}; {FEWEST} are the fewest that could tell one"
    if found.told:
        return (
            f"no difference can be told: {what}, but {found.against:+.2f} if what has no score "
            f"({found.unscored:,} pairs of episodes) had gone against {'B' if found.difference > 0 else 'A'}"
        )
    if (
        found.p is not None
        and found.low is not None
        and found.high is not None
        and found.low * found.high > 0
    ):
        return f"no difference can be told: {what}, but the test by sign flips has p = {found.p:.2f}"
    least = found.power.detectable
    if least is None:
        return f"no difference can be told: {what}"
    return f"no difference can be told: {what}; one of {least:.2f} would be found in 8 of 10 such comparisons"


def _signed(found: Difference) -> str:
    interval = "" if found.low is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    return f"{found.difference:+.2f}{interval}"


def _scenarios(count: int) -> str:
    return "1 scenario" if count == 1 else f"{count:,} scenarios"


@dataclass(frozen=True, slots=True)
class Repeated:
    """What a contestant's repeats tell of one metric.

    Attributes:
        at_k: pass@k and pass^k; empty if the metric is not 0/1.
        variance: what comes from scenarios, what from seeds, what from chance.
    """

    at_k: Sequence[AtK]
    variance: Variance

    def to_json(self) -> dict[str, Any]:
        split = {**asdict(self.variance), "endless_epochs": self.variance.endless_epochs}
        return {"at_k": [asdict(one) for one in self.at_k], "variance": split}


def repeats_of(result: RunResult | PathLike, *again: RunResult | PathLike) -> dict[str, Repeated]:
    """What playing each scenario several times tells; metric -> what it tells, empty if none was played twice.

    Args:
        result: a run, or its folder.
        again: further runs of the same contestant in the same worlds. Where they repeat seeds, they tell apart what
            seeds make and what servers and simulators do by chance.

    Raises:
        UsageError: a further run is of another contestant, world or judge, or of other scenarios.
    """
    first = side_of("A", result)
    sides = [first, *(side_of("B", one) for one in again)]
    for side in sides[1:]:
        if _maker(side) != _maker(first):
            raise UsageError(
                f"{side.folder} is no repeat of {first.folder}: contestant, world, judge or scenarios differ"
            )
    if len(sides) == 1 and first.epochs < 2:
        return {}
    found = {}
    for metric in first.metrics:
        values = [one for side in sides for one in side.values(metric, first.digests)]
        found[metric] = Repeated(at_k((scenario, value) for scenario, _, value in values), variance(values))
    return found


def _maker(side: Side) -> tuple[Any, ...]:
    return (side.contestant.identity, side.world.identity, side.scoring.asks, side.graph, side.digests)
