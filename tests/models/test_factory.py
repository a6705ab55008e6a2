"""From the string a person wrote to the back end, or to an error that says what is allowed."""

from pathlib import Path
from typing import Any

import pytest

from worldloom.core.errors import UsageError
from worldloom.models.embedded import EmbeddedModel
from worldloom.models.factory import open_model
from worldloom.models.gates import Gates
from worldloom.models.model import Message, Request
from worldloom.models.openai_client import OpenAIModel
from worldloom.models.spec import EndpointLimits, ModelSpec, checked_base_url, settings_of, with_defaults

URL = "http://127.0.0.1:8000"
KEYS = {"OPENAI_API_KEY": "openai-key", "WORLDLOOM_API_KEY": "own-key", "HOSTED_VLLM_API_KEY": "vllm-key"}


def direct(model: str, base_url: str | None = None, environ: dict[str, str] | None = None) -> OpenAIModel:
    opened = open_model(ModelSpec(model, base_url), environ=environ or {})
    assert isinstance(opened, OpenAIModel)
    return opened


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("hosted_vllm/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("ollama/qwen3:8b", "qwen3:8b"),
        ("sglang/m", "m"),
        ("llamafile/m", "m"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("qwen3", "qwen3"),
        ("hosted_vllm/openai/gpt-oss-20b", "openai/gpt-oss-20b"),
        ("anthropic/claude", "anthropic/claude"),
    ],
)
def test_with_a_base_url_it_is_the_direct_client(model: str, name: str) -> None:
    opened = direct(model, URL)
    assert (opened.name, opened.endpoint.base_url) == (name, URL + "/v1")


def test_the_base_url_of_vllm_may_come_from_the_environment() -> None:
    environ = {"HOSTED_VLLM_API_BASE": "http://10.0.0.1:8000/v1"}
    assert direct("hosted_vllm/m", None, environ).endpoint.base_url == "http://10.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "base_url", "environ", "key"),
    [
        ("openai/gpt", None, KEYS, "openai-key"),
        ("openai/gpt", "https://eu.api.openai.com/v1", KEYS, "openai-key"),
        ("openai/gpt", URL, KEYS, "own-key"),
        ("openai/gpt", "https://api.openai.com.evil.example/v1", KEYS, "own-key"),
        ("openai/gpt", URL, {"OPENAI_API_KEY": "openai-key"}, "EMPTY"),
        ("m", URL, {"OPENAI_API_KEY": "openai-key"}, "EMPTY"),
        ("hosted_vllm/m", URL, {"HOSTED_VLLM_API_KEY": "vllm-key"}, "vllm-key"),
        ("hosted_vllm/m", URL, KEYS, "own-key"),
    ],
)
def test_a_key_goes_only_where_it_belongs(
    model: str, base_url: str | None, environ: dict[str, str], key: str
) -> None:
    assert direct(model, base_url, environ).endpoint.key == key


@pytest.mark.parametrize("around", ["{}\n", " {} ", "{}\r\n", "\t{}"])
def test_what_a_file_or_a_paste_has_left_around_a_key_is_not_sent(around: str) -> None:
    assert direct("m", URL, {"WORLDLOOM_API_KEY": around.format("own-key")}).endpoint.key == "own-key"
    assert (
        direct("hosted_vllm/m", URL, {"WORLDLOOM_API_KEY": "\n", "HOSTED_VLLM_API_KEY": "k"}).endpoint.key
        == "k"
    )


@pytest.mark.parametrize(
    "key", ["s3cret-☃", "s3cret\nkey", "s3cret\x00", "\ufeffs3cret", "s3cret\udcff", "s3crét"]
)
@pytest.mark.parametrize(
    ("model", "base_url", "name"),
    [
        ("m", URL, "WORLDLOOM_API_KEY"),
        ("hosted_vllm/m", URL, "HOSTED_VLLM_API_KEY"),
        ("openai/m", None, "OPENAI_API_KEY"),
        ("anthropic/m", None, "ANTHROPIC_API_KEY"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused_and_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, model: str, base_url: str | None, name: str, key: str
) -> None:
    monkeypatch.setattr("worldloom.models.gateway.require_provider", lambda provider, model: None)
    with pytest.raises(UsageError) as caught:
        open_model(ModelSpec(model, base_url), environ={name: key})
    assert str(caught.value).startswith(f"{name} holds a character")
    assert "s3cr" not in str(caught.value)


def test_a_key_that_a_provider_would_get_with_its_line_break_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("worldloom.models.gateway.require_provider", lambda provider, model: None)
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY begins or ends with a blank"):
        open_model(ModelSpec("anthropic/m"), environ={"ANTHROPIC_API_KEY": "s3cret\n"})


def test_openai_without_a_key_is_refused() -> None:
    with pytest.raises(UsageError, match="set OPENAI_API_KEY in the environment"):
        direct("openai/gpt")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("", "has no name"),
        ("gpt-5", "allowed: embedded, embedded:FILE.gguf, PROVIDER/NAME"),
        ("embeded", "did you mean 'embedded'"),
        ("hosted_vllm/m", "needs the base URL"),
        ("sglang/m", "needs the base URL"),
        ("openai/", "allowed:"),
    ],
)
def test_a_name_that_says_too_little_is_refused_with_what_is_allowed(model: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_model(ModelSpec(model), environ={})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://Example.org/api/v2", "https://example.org/api/v2"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_base_urls_come_to_one_spelling(url: str, expected: str) -> None:
    assert checked_base_url(url) == expected


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8000", "ftp://a/v1", "http://", "http://user:secret99@host/v1", "http://secret99@host/v1",
     "http://h/v1?key=secret99", "http://h/v1#secret99", "http://h:99999/v1", "http://[::1/v1?key=secret99",
     "http://☃/v1", "http://１２７.0.0.1/v1", "http://h/☃", "http://:80/v1", "http://h:x/v1", "http://h:0/v1",
     "http://a b/v1", "http://h\x01ost/v1", "http://ho\tst/v1", "http://h/v\n1", "http://h/v\x7f1", "http://[zz]/v1",
     "http://.../v1", "http://a..b/v1", "http://%zz/v1", "http://h\\@evil/v1", f"http://{'a' * 64}/v1", "http://",
     f"http://{'a.' * 200}b/v1"],
)  # fmt: skip
def test_other_base_urls_are_refused_without_showing_what_may_be_a_key(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_base_url(url)
    assert "secret99" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"temprature": 0}, "unknown parameter 'temprature'.*did you mean 'temperature'"),
        ({"top_k": 3}, "(?s)unknown parameter 'top_k'.*extra_body"),
        ({"max_tokens": 0}, "max_tokens is 0; allowed: a whole number above 0"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"max_tokens": "9"}, "max_tokens is '9'"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"seed": -1}, "seed"),
        ({"stop": [1]}, "stop"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"extra_body": []}, "extra_body"),
        ({"extra_body": {"messages": []}}, "extra_body may not hold messages"),
        ({"extra_body": {"api_key": "x"}}, "extra_body may not hold api_key"),
    ],
)
def test_parameters_are_checked_by_name_and_range(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_model(ModelSpec("m", URL, parameters), environ={})


@pytest.mark.parametrize(
    "limits", [EndpointLimits(concurrency=0), EndpointLimits(concurrency=-1), EndpointLimits(timeout_s=0.0)]
)
def test_limits_are_above_nothing(limits: EndpointLimits) -> None:
    with pytest.raises(UsageError, match="allowed: a number above 0"):
        open_model(ModelSpec("m", URL, limits=limits), environ={})


def test_defaults_fill_only_what_a_request_leaves_open() -> None:
    parameters: dict[str, Any] = {"temperature": 0.7, "stop": "x", "seed": 1, "max_tokens": 9}
    defaults = settings_of(ModelSpec("m", parameters=parameters)).defaults
    asked = Request((Message.of("user", "hi"),), temperature=0.0)
    filled = with_defaults(asked, defaults)
    assert (filled.temperature, filled.stop, filled.seed, filled.max_tokens) == (0.0, ("x",), 1, 9)
    assert with_defaults(filled, defaults) is filled


@pytest.mark.parametrize("limits", [(32, 8), (8, 32)])
def test_models_of_one_server_share_its_narrowest_limit(limits: tuple[int, int]) -> None:
    gates = Gates()
    first, second = (
        open_model(ModelSpec("m", url, limits=EndpointLimits(concurrency=limit)), gates=gates, environ={})
        for url, limit in zip((URL, URL + "/v1/"), limits, strict=True)
    )
    assert first._gate is second._gate  # type: ignore[attr-defined]
    assert first._gate.limit == 8  # type: ignore[attr-defined]


@pytest.mark.usefixtures("needs_xllamacpp")
def test_embedded_is_opened_by_name_or_path_without_being_started(tmp_path: Path) -> None:
    path = tmp_path / "my.gguf"
    path.write_bytes(b"GGUF" + b"x" * 100)
    named = [
        open_model(ModelSpec(name), environ={})
        for name in ("embedded", "embedded:smollm2", f"embedded:{path}")
    ]
    assert all(isinstance(model, EmbeddedModel) for model in named)
    assert named[0].id == named[1].id == "embedded:smollm2"
    assert named[2].id.startswith("embedded:my.gguf#")
    assert str(tmp_path) not in named[2].id


@pytest.mark.usefixtures("needs_xllamacpp")
def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    ids = set()
    for folder, content in (("a", b"GGUF1"), ("b", b"GGUF2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.gguf").write_bytes(content)
        ids.add(open_model(ModelSpec(f"embedded:{tmp_path / folder / 'm.gguf'}"), environ={}).id)
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("embedded:smolm2", "did you mean 'smollm2'"),
        ("embedded:", "no embedded model ''"),
        ("embedded:/nowhere/m.gguf", "no embedded model at /nowhere/m.gguf"),
        ("embedded:/etc/passwd", "is no GGUF file"),
    ],
)
@pytest.mark.usefixtures("needs_xllamacpp")
def test_an_embedded_model_that_is_not_there_is_refused(model: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_model(ModelSpec(model), environ={})


def test_embedded_takes_no_base_url_and_others_take_no_context_tokens() -> None:
    with pytest.raises(UsageError, match="takes no base URL"):
        open_model(ModelSpec("embedded", URL), environ={})
    with pytest.raises(UsageError, match="context_tokens is for the embedded server"):
        open_model(ModelSpec("m", URL, {"context_tokens": 4096}), environ={})


def test_a_missing_server_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'worldloom\[embedded\]'"):
        open_model(ModelSpec("embedded"), environ={})
