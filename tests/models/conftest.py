"""A stub of a model server: HTTP over loopback, in a thread of its own, answering from a function."""

import asyncio
import importlib.util
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """`raw` replaces the whole response; `hang` never answers; `together` answers once so many are waiting.

    After `raw`, `reset` breaks the connection off, and `drip` sends blanks for ever, one by one.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: bool = False
    together: int = 1
    reset: bool = False
    drip: bool = False

    def encoded(self) -> bytes:
        if self.raw is not None:
            # The stub hangs up after these bytes. Unsaid, a client may send its next request into a closing line.
            return re.sub(
                rb"(HTTP/1\.1 [2-9]\d\d[^\r\n]*\r\n)", rb"\1connection: close\r\n", self.raw, count=1
            )
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **self.headers}
        lines = [f"HTTP/1.1 {self.status} X", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chat(content: Any = "hi", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion as a well-behaved server writes it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }


class Stub:
    def __init__(self) -> None:
        self.answer: Callable[[Asked], Reply] = lambda asked: Reply(chat())
        self.asked: list[Asked] = []
        self.connections = self.open = self.waiting = self.most_waiting = self.dropped = 0
        self.loop = asyncio.new_event_loop()
        self._changed: asyncio.Condition
        self._thread = threading.Thread(target=self._run, daemon=True)
        started = threading.Event()
        self.loop.call_soon(lambda: self.loop.create_task(self._serve(started)))
        self._thread.start()
        started.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def always(self, *replies: Reply) -> None:
        """Answer with these in turn, the last one for ever."""
        left = list(replies)
        self.answer = lambda asked: left.pop(0) if len(left) > 1 else left[0]

    def until(self, holds: Callable[["Stub"], bool]) -> None:
        """Wait until something holds, checked whenever a connection comes, waits or goes."""

        async def wait() -> None:
            async with self._changed:
                await self._changed.wait_for(lambda: holds(self))

        asyncio.run_coroutine_threadsafe(wait(), self.loop).result(20)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self._server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0.01))
        self.loop.close()

    async def _serve(self, started: threading.Event) -> None:
        self._changed = asyncio.Condition()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        started.set()

    async def _note(self, **changes: int) -> None:
        async with self._changed:
            for name, change in changes.items():
                setattr(self, name, getattr(self, name) + change)
            self.most_waiting = max(self.most_waiting, self.waiting)
            self._changed.notify_all()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._note(connections=1, open=1)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await self._note(open=-1)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _version = head[0].split(" ")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        asked = Asked(method, path, headers, json.loads(raw) if raw else None)
        self.asked.append(asked)
        reply = self.answer(asked)
        await self._note(waiting=1)
        try:
            if reply.hang:
                await reader.read()
                await self._note(dropped=1)
                return False
            async with self._changed:
                await self._changed.wait_for(lambda: self.most_waiting >= reply.together)
        finally:
            await self._note(waiting=-1)
        writer.write(reply.encoded())
        await writer.drain()
        if reply.reset:
            linger = struct.pack("ii", 1, 0)  # to close is then to reset
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        while reply.drip:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.001)
        return reply.raw is None


def _running() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.stop()


stub = pytest.fixture(_running, name="stub")
elsewhere = pytest.fixture(_running, name="elsewhere")
"""A second server, where nothing is to arrive."""


@pytest.fixture(name="reply")
def _reply() -> type[Reply]:
    return Reply


@pytest.fixture(name="chat")
def _chat() -> Callable[..., dict[str, Any]]:
    return chat


@pytest.fixture
def needs_xllamacpp() -> None:
    """Skip without the package, and do not import it here: how its threads wait is settled at the first import."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
