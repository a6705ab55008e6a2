"""Matching: which bidder gets which job, when jobs prefer bidders and bidders prefer jobs.

Each rule takes bids that are sorted by job and, within a job, by the job's preference, best first.
"""

from collections.abc import Callable, Mapping
from heapq import heappush, heapreplace

import numpy as np

from worldloom.worlds.market.rules import Floats, Ints

NOBODY = -1


def gale_shapley(job: Ints, seat: Ints, rank: Ints, capacity: int, jobs: int, lottery: Floats) -> Ints:
    """Job-proposing deferred acceptance (Gale and Shapley, 1962) with agents who can take several jobs.

    Stable: no job and no bidder would both rather have each other. Of all stable matchings it is the best for every
    job, so the order of proposals does not matter.

    Args:
        job, seat, rank: of each bid; `rank` is the job's place in its bidder's list, each once in a list.
        capacity: jobs that an agent can take.
        jobs: number of jobs.
        lottery: not used.

    Returns:
        For each job the number of the winning bid, NOBODY if it has none; shape (jobs,).
    """
    numbers = np.arange(jobs)
    following = np.searchsorted(job, numbers).tolist()
    ends = np.searchsorted(job, numbers, side="right").tolist()
    owner, bidder, place = job.tolist(), seat.tolist(), rank.tolist()
    held: dict[int, list[tuple[int, int]]] = {}
    """seat -> (−rank, bid) of the bids that it holds, the least wanted first."""
    winner = [NOBODY] * jobs
    for first in range(jobs):
        proposing = first
        while following[proposing] < ends[proposing]:
            bid = following[proposing]
            following[proposing] += 1
            offers = held.setdefault(bidder[bid], [])
            if len(offers) < capacity:
                heappush(offers, (-place[bid], bid))
                winner[proposing] = bid
                break
            if -place[bid] > offers[0][0]:
                _, lost = heapreplace(offers, (-place[bid], bid))
                winner[proposing] = bid
                proposing = owner[lost]
                winner[proposing] = NOBODY
    return np.array(winner, dtype=np.int64)


def random_serial(job: Ints, seat: Ints, rank: Ints, capacity: int, jobs: int, lottery: Floats) -> Ints:
    """Jobs choose one after the other, in the order of `lottery`: each its best bidder who can still take one.

    Arguments and result as `gale_shapley`; `lottery` has shape (jobs,), ties by number.
    """
    starts = np.searchsorted(job, np.arange(jobs)).tolist()
    ends = np.searchsorted(job, np.arange(jobs), side="right").tolist()
    bidder, left = seat.tolist(), dict.fromkeys(set(seat.tolist()), capacity)
    winner = [NOBODY] * jobs
    for choosing in np.argsort(lottery, kind="stable").tolist():
        for bid in range(starts[choosing], ends[choosing]):
            if left[bidder[bid]]:
                left[bidder[bid]] -= 1
                winner[choosing] = bid
                break
    return np.array(winner, dtype=np.int64)


MATCHINGS: Mapping[str, Callable[[Ints, Ints, Ints, int, int, Floats], Ints]] = {
    "gale_shapley": gale_shapley,
    "random": random_serial,
}
