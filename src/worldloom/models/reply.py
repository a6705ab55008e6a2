"""Decisions read out of model text, strictly.

A decision is exactly one JSON object: as the whole answer, as the only fenced block of the answer, or as the
arguments of exactly one tool call. Blanks around it are allowed (reasoning is already set apart). Everything
else is refused with one sentence that the model can act on: prose around the object, a second object, a list,
duplicate keys, an answer that was cut off. Nothing is repaired and nothing is guessed.
"""

import json
import math
import re
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.errors import ReplyError, nearest
from worldloom.models.model import Completion

DEEPEST = 32
"""Levels of nesting in a decision."""

LONGEST = 100_000
"""Characters of a decision, about 25,000 tokens: no action needs more, and it goes into every later prompt."""

_FENCED = re.compile(r"```[A-Za-z0-9]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)
_LONGEST_INTEGER = 19


def parse_object(completion: Completion, *, tool: str | None = None) -> dict[str, Json]:
    """The one JSON object that a completion holds.

    Args:
        completion: the model's answer.
        tool: name that a tool call must have; None accepts any.

    Raises:
        ReplyError: it holds none, more than one, or one that is cut off.
    """
    if completion.finish_reason == "length":
        raise ReplyError("Your answer was cut off at the token limit; give a shorter one.")
    if completion.finish_reason == "refusal":
        raise ReplyError("You declined to answer; answer with one JSON object.")
    calls = completion.tool_calls
    if not calls:
        return parse_text(completion.text)
    if len(calls) > 1:
        raise ReplyError(f"You made {len(calls)} tool calls; make exactly one.")
    if tool is not None and calls[0].name != tool:
        close = "; did you mean it?" if nearest(calls[0].name, [tool]) else "."
        raise ReplyError(f"There is no tool {calls[0].name[:60]!r}; the only one is {tool!r}{close}")
    return parse_arguments(calls[0].arguments)


def parse_text(text: str) -> dict[str, Json]:
    """The JSON object that is the whole text, or the only fenced block that is the whole text."""
    body = text.strip()
    fenced = _FENCED.fullmatch(body)
    return _object(fenced[1].strip() if fenced else body, "answer")


def parse_arguments(text: str) -> dict[str, Json]:
    """The JSON object that the arguments of a tool call are."""
    return _object(text.strip(), "tool arguments")


def _object(text: str, what: str) -> dict[str, Json]:
    if not text:
        raise ReplyError(f"Your {what} is empty; answer with one JSON object.")
    if len(text) > LONGEST:
        raise ReplyError(f"Your {what} has {len(text):,} characters; at most {LONGEST:,} are allowed.")
    try:
        value, end = _DECODER.raw_decode(text)
    except RecursionError:
        raise ReplyError(f"Your {what} is nested too deeply; at most {DEEPEST} levels are allowed.") from None
    except json.JSONDecodeError as error:
        raise ReplyError(_why_no_json(text, what, error)) from None
    rest = text[end:].strip()
    if rest.startswith(("{", "[")):
        raise ReplyError(f"Your {what} holds more than one JSON value; answer with exactly one JSON object.")
    if rest:
        raise ReplyError(
            f"Your {what} has text after the JSON; answer with one JSON object and nothing else."
        )
    if not isinstance(value, dict):
        names = {list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
        raise ReplyError(f"Your {what} is {names.get(type(value), 'a number')}; answer with one JSON object.")
    _check(value, what, 1)
    return value


def _why_no_json(text: str, what: str, error: json.JSONDecodeError) -> str:
    opening = text.find("{")
    if opening > 0:
        return f"Your {what} has text before the JSON; answer with one JSON object and nothing else."
    if opening < 0:
        return f"Your {what} holds no JSON object; answer with one JSON object and nothing else."
    return f"Your {what} is no valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."


def _check(value: Json, what: str, depth: int) -> None:
    """Refuse what parses as JSON and cannot be recorded."""
    if depth > DEEPEST:
        raise ReplyError(f"Your {what} is nested too deeply; at most {DEEPEST} levels are allowed.")
    if isinstance(value, dict):
        for key, item in value.items():
            _check(key, what, depth)
            _check(item, what, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, what, depth + 1)
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ReplyError(
                f"Your {what} holds half a character (a lone surrogate); write it out."
            ) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReplyError(f"Your JSON has the key {twice[:60]!r} twice; give each key once.")
    return members


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ReplyError(f"The number {text[:40]} is too large.")
    return value + 0.0  # -0.0 and 0.0 are one number in records


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > _LONGEST_INTEGER:
        raise ReplyError(
            f"The number {text[:40]}… has too many digits; at most {_LONGEST_INTEGER} are allowed."
        )
    return int(text)


def _constant(name: str) -> float:
    raise ReplyError(f"{name} is no JSON number.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_float, parse_int=_integer, parse_constant=_constant
)
