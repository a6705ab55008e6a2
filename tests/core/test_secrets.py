"""Secrets are known by the names of their variables; dummies are left alone."""

import pytest

from worldloom.core.secrets import secrets_of


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "openai_apikey", "STRIPE_KEY", "APIKEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "TOKEN",
     "AWS_SECRET", "DB_PASSWORD", "PGPASSWORD", "DB_PASSWD", "GOOGLE_CREDENTIALS", "GH_CREDENTIAL"],
)  # fmt: skip
def test_a_variable_with_such_a_name_holds_a_secret(name):
    assert secrets_of({name: " value-of-it-4711\n"}) == {name: "value-of-it-4711"}


@pytest.mark.parametrize(
    "name", ["MONKEY", "TOKENIZERS_PARALLELISM", "KEYBOARD_LAYOUT", "PATH", "SECRETARY", "KEY_FILE"]
)
def test_a_variable_with_another_name_does_not(name):
    assert secrets_of({name: "value-of-it-4711"}) == {}


@pytest.mark.parametrize("value", ["", "1234567", "changeme", "TASK_COMPLETE", "placeholder", "Not-Set"])
def test_a_short_value_or_a_plain_word_is_a_dummy(value):
    assert secrets_of({"A_API_KEY": value}) == {}
