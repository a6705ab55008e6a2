"""A real model in this process: llama.cpp's server on loopback, and the direct client onto it.

The server comes as a prebuilt wheel (xllamacpp), starts at the first request in about half a second and ends with
`aclose`. Its slots work at once, `context_tokens` each. Answers by JSON Schema are forced by a grammar without
blanks between the tokens: this server's own `response_format` spends tokens on a code fence, and ignores tools
without saying so, which is why requests with tools are refused here.
"""

import asyncio
import hashlib
import importlib.util
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.errors import ModelError, UsageError
from worldloom.models.gates import Gate
from worldloom.models.model import Completion, Request
from worldloom.models.openai_client import OpenAIModel
from worldloom.models.probe import Served
from worldloom.models.retry import Retry
from worldloom.models.spec import Endpoint, Settings

SLOTS = 4
"""Requests that the server works on at once, if nothing else is asked for."""
CONTEXT_TOKENS = 4096
"""Tokens of prompt and answer in one slot, if nothing else is asked for."""

_MOST_THREADS = 8
_PROMPT_CACHE_MIB = 512  # llama.cpp's default would take up to 8 GiB beside the slots


class EmbeddedModel:
    """A GGUF file served inside the process.

    Args:
        name: what `id` says.
        locate: gives the path of the file, and may pull it first; called once, in a thread.
        slots: requests at once.
        settings: defaults, `context_tokens`, time for one attempt.
        retry: the retry policy.
    """

    def __init__(
        self,
        name: str,
        locate: Callable[[], Path],
        *,
        slots: int = SLOTS,
        settings: Settings = Settings(),
        retry: Retry = Retry(),
    ) -> None:
        self.name = name
        self.settings = settings
        self._locate = locate
        self._gate = Gate(slots)
        self._retry = retry
        self._starting = threading.Lock()
        self._running: tuple[Any, OpenAIModel] | None = None

    @property
    def id(self) -> str:
        return f"embedded:{self.name}"

    async def complete(self, request: Request) -> Completion:
        """Answer the request; see `Model.complete`."""
        if request.tools:
            raise ModelError(
                "bad_request", "the embedded server ignores tools; ask for a decision by JSON Schema"
            )
        client = await self._client()
        return await client.complete(request)

    async def context_length(self) -> int | None:
        """See `Model.context_length`; starts the server."""
        return await (await self._client()).context_length()

    async def served(self) -> tuple[Served, ...]:
        """What the server lists; starts it."""
        return await (await self._client()).served()

    async def aclose(self) -> None:
        """Stop the server; a later request starts it again."""
        running, self._running = self._running, None
        if running is not None:
            await running[1].aclose()  # the server itself ends with its last reference

    async def _client(self) -> OpenAIModel:
        running = self._running
        if running is None:
            running = await asyncio.to_thread(self._start_once)
        return running[1]

    def _start_once(self) -> tuple[Any, OpenAIModel]:
        with self._starting:
            running = self._running
            if running is None:
                running = self._running = self._start(self._locate())
            return running

    def _start(self, path: Path) -> tuple[Any, OpenAIModel]:
        """Start the server on a free port of loopback, behind a key that only this object knows.

        Raises:
            UsageError: the file is no model that it can load.
        """
        xllamacpp = _import_xllamacpp()
        key = secrets.token_hex(16)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.model_alias = {self.name}
        params.n_parallel = self._gate.limit
        params.n_ctx = self._gate.limit * (self.settings.context_tokens or CONTEXT_TOKENS)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _cpus()
        params.cache_ram_mib = _PROMPT_CACHE_MIB
        params.api_keys = [key]
        params.verbosity = -1
        params.ui = params.endpoint_slots = False
        try:
            server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise UsageError(f"{path} cannot be loaded as a GGUF model: {error}") from None

        def constrain(schema: Mapping[str, Json]) -> dict[str, Json]:
            # Lenient: for one word or format that it does not know, it would drop the whole grammar and say nothing.
            dense = {**schema, "x-guidance": {"whitespace_flexible": False, "lenient": True}}
            return {"grammar": xllamacpp.json_schema_to_grammar(json.dumps(dense))}

        endpoint = Endpoint(f"{server.listening_address}/v1", key)
        client = OpenAIModel(
            self.name,
            endpoint,
            gate=self._gate,
            settings=self.settings,
            retry=self._retry,
            constrain=constrain,
        )
        return server, client


def require_xllamacpp() -> None:
    """Say how to install the server if it is missing.

    Raises:
        UsageError: it is.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError("the embedded model needs xllamacpp: pip install 'worldloom[embedded]'")


def file_identity(path: Path) -> str:
    """Name of a file and 12 hex digits over its size, first and last MiB: tells files apart, proves nothing.

    Raises:
        UsageError: there is no such file, or it is no GGUF.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(1 << 20)
            file.seek(max(0, size - (1 << 20)))
            tail = file.read(1 << 20)
    except OSError as error:
        raise UsageError(f"no embedded model at {path}: {error.strerror or error}") from None
    if not head.startswith(b"GGUF"):
        raise UsageError(f"{path} is no GGUF file; allowed: a model in llama.cpp's format")
    return f"{path.name}#{hashlib.sha256(str(size).encode() + head + tail).hexdigest()[:12]}"


def _import_xllamacpp() -> Any:
    """The server's package, its threads told to sleep while they wait for one another.

    By default they spin, and where other work takes a core, each step then waits for whoever lost it: on two busy
    cores 1 to 6 tokens a second instead of 12 to 30. OpenMP reads the variable when the library is loaded.
    """
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = before or "passive"
    try:
        import xllamacpp  # noqa: PLC0415 (optional, 100 MB)

        return xllamacpp
    finally:
        if before is None:
            del os.environ["OMP_WAIT_POLICY"]


def _cpus() -> int:
    """CPUs that this process may use, as far as a small model gains by them; the server knows nothing of affinity."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(available or 1, _MOST_THREADS)
