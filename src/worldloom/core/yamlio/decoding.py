"""From bytes to text: UTF-8 and nothing else, without characters that people cannot see or terminals obey."""

import re
import unicodedata

from worldloom.core.errors import DocumentError, Problem

_BREAK = re.compile(r"\r\n|\r|\n")
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]",
)
_UNRECORDABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_UTF16_AND_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff", b"\xff\xfe", b"\xfe\xff")
# Drawn as nothing, yet no format characters to Unicode: fillers, joiners, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def decode(data: bytes, file: str) -> str:
    """Text of a file; a byte order mark at its start is dropped.

    Raises:
        DocumentError: the bytes are not UTF-8.
    """
    if data.startswith(_UTF16_AND_32) or b"\x00\x00" in (data[0:4:2], data[1:4:2]):
        raise DocumentError([Problem(file, 0, 0, "this is not UTF-8 but UTF-16 or UTF-32", "text in UTF-8")])
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        source = split_lines(data.decode("utf-8", "replace").removeprefix("\ufeff"))[len(before) - 1]
        problem = Problem(
            file,
            len(before),
            len(before[-1]) + 1,
            f"the byte 0x{data[error.start]:02X} is no UTF-8 (it may be Latin-1 or Windows-1252)",
            "text in UTF-8",
            source=source,
        )
        raise DocumentError([problem]) from None


def split_lines(text: str) -> list[str]:
    """Lines as YAML counts them: CRLF, CR or LF ends one. Never empty."""
    return _BREAK.split(text)


def forbidden(text: str) -> tuple[int, str] | None:
    """Offset and name of the first character that no file may hold, if there is one."""
    match = _FORBIDDEN.search(text)
    return (match.start(), name_of(match.group())) if match else None


def unrecordable(text: str) -> str | None:
    """Name of the first character that neither UTF-8 nor a terminal takes; escapes can bring them in."""
    match = _UNRECORDABLE.search(text)
    return name_of(match.group()) if match else None


def invisible(text: str) -> str | None:
    """Name of the first character of a key or an id that nobody can see, if there is one."""
    if text.isascii() and text.isprintable():
        return None
    for character in text:
        unseen = unicodedata.category(character) in _UNSEEN or _BLANK.match(character)
        if unseen or (character.isspace() and character != " "):
            return name_of(character)
    return None


def name_of(character: str) -> str:
    """How a problem names a character: code point and Unicode name."""
    number = f"U+{ord(character):04X}"
    if 0xD800 <= ord(character) <= 0xDFFF:
        return f"{number} (half of a surrogate pair)"
    name = unicodedata.name(character, "control character" if ord(character) < 0xA0 else "")
    return f"{number} ({name.lower()})" if name else number
