"""Chance: draws that depend on where they are asked for, never on who asked first.

`generator` gives a Philox stream keyed by (seed, component, scope); `uniforms`, `normals` and `gumbels` give one number
per seat, each a pure function of (seed, component, round, seat, index), computed for a whole column at once.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def generator(seed: int, component: str, scope: bytes) -> np.random.Generator:
    """A Philox stream (Salmon et al., SC 2011) of its own for one component in one scope."""
    word = hashlib.sha256(f"{seed}\0{component}\0".encode() + scope).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(word[:16], "big")))


def uniforms(
    seed: int, component: str, round: int, seats: NDArray[np.uint64], index: int = 0
) -> NDArray[np.float64]:
    """Uniform draws in [0, 1), one per seat, with 53 random bits each (SplitMix64 over a counter).

    Args:
        seats: seat numbers, shape (n,).

    Returns:
        Shape (n,); the draw of a seat does not depend on the other seats.
    """
    word = hashlib.sha256(f"{seed}\0{component}\0{round}\0{index}".encode()).digest()
    x = seats.astype(np.uint64) * _GOLDEN + np.uint64(int.from_bytes(word[:8], "big"))
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normals(
    seed: int, component: str, round: int, seats: NDArray[np.uint64], index: int = 0
) -> NDArray[np.float64]:
    """Draws from N(0, 1), as `uniforms` (Box and Muller, 1958); at most 8.66 from 0."""
    radius = np.sqrt(-2.0 * np.log(_above_zero(uniforms(seed, component, round, seats, 2 * index))))
    return radius * np.cos(2.0 * np.pi * uniforms(seed, component, round, seats, 2 * index + 1))


def gumbels(
    seed: int, component: str, round: int, seats: NDArray[np.uint64], index: int = 0
) -> NDArray[np.float64]:
    """Draws from the standard Gumbel distribution, as `uniforms`; from -3.62 to 36.74."""
    return -np.log(-np.log(_above_zero(uniforms(seed, component, round, seats, index))))


def pairs(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """One number for each pair of numbers below 2^32, to be drawn for like a seat."""
    return (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)


def _above_zero(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(draws, 2.0**-54)
