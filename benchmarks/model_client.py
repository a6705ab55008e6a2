"""Calls per second of worldloom's direct client against the bare openai client, on one local stub.

Both send the same request to the same server (in a process of its own, no thinking time) at concurrency 64, in
turns: a pair is one batch of each, and which goes first alternates. Printed is the median of the pairs' ratios.
Goal: at least 0.90.

    python benchmarks/model_client.py [--pairs 10] [--calls 1000] [--concurrency 64]
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import httpx2
import openai

from worldloom.models.gates import Gate
from worldloom.models.model import Message, Request
from worldloom.models.openai_client import OpenAIModel
from worldloom.models.spec import Endpoint

QUESTION = "Which action comes next? " * 40
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": '{"thought": "look first", "action": "get_status"}'},
        }
    ],
    "usage": {"prompt_tokens": 200, "completion_tokens": 12, "total_tokens": 212},
}


class Stub(asyncio.Protocol):
    """Answers every request with the same completion."""

    _body = json.dumps(ANSWER).encode()
    _reply = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_body)
        + _body
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            size = (
                int(head.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in head else 0
            )
            if len(self._buffer) < end + 4 + size:
                return
            self._buffer = self._buffer[end + 4 + size :]
            assert isinstance(self._transport, asyncio.WriteTransport)
            self._transport.write(self._reply)


async def serve() -> None:
    """Run the stub; print its port."""
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def batch(call: Callable[[], Awaitable[object]], calls: int, concurrency: int) -> float:
    """Seconds for so many calls, so many at once."""
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await call()

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    return time.perf_counter() - begun


async def compare(url: str, pairs: int, calls: int, concurrency: int) -> None:
    """Run the pairs and print the figures."""
    model = OpenAIModel("m", Endpoint(url), gate=Gate(concurrency))
    request = Request((Message.of("user", QUESTION),), temperature=0.0, max_tokens=64)
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    http = httpx2.AsyncClient(limits=limits, trust_env=False)
    bare = openai.AsyncOpenAI(api_key="EMPTY", base_url=url, max_retries=0, http_client=http)

    async def ours() -> object:
        return await model.complete(request)

    async def theirs() -> object:
        return await bare.chat.completions.create(
            model="m", messages=[{"role": "user", "content": QUESTION}], temperature=0.0, max_tokens=64
        )

    for call in (ours, theirs):
        await batch(call, calls // 4, concurrency)
    rates: list[tuple[float, float]] = []
    for pair in range(pairs):
        order = (ours, theirs) if pair % 2 == 0 else (theirs, ours)
        took = {call: await batch(call, calls, concurrency) for call in order}
        rates.append((calls / took[ours], calls / took[theirs]))
    await model.aclose()
    await bare.close()
    ratios = sorted(mine / other for mine, other in rates)
    print(f"worldloom  {statistics.median(mine for mine, _ in rates):8.0f} calls/s (median)")
    print(f"openai     {statistics.median(other for _, other in rates):8.0f} calls/s (median)")
    print(
        f"ratio      {statistics.median(ratios):8.2f} (median of n={pairs} pairs of {calls} calls at concurrency "
        f"{concurrency}; from {ratios[0]:.2f} to {ratios[-1]:.2f}; goal: at least 0.90)"
    )


def main() -> None:
    """Start the stub, compare, stop it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--pairs", type=int, default=10)
    options.add_argument("--calls", type=int, default=1000)
    options.add_argument("--concurrency", type=int, default=64)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve())
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        asyncio.run(compare(url, given.pairs, given.calls, given.concurrency))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
