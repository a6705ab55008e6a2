"""ModelSpec: a model as a person names it, in a flag, a project file or Python.

Names, parameters and base URL are checked here, before anything is opened. Keys are never part of a spec: they
come from the environment when the model is opened.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError, offer
from worldloom.models.model import Request


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """What a model may take.

    Attributes:
        concurrency: calls at once at its endpoint; None: 64, and 4 for the embedded server.
        timeout_s: time for one attempt, waiting for a free place not counted.
    """

    concurrency: int | None = None
    timeout_s: float = 300.0


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model.

    Attributes:
        model: `embedded`, `embedded:FILE.gguf`, `hosted_vllm/NAME`, `openai/NAME`, `provider/NAME`, or, with a
            base URL, the plain name under which a server serves it.
        base_url: root of an OpenAI-compatible API, e.g. `http://127.0.0.1:8000/v1`.
        parameters: defaults for requests that do not say (`max_tokens`, `temperature`, `top_p`, `seed`, `stop`,
            `top_logprobs`); `extra_body` with fields that only this server knows; `context_tokens` for the
            embedded server.
        limits: concurrency and time.
    """

    model: str
    base_url: str | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    limits: EndpointLimits = EndpointLimits()


_SAMPLING = ("max_tokens", "temperature", "top_p", "seed", "stop", "top_logprobs")
_RESERVED = frozenset(
    "model messages stream n tools response_format timeout max_retries num_retries caching".split()
    + "api_key api_base base_url extra_headers".split()
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked form of a spec's parameters and limits, as the clients hold it.

    Attributes:
        defaults: fields of `Request` to fill in where the request does not say.
        extra_body: fields added to every body.
        context_tokens: tokens per slot of the embedded server; None for its default.
        timeout_s: time for one attempt.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    context_tokens: int | None = None
    timeout_s: float = 300.0


def settings_of(spec: ModelSpec) -> Settings:
    """Check parameters and limits.

    Raises:
        UsageError: one is unknown or out of range; says what is allowed and what may have been meant.
    """
    allowed = (*_SAMPLING, "extra_body", "context_tokens")
    for name, value in spec.parameters.items():
        if name not in allowed:
            raise UsageError(
                f"model {spec.model!r}: unknown parameter {name!r}{offer(name, allowed)} "
                "(fields that only your server knows go under extra_body)"
            )
        _check(spec.model, name, value)
    for name, limit in (("concurrency", spec.limits.concurrency), ("timeout_s", spec.limits.timeout_s)):
        if limit is not None and not limit > 0:
            raise UsageError(f"model {spec.model!r}: limit {name} is {limit}; allowed: a number above 0")
    defaults: dict[str, Any] = {name: spec.parameters[name] for name in _SAMPLING if name in spec.parameters}
    if "stop" in defaults:
        stop = defaults["stop"]
        defaults["stop"] = (stop,) if isinstance(stop, str) else tuple(stop)
    extra, context = spec.parameters.get("extra_body"), spec.parameters.get("context_tokens")
    return Settings(
        defaults=defaults,
        extra_body=extra if isinstance(extra, dict) else {},
        context_tokens=context if isinstance(context, int) else None,
        timeout_s=spec.limits.timeout_s,
    )


def with_defaults(request: Request, defaults: Mapping[str, Any]) -> Request:
    """The request with a model's defaults where it does not say itself."""
    missing = {name: value for name, value in defaults.items() if getattr(request, name) in (None, ())}
    return replace(request, **missing) if missing else request


def _check(model: str, name: str, value: Json) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = isinstance(value, int) and not isinstance(value, bool)
    texts = isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )
    sound, allowed = {
        "max_tokens": (whole and _as_float(value) > 0, "a whole number above 0"),
        "temperature": (number and 0 <= _as_float(value) <= 10, "a number from 0 to 10"),
        "top_p": (number and 0 < _as_float(value) <= 1, "a number above 0, at most 1"),
        "seed": (whole and 0 <= _as_float(value) < 2**63, "a whole number from 0 to 2^63 - 1"),
        "stop": (texts and bool(value), "a text or a list of texts"),
        "top_logprobs": (whole and 0 <= _as_float(value) <= 20, "a whole number from 0 to 20"),
        "extra_body": (isinstance(value, dict), "a mapping"),
        "context_tokens": (whole and _as_float(value) >= 512, "a whole number from 512"),
    }[name]
    if not sound:
        raise UsageError(f"model {model!r}: parameter {name} is {value!r}; allowed: {allowed}")
    taken = sorted(_RESERVED & set(value)) if isinstance(value, dict) else []
    if taken:
        raise UsageError(
            f"model {model!r}: extra_body may not hold {', '.join(taken)}: worldloom sets these itself"
        )


def _as_float(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def checked_base_url(url: str) -> str:
    """The root of an API in its one spelling; `/v1` is added where there is no path at all.

    Raises:
        UsageError: it is no http(s) URL, or holds credentials, a query or a fragment.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"base URL {_shown(url)!r} is no URL; e.g. http://127.0.0.1:8000/v1") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError("the base URL holds credentials; keys come from the environment (WORLDLOOM_API_KEY)")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"base URL {_shown(url)!r} must begin with http:// or https://; e.g. http://127.0.0.1:8000/v1"
        )
    if parts.query or parts.fragment:
        raise UsageError(
            f"base URL {_shown(url)!r} may have no query and no fragment; e.g. http://127.0.0.1:8000/v1"
        )
    strange = next((char for char in url if not "!" <= char <= "~"), None)
    if strange is not None:
        raise UsageError(
            f"base URL {_shown(url)!r} holds {strange!r}; allowed: ASCII without blanks, a host in another script "
            "as xn--…, a path in another script as %…"
        )
    if not _is_host(parts.hostname) or port == 0:
        what = "port 0" if port == 0 else f"no host ({parts.hostname[:80]!r})"
        raise UsageError(f"base URL {_shown(url)[:200]!r} names {what}; e.g. http://127.0.0.1:8000/v1")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/') or '/v1'}"


def _is_host(name: str) -> bool:
    """Whether a name can be looked up: an IPv6 address, or labels of up to 63 characters and 253 in all."""
    if ":" in name:
        try:
            return bool(ipaddress.IPv6Address(name))
        except ValueError:
            return False
    labels = name.removesuffix(".").split(".")
    return len(name) <= 253 and all(_LABEL.fullmatch(label) for label in labels)


_LABEL = re.compile("[A-Za-z0-9_-]{1,63}")


def _shown(url: str) -> str:
    """The URL without what may be a key."""
    return url.split("?")[0].split("#")[0].rsplit("@")[-1]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens and the key it wants; the key is never shown."""

    base_url: str
    key: str = field(default="EMPTY", repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""


def is_openai(host: str) -> bool:
    """Whether a host is OpenAI's own: only those get OpenAI's key."""
    return host == "openai.com" or host.endswith(".openai.com")
