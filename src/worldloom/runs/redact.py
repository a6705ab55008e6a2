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
    """Replaces the values of secret-looking environment variables in canonical JSON by `<secret:NAME>`.

    A text in it may itself be JSON, as models answer: there a secret is found however its characters are escaped.
    """
    names = {
        value: f"<secret:{name}>".encode("ascii", "replace")
        for name, value in secrets_of(environment).items()
    }
    if not names:
        return unchanged
    longest_first = sorted(names, key=lambda secret: (-len(secret), secret))
    found = [names[secret] for secret in longest_first]
    plain = re.compile(b"|".join(b"(" + re.escape(_json(secret)) + b")" for secret in longest_first))
    nested = re.compile(
        b"|".join(b"(" + b"".join(map(_spellings, secret)) + b")" for secret in longest_first)
    )

    def mend(data: bytes) -> bytes:
        # Only an escape within a text leaves two backslashes in a row. The search for it takes ten times as long.
        pattern = nested if b"\\\\" in data else plain
        return pattern.sub(lambda match: found[(match.lastindex or 1) - 1], data)

    return mend


def _json(text: str) -> bytes:
    """A text as canonical JSON spells it, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace")


def _spellings(char: str) -> bytes:
    """Pattern of a character in JSON within JSON, to any depth."""
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = b"".join(rb"\\+u(?i:%02x%02x)" % (units[n], units[n + 1]) for n in range(0, len(units), 2))
    if char == "/":
        plain = rb"\\*/"
    elif char == "\\":
        plain = rb"\\+"
    else:
        plain = re.escape(_json(char)).replace(rb"\\", rb"\\+", 1)
    return b"(?:" + plain + b"|" + escaped + b")"
