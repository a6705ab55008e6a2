"""Plan: whether a model fits before it is loaded, and with what context and how many sequences at once.

Arithmetic over a shape and a machine, and nothing else. Weights and keys and values are exact as far as the config
says; what computing takes beside them is an allowance on the safe side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from worldloom.models.serving.machine import GIB, Gpu, Machine
from worldloom.models.serving.shape import Shape

BATCH_TOKENS = {"gpu": 8192, "cpu": 4096}
"""Tokens that one step computes at most: what vLLM takes on large GPUs, and what we tell it on a CPU."""
CPU_CONTEXT = 8192
"""Context on a CPU, if nobody asks for more: there one step must be able to compute a whole prompt."""

# CUDA context and graphs; three Python processes and what compiling leaves behind (3.0 GiB measured, vLLM 0.32).
_ALLOWANCE = {"gpu": 2 * GIB, "cpu": 3 * GIB}
_USED = 0.90
_SPARE = 0.02  # of a GPU's memory: what is free now may be a little less when vLLM looks
_SAMPLED = 256  # sequences whose logits vLLM computes at once while it measures itself
_LEAST_CONTEXT = 2048
_SEQUENCES = 8  # that a CPU's cache has room for, if there is the memory
_MOST_SPLIT = 64


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asks for; None where it is left to the plan.

    Attributes:
        context: tokens that one sequence may take.
        split: GPUs over which the model is split.
        used: fraction of a GPU's memory that may be taken.
        sharing: servers that share the machine.
    """

    context: int | None = None
    split: int | None = None
    used: float | None = None
    sharing: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model fits; all bytes are those of one device.

    Attributes:
        device: where it runs.
        devices: what was found, for a person.
        split: GPUs over which it is split; `--tensor-parallel-size`.
        used: fraction of a GPU's memory that vLLM may take; 0 on a CPU.
        has: bytes that there are.
        weights: bytes of weights.
        computing: bytes for activations and the processes themselves.
        sequence: bytes of cache for one sequence of `asked` tokens.
        token: bytes of cache for one token, while no window is full.
        asked: tokens of context that have to fit.
        made_for: tokens that the model was made for; None if unknown.
        context: tokens of context that fit, at most those it was made for; 0 if not one does.
        cache: bytes that are left for the cache.
        enough: GPUs like these that would do; None if none would, or on a CPU.
    """

    device: Literal["gpu", "cpu"]
    devices: str
    split: int
    used: float
    has: int
    weights: int
    computing: int
    sequence: int
    token: int
    asked: int
    made_for: int | None
    context: int
    cache: int
    enough: int | None

    @property
    def needs(self) -> int:
        return self.weights + self.computing + self.sequence

    @property
    def fits(self) -> bool:
        return self.context >= self.asked


def plan(shape: Shape, machine: Machine, wish: Wish = Wish(), *, cpu: bool = False) -> Plan:
    """Plan a model.

    Args:
        shape: the model.
        machine: where it is to run.
        wish: what was asked for.
        cpu: on the CPU, although there may be GPUs.
    """
    if cpu or not machine.gpus:
        return _on_cpu(shape, machine, wish)
    if wish.split is not None:
        return _on_gpus(shape, machine.gpus, wish, wish.split)
    tried = [
        _on_gpus(shape, machine.gpus, wish, split) for split in _splits(shape) if split <= len(machine.gpus)
    ]
    return next((each for each in tried if each.fits), tried[-1])


def sequences(plan: Plan, shape: Shape, tokens: int) -> int:
    """How many sequences of so many tokens fit at once."""
    return plan.cache // max(1, shape.kv_bytes(tokens, plan.split)) if plan.context else 0


def _splits(shape: Shape) -> list[int]:
    """Numbers of GPUs that the heads of attention can be split over: powers of two."""
    return [1 << power for power in range(7) if shape.heads % (1 << power) == 0 and 1 << power <= _MOST_SPLIT]


def _on_cpu(shape: Shape, machine: Machine, wish: Wish) -> Plan:
    has = int(machine.ram * _USED) // wish.sharing
    longest = min(wish.context or CPU_CONTEXT, shape.context or wish.context or CPU_CONTEXT)

    def computing(tokens: int) -> int:
        return _computing(shape, "cpu", max(BATCH_TOKENS["cpu"], tokens), 1)

    def room(tokens: int) -> int:  # on a CPU, vLLM takes whole GiB for the cache
        return (has - shape.weights - computing(tokens)) // GIB * GIB

    context = _longest(longest, lambda tokens: shape.kv_bytes(tokens) <= room(tokens))
    asked = _asked(shape, wish)
    wanted = _whole_gib(_SEQUENCES * shape.kv_bytes(context or asked))
    return Plan(
        device="cpu",
        devices=f"RAM, {_USED:.0%} of what is free",
        split=1,
        used=0.0,
        has=has,
        weights=shape.weights,
        computing=computing(context or asked),
        sequence=_whole_gib(shape.kv_bytes(asked)),
        token=shape.kv_bytes(1),
        asked=asked,
        made_for=shape.context,
        context=context,
        cache=max(0, min(wanted, room(context or asked))),
        enough=None,
    )


def _on_gpus(shape: Shape, gpus: tuple[Gpu, ...], wish: Wish, split: int) -> Plan:
    taken = gpus[:split]
    smallest = min(taken, key=lambda gpu: gpu.total)
    free = min(gpu.free / gpu.total for gpu in taken)
    used = wish.used or int(max(0.0, min(_USED, free - _SPARE)) / wish.sharing * 100) / 100
    has, asked = int(smallest.total * used), _asked(shape, wish)
    longest = min(wish.context or shape.context or asked, shape.context or asked)

    def room(parts: int) -> int:
        return has - shape.weights // parts - _computing(shape, "gpu", BATCH_TOKENS["gpu"], parts)

    context = _longest(longest, lambda tokens: shape.kv_bytes(tokens, split) <= room(split))
    enough = (parts for parts in _splits(shape) if shape.kv_bytes(asked, parts) <= room(parts))
    return Plan(
        device="gpu",
        devices=f"{split} × {smallest.name}, {used:.0%} of {smallest.total / GIB:.1f} GiB",
        split=split,
        used=used,
        has=has,
        weights=shape.weights // split,
        computing=_computing(shape, "gpu", BATCH_TOKENS["gpu"], split),
        sequence=shape.kv_bytes(asked, split),
        token=shape.kv_bytes(1, split),
        asked=asked,
        made_for=shape.context,
        context=context if split <= len(gpus) else 0,
        cache=max(0, room(split)),
        enough=next(enough, None),
    )


def _whole_gib(size: int) -> int:
    return -(-size // GIB) * GIB


def _asked(shape: Shape, wish: Wish) -> int:
    return wish.context or min(shape.context or _LEAST_CONTEXT, _LEAST_CONTEXT)


def _computing(shape: Shape, device: Literal["gpu", "cpu"], tokens: int, split: int) -> int:
    """Allowance for one step: what a layer passes on, the logits while vLLM measures itself, the processes."""
    layer = tokens * (4 * shape.hidden + 2 * shape.inner // split) * 2
    logits = 3 * _SAMPLED * shape.vocabulary * 4
    return layer + logits + _ALLOWANCE[device]


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, 0 if none does; what fits, fits with less too."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
