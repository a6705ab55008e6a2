"""Lone surrogates: half characters that JSON can spell and UTF-8 cannot hold.

Models cut emoji in two, and servers pass the halves on. Each half becomes U+FFFD before anything is recorded
or sent; two halves that belong together become the character they spell.
"""

from worldloom.core.canonical import Json


def mend(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; the same object if there is none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mend_json(value: Json) -> Json:
    """The JSON value with every text and key mended."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [mend_json(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): mend_json(item) for key, item in value.items()}
    return value
