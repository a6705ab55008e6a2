"""Limits of one episode, and what has been used of them.

Model calls are reserved before a map and tokens are checked where nodes and maps begin, so that where a limit strikes
does not depend on which sibling was quicker. Wall time comes from outside: it is recorded where it strikes.
"""

import math
from dataclasses import dataclass, field

from worldloom.core.arguments import whole
from worldloom.core.canonical import canonical
from worldloom.core.errors import Ended, UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """What an episode may use; None is no limit.

    Attributes:
        steps: actions of an agent.
        model_calls: requests sent to models of agents.
        tokens: prompt and answer tokens of these together.
        wall_s: seconds of wall-clock time.
        repeats: times the same action may fail in the same way, and turns without a usable reply, in a row.

    Raises:
        UsageError: one is out of range.
    """

    steps: int = 50
    model_calls: int | None = None
    tokens: int | None = None
    wall_s: float | None = None
    repeats: int = 5

    def __post_init__(self) -> None:
        for name, value in (("steps", self.steps), ("repeats", self.repeats)):
            whole(name, value, 1)
        for name, limit in (("model_calls", self.model_calls), ("tokens", self.tokens)):
            if limit is not None:
                whole(name, limit, 0)
        wall_s = self.wall_s
        if wall_s is not None and not (type(wall_s) in (int, float) and 0 < wall_s < math.inf):
            raise UsageError(f"wall_s is {wall_s!r}; allowed: seconds, more than 0")


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


@dataclass(slots=True)
class Usage:
    """What an episode has used so far; prompt and completion tokens as servers reported them.

    Attributes:
        models: name of a model -> [calls, prompt tokens, completion tokens]; the others are sums over all.
    """

    steps: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    models: dict[str, list[int]] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def by_model(self) -> str:
        """`models` as canonical JSON."""
        return canonical({name: [*counts] for name, counts in self.models.items()}).decode()

    def call(self, model: str) -> None:
        """Count a request to a model."""
        self.model_calls += 1
        self.models.setdefault(model, [0, 0, 0])[0] += 1

    def answer(self, model: str, prompt: int, completion: int) -> None:
        """Count the tokens of an answer."""
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.models[model][1] += prompt
        self.models[model][2] += completion
