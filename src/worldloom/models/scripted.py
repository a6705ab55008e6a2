"""A model that answers from a function: for tests, floors and anything that must be the same every time.

The function sees the request and nothing else, so the answer does not depend on what was asked before, by whom or
in which order.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from worldloom.core.errors import ModelError
from worldloom.models.model import Completion, Request

Answer: TypeAlias = Callable[[Request], Completion | str | ModelError]


class ScriptedModel:
    """Answers each request with `answer(request)`: a completion, its text, or the error to raise.

    Args:
        answer: pure function of the request.
        name: told apart in records by this.
        context_tokens: what `context_length` says.
    """

    def __init__(self, answer: Answer, *, name: str = "scripted", context_tokens: int | None = None) -> None:
        self.name = name
        self._answer = answer
        self._context_tokens = context_tokens

    @property
    def id(self) -> str:
        return f"scripted:{self.name}"

    async def complete(self, request: Request) -> Completion:
        """See `Model.complete`."""
        answer = self._answer(request)
        if isinstance(answer, ModelError):
            raise ModelError(answer.kind, str(answer), retry_after_s=answer.retry_after_s)
        if isinstance(answer, str):
            answer = Completion(text=answer)
        return replace(
            answer, telemetry={"attempts": 1, "waited_s": 0.0, "latency_s": 0.0, **answer.telemetry}
        )

    async def context_length(self) -> int | None:
        """See `Model.context_length`."""
        return self._context_tokens

    async def aclose(self) -> None:
        """Nothing to free."""
