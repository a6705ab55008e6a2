"""Attribution: of the episodes of a cast, how many ended by whose fault, and what a score is over.

The agent answers for its own failures only, so every fault has a rate with a denominator of its own: ended episodes,
requests to a model, criteria put to a judge. What a score leaves out is counted, by whose fault, and the score is told
again as if all of it had been 0, or 1. All of it is read from projections; no event is.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from worldloom.api.plans.cast import WORLD
from worldloom.runs.agreement import outcome_of, wilson
from worldloom.runs.ending import COUNTED, LIMITS, REASONS, Fault
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.usage import asked

NOT_ENDED = "not ended"
UNSCORED = "unscored"
"""Left out though the episode ended well and no judge failed: nothing could say whether the criteria hold."""
NOT_SCORED = "not_scored"
"""In place of the reason: the episode ended well, and its scorer broke, which is a fault of the infrastructure."""
_SCORER_BROKE = "not scored: "
"""How the detail of such an episode begins."""
_FAULTS: tuple[str, ...] = get_args(Fault)
_DECIDED = ("met", "not_met")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of something are faulty, with the 95 % interval of their share.

    Attributes:
        of: what is counted: `episodes` that have ended, `requests` to a model, or `criteria`.
        low, high: None below two scenarios.
        scenarios: from how many scenarios they come.
    """

    hits: int
    n: int
    of: str
    low: float | None
    high: float | None
    scenarios: int

    @property
    def value(self) -> float | None:
        return self.hits / self.n if self.n else None

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, **asdict(self)}


def share(of: str, counts: Iterable[tuple[str, int, int]]) -> Share:
    """Wilson's interval with as many independent things as the counted ones are worth (Rao & Scott 1992).

    What comes from one scenario resembles itself. The design effect says how much: the variance of the share between
    scenarios over that of independent things, at least 1. Where all or none are hit it cannot be told, and the
    scenarios are the n.

    Args:
        counts: (scenario, hits, things) of each episode.
    """
    by_scenario: dict[str, list[int]] = {}
    for scenario, hits, things in counts:
        if things:
            found = by_scenario.setdefault(scenario, [0, 0])
            found[0], found[1] = found[0] + hits, found[1] + things
    k, hits = len(by_scenario), sum(found[0] for found in by_scenario.values())
    n = sum(found[1] for found in by_scenario.values())
    if k < 2:
        return Share(hits, n, of, None, None, k)
    p, worth = hits / n, float(k)
    if 0 < hits < n:
        between = math.fsum((x - p * size) ** 2 for x, size in by_scenario.values()) * k / (k - 1) / n**2
        worth = n / max(1.0, between / (p * (1 - p) / (n - 1)))
    return Share(hits, n, of, *wilson(p * worth, worth), k)


@dataclass(frozen=True, slots=True)
class Ending:
    """The episodes that ended for one reason, or have not ended.

    Attributes:
        reason: one of `REASONS`, or `NOT_SCORED`; of episodes that have not ended, their status.
        fault: whose it is; None if they have not ended.
        share: of the episodes that have ended; None if these have not.
    """

    reason: str
    fault: str | None
    episodes: int
    share: Share | None

    @property
    def counts(self) -> bool:
        """Whether the scores are over these."""
        return self.fault in COUNTED

    def to_json(self) -> dict[str, Any]:
        told = None if self.share is None else self.share.to_json()
        return {
            "reason": self.reason, "fault": self.fault, "episodes": self.episodes, "in_scores": self.counts,
            "share": told,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Basis:
    """What one score is over.

    Attributes:
        episodes: that have it; `mean` is over their scenarios.
        left_out: by whose fault, `not ended` or `unscored` -> episodes that were planned and have no such score.
        partly: episodes in which it is over some of the criteria only.
        low, high: the mean if what is left out had scored 0, or 1; None if the score is no share.
    """

    episodes: int
    left_out: Mapping[str, int]
    partly: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """How the episodes of one cast ended, and by whose fault.

    Attributes:
        episodes: planned.
        ended: that have ended; each `Ending` is a share of these.
        in_scores: that ended by no fault but the agent's.
        rates: what failed -> its share; see docs/who-failed.md.
        scores: metric -> what it is over.
    """

    cast_name: str
    episodes: int
    ended: int
    in_scores: int
    endings: Sequence[Ending]
    rates: Mapping[str, Share]
    scores: Mapping[str, Basis]

    @property
    def plain(self) -> bool:
        """Whether every episode ended by nobody's fault, and everything that was said and asked could be used."""
        return self.ended == self.episodes and not any(one.hits for one in self.rates.values())

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "cast_name": self.cast_name,
            "episodes": self.episodes,
            "ended": self.ended,
            "in_scores": self.in_scores,
            "endings": [one.to_json() for one in self.endings],
            "rates": {name: one.to_json() for name, one in self.rates.items()},
            "scores": {name: asdict(one) for name, one in self.scores.items()},
        }


def attribution_of(rows: Sequence[EpisodeRow], scores: Mapping[int, Sequence[Score]]) -> Attribution:
    """The attribution of the episodes of one cast.

    Args:
        scores: episode row -> scores.
    """
    ended = [row for row in rows if row.status == "ended"]
    return Attribution(
        rows[0].cast_name if rows else "",
        len(rows),
        len(ended),
        sum(whose(row)[0] in COUNTED for row in ended),
        tuple(_endings(rows, ended)),
        dict(_rates(ended, scores)),
        dict(_bases(rows, scores)),
    )


def whose(row: EpisodeRow) -> tuple[str | None, str]:
    """Whose fault the end of an episode is, None if it has not ended, and why it ended."""
    if row.status != "ended":
        return None, row.status
    if row.counts and row.detail is not None and row.detail.startswith(_SCORER_BROKE):
        return "infrastructure", NOT_SCORED
    return row.fault, row.reason or ""


def _endings(rows: Sequence[EpisodeRow], ended: Sequence[EpisodeRow]) -> Iterator[Ending]:
    """In the order of faults, within them the most frequent first; what has not ended comes last."""
    counts: dict[tuple[str | None, str], int] = {}
    for row in rows:
        counts[whose(row)] = counts.get(whose(row), 0) + 1
    for fault in (*_FAULTS, None):
        places = [(reason, count) for (whose, reason), count in counts.items() if whose == fault]
        for reason, count in sorted(places, key=lambda place: -place[1]):
            yield Ending(reason, fault, count, None if fault is None else _ended_by(ended, (reason,)))


def _ended_by(ended: Sequence[EpisodeRow], reasons: Collection[str]) -> Share:
    return share("episodes", ((row.scenario, whose(row)[1] in reasons, 1) for row in ended))


def _rates(ended: Sequence[EpisodeRow], scores: Mapping[int, Sequence[Score]]) -> Iterator[tuple[str, Share]]:
    """Replies and criteria only where there are any: an agent without a model gives no reply that could be faulty."""
    for fault in ("agent", "world", "infrastructure"):
        yield (
            f"{fault}_faults",
            share("episodes", ((row.scenario, whose(row)[0] == fault, 1) for row in ended)),
        )
    yield "limits", _ended_by(ended, LIMITS)
    criteria = [(row, score) for row in ended for score in _criteria(scores, row)]
    asked = [(row.scenario, outcome_of(score)) for row, score in criteria]
    verdicts = [(scenario, outcome) for scenario, outcome in asked if outcome is not None]
    counted = [(row.scenario, score.value is None, 1) for row, score in criteria if row.counts]
    found = {
        "agent_replies": _replies(ended, simulated=False),
        "world_replies": _replies(ended, simulated=True),
        "judge_replies": share("criteria", ((name, one == "unparseable", 1) for name, one in verdicts)),
        "judge_faults": share("criteria", ((name, one not in _DECIDED, 1) for name, one in verdicts)),
        "unscored": share("criteria", counted),
    }
    yield from ((name, one) for name, one in found.items() if one.n)


def _replies(ended: Sequence[EpisodeRow], *, simulated: bool) -> Share:
    """Replies that could not be used, of the model that simulates the world or of all others."""
    counts = []
    for row in ended:
        for name, one in asked(row.models).items():
            if (name == WORLD) is simulated:
                counts.append((row.scenario, one.unusable, one.calls))
    return share("requests", counts)


def _criteria(scores: Mapping[int, Sequence[Score]], row: EpisodeRow) -> list[Score]:
    return [score for score in scores.get(row.row, ()) if score.is_criterion]


def _bases(rows: Sequence[EpisodeRow], scores: Mapping[int, Sequence[Score]]) -> Iterator[tuple[str, Basis]]:
    named = [{one.name: one for one in scores.get(row.row, ()) if not one.is_criterion} for row in rows]
    for name, kind in {name: score for one in named for name, score in one.items()}.items():
        values: list[tuple[str, float | None]] = []
        left_out: dict[str, int] = {}
        partly = 0
        for row, metrics in zip(rows, named, strict=True):
            score = metrics.get(name) if row.counts else None
            values.append((row.scenario, None if score is None else score.value))
            if score is None or score.value is None:
                judged = _criteria(scores, row) if score is not None and score.how == "rubric" else ()
                why = _why_left_out(row, judged)
                left_out[why] = left_out.get(why, 0) + 1
            else:
                partly += score.how == "rubric" and score.n < len(_criteria(scores, row))
        bounds = (_mean(values, 0.0), _mean(values, 1.0)) if kind.unit == "share" else (None, None)
        yield name, Basis(len(rows) - sum(left_out.values()), left_out, partly, _mean(values), *bounds)


def _why_left_out(row: EpisodeRow, criteria: Iterable[Score]) -> str:
    """By whose fault an episode lacks a score that is over `criteria`."""
    fault, _ = whose(row)
    if fault not in COUNTED:
        return fault or NOT_ENDED
    outcomes = {outcome_of(one) for one in criteria}
    return "judge" if outcomes - {None, *_DECIDED} else UNSCORED


def _mean(values: Sequence[tuple[str, float | None]], missing: float | None = None) -> float | None:
    """The mean over scenarios of the means of their episodes; what is missing is left out, or counts as `missing`."""
    by_scenario: dict[str, list[float]] = {}
    for scenario, value in values:
        counted = missing if value is None else value
        if counted is not None:
            by_scenario.setdefault(scenario, []).append(counted)
    if not by_scenario:
        return None
    return float(np.mean([np.mean(found) for found in by_scenario.values()]))


def meaning_of(reason: str) -> str:
    """A reason, or the status of an episode that has not ended, in words."""
    if reason in REASONS:
        return REASONS[reason][1]
    others = {
        "planned": "not begun",
        "running": "not finished",
        NOT_SCORED: "it ended well, but its scorer broke",
    }
    return others.get(reason, reason)
