"""Event: what happened, under its key.

Two sorts: facts (pure results) and effects (request digest and answer, for whatever came from outside). Telemetry
(times, costs, hosts) stands in a table of its own, joined by key. A type ends with its version: `stepped.1`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from worldloom.core.canonical import canonical
from worldloom.core.content import Blob
from worldloom.core.errors import RecordError
from worldloom.core.key import show_key

INLINE_BYTES = 4096
"""A body larger than this stands in the record as a blob reference."""

_BLOB_MARK = b'{"$blob":'


@dataclass(frozen=True)
class Event:
    """One row of the record.

    Attributes:
        key: see `worldloom.core.key`.
        type: name and version, such as `decided.1`.
        data: canonical JSON of the body, or of a reference to the blob that holds it.
        load: reads a blob by its SHA-256; needed only where `data` is a reference.
    """

    key: bytes
    type: str
    data: bytes
    load: Callable[[str], bytes] | None = None

    @cached_property
    def body(self) -> dict[str, Any]:
        """The body as JSON. Blobs are fetched and their digest is checked.

        Raises:
            RecordError: it is damaged, or its blob cannot be had.
        """
        parsed = self._object(self.data)
        if not self.data.startswith(_BLOB_MARK):
            return parsed
        ref = parsed["$blob"]
        sha256 = ref.get("sha256") if isinstance(ref, dict) else None
        if self.load is None or not isinstance(sha256, str):
            raise RecordError(
                f"the body of the event at {show_key(self.key)} is blob {sha256}, which cannot be had"
            )
        blob = Blob(self.load(sha256), "application/json")
        if blob.sha256 != sha256:
            raise RecordError(f"blob {sha256} is damaged: its content has digest {blob.sha256}")
        return self._object(blob.data)

    def _object(self, data: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(data)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise RecordError(f"the event at {show_key(self.key)} is damaged: its body is no JSON object")
        return parsed


def pack(body: Mapping[str, Any], mend: Callable[[bytes], bytes]) -> tuple[bytes, Blob | None]:
    """Canonical bytes of a body, secrets replaced by `mend`; large bodies become a blob and its reference.

    Raises:
        RecordError: the body holds something that is no JSON; the message names its path.
    """
    if "$blob" in body:
        raise RecordError("cannot record $.$blob: the name is kept for references to blobs")
    data = mend(canonical(body if type(body) is dict else dict(body)))
    if len(data) <= INLINE_BYTES:
        return data, None
    blob = Blob(data, "application/json")
    return canonical({"$blob": blob.ref}), blob
