"""Cost: what the models of a run cost, from prices that its manifest holds and from what its projections tell.

A price is by token or by the hour of a GPU. What has no price, and what a server has not counted, is unknown and never
0. Left out: attempts that were repeated, calls that came to nothing, what earlier lives of an episode took, further
passes of scoring.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.project import HIGHEST_PRICE
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.usage import Asked, asked

_MILLION = 1_000_000
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """Money per million tokens of prompts and of answers."""

    prompt: float
    completion: float

    def of(self, prompt: int, completion: int) -> float:
        return (prompt * self.prompt + completion * self.completion) / _MILLION


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """Money per hour of one GPU, and how many GPUs serve the model."""

    gpu_hour: float
    gpus: int


Price = TokenPrice | GpuPrice


@dataclass(frozen=True, slots=True)
class Priced:
    """A model and its price; None if nobody has named one."""

    model: str
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """What the models of one run cost.

    Attributes:
        models: name of a model, as `ctx.model` knows it -> the model and its price.
    """

    currency: str = "USD"
    models: Mapping[str, Priced] = field(default_factory=dict)

    def of(self, name: str, prompt: int | None, completion: int | None) -> float:
        """Money for one answer of a model; infinite where it has no price by token, or was not counted."""
        price = self.models.get(name, Priced(name)).price
        if not isinstance(price, TokenPrice) or prompt is None or completion is None:
            return math.inf
        return price.of(prompt, completion)

    def to_json(self) -> dict[str, Json]:
        models: dict[str, Json] = {
            name: {"model": one.model, "price": None if one.price is None else asdict(one.price)}
            for name, one in self.models.items()
        }
        return {"currency": self.currency, "models": models}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Prices":
        """The prices that a manifest holds."""
        models = {name: Priced(one["model"], _price(one["price"])) for name, one in value["models"].items()}
        return Prices(value["currency"], models)


def _price(value: Mapping[str, Any] | None) -> Price | None:
    if value is None:
        return None
    price = GpuPrice(**value) if "gpu_hour" in value else TokenPrice(**value)
    if not all(0 <= one <= HIGHEST_PRICE for one in value.values()):
        raise ValueError(f"{price} is no price")
    return price


@dataclass(frozen=True, slots=True)
class Part:
    """What one model cost.

    Attributes:
        names: as what it was asked, e.g. `agent`.
        value: money; None if it is unknown.
        gpu_seconds: what was priced, if that are not tokens: seconds in which an episode that asks the model was under
            way, times GPUs.
        why: why it is unknown.
    """

    names: Sequence[str]
    model: str
    value: float | None
    gpu_seconds: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run, or an episode, cost; no part is there for a model that was not asked."""

    currency: str
    parts: Sequence[Part]

    @property
    def value(self) -> float | None:
        """The sum; None if a part is unknown."""
        values = [part.value for part in self.parts if part.value is not None]
        return math.fsum(values) if len(values) == len(self.parts) else None

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, **asdict(self)}


def cost_of(rows: Iterable[EpisodeRow], prices: Prices) -> Cost:
    """What some episodes of a run cost, their default scoring included."""
    used: dict[str, list[int]] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for name, one in _asked(row):
            sums = used.setdefault(name, [0] * len(one))
            used[name] = [a + b for a, b in zip(sums, one, strict=True)]
            if row.started_at is not None and row.seconds is not None:
                spans.setdefault(name, []).append((row.started_at, row.started_at + row.seconds))
    return Cost(prices.currency, [*_parts(used, spans, prices)])


def _asked(row: EpisodeRow) -> Iterator[tuple[str, Asked]]:
    """Each model that was asked, in play or scoring."""
    for models in (row.models, row.scoring_models):
        yield from ((name, one) for name, one in asked(models).items() if one.calls)


def _parts(
    used: Mapping[str, Sequence[int]], spans: Mapping[str, list[tuple[float, float]]], prices: Prices
) -> Iterator[Part]:
    # One server may serve agent and judge: its GPUs are paid once.
    served: dict[tuple[str, GpuPrice], list[str]] = {}
    for name, counts in used.items():
        one = Asked(*counts)
        priced = prices.models.get(name, Priced(name))
        price = priced.price
        if isinstance(price, GpuPrice):
            served.setdefault((priced.model, price), []).append(name)
        elif price is None:
            yield Part([name], priced.model, None, why=f"no price for {priced.model}")
        elif one.uncounted:
            answers = "1 answer" if one.uncounted == 1 else f"{one.uncounted:,} answers"
            why = f"the server of {priced.model} counted no tokens of {answers}"
            yield Part([name], priced.model, None, why=why)
        else:
            yield Part([name], priced.model, price.of(one.prompt_tokens, one.completion_tokens))
    for (model, price), names in served.items():
        gpu_seconds = union([span for name in names for span in spans.get(name, ())]) * price.gpus
        yield Part(names, model, gpu_seconds / _HOUR_S * price.gpu_hour, gpu_seconds)


def union(spans: Iterable[tuple[float, float]]) -> float:
    """Length of what the spans cover together."""
    total, end = 0.0, -math.inf
    for begins, ends in sorted(spans):
        total += max(0.0, ends - max(begins, end))
        end = max(end, ends)
    return total
