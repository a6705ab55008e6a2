"""Keeping: servers stay up: started one after another, watched together, restarted within bounds where one crashes."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from worldloom.core.errors import UsageError
from worldloom.models.serving.server import Crashed, Server

RESTARTS = 5
"""Restarts in a row, before it is given up."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
STEADY_S = 600.0
"""A server that has run so long has recovered: its restarts are counted anew."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How often and how soon a server that crashed is started again.

    Attributes:
        restarts: in a row; 0: it is not started again.
        pause: waits between restarts.
        clock: seconds.
    """

    restarts: int = 0
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class Watch:
    """What is told while servers are kept; the methods may be left as they are."""

    def phase(self, server: Server, phase: str) -> None: ...

    def ready(self, server: Server, seconds: float) -> None: ...

    def restart(self, server: Server, crash: Crashed, number: int, pause_s: float) -> None: ...

    def all_ready(self, servers: Sequence[Server]) -> None: ...


async def keep(make: Sequence[Callable[[], Server]], watch: Watch, bounds: Bounds = Bounds()) -> None:
    """Keep servers up until it is cancelled.

    They start one after another, since each measures the memory that is free.

    Args:
        make: makes each server, also again for a restart.
        watch: told what happens.
        bounds: of restarts; one that was never ready is not started again.

    Raises:
        Crashed: one ended before it was ready, or for good; by then all are stopped.
    """
    async with AsyncExitStack() as stack:
        servers = [await _up(each, stack, watch) for each in make]
        watch.all_ready(servers)
        try:
            async with asyncio.TaskGroup() as group:
                for first, again in zip(servers, make, strict=True):
                    group.create_task(_stay(first, again, watch, bounds))
        except ExceptionGroup as crashes:
            raise crashes.exceptions[0] from None


async def _up(make: Callable[[], Server], stack: AsyncExitStack, watch: Watch) -> Server:
    server = await stack.enter_async_context(make())
    watch.ready(server, await server.ready(lambda phase: watch.phase(server, phase)))
    return server


async def _stay(server: Server, make: Callable[[], Server], watch: Watch, bounds: Bounds) -> None:
    since, number = bounds.clock(), 0
    crash = await server.ended()
    while True:
        if bounds.clock() - since >= STEADY_S:
            number = 0
        if number >= bounds.restarts:
            if number:
                crash.add_note(f"it was restarted {number} times in a row")
            raise crash
        number += 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (number - 1))
        watch.restart(server, crash, number, pause_s)
        await bounds.pause(pause_s)
        since = bounds.clock()
        async with AsyncExitStack() as stack:
            try:
                server = await _up(make, stack, watch)
                crash = await server.ended()
            except Crashed as failed:
                crash = failed


def free_port(first: int, taken: Sequence[int] = (), *, host: str = "127.0.0.1") -> int:
    """The first port from `first` on at which nobody listens.

    Raises:
        UsageError: there is none among the next hundred.
    """
    for port in range(first, min(first + 100, 65536)):
        if port not in taken and is_free(port, host=host):
            return port
    raise UsageError(f"no free port from {first} on; --port N names another to begin with")


def is_free(port: int, *, host: str = "127.0.0.1") -> bool:
    """Whether nobody listens at a port of this machine."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
