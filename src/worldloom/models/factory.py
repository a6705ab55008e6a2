"""Opening a model: from the string that a person wrote to the back end that answers.

    embedded, embedded:smollm2, embedded:FILE.gguf    llama.cpp in this process
    hosted_vllm/NAME, ollama/NAME, … with a base URL  the direct client
    NAME with a base URL                              the direct client; NAME as the server serves it
    openai/NAME                                       the direct client at api.openai.com
    PROVIDER/NAME                                     litellm

With a base URL it is always the direct client: a base URL means an OpenAI-compatible server. Keys come from the
environment: OPENAI_API_KEY for OpenAI's own hosts and no other, for a server at a base URL WORLDLOOM_API_KEY, else
the one of its provider, e.g. HOSTED_VLLM_API_KEY.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from worldloom.core.errors import UsageError, nearest
from worldloom.models.gates import Gates
from worldloom.models.model import Model
from worldloom.models.spec import Endpoint, ModelSpec, Settings, checked_base_url, is_openai, settings_of
from worldloom.models.weights import cache_folder, ensure, weights

CONCURRENCY = 64
"""Calls at once at one server or provider, if a spec does not say."""

OPENAI_URL = "https://api.openai.com/v1"

_NEED_A_URL = ("hosted_vllm", "vllm", "sglang", "llama_cpp", "custom_openai")
_OWN_SERVERS = (*_NEED_A_URL, "openai", "ollama", "ollama_chat", "llamafile", "lm_studio")


def open_model(
    spec: ModelSpec, *, gates: Gates | None = None, environ: Mapping[str, str] = os.environ
) -> Model:
    """The model that a spec names. Nothing is connected, started or downloaded yet.

    Args:
        spec: name, base URL, parameters, limits.
        gates: pass the same to all models of a run, so that those on one server share its limit.
        environ: where keys and defaults of the environment are read.

    Raises:
        UsageError: the spec cannot be used; says what is allowed.
    """
    settings = settings_of(spec)
    gates = gates or Gates()
    model = spec.model.strip()
    if not model:
        raise UsageError(
            "the model has no name; e.g. embedded, hosted_vllm/NAME with a base URL, anthropic/NAME"
        )
    head, colon, rest = model.partition(":")
    if head == "embedded" and "/" not in head:
        return _embedded(rest if colon else "smollm2", spec, settings, environ)
    if settings.context_tokens is not None:
        raise UsageError(f"model {model!r}: context_tokens is for the embedded server; others know their own")
    provider, slash, name = model.partition("/")
    base_url = spec.base_url
    if base_url is None and provider == "hosted_vllm":
        base_url = environ.get("HOSTED_VLLM_API_BASE") or None
    if base_url is not None:
        own = bool(slash) and provider in _OWN_SERVERS
        endpoint = _endpoint(checked_base_url(base_url), provider if own else "", environ)
        return _direct(name if own else model, endpoint, spec, settings, gates)
    if not slash or not name:
        raise UsageError(_unknown(model))
    if provider == "openai":
        return _direct(name, _endpoint(OPENAI_URL, provider, environ), spec, settings, gates)
    if provider in _NEED_A_URL:
        raise UsageError(
            f"model {model!r} needs the base URL of its server, e.g. --base-url http://127.0.0.1:8000/v1"
        )
    return _gateway(provider, name, spec, settings, gates, environ)


def _embedded(name: str, spec: ModelSpec, settings: Settings, environ: Mapping[str, str]) -> Model:
    from worldloom.models import embedded  # noqa: PLC0415 (brings openai: 1 s)

    if spec.base_url is not None:
        raise UsageError(f"model {spec.model!r} runs in this process and takes no base URL")
    embedded.require_xllamacpp()
    slots = spec.limits.concurrency or embedded.SLOTS
    if name.endswith(".gguf") or "/" in name or os.sep in name:
        path = Path(name).expanduser()
        return embedded.EmbeddedModel(
            embedded.file_identity(path), lambda: path, slots=slots, settings=settings
        )
    wanted = weights(name)
    locate = partial(ensure, wanted, cache_folder(environ))
    return embedded.EmbeddedModel(name, locate, slots=slots, settings=settings)


def _endpoint(base_url: str, provider: str, environ: Mapping[str, str]) -> Endpoint:
    """The server with its key; OpenAI's key goes to OpenAI's hosts and nowhere else."""
    endpoint = Endpoint(base_url)
    if is_openai(endpoint.host):
        key = _key(environ, "OPENAI_API_KEY")
        if key is None:
            raise UsageError(f"{base_url} needs a key: set OPENAI_API_KEY in the environment")
        return Endpoint(base_url, key)
    own = f"{provider.upper()}_API_KEY" if provider not in ("", "openai") else "WORLDLOOM_API_KEY"
    return Endpoint(base_url, _key(environ, "WORLDLOOM_API_KEY", own) or endpoint.key)


def _key(environ: Mapping[str, str], *names: str) -> str | None:
    """The first key that is set, without what a file or a paste has left around it.

    Raises:
        UsageError: it cannot be sent; the text names the variable and shows nothing of the key.
    """
    for name in names:
        key = environ.get(name, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"{name} holds a character that no key has; allowed: printable ASCII")
        if key:
            return key
    return None


def _direct(name: str, endpoint: Endpoint, spec: ModelSpec, settings: Settings, gates: Gates) -> Model:
    from worldloom.models.openai_client import OpenAIModel  # noqa: PLC0415 (brings openai: 1 s)

    gate = gates.gate(endpoint.base_url, spec.limits.concurrency or CONCURRENCY)
    return OpenAIModel(name, endpoint, gate=gate, settings=settings)


def _gateway(
    provider: str, name: str, spec: ModelSpec, settings: Settings, gates: Gates, environ: Mapping[str, str]
) -> Model:
    from worldloom.models import gateway  # noqa: PLC0415 (brings litellm: seconds)

    gateway.require_provider(provider, spec.model)
    own = f"{provider.upper()}_API_KEY"  # litellm reads it itself, as it is
    if (_key(environ, own) or "") != environ.get(own, ""):
        raise UsageError(f"{own} begins or ends with a blank or a line break; set it without")
    gate = gates.gate(f"litellm:{provider}", spec.limits.concurrency or CONCURRENCY)
    return gateway.GatewayModel(provider, name, gate=gate, settings=settings)


def _unknown(model: str) -> str:
    close = nearest(model, ["embedded"])
    example = f"--model {model} --base-url http://127.0.0.1:8000/v1"
    hint = f"did you mean {close!r}?" if close else f"a server's model needs its base URL, e.g. {example}"
    allowed = "embedded, embedded:FILE.gguf, PROVIDER/NAME, NAME with a base URL"
    return f"model {model!r} is unknown; allowed: {allowed}; {hint}"
