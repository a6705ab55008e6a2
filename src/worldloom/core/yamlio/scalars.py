"""Plain scalars by the core schema of YAML 1.2.

`true`, `null`, `12`, `0o17`, `0x1F`, `1e-5` are values; `no`, `on`, `12:30`, `2026-07-03`, `1_000` are text.
What JSON cannot hold is refused: `.nan`, `.inf`, and numbers that a machine cannot.
"""

import re

from worldloom.core.canonical import Json

_WORDS: dict[str, Json] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_FIRST = frozenset("0123456789+-.~nNtTfF")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LARGEST = 2**63 - 1
_MOST_DIGITS = 100  # Python itself refuses to read more than 4,300


class NotJson(ValueError):
    """A plain scalar that stands for something JSON cannot hold; the text says what."""


def resolve(text: str) -> Json:
    """The value of a plain scalar.

    Raises:
        NotJson: infinity, not-a-number, or a number beyond 64 bits.
    """
    if text and text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return _integer(text, 10)
    if _OCTAL.fullmatch(text):
        return _integer(text[2:], 8)
    if _HEX.fullmatch(text):
        return _integer(text[2:], 16)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise NotJson(f"{_short(text)} is too large for a number")
        return number + 0.0  # turns -0.0 into 0.0: canonical JSON knows no negative zero
    if _NO_NUMBER.fullmatch(text):
        raise NotJson(f"{text} is no number that JSON can hold")
    return text


def _integer(digits: str, base: int) -> int:
    number = int(digits, base) if len(digits) <= _MOST_DIGITS else None
    if number is None or not -_LARGEST - 1 <= number <= _LARGEST:
        raise NotJson(f"{_short(digits)} does not fit into 64 bits")
    return number


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}…"
