"""Scorings: the passes of scoring that a run holds, by name, and who judged in each.

The pass `default` was made when the episodes ended; the manifest tells of it. Every further one stands in the value
`scorings` of the run. What a calibration has asked is no pass of its own here.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from worldloom.api.plans.cast import model_from_json, model_to_json
from worldloom.api.plans.manifest import judge_of
from worldloom.api.plans.plan import JUDGE
from worldloom.api.plans.provenance import makings
from worldloom.core.errors import UsageError, offer
from worldloom.models.spec import ModelSpec
from worldloom.runs.store import DEFAULT_SCORING, RunStore, put_value
from worldloom.runs.writer import Writer

_VALUE = "scorings"
_CODE = ("code and prompts", "graph ", "world ")
"""How the names begin of what decides scores, among that with which a pass was made; agents have no part in them."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """A pass of scoring over a run.

    Attributes:
        judge: who judged what cannot be checked; None if nobody was asked.
        form: digest of the texts with which a judge is asked.
        model_id: identity of the judge's model once it was opened; None without one.
        made_with: versions, and the digest of the code with its prompts.
    """

    name: str
    judge: ModelSpec | None = None
    form: str = ""
    model_id: str | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)

    @property
    def asks(self) -> tuple[str, Mapping[str, Any], str] | None:
        """What makes the judge judge as it does; None if there is none."""
        return None if self.judge is None else (self.judge.model, dict(self.judge.parameters), self.form)

    @property
    def code(self) -> dict[str, str]:
        """Digests of the code that scores, of what the pass was made with."""
        return {name: value for name, value in self.made_with.items() if name.startswith(_CODE)}

    @property
    def who(self) -> str:
        """Who judged, for people."""
        return "checks only" if self.judge is None else f"judged by {self.judge.model}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "judge": None if self.judge is None else model_to_json(self.judge)}


def further(store: RunStore) -> dict[str, Scoring]:
    """The passes beside `default`, by name, in the order of their names.

    Raises:
        RecordError: what the record tells of them cannot be read.
    """
    return store.read_value(
        _VALUE, lambda kept: {name: _read(name, one) for name, one in ({} if kept is None else kept).items()}
    )


def _read(name: str, one: Mapping[str, Any]) -> Scoring:
    judge = None if one["judge"] is None else model_from_json(one["judge"])
    return Scoring(**{**one, "name": name, "judge": judge})


def scoring_of(store: RunStore, name: str = DEFAULT_SCORING) -> Scoring:
    """A pass by its name.

    Raises:
        UsageError: the run has none of this name.
        RecordError: what the record tells of it cannot be read.
    """
    if name == DEFAULT_SCORING:
        known_makings = makings(store)
        parts = [one.made_with for one in known_makings]
        names = dict.fromkeys(each for part in parts for each in part)
        # A run that was resumed with something else was made with both, and with neither alone.
        made_with = {
            each: " → ".join(dict.fromkeys(part[each] for part in parts if each in part)) for each in names
        }
        model_id = known_makings[0].model_ids.get(JUDGE)
        return Scoring(name, judge_of(store), store.manifest("judge_form", str), model_id, made_with)
    known = further(store)
    if name not in known:
        choices = (DEFAULT_SCORING, *known)
        raise UsageError(f"{store.folder} has no pass of scoring {name!r}{offer(name, choices)}")
    return known[name]


def keep(store: RunStore, writer: Writer, one: Scoring) -> None:
    """Have the record tell of a pass, beside the others."""
    told = {name: each.to_json() for name, each in {**further(store), one.name: one}.items()}
    put_value(writer, _VALUE, told)
