"""Changed: two passes of scoring over one run, side by side: what the new one says otherwise than the old one.

Metrics are those of the contestant, paired episode by episode; the difference is a mean over scenarios. Criteria are
those of all episodes that have ended, floors and ceilings included: what is asked there is whether two judges agree.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from worldloom.api.results.side import Side
from worldloom.runs.agreement import Measure, Verdict, agree, outcome_of
from worldloom.runs.comparison import Difference, difference
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.statistics import Estimate, estimate

Kind: TypeAlias = Literal["same", "to_not_met", "to_met", "now_scored", "now_unscored", "unscored"]
"""What became of a verdict; `unscored` has none in either pass."""
KINDS: tuple[Kind, ...] = get_args(Kind)
KEPT: tuple[Kind, ...] = ("same", "unscored")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the contestant in both passes.

    Attributes:
        old, new: means over scenarios, each over all that its pass has scored.
        difference: new − old, over the episodes that both have scored.
    """

    old: Estimate
    new: Estimate
    difference: Difference


@dataclass(frozen=True, slots=True)
class Criterion:
    """What became of the verdicts on one criterion: kind -> number of episodes."""

    scenario: str
    criterion: str
    counts: Mapping[Kind, int]

    @property
    def moved(self) -> int:
        return sum(count for kind, count in self.counts.items() if kind not in KEPT)


@dataclass(frozen=True, slots=True)
class Moved:
    """An episode whose scores are others now.

    Attributes:
        metrics: metric -> old and new value, of those that changed.
        criteria: text, old and new value of those that changed, and why it is so now.
    """

    episode: int
    scenario: str
    cast_name: str
    metrics: Mapping[str, tuple[float | None, float | None]]
    criteria: Sequence[tuple[str, float | None, float | None, str]]


@dataclass(frozen=True, slots=True)
class Changed:
    """What the pass `new` says otherwise than the pass `old`.

    Attributes:
        criteria: the one that changed most first.
        judged: verdicts that both passes gave on criteria that a judge was asked about in either.
        agreement, kappa: of these, whether they are the same; None if there are none.
        moved: the episode that changed most first.
    """

    old: Side
    new: Side
    metrics: Mapping[str, Metric]
    criteria: Sequence[Criterion]
    judged: int
    agreement: Measure | None
    kappa: Measure | None
    moved: Sequence[Moved] = field(default_factory=tuple)

    @property
    def counts(self) -> dict[Kind, int]:
        """What became of all verdicts."""
        return {kind: sum(one.counts[kind] for one in self.criteria) for kind in KINDS}

    def to_json(self) -> dict[str, Any]:
        return {
            "metrics": {name: asdict(one) for name, one in self.metrics.items()},
            "verdicts": {
                "counts": self.counts,
                "judged": self.judged,
                "agreement": None if self.agreement is None else asdict(self.agreement),
                "kappa": None if self.kappa is None else asdict(self.kappa),
            },
            "criteria": [asdict(one) for one in self.criteria],
            "moved": [asdict(one) for one in self.moved],
        }


def changed(old: Side, new: Side, rows: Sequence[EpisodeRow]) -> Changed:
    """Compare two passes over one run.

    Args:
        rows: the episodes that have ended.
    """
    pairs = [(row, *pair) for row in rows for pair in _pairs(old, new, row)]
    verdicts = [
        Verdict(row.scenario, "met" if after.value == 1.0 else "not_met", before.value == 1.0)
        for row, before, after in pairs
        if before.value is not None and after.value is not None and (outcome_of(before) or outcome_of(after))
    ]
    known = agree(verdicts) if verdicts else None
    return Changed(
        old,
        new,
        {name: _metric(name, old, new) for name in (old.metrics | new.metrics)},
        _criteria(pairs),
        len(verdicts),
        None if known is None else known.agreement,
        None if known is None else known.kappa,
        sorted((one for row in rows if (one := _moved(old, new, row))), key=_least_moved),
    )


def _pairs(old: Side, new: Side, row: EpisodeRow) -> Iterator[tuple[Score, Score]]:
    """Each criterion of an episode as both passes score it; what one of them lacks is unscored there."""
    before, after = (_by_text(side.scores.get(row.row, ())) for side in (old, new))
    for key in before | after:
        nothing = Score(key[0], None, 1, "criterion", "unscored", "it is not among the scores")
        yield before.get(key, nothing), after.get(key, nothing)


def _by_text(scores: Sequence[Score]) -> dict[tuple[str, int], Score]:
    """Criteria by their text, and by how often it has stood there before: a rubric may say a thing twice."""
    seen: Counter[str] = Counter()
    found = {}
    for score in scores:
        if score.is_criterion:
            found[score.name, seen[score.name]] = score
            seen[score.name] += 1
    return found


def _kind(old: float | None, new: float | None) -> Kind:
    if old is None or new is None:
        return "unscored" if old is new else "now_scored" if old is None else "now_unscored"
    return "same" if old == new else "to_met" if new > old else "to_not_met"


def _criteria(pairs: Sequence[tuple[EpisodeRow, Score, Score]]) -> list[Criterion]:
    counts: dict[tuple[str, str], Counter[Kind]] = {}
    for row, before, after in pairs:
        counts.setdefault((row.scenario, before.name), Counter())[_kind(before.value, after.value)] += 1
    found = [Criterion(*names, {kind: each[kind] for kind in KINDS}) for names, each in counts.items()]
    return sorted(found, key=lambda one: -one.moved)


def _metric(name: str, old: Side, new: Side) -> Metric:
    sides = [side.values(name, side.digests) for side in (old, new)]
    before, after = (estimate((scenario, value) for scenario, _, value in each) for each in sides)
    return Metric(before, after, difference(*sides))


def _moved(old: Side, new: Side, row: EpisodeRow) -> Moved | None:
    """What changed in an episode; None if nothing did."""
    before, after = (
        {score.name: score.value for score in side.scores.get(row.row, ()) if not score.is_criterion}
        for side in (old, new)
    )
    metrics = {
        name: (before.get(name), after.get(name))
        for name in before | after
        if before.get(name) != after.get(name)
    }
    criteria = [
        (one.name, one.value, other.value, other.detail)
        for one, other in _pairs(old, new, row)
        if one.value != other.value
    ]
    return Moved(row.row, row.scenario, row.cast_name, metrics, criteria) if metrics or criteria else None


def _least_moved(one: Moved) -> tuple[int, float, int]:
    """Sorts the episode that changed most to the front."""
    by = sum(abs(new - old) for old, new in one.metrics.values() if old is not None and new is not None)
    return -len(one.criteria), -by, one.episode
