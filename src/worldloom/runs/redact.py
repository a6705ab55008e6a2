"""Redact: secrets become typed placeholders before anything is hashed or written.

What comes from outside is masked at the door, so that a program hears the placeholder, and a replay, which asks nobody,
needs no secrets. A scenario that holds one is refused before a run begins.
"""

import json
import os
import re
from collections.abc import Callable, Mapping

from worldloom.runs.ledger import unchanged

_NAME = re.compile(
    r"(_|^)(API_?KEY|(ACCESS|PRIVATE|SECRET)_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE
)
_WORD = re.compile("[A-Za-z_-]{0,15}")
_SHORTEST = 8
"""A shorter value is no secret worth the name, and would be replaced in innocent text."""


def secrets_of(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name -> value of the environment variables that hold secrets.

    A value that is one word (`changeme`, `password`) is taken for a dummy: it would be replaced in innocent text.
    """
    variables = os.environ if environment is None else environment
    return {
        name: value
        for name, value in variables.items()
        if _NAME.search(name) and len(value) >= _SHORTEST and not _WORD.fullmatch(value)
    }


def redactor(environment: Mapping[str, str] | None = None) -> Callable[[bytes], bytes]:
    """Replaces the values of secret-looking environment variables in canonical JSON by `<secret:NAME>`."""
    found = {
        json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "replace"): (
            f"<secret:{name}>".encode("ascii", "replace")
        )
        for name, value in secrets_of(environment).items()
    }
    if not found:
        return unchanged
    longest_first = sorted(found, key=lambda secret: (-len(secret), secret))
    pattern = re.compile(b"|".join(re.escape(secret) for secret in longest_first))

    def mend(data: bytes) -> bytes:
        return pattern.sub(lambda match: found[match[0]], data)

    return mend
