"""Cohort: many seats that decide by one policy, at once, as columns.

What the columns are, the kind of world says; a cohort knows them by name and imports no world. A graph takes agents and
cohorts side by side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from worldloom.runs.context import Context

Columns: TypeAlias = Mapping[str, NDArray[Any]]
"""Name -> cells, of one length or of none in common; read-only."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a cohort decided.

    Attributes:
        moves: columns of the world's kind, a row for each seat that does something.
        memo: columns that the cohort wants to be handed at its next turn.
    """

    moves: Columns
    memo: Columns = field(default_factory=dict)


@runtime_checkable
class Cohort(Protocol):
    """A policy for many seats."""

    async def act_many(
        self, memo: Columns, seats: NDArray[np.int64], seen: Columns, ctx: Context
    ) -> Decisions:
        """Decide for all seats of a group.

        Args:
            memo: of its last turn; empty at the first.
            seats: numbers of its seats, ascending; row i of what only a seat itself may see is that of `seats[i]`.
            seen: what it may see, as the world's kind says. Draws are functions of (seed, component, round, seat), as
                `runs.chance` gives them, so that one policy's change leaves every other draw alone.
        """


@runtime_checkable
class Informed(Cohort, Protocol):
    """A policy that is handed what is hidden from its seats, to show what knowing it is worth; no contestant.

    Attributes:
        needs: names of the hidden columns.
    """

    needs: tuple[str, ...]
