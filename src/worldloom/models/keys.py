"""Keys out of texts: what a server says back may hold the key it was sent.

Known secrets are removed wherever they stand, also when the server shows only their beginning; beside them
whatever has the shape of a key.
"""

import re
from collections.abc import Iterable

from worldloom.core.errors import ModelError

PLACEHOLDER = "[key]"

_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|fw|r8|key)[-_][A-Za-z0-9*_.\-]{6,}"
    r"|\bAIza[A-Za-z0-9*_\-]{10,}"
    r"|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*"
)
_LABELLED = re.compile(
    r"(?i)(authorization|x-api-key|api[-_ ]?key|access[-_ ]?token|bearer)"
    r"(\b[\"']?\s*[:=]\s*[\"']?|\s+)(?:(?:bearer|basic|token)\s+)?(?=[^\s\"',;]*[0-9*])[^\s\"',;]{8,}"
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with `[key]` in place of every key.

    Args:
        text: what a server or a library said.
        secrets: keys in use; one under 8 characters is taken for a dummy such as `EMPTY` and left alone.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 8:
            text = text.replace(secret, PLACEHOLDER)
            text = re.sub(re.escape(secret[:8]) + r"[^\s\"',;]*", PLACEHOLDER, text)
    text = _SHAPES.sub(PLACEHOLDER, text)
    return _LABELLED.sub(lambda found: f"{found[1]}{found[2]}{PLACEHOLDER}", text)


def redacted(error: ModelError, secrets: Iterable[str]) -> ModelError:
    """The error without keys in its text."""
    return ModelError(error.kind, redact(str(error), secrets), retry_after_s=error.retry_after_s)
