"""Groups of rows that share a key: places within a group, and turns in which each group comes up once at most."""

from collections.abc import Iterator

import numpy as np

from worldloom.worlds.market.rules import Ints


def places(keys: Ints) -> Ints:
    """For keys that are sorted: 0, 1, 2, … within each run of equal keys, shape (rows,)."""
    count = len(keys)
    first = np.ones(count, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return np.arange(count) - np.repeat(starts, np.diff(starts, append=count))


def turns(keys: Ints) -> Iterator[Ints]:
    """Row numbers, such that no key comes twice in one turn and rows of one key come in their order.

    What is done to one turn after the other is what doing it row by row would do, bit for bit.
    """
    order = np.argsort(keys, kind="stable")
    place = places(keys[order])
    for turn in range(int(place.max(initial=-1)) + 1):
        yield order[place == turn]
