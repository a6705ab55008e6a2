"""The direct client: any server that speaks OpenAI's chat completions (vLLM, SGLang, llama-server, Ollama, …).

The `openai` package does the transport, with its own retries off; answers are read by `worldloom.models.wire`,
failures by `worldloom.models.classify`, retries are `worldloom.models.retry`. A client belongs to the event loop
that opened it: each loop gets its own, and one whose loop is gone is never touched again.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import openai

from worldloom.core.canonical import Json
from worldloom.core.errors import ModelError, nearest
from worldloom.core.secrets import secrets_of
from worldloom.models.classify import Refused, failure, printable
from worldloom.models.gates import Gate
from worldloom.models.keys import redacted
from worldloom.models.model import Completion, Request
from worldloom.models.probe import Served
from worldloom.models.retry import Retry
from worldloom.models.spec import Endpoint, Settings, is_openai, with_defaults
from worldloom.models.transport import open_client
from worldloom.models.wire import decode, encode, response_format

_LISTING_TIMEOUT_S = 15.0
_CONNECT_TIMEOUT_S = 10.0


class OpenAIModel:
    """A model behind an OpenAI-compatible API.

    Args:
        name: the name under which the server serves it.
        endpoint: base URL and key.
        gate: the endpoint's limit of concurrent calls.
        settings: defaults, additional fields, time for one attempt.
        retry: the retry policy.
        constrain: how a JSON Schema is asked for; maps the schema to fields of the body.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        *,
        gate: Gate,
        settings: Settings = Settings(),
        retry: Retry = Retry(),
        constrain: Callable[[Mapping[str, Json]], dict[str, Json]] = response_format,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.settings = settings
        self._gate = gate
        self._retry = retry
        self._constrain = constrain
        self._clients: dict[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = {}
        self._context: int | None = None
        self._context_known = False

    @property
    def id(self) -> str:
        return f"openai:{self.name}"

    async def complete(self, request: Request) -> Completion:
        """Answer the request; see `Model.complete`."""
        body = self._body(with_defaults(request, self.settings.defaults))
        try:
            return await self._retry.run(lambda: self._attempt(body))
        except ModelError as error:
            if error.kind != "not_found":
                raise
            raise await self._with_what_is_served(error) from None

    async def context_length(self) -> int | None:
        """See `Model.context_length`; asked once, a failure is not remembered."""
        if not self._context_known:
            try:
                served = await self.served()
            except ModelError:
                return None
            lengths = [
                model.context_tokens for model in served if model.name == self.name or len(served) == 1
            ]
            self._context = lengths[0] if lengths else None
            self._context_known = True
        return self._context

    async def served(self) -> tuple[Served, ...]:
        """What `/v1/models` lists: under `data`, or as a bare list; nothing, if it is neither.

        Raises:
            ModelError: it cannot be asked, or does not answer in JSON.
        """
        raw = await self._send("GET", "/models", None, min(self.settings.timeout_s, _LISTING_TIMEOUT_S))
        try:
            listing = json.loads(raw)
        except (ValueError, RecursionError):
            raise ModelError("bad_reply", f"{self.endpoint.base_url}/models lists no models") from None
        items = listing.get("data") if isinstance(listing, dict) else listing
        named = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return tuple(Served(str(item["id"]), _context_of(item)) for item in named if "id" in item)

    async def aclose(self) -> None:
        """Close the running loop's client; others are closed by their own loops."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        self._clients = {loop: held for loop, held in self._clients.items() if not loop.is_closed()}
        if client is not None:
            await client.close()

    def _body(self, request: Request) -> dict[str, Json]:
        body: dict[str, Json] = {"model": self.name, **encode(request)}
        if request.schema is not None:
            body.update(self._constrain(request.schema))
        if "max_tokens" in body and is_openai(self.endpoint.host):
            body["max_completion_tokens"] = body.pop(
                "max_tokens"
            )  # reasoning models there refuse the old name
        body.update(self.settings.extra_body)
        return body

    async def _attempt(self, body: Mapping[str, Json]) -> Completion:
        async with self._gate.here():
            raw = await self._send("POST", "/chat/completions", body, self.settings.timeout_s)
        try:
            return decode(raw)
        except ModelError as error:
            failed = error
        raise redacted(failed, self._secrets())

    async def _send(self, method: str, path: str, body: object, timeout_s: float) -> bytes:
        """The body of a successful answer.

        Raises:
            ModelError: there was none. It is raised outside the handlers, so that no exception of the transport,
                which holds the request and its key, hangs on it.
        """
        client = self._client()
        try:
            async with asyncio.timeout(timeout_s):
                if method == "GET":
                    response = await client.get(path, cast_to=httpx2.Response)
                else:
                    response = await client.post(path, cast_to=httpx2.Response, body=body)
                return response.content
        except (TimeoutError, openai.APITimeoutError) as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout):
                failed = self._broken(error.__cause__)
            else:
                failed = ModelError(
                    "timeout", f"no answer from {self.endpoint.base_url} within {timeout_s:g} s"
                )
        except openai.APIStatusError as error:
            answer = error.response
            failed = failure(Refused(answer.status_code, answer.text, answer.headers), now=time.time())
        except openai.APIConnectionError as error:
            failed = self._broken(error.__cause__ or error)
        except openai.OpenAIError as error:
            failed = ModelError("bad_request", printable(str(error)))
        raise redacted(failed, self._secrets())

    def _broken(self, cause: BaseException) -> ModelError:
        """No connection, or an answer that broke off or is no HTTP."""
        said = printable(f"{type(cause).__name__}: {cause}", 200)
        lost = isinstance(cause, httpx2.RemoteProtocolError) and "without sending a response" in str(cause)
        if isinstance(cause, httpx2.RemoteProtocolError | httpx2.DecodingError) and not lost:
            return ModelError("bad_reply", f"the answer of {self.endpoint.base_url} is broken: {said}")
        return ModelError("unreachable", f"cannot reach {self.endpoint.base_url}: {said}")

    async def _with_what_is_served(self, error: ModelError) -> ModelError:
        """Name the models that are there: a wrong name is the usual cause."""
        try:
            names = [model.name for model in await self.served()]
        except ModelError:
            return ModelError(error.kind, f"{error}; is {self.endpoint.base_url} the root of the API?")
        close = nearest(self.name, names)
        hint = f"; did you mean {'hosted_vllm/' + close!r}?" if close and close != self.name else ""
        return ModelError(
            error.kind, f"{error}; served there: {printable(', '.join(names), 300) or 'nothing'}{hint}"
        )

    def _secrets(self) -> tuple[str, ...]:
        return (self.endpoint.key, *secrets_of().values())

    def _client(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            self._clients = {other: held for other, held in self._clients.items() if not other.is_closed()}
            client = self._clients[loop] = self._open()
        return client

    def _open(self) -> openai.AsyncOpenAI:
        places = self._gate.limit + 8  # listings do not pass the gate
        client = openai.AsyncOpenAI(
            api_key=self.endpoint.key,
            base_url=self.endpoint.base_url,
            max_retries=0,
            http_client=open_client(self.endpoint, places, min(_CONNECT_TIMEOUT_S, self.settings.timeout_s)),
        )
        if not is_openai(self.endpoint.host):  # the package reads them from the environment, for any host
            client.organization = client.project = client.admin_api_key = None
        return client


def _context_of(item: Mapping[str, Any]) -> int | None:
    """The context length under the name that the server gives it."""
    meta = item.get("meta")
    found = [meta.get("n_ctx")] if isinstance(meta, dict) else []
    found += [
        item.get(name) for name in ("max_model_len", "context_length", "context_window", "max_context_length")
    ]
    return next((value for value in found if isinstance(value, int) and value > 0), None)
