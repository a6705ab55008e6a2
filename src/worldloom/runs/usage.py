"""Usage: what was asked of the models of an episode, while it is played and as its projection tells it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from worldloom.core.canonical import canonical
from worldloom.models.model import Usage as Counts
from worldloom.runs.shape import MOST


class Asked(NamedTuple):
    """What was asked of one model; tokens as its server counted them.

    Attributes:
        unusable: replies that hold nothing of what was asked for.
        uncounted: answers whose tokens the server has not counted.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unusable: int = 0
    uncounted: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@lru_cache(maxsize=1 << 15)  # each is read when a store is opened, and again for costs and rates
def asked(models: str) -> Mapping[str, Asked]:
    """Name of a model -> what was asked of it, from the `models` or `scoring_models` of an episode's projection.

    Raises:
        ValueError: it is not what `Usage.by_model` has written.
    """
    told = json.loads(models)
    if not isinstance(told, dict) or not all(map(_is_sound, told.values())):
        raise ValueError(f"{models} is no mapping of names to counts")
    return {name: Asked(*counts) for name, counts in told.items()}


def _is_sound(counts: object) -> bool:
    """Whether it is five counts, no more replies or answers among them than calls."""
    return (
        type(counts) is list
        and len(counts) == len(Asked._fields)
        and {*map(type, counts)} == {int}
        and min(counts) >= 0
        and max(counts) <= MOST
        and max(counts[3:]) <= counts[0]
    )


@dataclass(slots=True)
class Usage:
    """What an episode has used so far; prompt and completion tokens as servers reported them.

    Attributes:
        models: name of a model -> counts, as in `Asked`; the others are sums over all.
    """

    steps: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    models: dict[str, list[int]] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def by_model(self) -> str:
        """`models` as canonical JSON; `asked` reads it."""
        return canonical({name: [*counts] for name, counts in self.models.items()}).decode()

    def call(self, model: str) -> None:
        """Count a request to a model."""
        self.model_calls += 1
        self.models.setdefault(model, [0, 0, 0, 0, 0])[0] += 1

    def answer(self, model: str, counts: Counts) -> None:
        """Count the tokens of an answer."""
        prompt, completion = counts.prompt_tokens or 0, counts.completion_tokens or 0
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        found = self.models[model]
        found[1] += prompt
        found[2] += completion
        found[4] += counts.prompt_tokens is None or counts.completion_tokens is None

    def unusable(self, model: str) -> None:
        """Count a reply that holds nothing of what was asked for, whether or not it is asked for again."""
        self.models[model][3] += 1
