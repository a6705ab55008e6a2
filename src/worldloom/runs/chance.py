"""Chance: draws that depend on where they are asked for, never on who asked first.

`generator` gives a Philox stream keyed by (seed, component, scope); `uniforms` gives one number per seat, each a pure
function of (seed, component, round, seat, index), computed for a whole column at once.
"""

import hashlib

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
