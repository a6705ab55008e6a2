"""Transport: the HTTP client under the direct client.

It reads no more of an answer than could be one, and goes nowhere but where the person said. What the environment
says of proxies and certificates and cannot be followed is a `UsageError` that names the variable and not its value.
"""

import contextlib
import os
import ssl
from typing import Any

import httpx2

from worldloom.core.errors import ModelError, UsageError
from worldloom.models.spec import Endpoint

LARGEST = 32 << 20
"""Bytes of an answer, decompressed, that are read: text takes 4 a token, and a token with 20 alternatives 1,500."""

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")


class BoundedClient(httpx2.AsyncClient):
    """A client whose answers are read whole, up to `LARGEST` bytes."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **how: Any) -> httpx2.Response:
        """Send a request and read the answer, whether or not a stream is asked for.

        Raises:
            ModelError: the answer is larger; its connection is closed, and the rest is never read.
        """
        response = await super().send(request, stream=True, **how)
        body = bytearray()  # an answer may come byte by byte
        try:
            async with contextlib.aclosing(response.aiter_bytes()) as parts:
                async for part in parts:
                    body += part
                    if len(body) > LARGEST:
                        raise ModelError(
                            "bad_reply",
                            f"the answer of {request.url} is larger than {LARGEST >> 20} MiB: not read",
                        )
        finally:
            await response.aclose()
        headers = [item for item in response.headers.multi_items() if item[0] not in _OF_THE_WIRE]
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)


def open_client(endpoint: Endpoint, places: int, connect_s: float) -> BoundedClient:
    """An HTTP client for one server.

    Args:
        endpoint: the server.
        places: connections at once, all of which are kept alive.
        connect_s: seconds until a connection must stand; reading has no limit here.

    Raises:
        UsageError: the environment names a proxy or certificates that cannot be used.
    """
    try:
        return BoundedClient(
            # The package keeps 100 connections alive; past that every call would open a new one.
            limits=httpx2.Limits(max_connections=places, max_keepalive_connections=places),
            timeout=httpx2.Timeout(None, connect=connect_s),
            # A prompt goes where the person said, not to where a server or a proxy variable sends it.
            follow_redirects=False,
            trust_env=not _is_loopback(endpoint.host),
            verify=_certificates(endpoint),
        )
    except ImportError:
        told = "needs the package socksio, or NO_PROXY for this host"
        problem = f"a SOCKS proxy is set ({_set(_PROXIES)}): it {told}"
    except OSError as error:
        problem = f"the certificates to trust cannot be read ({_set(_CERTIFICATES)}): {error}"
    except (ValueError, httpx2.InvalidURL):
        problem = f"no URL of a proxy ({_set(_PROXIES)}); allowed: e.g. http://proxy:3128, or NO_PROXY"
    raise UsageError(f"{endpoint.base_url} cannot be asked: {problem}")


def _set(names: tuple[str, ...]) -> str:
    """Those of the variables that are set; values stay unsaid, since a proxy's URL may hold a password."""
    return ", ".join(name for name in os.environ if name.upper() in names) or "system settings"


def _certificates(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """Whom to trust: as usual, and nobody where TLS cannot come up; reading all certificates takes 0.05 s and more."""
    plain = endpoint.base_url.startswith("http:") and _is_loopback(endpoint.host)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
