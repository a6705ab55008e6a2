"""Tokens of CEL, and the values of its literals. What no token begins with is refused with its place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worldloom.core.errors import UsageError


class SyntaxFault(UsageError):
    """An expression that cannot be read.

    Attributes:
        offset: 0-based place in the expression.
        found, allowed: as in `Problem`.
    """

    code = "expression"

    def __init__(self, offset: int, found: str, allowed: str) -> None:
        self.offset, self.found, self.allowed = offset, found, allowed
        super().__init__(f"{found} at character {offset + 1}; allowed: {allowed}")


_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\n\f]+|//[^\n]*)+)
      | (?P<raw>[rR](?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"\r\n]*\"|'[^'\r\n]*'))
      | (?P<text>\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
               |\"(?:[^\\\"\r\n]|\\.)*\"|'(?:[^\\'\r\n]|\\.)*')
      | (?P<float>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
      | (?P<int>0[xX][0-9a-fA-F]+|[0-9]+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([abfnrtv\\?\"'`])|)"
)
_SIMPLE = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


@dataclass(frozen=True, slots=True)
class Token:
    """One token: where it stands (0-based), what it is, and its text."""

    at: int
    kind: str
    text: str


def tokens(source: str) -> Iterator[Token]:
    """The tokens of an expression; the last one is of kind "end"."""
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            raise SyntaxFault(at, f"{source[at]!r} has no meaning here", "CEL; quote text with ' or \"")
        kind = found.lastgroup or ""
        if kind != "space":
            yield Token(at, kind, found.group())
        at = found.end()
    yield Token(len(source), "end", "")


def literal(token: Token, negative: bool) -> int | float | str:
    """The value of a number or text; `negative` if a minus stands before the number."""
    if token.kind in ("text", "raw"):
        return _text(token)
    number: int | float
    if token.kind == "float":
        number = float(token.text)
        if number == float("inf"):
            raise SyntaxFault(token.at, f"the number {token.text}", "a number below 1.8e308")
    else:
        number = int(token.text, 16) if token.text[:2] in ("0x", "0X") else int(token.text)
        if number > 2**63 - (not negative):
            raise SyntaxFault(token.at, f"the number {token.text}", "a whole number of 64 bits")
    return -number if negative else number


def _text(token: Token) -> str:
    quoted = token.text[token.kind == "raw" :]
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    body, pieces, at = quoted[width:-width], [], 0
    if token.kind == "raw":
        return body
    for escape in _ESCAPE.finditer(body):
        pieces.append(body[at : escape.start()])
        pieces.append(_unescaped(token, escape, width))
        at = escape.end()
    return "".join(pieces) + body[at:]


def _unescaped(token: Token, escape: re.Match[str], width: int) -> str:
    two, four, eight, octal, simple = escape.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    code = int(octal, 8) if octal else int(two or four or eight or "110000", 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        at = token.at + width + escape.start()
        allowed = r"\n, \t, \\, \', \", \u00e9; or r'raw text'"
        raise SyntaxFault(at, "an escape that stands for no character", allowed)
    return chr(code)
