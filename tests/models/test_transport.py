"""No answer is read without end, and an environment that cannot be followed is one clear error."""

import asyncio
import gzip
from typing import Any

import pytest

from worldloom.core.errors import ModelError, UsageError
from worldloom.models import transport
from worldloom.models.gates import Gate
from worldloom.models.model import Message, Request
from worldloom.models.openai_client import OpenAIModel
from worldloom.models.probe import probe
from worldloom.models.retry import Retry
from worldloom.models.spec import Endpoint

CAP = 1 << 20
CHUNK = b"%x\r\n%s\r\n" % (CAP // 8, b" " * (CAP // 8))
BOMB = gzip.compress(bytes(8 * CAP))
OK = b"HTTP/1.1 200 OK\r\n"

ENDLESS = {
    "bytes until the end": OK + b"\r\n" + b" " * 2 * CAP,
    "chunks without end": OK + b"transfer-encoding: chunked\r\n\r\n" + CHUNK * 16,
    "gzip bomb": OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB,
    "gzip in gzip": OK + b"content-encoding: gzip, gzip\r\n\r\n" + gzip.compress(BOMB),
    "an error without end": b"HTTP/1.1 400 Bad\r\n\r\n" + b" " * 2 * CAP,
}


async def no_wait(seconds: float) -> None:
    pass


def model(base_url: str) -> OpenAIModel:
    return OpenAIModel("m", Endpoint(base_url), gate=Gate(1), retry=Retry(sleep=no_wait))


@pytest.mark.parametrize("raw", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_answer_is_read_up_to_a_cap_and_no_further(
    stub: Any, reply: Any, monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    monkeypatch.setattr(transport, "LARGEST", CAP)
    stub.always(reply(raw=raw))

    async def ask() -> ModelError:
        opened = model(stub.url)
        with pytest.raises(ModelError) as caught:
            await opened.complete(Request((Message.of("user", "hi"),)))
        assert "larger than 1 MiB" in str((await probe(opened)).problem)
        await opened.aclose()
        return caught.value

    error = asyncio.run(ask())
    assert (error.kind, "larger than 1 MiB" in str(error)) == ("bad_reply", True)
    stub.until(lambda server: server.open == 0)


def test_a_long_answer_below_the_cap_is_read_whole(stub: Any, reply: Any, chat: Any) -> None:
    body = gzip.compress(b" " * CAP + reply(chat("x" * CAP)).encoded().partition(b"\r\n\r\n")[2])
    stub.always(reply(body, headers={"content-encoding": "gzip", "content-length": str(len(body))}))

    async def ask() -> str:
        opened = model(stub.url)
        completion = await opened.complete(Request((Message.of("user", "hi"),)))
        await opened.aclose()
        return completion.text

    assert asyncio.run(ask()) == "x" * CAP


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ALL_PROXY", "socks5://user:pass-w0rd@127.0.0.1:1", "a SOCKS proxy is set (ALL_PROXY)"),
        ("https_proxy", "http://user:pass-w0rd@☃:1", "no URL of a proxy (https_proxy)"),
        ("ALL_PROXY", "ftp://user:pass-w0rd@x:1", "no URL of a proxy (ALL_PROXY)"),
        ("HTTPS_PROXY", "http://pass-w0rd:x", "no URL of a proxy (HTTPS_PROXY)"),
        ("SSL_CERT_FILE", "/nonexistent/pass-w0rd", "certificates to trust cannot be read (SSL_CERT_FILE)"),
        ("SSL_CERT_FILE", __file__, "certificates to trust cannot be read (SSL_CERT_FILE)"),
    ],
)
def test_a_proxy_or_certificates_that_cannot_be_used_are_one_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    for other in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)
        monkeypatch.delenv(other.lower(), raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as caught:
        asyncio.run(model("https://models.example/v1").served())
    assert said in str(caught.value)
    assert "pass-w0rd" not in str(caught.value)
