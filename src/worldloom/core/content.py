"""Content: what a message holds. Text stands in place; anything else is a blob named by its digest."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from worldloom.core.canonical import Json


@dataclass(frozen=True)
class Blob:
    """Bytes with a media type. Records name it by `ref`, never by place."""

    data: bytes
    media_type: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def ref(self) -> dict[str, Json]:
        """The form in which records name the blob; size in bytes."""
        return {"sha256": self.sha256, "media_type": self.media_type, "size": len(self.data)}


@dataclass(frozen=True, slots=True)
class Text:
    """Text, as it is."""

    text: str

    def to_json(self) -> dict[str, Json]:
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, named by the digest of its bytes."""

    blob: Blob

    def to_json(self) -> dict[str, Json]:
        return {"image": self.blob.ref}


Part: TypeAlias = Text | Image
