"""Limits of one episode, and what has been used of them.

Model calls are reserved before a fan-out and tokens are checked at boundaries, so that where a limit strikes does
not depend on which sibling was quicker. Wall time comes from outside: it is recorded where it strikes.
"""

from dataclasses import dataclass

from worldloom.core.errors import Ended


@dataclass(frozen=True, slots=True)
class Limits:
    """Attributes:
    steps: actions of an agent.
    model_calls: requests sent to models.
    tokens: prompt and answer tokens together.
    wall_s: seconds of wall-clock time.
    repeats: times the same action may fail in the same way, and turns without a usable reply, in a row.
    """

    steps: int = 50
    model_calls: int | None = None
    tokens: int | None = None
    wall_s: float | None = None
    repeats: int = 5


class Budget:
    """Model calls that one scope and its children may still make; None means no limit."""

    __slots__ = ("_left",)

    def __init__(self, calls: int | None) -> None:
        self._left = calls

    def take(self) -> None:
        """Use one call.

        Raises:
            Ended: none is left.
        """
        if self._left is not None:
            if self._left <= 0:
                raise Ended("call_limit")
            self._left -= 1

    def reserve(self, children: int, each: int) -> list["Budget | None"]:
        """Budgets of `children` siblings with `each` calls: the first that fit by index; None for the rest."""
        if self._left is None or each == 0:
            return [Budget(None if self._left is None else 0) for _ in range(children)]
        running = min(children, self._left // each)
        self._left -= running * each
        return [Budget(each) if index < running else None for index in range(children)]

    def give_back(self, budgets: "list[Budget | None]") -> None:
        """Take back what children did not use of their reservations."""
        if self._left is not None:
            self._left += sum(budget._left or 0 for budget in budgets if budget is not None)


@dataclass(slots=True)
class Usage:
    """What an episode has used so far; prompt and completion tokens as servers reported them."""

    steps: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens
