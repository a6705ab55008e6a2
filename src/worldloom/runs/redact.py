"""Redact: secrets become typed placeholders before anything is hashed or written."""

import json
import os
import re
from collections.abc import Callable, Mapping

from worldloom.runs.ledger import unchanged

_NAME = re.compile(
    r"(_|^)(API_?KEY|(ACCESS|PRIVATE|SECRET)_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE
)
_SHORTEST = 8
"""A shorter value is no secret worth the name, and would be replaced in innocent text."""


def redactor(environment: Mapping[str, str] | None = None) -> Callable[[bytes], bytes]:
    """Replaces the values of secret-looking environment variables in canonical JSON by `<secret:NAME>`."""
    found: dict[bytes, bytes] = {}
    for name, value in (os.environ if environment is None else environment).items():
        if _NAME.search(name) and len(value) >= _SHORTEST:
            inside = json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
            found[inside] = f"<secret:{name}>".encode("ascii", "replace")
    if not found:
        return unchanged
    longest_first = sorted(found, key=lambda secret: (-len(secret), secret))
    pattern = re.compile(b"|".join(re.escape(secret) for secret in longest_first))

    def mend(data: bytes) -> bytes:
        return pattern.sub(lambda match: found[match[0]], data)

    return mend
