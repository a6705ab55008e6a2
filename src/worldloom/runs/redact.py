"""Redact: secrets become typed placeholders before anything is hashed or written.

What comes from outside is masked at the door, so that a program hears the placeholder, and a replay, which asks nobody,
needs no secrets. A scenario that holds one is refused before a run begins.
"""

import json
import re
from collections.abc import Callable, Mapping

from worldloom.core.secrets import secrets_of
from worldloom.runs.ledger import unchanged


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
