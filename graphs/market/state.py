"""State of the market graph. What happened is the record; here is only what the next node needs."""

from collections.abc import Mapping
from typing import Any, TypedDict

from worldloom.graphs.node import HouseState
from worldloom.worlds.market.moves import MoveColumns
from worldloom.worlds.market.record import RoundRecord
from worldloom.worlds.market.state import MarketState


class State(HouseState, TypedDict, total=False):
    """What is handed on from node to node.

    Attributes:
        world: the market before the round to come.
        moves: what all agents want to do in it.
        memos: group -> its memo; a cohort's are columns, of agents one for each seat.
        past: all rounds so far.
    """

    world: MarketState
    moves: MoveColumns
    memos: Mapping[str, Any]
    past: tuple[RoundRecord, ...]
