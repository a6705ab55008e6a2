"""Limits of one episode and of one run, and what has been used of them.

Model calls are reserved before a map and tokens are checked where nodes and maps begin, so that where a limit strikes
does not depend on which sibling was quicker. Wall time, money and what a run may use come from outside: such a limit is
recorded where it strikes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from worldloom.core.arguments import whole
from worldloom.core.errors import Ended, UsageError
from worldloom.models.model import Usage as Counts
from worldloom.runs.cost import Prices


@dataclass(frozen=True, slots=True)
class Limits:
    """What an episode may use; None is no limit.

    Attributes:
        steps: actions of an agent.
        model_calls: requests sent to models of agents.
        tokens: prompt and answer tokens of these together.
        wall_s: seconds of wall-clock time.
        repeats: times the same action may fail in the same way, and turns without a usable reply, in a row.
        cost: money for models of agents, in the currency of the prices.

    Raises:
        UsageError: one is out of range.
    """

    steps: int = 50
    model_calls: int | None = None
    tokens: int | None = None
    wall_s: float | None = None
    repeats: int = 5
    cost: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("steps", self.steps), ("repeats", self.repeats)):
            whole(name, value, 1)
        _check(self)


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one `run` or `resume` may use in all, judges and simulated worlds included; None is no limit.

    Recorded answers cost nothing again, so a resume begins at 0. A call that is under way when a limit is reached comes
    to its end, so tokens and cost may pass it by the calls that are under way together.

    Attributes:
        model_calls: requests sent to models.
        tokens: prompt and answer tokens of these together.
        cost: money for these, in the currency of the prices.
        wall_s: seconds of wall-clock time.

    Raises:
        UsageError: one is out of range.
    """

    model_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    wall_s: float | None = None

    def __post_init__(self) -> None:
        _check(self)


def _check(limits: Limits | RunLimits) -> None:
    for name, limit in (("model_calls", limits.model_calls), ("tokens", limits.tokens)):
        if limit is not None:
            whole(name, limit, 0)
    for name, amount, unit in (("wall_s", limits.wall_s, "seconds"), ("cost", limits.cost, "money")):
        if amount is not None and not (type(amount) in (int, float) and 0 < amount < math.inf):
            raise UsageError(f"{name} is {amount!r}; allowed: {unit}, more than 0")


class Meter:
    """What a `run` or `resume` has used of its limits, over all its episodes.

    Attributes:
        on_limit: called when a request is not to be sent because a limit has been reached.
    """

    def __init__(self, limits: RunLimits = RunLimits(), prices: Prices = Prices()) -> None:
        self.limits = limits
        self.on_limit: Callable[[], None] = lambda: None
        self._prices = prices
        self._calls, self._tokens, self._cost = 0, 0.0, 0.0

    def begin(self) -> bool:
        """Count a request that is about to be sent; False if it must not be."""
        limits = self.limits
        used = ((self._calls, limits.model_calls), (self._tokens, limits.tokens), (self._cost, limits.cost))
        if any(limit is not None and amount >= limit for amount, limit in used):
            self.on_limit()
            return False
        self._calls += 1
        return True

    def answer(self, name: str, counts: Counts) -> None:
        """Count an answer. One whose tokens the server has not counted uses up a limit on tokens or cost."""
        prompt, completion = counts.prompt_tokens, counts.completion_tokens
        self._tokens += math.inf if prompt is None or completion is None else prompt + completion
        if self.limits.cost is not None:
            self._cost += self._prices.of(name, prompt, completion)


class Budget:
    """Model calls and tokens used so far, as one sequential thread of control knows them.

    A child begins with what its parent knew and is added to it once it has come to its end. So where a limit strikes
    never depends on which sibling was quicker. Graph nodes that run side by side each know what had been used when
    their superstep began, so together they may pass a limit; children of a map are held to what was reserved.
    """

    __slots__ = ("_began", "_call_limit", "_token_limit", "calls", "tokens")

    def __init__(
        self, call_limit: int | None, token_limit: int | None, calls: int = 0, tokens: int = 0
    ) -> None:
        self._call_limit, self._token_limit = call_limit, token_limit
        self._began = (calls, tokens)
        self.calls, self.tokens = calls, tokens

    def take(self) -> None:
        """Use one call.

        Raises:
            Ended: none is left.
        """
        if self._call_limit is not None and self.calls >= self._call_limit:
            raise Ended("call_limit")
        self.calls += 1

    def check_tokens(self) -> None:
        """Raise `Ended` if the tokens are used up."""
        if self._token_limit is not None and self.tokens >= self._token_limit:
            raise Ended("token_limit")

    def child(self, used: tuple[int, int]) -> "Budget":
        """The budget of a node that begins when (calls, tokens) were used."""
        return Budget(self._call_limit, self._token_limit, *used)

    def reserve(self, children: int, each: int) -> list["Budget | None"]:
        """Budgets of `children` siblings with `each` calls: the first that fit by index; None for the rest."""
        limit, running = None, children
        if self._call_limit is not None:
            limit = self.calls + each
            running = min(children, (self._call_limit - self.calls) // each) if each else children
        return [
            Budget(limit, self._token_limit, self.calls, self.tokens) if index < running else None
            for index in range(children)
        ]

    def add(self, child: "Budget | None") -> None:
        """Count what a child has used, now that it has come to its end."""
        if child is not None:
            calls, tokens = child._began
            self.calls += child.calls - calls
            self.tokens += child.tokens - tokens
