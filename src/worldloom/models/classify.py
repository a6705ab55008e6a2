"""Why a server said no, in one of the kinds of `ModelErrorKind`.

Status codes are ambiguous (429 is "slow down" or "the account is empty", 400 is a bad request, an overflow or a
filter), so the machine-readable code is read first, then the wording of the message, then the status. The
wordings are those of vLLM, SGLang, llama-server, Ollama, LM Studio, TGI and the large hosted providers.
"""

import email.utils
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from worldloom.core.canonical import Json
from worldloom.core.errors import ModelError, ModelErrorKind

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded|request_too_large"
    r"|(?:maximum|max|model'?s|context)[ _](?:context|model|prompt|input|sequence)[ _](?:length|window|limit|size)"
    r"|exceed\w* (?:the |its |this |your )?(?:\w+ )?(?:\w+ )?context"
    r"|context (?:length|window|limit|size)\b.{0,40}(?:exceed|overflow|too)|context the overflows"
    r"|(?:than|of only) (?:the |its )?(?:model'?s )?context length"
    r"|(?:prompt|input|messages?|request)\b.{0,40}\btoo (?:long|large for (?:the )?model)"
    r"|prompt token count|input token count.{0,80}exceed|input tokens? exceed"
    r"|(?:tokens?|length) .{0,60}exceed\w* the (?:maximum|limit) .{0,30}(?:tokens|allowed|\d)"
    r"|total number of tokens in the prompt|reduce the length of the (?:messages|prompt|input)"
    r"|`?inputs`? (?:tokens \+|must have less than)|exceeded model token limit|token limit exceeded"
    r"|range of input length|prompt exceeds|exceeds the length limit|input length .{0,60}exceed"
    r"|max(?:_completion)?_tokens must be at least 1, got (?:-|0\b)"  # vLLM: what the prompt has left of its window
    r"|prompt is too big compared to kv size|input is too large to process|find a kv slot for the batch"
    r"|prompt length .{0,20}exceeds maximum",
    re.IGNORECASE | re.DOTALL,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|fund)|billing|credit balance|(?:out of|more|add) credits?\b"
    r"|exceeded your current quota|quota[_ ]exceeded|payment required"
    r"|(?:spend|spending|budget)\w*[ _](?:limit|exceeded)"
    r"|budget has been exceeded|exceeded\w* budget|account .{0,30}(?:suspended|overdue|arrears)",
    re.IGNORECASE,
)
_WAITING_HELPS = re.compile(
    r"per (?:min|sec|hour)|PerMinute|retryDelay|(?:retry|try again) in|rate_limit_exceeded|rate limit reached",
    re.IGNORECASE,
)
_SPENT_FOR_LONG = re.compile(r"PerDay|per day|per month|insufficient_quota", re.IGNORECASE)
_AUTH = re.compile(
    r"(?:api[_ -]?key|access token|credential)s?\b.{0,40}"
    r"(?:not valid|invalid|incorrect|missing|expired|required|not provided)"
    r"|(?:invalid|incorrect|missing|expired|no)[_ ](?:api[_ -]?key|authentication|access token|auth)"
    r"|api_key client option must be set|unauthori[sz]ed|authentication_error",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"content[_ ](?:filter|policy|management)|responsible ?ai ?policy|safety system|moderation"
    r"|(?:was|been|were) flagged|prohibited[_ ]content|usage polic(?:y|ies)|guardrail",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"model_not_found|model.{0,120}(?:does not exist|not found|not exist|is not available|not loaded)"
    r"|(?:no such|unknown|invalid) model|not a valid model",
    re.IGNORECASE | re.DOTALL,
)
_RATE = re.compile(r"rate[_ ]limit|too many requests|thrott|resource_exhausted", re.IGNORECASE)
_OVERLOAD = re.compile(
    r"overloaded|server is busy|at capacity|loading model|temporarily unavailable", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Refused:
    """What a server answered instead of a completion.

    Attributes:
        status: HTTP status; None if the transport reported success.
        body: the body as text.
        headers: names in lower case.
    """

    status: int | None
    body: str
    headers: Mapping[str, str]


def failure(refused: Refused, *, now: float) -> ModelError:
    """The error for a refused request: its kind, what the server said, when it wants to be asked again.

    Args:
        refused: the answer.
        now: the wall clock in seconds, for a Retry-After that names a date.
    """
    message, codes = _said(refused.body)
    kind = kind_of(refused.status, f"{codes} {message}")
    shown = printable(message) or "no message"
    status = "" if refused.status is None else f" (HTTP {refused.status})"
    return ModelError(kind, f"{shown}{status}", retry_after_s=retry_after(refused, now))


def kind_of(status: int | None, said: str) -> ModelErrorKind:
    """The kind of a failure.

    Args:
        status: HTTP status; None if there was none.
        said: codes and message of the server.
    """
    worded = _kind_by_wording(status, said)
    if worded is not None:
        return worded
    if status is None or status < 300:
        return "bad_reply"
    return _BY_STATUS.get(status) or (
        "overloaded" if status >= 500 else "not_found" if status < 400 else "bad_request"
    )


_BY_STATUS: dict[int, ModelErrorKind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    405: "not_found",
    407: "auth",
    408: "timeout",
    409: "overloaded",
    410: "not_found",
    413: "overflow",
    425: "overloaded",
    429: "rate_limited",
    499: "timeout",
    501: "bad_request",
    505: "bad_request",
}


def _kind_by_wording(status: int | None, said: str) -> ModelErrorKind | None:
    """The kind that the words give away; statuses that leave no doubt are not asked."""
    if _QUOTA.search(said) and status not in (401, 404):
        brief = _WAITING_HELPS.search(said) and not _SPENT_FOR_LONG.search(said)
        return "rate_limited" if brief else "quota"
    if status in (401, 402, 404, 408, 429, 502, 503, 504, 529):
        return None
    if status == 403:
        return "refusal" if _REFUSAL.search(said) else "not_found" if _NOT_FOUND.search(said) else None
    if _OVERFLOW.search(said):
        return "overflow"
    if _REFUSAL.search(said):
        return "refusal"
    if _AUTH.search(said):
        return "auth"
    if _NOT_FOUND.search(said):
        return "not_found"
    if _RATE.search(said):
        return "rate_limited"
    if _OVERLOAD.search(said):
        return "overloaded"
    return None


def retry_after(refused: Refused, now: float) -> float | None:
    """Seconds until the server wants to be asked again; infinity if it says so, None if it does not say."""
    waits = [
        _seconds(refused.headers.get("retry-after-ms"), 0.001),
        _seconds(refused.headers.get("retry-after"), 1.0),
        _until(refused.headers.get("retry-after"), now),
    ]
    in_body = re.search(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"', refused.body)
    waits.append(float(in_body[1]) if in_body else None)
    return next((max(0.0, wait) for wait in waits if wait is not None), None)


def _seconds(text: str | None, unit: float) -> float | None:
    try:
        value = float(text or "") * unit
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _until(text: str | None, now: float) -> float | None:
    parsed = email.utils.parsedate_tz(text) if text else None
    if parsed is None:
        return None
    try:
        return email.utils.mktime_tz(parsed) - now
    except (ValueError, OverflowError):
        return None


def printable(text: str, limit: int = 500) -> str:
    """One line, without control characters, at most `limit` characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _said(body: str) -> tuple[str, str]:
    """The message and the machine-readable codes of an error body; an unreadable body is its own message."""
    try:
        parsed: Json = json.loads(body)
    except (ValueError, RecursionError):
        return body[:2000], ""
    if isinstance(parsed, list) and parsed:  # Gemini's OpenAI surface wraps the object in a list
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return body[:2000], ""
    error = parsed.get("error")
    told: dict[str, Json] = error if isinstance(error, dict) else parsed
    named = (told.get("message"), error, parsed.get("message"), parsed.get("detail"), parsed.get("msg"))
    message = next((_text(value) for value in named if _text(value)), body[:2000])
    codes = [told.get(name) for name in ("code", "type", "status", "reason")]
    inner = told.get("innererror")
    codes += [inner.get("code")] if isinstance(inner, dict) else []
    codes += _quota_ids(told.get("details"))
    return message[:2000], " ".join(str(code) for code in codes if isinstance(code, str))


def _text(value: Json) -> str:
    """A message that may come as text or as FastAPI's list of findings (whose `input` echoes the prompt)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        found = [item.get("msg") for item in value if isinstance(item, dict)]
        return "; ".join(text for text in found if isinstance(text, str))
    return ""


def _quota_ids(details: Json) -> list[Json]:
    """Names of the limits that Gemini reports beside its message."""
    if not isinstance(details, list):
        return []
    found: list[Json] = []
    for item in details:
        if isinstance(item, dict):
            found.append(item.get("reason"))
            violations = item.get("violations")
            if isinstance(violations, list):
                found += [violation.get("quotaId") for violation in violations if isinstance(violation, dict)]
            found += ["retryDelay"] if "retryDelay" in item else []
    return found
