"""The toy rooms by name, and the model they talk to."""

import asyncio
import hashlib
import os
from collections import Counter

from worldloom.models.model import Completion, Request, Usage


class TalkingModel:
    """Says a number. Pure in the request and the run of its kind, but it answers after a random while.

    With `entropy`, what it says is random too: such runs can only be replayed.
    """

    id = "talking"

    def __init__(self, entropy: bool = False) -> None:
        self.entropy = entropy
        self.asked: Counter[str] = Counter()

    async def complete(self, request: Request) -> Completion:
        for _ in range(os.urandom(1)[0] % 4):
            await asyncio.sleep(0)
        text = repr(request.messages)
        self.asked[text] += 1
        word = hashlib.sha256(os.urandom(8) if self.entropy else text.encode()).digest()
        return Completion(
            str(word[0]), usage=Usage(len(text) // 4, 1), telemetry={"latency_s": word[1] / 1000}
        )

    async def context_length(self) -> int | None:
        return None

    async def aclose(self) -> None: ...
