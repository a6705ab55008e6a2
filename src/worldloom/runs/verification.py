"""Verification: the outside is asked again what is on record, and how often it says the same is counted.

It is a statistic and no proof: a model that samples, or a server that batches, may well say something else. Only what
may be asked again without harm is asked: models, and tools of the class `repeatable`. What it says changes nothing.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from worldloom.core.canonical import Json, canonical
from worldloom.core.key import show_key
from worldloom.runs.effect import Call, Verify
from worldloom.runs.ledger import unchanged
from worldloom.runs.statistics import Rate, rate

_EXAMPLES = 3
_COUNTS = ("prompt_tokens", "completion_tokens", "logprobs")


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of asking one model or tool again.

    Attributes:
        what: `model NAME` or `tool NAME`.
        same: share of those that gave an answer which gave the recorded one, with a 95 % interval by scenario.
        silent: how many gave no answer now.
        examples: where the first answers differed: `episode N at KEY`.
    """

    what: str
    same: Rate
    silent: int
    examples: tuple[str, ...]


@dataclass
class Verification:
    """Counts over the episodes of a run.

    Attributes:
        mend: replaces secrets, as they were before the recorded answers were written.
    """

    mend: Callable[[bytes], bytes] = unchanged
    _counts: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    _examples: dict[str, list[str]] = field(default_factory=dict)

    def of(self, scenario: str, episode: int) -> Verify:
        """What asks again in one episode."""

        async def verify(call: Call, recorded: Json) -> None:
            if failed(recorded):
                return
            counts = self._counts.setdefault(call.what, {}).setdefault(scenario, Counter())
            try:
                answer = await call.ask()
            except Exception:  # noqa: BLE001  # the outside may raise anything
                answer = None
            outcome = (
                "silent"
                if failed(answer)
                else "same"
                if self._said(answer) == self._said(recorded)
                else "other"
            )
            counts[outcome] += 1
            examples = self._examples.setdefault(call.what, [])
            if outcome == "other" and len(examples) < _EXAMPLES:
                examples.append(f"episode {episode} at {show_key(call.key)}")

        return verify

    def found(self) -> list[Verified]:
        """What came of it, by name."""
        return [
            Verified(
                what,
                rate((name, one["same"], one["same"] + one["other"]) for name, one in counts.items()),
                sum(one["silent"] for one in counts.values()),
                tuple(self._examples[what]),
            )
            for what, counts in sorted(self._counts.items())
        ]

    def _said(self, answer: Json) -> bytes:
        """What of an answer counts: not how many tokens it took."""
        said = (
            {name: part for name, part in answer.items() if name not in _COUNTS}
            if isinstance(answer, dict)
            else answer
        )
        return self.mend(canonical(said))


def failed(answer: Json) -> bool:
    """Whether no model and no tool has answered anything; a tool that refused has not either."""
    return not isinstance(answer, dict) or not answer.keys() & {"text", "value"}
