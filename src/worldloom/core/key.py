"""Key: where in an episode something happened, independent of when it arrived.

A key is a path of segments. Each segment is a counter (4 bytes, big-endian), followed, where a child scope opens,
by its label: 0x01 and a 4-byte index, or 0x02, a UTF-8 name and 0x00. The order of the bytes is the canonical order
of the episode. Run id, clock, process and worker are never in a key, so the same key in two runs is the same
logical instant. For people a key reads `0:aaw/3:agent/1`: names after `:`, indices after `#`.
"""

import re
import urllib.parse
from collections.abc import Iterator
from typing import cast

from worldloom.core.errors import UsageError

Label = str | int
_INDEX, _NAME, _END = b"\x01", b"\x02", b"\x00"
_SEGMENT = re.compile(r"([0-9]{1,10})(?:#([0-9]{1,10})|:([^/#:]+))?")


def event_key(scope: bytes, n: int) -> bytes:
    """Key of the n-th event of a scope."""
    return scope + n.to_bytes(4, "big")


def child_scope(scope: bytes, n: int, label: Label) -> bytes:
    """Prefix of the scope that opens at the n-th place of `scope` under `label`."""
    head = scope + n.to_bytes(4, "big")
    if isinstance(label, int):
        return head + _INDEX + label.to_bytes(4, "big")
    if not label or "\0" in label:
        raise ValueError(f"a scope's name must be text without NUL, not {label!r}")
    return head + _NAME + label.encode("utf-8") + _END


def show_key(key: bytes) -> str:
    """The readable form of a key or scope."""
    return "/".join(_shown(n, label) for n, label in _segments(key))


def place_before(key: bytes) -> bytes:
    """Key of the event before that at `key`, in the same scope."""
    return event_key(key[:-4], int.from_bytes(key[-4:], "big") - 1)


def follows(later: bytes, earlier: bytes) -> bool:
    """Whether the event at one key comes after that at another in every run: not before it, and not beside it.

    Where their paths part, both lie in one scope: there the counter tells. Under one place of a scope lie siblings.
    """
    for one, other in zip(_segments(later), _segments(earlier), strict=False):
        if one[0] != other[0]:
            return one[0] > other[0]
        if one[1] != other[1]:
            return False
    return False


def _segments(key: bytes) -> Iterator[tuple[int, Label | None]]:
    """Counter and label of each segment; the last of an event's key has no label."""
    at = 0
    while at < len(key):
        n = int.from_bytes(key[at : at + 4], "big")
        at += 4
        tag, label = key[at : at + 1], cast(Label | None, None)
        if tag == _INDEX and at + 5 < len(key):
            label = int.from_bytes(key[at + 1 : at + 5], "big")
            at += 5
        elif tag == _NAME:
            end = key.index(_END, at)
            label = key[at + 1 : end].decode("utf-8")
            at = end + 1
        yield n, label


def _shown(n: int, label: Label | None) -> str:
    if label is None:
        return str(n)
    return f"{n}#{label}" if isinstance(label, int) else f"{n}:{urllib.parse.quote(label, safe='')}"


def read_key(text: str) -> bytes:
    """The key whose readable form is `text`.

    Raises:
        UsageError: the text is no key.
    """
    key = b""
    segments = text.split("/")
    for position, segment in enumerate(segments):
        found = _SEGMENT.fullmatch(segment)
        last = position == len(segments) - 1
        labelled = found is not None and (found[2] is not None or found[3] is not None)
        if found is None or labelled == last:
            raise UsageError(
                f"{text!r} is no key; a key looks like 0:aaw/3:agent/1 (counter, then :name or #index, then /)"
            )
        label: Label = int(found[2]) if found[2] is not None else urllib.parse.unquote(found[3] or "")
        try:
            if last:
                return event_key(key, int(found[1]))
            key = child_scope(key, int(found[1]), label)
        except (OverflowError, ValueError):  # a number beyond 4 bytes, a name with NUL or a lone surrogate
            raise UsageError(f"{text!r} is no key: {segment!r} cannot be a part of one") from None
    raise AssertionError("unreachable: split gives at least one segment")
