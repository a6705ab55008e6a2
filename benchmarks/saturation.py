"""How busy 64 episodes keep a model server, against a bare load generator that sends the same prompts.

The llm agent plays 64 episodes of saturation.yaml at once through worldloom's real path: graph, ledger, record, gate,
client. To make the work equal, answers have a fixed length (`ignore_eos`, `min_tokens`; no schema, no seeds) and are
paid for and thrown away: the agent is told the next action of a fixed path instead, so it never asks again and every
pass has the same prompts. Those of a first pass are recorded as they were sent. The bare side replays them in the same
structure, every episode a chain of one request after another, with nothing but httpx2 and json.

A pair is one pass of each, and which goes first alternates. Every pass writes its number into the system message, so
that it finds no prefix of an earlier one in the server's cache, and the same prefixes of its own as the other side.
Printed are the tokens per second, the ratio pair by pair with its median and range, the processor time that each client
took per 1,000 tokens and, of vLLM, how many requests it had at a time (neighbours hardly disturb these two), what part
of the prompts came from the cache, and how long a one-token answer takes while the bare side is at work. Goal: a median
ratio of at least 0.97.

    python benchmarks/saturation.py --base-url http://127.0.0.1:8000/v1 --model NAME [--pairs 5] [--tokens 16]
    python benchmarks/saturation.py --embedded        SmolLM2 by llama.cpp, in a process of its own
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import httpx2

from worldloom import api
from worldloom.api.plans.plan import Builder, text_of
from worldloom.core.registry import Registry
from worldloom.models.gates import Gate
from worldloom.models.model import Completion, Message, Model, Request
from worldloom.models.openai_client import OpenAIModel
from worldloom.models.spec import Endpoint, Settings
from worldloom.models.wire import encode
from worldloom.runs.executor import Executor
from worldloom.runs.store import RunStore

GOAL = 0.97
COUNTERS = (
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:e2e_request_latency_seconds_sum",
)
ONE_TOKEN_CALLS = 10
HERE = Path(__file__).parent
SCENARIO = HERE / "saturation.yaml"

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """What a pass is: so many episodes at once, so many turns of so many tokens, on one server."""

    endpoint: Endpoint
    name: str
    episodes: int
    turns: int
    tokens: int

    @property
    def fixed(self) -> Body:
        """Fields that make an answer as long as `tokens`."""
        return {"ignore_eos": True, "min_tokens": self.tokens}


@dataclass
class Pass:
    """What one pass came to.

    Attributes:
        seconds, cpu: by the wall clock, and of processor time of the client.
        cached: part of the prompts that came from the server's cache; None if it does not say.
        present: requests that the server had at a time, on average; None if it does not say.
    """

    seconds: float
    cpu: float
    tokens: int
    cached: float | None = None
    present: float | None = None


def mark(number: int) -> str:
    """What stands before the system message of a pass; always as long."""
    return f"[pass {number:06}] "


class Steered(Model):
    """The server's model with answers of a fixed length, which are replaced by the decisions of a fixed path."""

    def __init__(self, work: Work, number: int) -> None:
        settings = Settings(extra_body=work.fixed)
        self._inner = OpenAIModel(work.name, work.endpoint, gate=Gate(work.episodes), settings=settings)
        self._work, self._mark, self._recording = work, mark(number), number == 0
        self._last = work.turns - 1
        self.tokens = 0
        self.chains: dict[str, list[Body]] = {}
        """Task of an episode -> the bodies of its requests, in their order; those of pass 0 only."""

    @property
    def id(self) -> str:
        return self._inner.id

    async def complete(self, request: Request) -> Completion:
        system, *rest = request.messages
        marked = Message.of("system", self._mark + str(system.content[0].to_json()["text"]))
        asked = replace(request, messages=(marked, *rest), schema=None, max_tokens=self._work.tokens)
        if self._recording:
            body: Body = {"model": self._work.name, **encode(asked), **self._work.fixed}
            self.chains.setdefault(str(body["messages"][1]), []).append(body)
        completion = await self._inner.complete(asked)
        count = completion.usage.completion_tokens or 0
        self.tokens += _of_length(count, self._work)
        turn = sum(message.role == "assistant" for message in rest)
        return replace(completion, text=decision(turn, self._last), finish_reason="stop")

    async def context_length(self) -> int | None:
        return await self._inner.context_length()

    async def aclose(self) -> None:
        await self._inner.aclose()


def decision(turn: int, last: int) -> str:
    """What the agent is told to do in a turn: change the lamp, look at it, and so on; done in the last."""
    look = {"entity_id": "lamp", "action_name": "status", "arguments": {}}
    change = {"entity_id": "lamp", "action_name": "set", "arguments": {"on": True, "kelvin": 2700 + turn}}
    action = "TASK_COMPLETE" if turn == last else change if turn % 2 else look
    return json.dumps({"thought_process": "", "action": action})


def _of_length(count: int, work: Work) -> int:
    if count != work.tokens:
        sys.exit(f"an answer has {count} tokens, not {work.tokens}: this server does not know ignore_eos")
    return count


async def framework(work: Work, number: int, scenarios: Sequence[Path]) -> tuple[Pass, list[list[Body]]]:
    """One pass through worldloom; also returns what was sent."""
    registry, model = Registry.discover(None), Steered(work, number)
    plan = api.plan(scenarios, agent="llm", model="hosted_vllm/steered", registry=registry)
    rows = [row for row, _, _ in plan.entries()]
    with tempfile.TemporaryDirectory() as folder:
        texts = [text_of(one) for one in plan.scenarios]
        store = RunStore.create(Path(folder) / "run", plan.manifest(), rows, texts)
        with contextlib.closing(store):
            begun, cpu = time.perf_counter(), time.process_time()
            with store.writing() as writer:
                executor = Executor(store, writer, {"agent": model}, work.episodes)
                await executor.run(list(Builder(plan, registry).planned(rows)))
            done = Pass(time.perf_counter() - begun, time.process_time() - cpu, model.tokens)
            ends = {row.reason for row in store.episodes()}
            if ends != {"completed"}:
                sys.exit(f"episodes ended with {sorted(ends)}: is the server there, under this name?")
    await model.aclose()
    return done, list(model.chains.values())


@dataclass
class Bare:
    """The load generator: chains of recorded bodies."""

    work: Work
    chains: list[list[Body]]
    cached: list[float] = field(default_factory=list)

    async def play(self, number: int) -> Pass:
        """One pass."""
        places = self.work.episodes
        limits = httpx2.Limits(max_connections=places, max_keepalive_connections=places)
        headers = {"authorization": f"Bearer {self.work.endpoint.key}"}
        async with httpx2.AsyncClient(
            limits=limits, timeout=None, trust_env=False, headers=headers
        ) as client:
            begun, cpu = time.perf_counter(), time.process_time()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._chain(client, chain, mark(number))) for chain in self.chains]
            tokens = sum(task.result() for task in tasks)
            return Pass(time.perf_counter() - begun, time.process_time() - cpu, tokens)

    async def _chain(self, client: httpx2.AsyncClient, chain: list[Body], marked: str) -> int:
        tokens = 0
        for body in chain:
            system, *rest = body["messages"]
            first = {**system, "content": marked + system["content"][len(marked) :]}
            response = await client.post(
                f"{self.work.endpoint.base_url}/chat/completions", json={**body, "messages": [first, *rest]}
            )
            reply = response.json()
            tokens += _of_length(reply["usage"]["completion_tokens"], self.work)
            timings = reply.get("timings") or {}
            if "cache_n" in timings:  # llama.cpp
                self.cached.append(timings["cache_n"] / (timings["cache_n"] + timings["prompt_n"]))
        return tokens


async def counted(endpoint: Endpoint) -> list[float] | None:
    """What vLLM has counted so far, in the order of `COUNTERS`; None if the server counts nothing."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.get(endpoint.base_url.removesuffix("/v1") + "/metrics")
    found = dict.fromkeys(COUNTERS, 0.0)
    for line in answer.text.splitlines() if answer.status_code == 200 else ():
        if (name := line.partition("{")[0]) in found:
            found[name] += float(line.rpartition(" ")[2])
    return list(found.values()) if any(found.values()) else None


async def noted(endpoint: Endpoint, play: Callable[[], Awaitable[Pass]]) -> Pass:
    """A pass with what the server says of it."""
    before = await counted(endpoint)
    done = await play()
    after = await counted(endpoint)
    if before is not None and after is not None:
        looked, hit, latency = (now - then for now, then in zip(after, before, strict=True))
        done.cached, done.present = hit / looked, latency / done.seconds
    return done


async def one_token(work: Work, bare: Bare, number: int) -> list[float]:
    """Seconds that one-token answers take through worldloom's client while the bare side is at work."""
    model = OpenAIModel(work.name, work.endpoint, gate=Gate(1))
    request = Request((Message.of("user", "Hi"),), max_tokens=1)
    took: list[float] = []
    load = asyncio.ensure_future(bare.play(number))
    while not load.done() and len(took) < ONE_TOKEN_CALLS:
        begun = time.perf_counter()
        await model.complete(request)
        took += [time.perf_counter() - begun] if not load.done() else []
    await load
    await model.aclose()
    return took


async def compare(work: Work, pairs: int, scenarios: Sequence[Path]) -> float:
    """Play the pairs and print; returns the median ratio."""
    _, chains = await framework(work, 0, scenarios)
    assert len(chains) == work.episodes
    assert {len(chain) for chain in chains} == {work.turns}
    bare = Bare(work, chains)
    sides: dict[str, list[Pass]] = {"worldloom": [], "bare": []}

    async def ours(number: int) -> Pass:
        return (await framework(work, number, scenarios))[0]

    for pair in range(pairs):
        order = (("worldloom", ours), ("bare", bare.play))
        for place, (name, play) in enumerate(order if pair % 2 == 0 else order[::-1]):
            number = 1 + 2 * pair + place
            sides[name].append(await noted(work.endpoint, lambda play=play, number=number: play(number)))  # type: ignore[misc]
        print(
            f"pair {pair + 1}: {_rate(sides['worldloom'][-1]):.1f} and {_rate(sides['bare'][-1]):.1f} tokens/s"
        )
    waits = await one_token(work, bare, 999_999)
    return report(work, sides, bare, waits)


def _rate(one: Pass) -> float:
    return one.tokens / one.seconds


def spread(values: Sequence[float], form: str) -> str:
    """Median, minimum and maximum."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def report(work: Work, sides: dict[str, list[Pass]], bare: Bare, waits: Sequence[float]) -> float:
    """Print the figures; returns the median ratio."""
    print(
        f"{work.episodes} episodes at once, {work.turns} answers of {work.tokens} tokens each; n = "
        f"{len(sides['bare'])} pairs; medians with their range"
    )
    for name, passes in sides.items():
        cpu = [1000 * one.cpu / one.tokens for one in passes]
        cached = [100 * one.cached for one in passes if one.cached is not None]
        present = [one.present for one in passes if one.present is not None]
        shown = f", {spread(cached, '.0f')} % of the prompts from the cache" if cached else ""
        shown += f", {spread(present, '.1f')} requests in the server" if present else ""
        print(
            f"{name:10} {spread([_rate(one) for one in passes], '.1f')} tokens/s, "
            f"{spread(cpu, '.3f')} s of processor per 1,000 tokens{shown}"
        )
    if bare.cached:
        print(
            f"prompts from the cache, by the server's timings (bare): {100 * statistics.mean(bare.cached):.0f} %"
        )
    if waits:
        print(f"a one-token answer under this load: {spread(waits, '.2f')} s (n = {len(waits)})")
    ratios = [
        _rate(mine) / _rate(other) for mine, other in zip(sides["worldloom"], sides["bare"], strict=True)
    ]
    print(
        f"ratio      {spread(ratios, '.3f')}: {' '.join(f'{ratio:.3f}' for ratio in ratios)}; goal: at least {GOAL}"
    )
    return statistics.median(ratios)


def write_scenarios(folder: Path, count: int) -> list[Path]:
    """The scenario so many times, each with a request of its own: episodes of one pass share no task."""
    text, paths = SCENARIO.read_text("utf-8"), []
    for number in range(count):
        path = folder / f"lamp-{number:03}.yaml"
        own = text.replace("id: benchmark-lamp", f"id: benchmark-lamp-{number:03}")
        own = own.replace("for tonight.", f"for guest {number:03}.")
        path.write_text(own, "utf-8")
        paths.append(path)
    return paths


async def serve(slots: int) -> None:
    """Be the embedded server; print where it listens, end when stdin does."""
    from worldloom.models.factory import open_model  # noqa: PLC0415 (only this process needs it)
    from worldloom.models.spec import EndpointLimits, ModelSpec  # noqa: PLC0415

    spec = ModelSpec("embedded", parameters={"context_tokens": 2048}, limits=EndpointLimits(slots))
    model: Any = open_model(spec)
    await model.served()
    client: OpenAIModel = model._running[1]
    where = {"base_url": client.endpoint.base_url, "key": client.endpoint.key, "name": client.name}
    print(json.dumps(where), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await model.aclose()


@contextlib.contextmanager
def server(given: argparse.Namespace) -> Iterator[tuple[Endpoint, str]]:
    """Where the server is and the model's name; starts the embedded one."""
    if not given.embedded:
        yield Endpoint(given.base_url.rstrip("/"), os.environ.get("WORLDLOOM_API_KEY", "EMPTY")), given.model
        return
    command = [sys.executable, __file__, "--serve", "--slots", str(given.slots)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
        yield Endpoint(found["base_url"], found["key"]), found["name"]


def main() -> int:
    """Find the server, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base-url", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--model", help="as the server serves it")
    parser.add_argument("--embedded", action="store_true", help="start SmolLM2 by llama.cpp")
    parser.add_argument("--slots", type=int, default=8, help="requests at once in the embedded server")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3, help="answers in an episode")
    parser.add_argument("--tokens", type=int, default=16, help="of an answer")
    parser.add_argument(
        "--floor", type=float, default=0.0, help="exit with 1 if the median ratio is below this"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.slots))
        return 0
    if not (given.embedded or given.model):
        parser.error("name the model of the server with --model, or use --embedded")
    with server(given) as (endpoint, name), tempfile.TemporaryDirectory() as folder:
        work = Work(endpoint, name, given.episodes, given.turns, given.tokens)
        ratio = asyncio.run(compare(work, given.pairs, write_scenarios(Path(folder), given.episodes)))
    return int(ratio < given.floor)


if __name__ == "__main__":
    raise SystemExit(main())
