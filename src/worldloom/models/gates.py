"""Limits of concurrent calls, one per endpoint, shared by all models that stand behind it.

Two models on one server must not each take the whole of it. The smallest limit given for an endpoint holds.
Event loops do not share a gate: a semaphore belongs to the loop that waits on it.
"""

import asyncio


class Gate:
    """The limit of one endpoint; `async with gate.here(): …` holds one place."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._semaphores: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}

    def here(self) -> asyncio.Semaphore:
        """The semaphore of the running event loop."""
        loop = asyncio.get_running_loop()
        found = self._semaphores.get(loop)
        if found is None:
            self._semaphores = {
                other: held for other, held in self._semaphores.items() if not other.is_closed()
            }
            found = self._semaphores[loop] = asyncio.Semaphore(self.limit)
        return found


class Gates:
    """The gates of a run, by endpoint. Pass one `Gates` to all models that are opened together."""

    def __init__(self) -> None:
        self._gates: dict[str, Gate] = {}

    def gate(self, endpoint: str, limit: int) -> Gate:
        """The gate of an endpoint, made if it is new, narrowed to `limit` if it was wider (before its first use)."""
        gate = self._gates.setdefault(endpoint, Gate(limit))
        gate.limit = min(gate.limit, limit)
        return gate
