"""The gateway: every provider that litellm knows, for models that have no OpenAI-compatible endpoint of their own.

litellm takes seconds to import, so it is imported when the first such model is opened. Its retries, cache,
telemetry and log are off: retries are `worldloom.models.retry`, answers are read by the same code as those of
the direct client, and its exceptions become `ModelError`s. Keys are read by litellm from each provider's own
environment variables.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.errors import ModelError, ModelErrorKind, UsageError, nearest
from worldloom.core.secrets import secrets_of
from worldloom.models.classify import Refused, failure
from worldloom.models.gates import Gate
from worldloom.models.keys import redacted
from worldloom.models.model import Completion, Request
from worldloom.models.retry import Retry
from worldloom.models.spec import Settings, with_defaults
from worldloom.models.wire import decode, encode, response_format


class GatewayModel:
    """A model behind litellm.

    Args:
        provider: litellm's name of the provider.
        name: the provider's name of the model.
        gate: the provider's limit of concurrent calls.
        settings: defaults, additional arguments, time for one attempt.
        retry: the retry policy.
    """

    def __init__(
        self, provider: str, name: str, *, gate: Gate, settings: Settings = Settings(), retry: Retry = Retry()
    ) -> None:
        self.provider = provider
        self.name = name
        self.settings = settings
        self._gate = gate
        self._retry = retry

    @property
    def id(self) -> str:
        return f"{self.provider}:{self.name}"

    async def complete(self, request: Request) -> Completion:
        """Answer the request; see `Model.complete`.

        What the provider has no parameter for, a seed or an answer by JSON Schema, is left out and named in the
        telemetry as `left_out`: seeds are hints, and answers are parsed strictly in any case.
        """
        litellm = load_litellm()
        arguments = self._arguments(with_defaults(request, self.settings.defaults))
        supported = litellm.get_supported_openai_params(self.name, custom_llm_provider=self.provider)
        left_out: list[Json] = [
            name
            for name in ("seed", "response_format")
            if name in arguments and name not in (supported or ())
        ]
        asked = {name: value for name, value in arguments.items() if name not in left_out}
        completion = await self._retry.run(lambda: self._attempt(litellm, asked))
        if left_out:
            return replace(completion, telemetry={**completion.telemetry, "left_out": left_out})
        return completion

    async def context_length(self) -> int | None:
        """What litellm's table says of the model; None if it is not in it."""
        try:
            known = load_litellm().get_model_info(model=self.name, custom_llm_provider=self.provider)
        except Exception:  # noqa: BLE001 (a bare Exception is its way to say that it does not know the model)
            return None
        length = known.get("max_input_tokens")
        return length if isinstance(length, int) else None

    async def aclose(self) -> None:
        """Nothing of its own: litellm keeps one HTTP client per event loop and closes them itself."""

    def _arguments(self, request: Request) -> dict[str, Json]:
        arguments = encode(request)
        if request.schema is not None:
            arguments.update(response_format(request.schema))
        return {**arguments, **self.settings.extra_body}

    async def _attempt(self, litellm: Any, arguments: dict[str, Json]) -> Completion:
        timeout_s = self.settings.timeout_s
        try:
            async with self._gate.here(), asyncio.timeout(timeout_s):
                reply = await litellm.acompletion(
                    model=f"{self.provider}/{self.name}",
                    timeout=timeout_s,
                    max_retries=0,
                    num_retries=0,
                    **arguments,
                )
            return _completion(reply)
        except TimeoutError:
            failed = ModelError("timeout", f"no answer from {self.provider} within {timeout_s:g} s")
        except ModelError as error:
            failed = error
        except Exception as error:  # noqa: BLE001 (litellm lets anything through: KeyError, pydantic's, its own)
            failed = model_error(litellm, error)
        raise redacted(failed, secrets_of().values())


def _completion(reply: Any) -> Completion:
    """What litellm has read, by the rules for what a server itself says."""
    body = reply.model_dump(mode="json", warnings=False)
    for choice in body.get("choices") or ():
        native = (choice.get("provider_specific_fields") or {}).get("native_finish_reason")
        if native and choice.get("finish_reason") == "stop":  # also its word for what it does not know
            choice["finish_reason"] = native
    return decode(json.dumps(body).encode())


def model_error(litellm: Any, error: Exception) -> ModelError:
    """An exception of litellm as a `ModelError`."""
    said = str(error).partition("Traceback (most recent call last)")[0]
    body = said[said.find("{") :] if "{" in said and said.rstrip().endswith("}") else said
    status = getattr(error, "status_code", None)
    answer = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(answer, "headers", None) or {}
    named = {str(name).lower(): str(value) for name, value in dict(headers).items()}
    failed = failure(Refused(status if isinstance(status, int) else None, body, named), now=time.time())
    kind = _kind_by_class(litellm, error) or failed.kind
    return ModelError(kind, str(failed), retry_after_s=failed.retry_after_s)


def _kind_by_class(litellm: Any, error: Exception) -> ModelErrorKind | None:
    """What litellm has found out itself; None where it only passes a status on."""
    if isinstance(error, litellm.ContextWindowExceededError):
        return "overflow"
    if isinstance(error, litellm.ContentPolicyViolationError):
        return "refusal"
    if isinstance(error, litellm.Timeout):
        return "timeout"
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    if isinstance(error, litellm.APIConnectionError | litellm.InternalServerError):
        classes = {known.__name__ for cause in causes for known in type(cause).__mro__}
        if classes & {"OSError", "ServerDisconnectedError"}:
            return "unreachable"
        # Its 500 for an answer that broke off or is no HTTP, and its name for whatever it did not expect.
        if "RequestError" in classes or isinstance(error, litellm.APIConnectionError):
            return "bad_reply"
    if isinstance(error, litellm.APIError) and len(causes) == 1:  # raised by itself, about the answer
        return "bad_reply"
    return None


def require_provider(provider: str, model: str) -> None:
    """Check that litellm knows the provider; imports litellm.

    Raises:
        UsageError: it does not; says what may have been meant.
    """
    known = sorted(str(item.value) for item in load_litellm().provider_list)
    if provider not in known:
        close = nearest(provider, known)
        hint = f"; did you mean {close + '/' + model.partition('/')[2]!r}?" if close else "."
        raise UsageError(
            f"model {model!r}: no provider {provider!r}{hint} A model on your own server is named by "
            f"--base-url, e.g. --model {model} --base-url http://127.0.0.1:8000/v1"
        )


def load_litellm() -> Any:
    """litellm, quiet and without a will of its own. Importing it takes 2 to 7 s, hence not at the top."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches a price list at import
    import litellm  # noqa: PLC0415 (seconds)

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.cache = None
    litellm.num_retries = None
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    _forbid_redirects()
    return litellm


@cache
def _forbid_redirects() -> None:
    """A prompt goes where the person said: litellm's clients would follow a server's redirect with it."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler  # noqa: PLC0415 (seconds)
    from litellm.llms.openai.common_utils import BaseOpenAILLM  # noqa: PLC0415 (seconds)

    for maker, name in ((AsyncHTTPHandler, "create_client"), (BaseOpenAILLM, "_get_async_http_client")):
        made = _staying(getattr(maker, name))
        setattr(maker, name, staticmethod(made) if isinstance(vars(maker)[name], staticmethod) else made)


def _staying(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, **named: Any) -> Any:
        client = make(*args, **named)
        client.follow_redirects = False
        return client

    return made
