"""Rows: the projections of episodes and scores, and how they are read back out of a store.

Summaries trust them, so whatever has come into the file since they were written is found here, once for each column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from worldloom.core.arguments import shown
from worldloom.core.errors import RecordError
from worldloom.runs.ending import COUNTED, RESUMABLE, Fault
from worldloom.runs.shape import MOST
from worldloom.runs.usage import asked

_DATES_S = (-6e10, 2.5e11)  # seconds since 1970, by clocks that may go wrong: other times have no date
_LARGEST_SCORE = 1e100  # the sum of the squares of a hundred million of them is still a number


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """The projection of one episode. Tokens as servers reported them; seconds of wall-clock time.

    Attributes:
        scored: fingerprint of what a judge said in the scoring pass, and of who it was; None if nobody was asked.
        models: canonical JSON: name of a model -> counts; `runs.usage.asked` reads it.
        scoring_models: the same of the scoring pass.
        making: what it was played with: 0 as the manifest says, n as the n-th resume that accepted changes.
    """

    row: int
    id: str
    scenario: str
    category: str
    cast_name: str
    seed: int
    epoch: int
    status: str = "planned"
    reason: str | None = None
    fault: str | None = None
    detail: str | None = None
    fingerprint: str | None = None
    scored: str | None = None
    steps: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    models: str = "{}"
    scoring_models: str = "{}"
    started_at: float | None = None
    seconds: float | None = None
    making: int = 0

    @property
    def counts(self) -> bool:
        """Whether its scores count: it has ended, by no fault but the agent's."""
        return self.status == "ended" and self.fault in COUNTED


@dataclass(frozen=True, slots=True)
class Score:
    """One number about one episode.

    Attributes:
        name: what was scored, e.g. a criterion.
        value: the score; None says `unscored`, and `detail` why.
        n: how many things the value is a mean over.
        unit: what the value counts; `criterion` if it is the verdict on one.
        how: how it was judged, e.g. `check`, `idiom`, `judge`.
    """

    name: str
    value: float | None
    n: int
    unit: str
    how: str
    detail: str = ""

    @property
    def is_criterion(self) -> bool:
        """Whether it is the verdict on one criterion; all others are metrics."""
        return self.unit == "criterion"


def _columns(row: type) -> dict[str, frozenset[type]]:
    """Name of each column -> the types that its cells have."""
    hints = get_type_hints(row)
    return {one.name: frozenset(get_args(hints[one.name]) or (hints[one.name],)) for one in fields(row)}


_EPISODE = _columns(EpisodeRow)
EPISODE_COLUMNS = tuple(_EPISODE)
_SCORE = _columns(Score)
_WORDS: Mapping[str, frozenset[str | None]] = {
    "status": frozenset(("planned", "running", "ended", *RESUMABLE)),
    "fault": frozenset((*get_args(Fault), None)),
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "started_at": _DATES_S,
    "seconds": (0, _DATES_S[1]),
    "value": (-_LARGEST_SCORE, _LARGEST_SCORE),
}
"""Of numbers that are no counts."""


def read_episodes(rows: Sequence[Sequence[Any]], makings: int, path: Path) -> list[EpisodeRow]:
    """Episodes from their rows, in the order of the plan.

    Args:
        makings: with how many things, one after the other, the run was played.

    Raises:
        RecordError: one is not as it was written.
    """
    for name, column in zip(_EPISODE, zip(*rows, strict=True), strict=False):
        if not _fit(_EPISODE, name, column):
            place = next(place for place, one in enumerate(column) if not _fit(_EPISODE, name, (one,)))
            raise _damaged(path, f"episode {place}", name, column[place])
    for place, row in enumerate(rows):
        if row[0] != place:
            raise _damaged(path, f"episode {place}", "row", row[0])
        if row[-1] >= makings:
            raise _damaged(path, f"episode {place}", "making", row[-1])
    return [EpisodeRow(*row) for row in rows]


def read_scores(rows: Sequence[Sequence[Any]], path: Path) -> dict[int, list[Score]]:
    """Episode row -> its scores, from rows that begin with the episode.

    Raises:
        RecordError: one is not as it was written.
    """
    for name, column in zip(_SCORE, [*zip(*rows, strict=True)][1:], strict=False):
        if not _fit(_SCORE, name, column):
            place = next(place for place, one in enumerate(column) if not _fit(_SCORE, name, (one,)))
            raise _damaged(path, f"a score of episode {rows[place][0]}", name, column[place])
    found: dict[int, list[Score]] = {}
    for episode, *values in rows:
        found.setdefault(episode, []).append(Score(*values))
    return found


def checked_scores(found: object) -> list[Score]:
    """What a scorer gave, once it can be recorded.

    Raises:
        TypeError: it is no list of `Score`.
        ValueError: a score holds what cannot be recorded.
    """
    if not isinstance(found, list) or not all(isinstance(one, Score) for one in found):
        raise TypeError(f"the scorer gave {shown(found)}; allowed: a list of Score")
    for score in found:
        for name in _SCORE:
            value = getattr(score, name)
            number = name == "value" and isinstance(value, int | float)
            if not _fit(_SCORE, name, (float(value) if number else value,)):
                raise ValueError(f"the scorer gave a score whose {name} is {shown(value)}")
            if isinstance(value, str):
                value.encode()  # a text with a lone surrogate cannot be written
    return found


def _fit(kinds: Mapping[str, frozenset[type]], name: str, column: Sequence[Any]) -> bool:
    """Whether the cells of a column are what was written there: types, ranges, words, counts of models."""
    if not kinds[name] >= {*map(type, column)}:
        return False
    if name in _WORDS:
        return _WORDS[name] >= {*column}
    if name in ("models", "scoring_models"):
        return all(map(_is_counts, {*column}))
    if str in kinds[name]:
        return True
    least, largest = _RANGES.get(name, (0, MOST))
    known = [one for one in column if one is not None]
    return not known or (least <= min(known) and max(known) <= largest)


def _is_counts(models: str) -> bool:
    try:
        asked(models)
    except ValueError:
        return False
    return True


def _damaged(path: Path, what: str, name: str, value: object) -> RecordError:
    return RecordError(f"{path} is damaged: {what} has {name} {shown(value)}")
