"""Keys never stay in a text, whole or begun."""

import pytest

from worldloom.core.errors import ModelError
from worldloom.models.keys import redact, redacted

KEY = "wl-9f8e7d6c5b4a3210"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Incorrect API key provided: {KEY[:9]}********3210.",
        f"{{'Authorization': 'Bearer {KEY}'}}",
        f"x-api-key: {KEY}",
    ],
)
def test_a_known_key_is_removed_also_when_only_its_beginning_is_shown(text: str) -> None:
    assert KEY[:8] not in redact(text, [KEY])


@pytest.mark.parametrize(
    "key",
    ["sk-proj-abcDEF123456", "sk-ant-api03-xyz_123456", "sk-****************abcd", "hf_abcdefgh12345",
     "gsk_a1b2c3d4e5f6", "AIzaSyA1234567890abcdef", "eyJhbGciOiJI.eyJzdWIi.c2ln", "xai-abcdef123456"],
)  # fmt: skip
def test_what_has_the_shape_of_a_key_is_removed_although_it_is_not_known(key: str) -> None:
    assert key not in redact(f"bad key {key}, sorry")


@pytest.mark.parametrize(
    "label", ["Authorization: Bearer ", "api_key=", "'x-api-key': '", "bearer ", "api-key: "]
)
def test_what_is_labelled_as_a_key_is_removed(label: str) -> None:
    assert "a1b2c3d4e5" not in redact(f"sent {label}a1b2c3d4e5 to the server")


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 2048 tokens.",
        "API key not valid. Please pass a valid API key.",
        "no bearer authentication configured",
        "the key word was EMPTY",
    ],
)
def test_ordinary_sentences_stay_as_they_are(text: str) -> None:
    assert redact(text, ["EMPTY", ""]) == text


def test_an_error_keeps_its_kind_and_its_wait() -> None:
    error = redacted(ModelError("auth", f"bad {KEY}", retry_after_s=3.0), [KEY])
    assert (error.kind, str(error), error.retry_after_s) == ("auth", "bad [key]", 3.0)
