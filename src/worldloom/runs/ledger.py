"""Ledger: the record of one episode, or of one scoring pass over it, with one primitive.

`record(key, type, body)`: absent → append; present and equal → nothing; present and different → `Divergence`.
Live is an empty ledger, resume holds a prefix, replay is a ledger that may not grow.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from worldloom.core.canonical import canonical
from worldloom.core.content import Blob
from worldloom.core.errors import Divergence, RecordError
from worldloom.core.event import Event, pack
from worldloom.core.key import show_key
from worldloom.runs.ending import ENDED

Place: TypeAlias = tuple[int, str]
"""Whose rows they are: the row number of an episode, and the name of a scoring pass over it, empty for its play."""


class Sink(Protocol):
    """Where new rows go: the store's writer, or nowhere."""

    def event(self, place: Place, event: Event) -> None: ...

    def telemetry(self, place: Place, key: bytes, type: str, data: bytes) -> None: ...

    def intent(self, place: Place, key: bytes, request: str) -> None: ...

    def blob(self, blob: Blob) -> None: ...

    async def durable(self) -> None:
        """Return once everything handed over so far is on disk."""


class NullSink:
    """Keeps nothing: the sink of a graph that runs without a record, and of a replay."""

    def event(self, place: Place, event: Event) -> None: ...

    def telemetry(self, place: Place, key: bytes, type: str, data: bytes) -> None: ...

    def intent(self, place: Place, key: bytes, request: str) -> None: ...

    def blob(self, blob: Blob) -> None: ...

    async def durable(self) -> None: ...


def unchanged(data: bytes) -> bytes:
    """The mending of a record without secrets."""
    return data


class Ledger:
    """The rows of one episode, by key.

    Args:
        place: whose rows they are.
        sink: takes new rows.
        recorded: rows of an earlier life of the episode.
        intents: key -> request digest of side effects that were about to be sent.
        may_grow: False in a replay: a missing row is then a divergence.
        mend: replaces secrets in canonical bytes, before they are hashed or written.
    """

    def __init__(
        self,
        place: Place = (0, ""),
        sink: Sink | None = None,
        recorded: Mapping[bytes, Event] | None = None,
        *,
        intents: Mapping[bytes, str] | None = None,
        may_grow: bool = True,
        mend: Callable[[bytes], bytes] = unchanged,
    ) -> None:
        self._place = place
        self._sink: Sink = sink if sink is not None else NullSink()
        self._recorded = recorded if recorded is not None else {}
        self._intents = intents if intents is not None else {}
        self._may_grow = may_grow
        self._rows: dict[bytes, Event] = {}
        self.mend = mend
        self._parted: tuple[bytes, Divergence] | None = None

    @property
    def replaying(self) -> bool:
        return not self._may_grow

    def recorded(self, key: bytes) -> Event | None:
        """The row that an earlier life left under `key`."""
        return self._recorded.get(key)

    def body(self, key: bytes) -> dict[str, Any]:
        """The body of a recorded row.

        Raises:
            Divergence: it cannot be read.
        """
        event = self._recorded[key]
        try:
            return event.body
        except (RecordError, ValueError, LookupError, TypeError) as damage:
            raise self.diverged(key, f"{event.type}, which cannot be read: {damage}", None) from damage

    def holds(self, prefix: bytes) -> bool:
        """Whether an earlier life left rows whose keys begin so."""
        return any(key.startswith(prefix) for key in self._recorded)

    def record(self, key: bytes, type: str, body: Mapping[str, Any]) -> Event:
        """Record a fact or an effect under `key`.

        Raises:
            Divergence: the record holds something else under this key, or may not grow and holds nothing.
            RecordError: the body is no JSON.
        """
        data, blob = pack(body, self.mend)
        event = Event(key, type, data, None if blob is None else lambda _: blob.data)
        old = self._recorded.get(key)
        if old is None and key in self._rows:
            old = self._rows[key]
        if old is not None:
            if old.type != type or old.data != data:
                raise self.diverged(key, _shown(old), _shown(event, blob))
        elif not self._may_grow:
            raise self.diverged(key, None, _shown(event, blob))
        else:
            if blob is not None:
                self._sink.blob(blob)
            self._sink.event(self._place, event)
        self._rows[key] = event
        return event

    def must_ask(self, key: bytes, type: str, request: str) -> None:
        """Say that the outside is about to be asked under `key`, which holds no answer.

        Raises:
            Divergence: in a replay, where nothing may be asked.
        """
        if not self._may_grow:
            raise self.diverged(key, None, f"{type} with request {request[:16]}…")

    def diverged(self, key: bytes, recorded: str | None, found: str | None) -> Divergence:
        """The exception to raise where record and program part. It is kept, so that no program can swallow it."""
        divergence = Divergence(show_key(key), recorded, found)
        if self._parted is None or key < self._parted[0]:
            self._parted = (key, divergence)
        return divergence

    def check_past(self, found: str) -> None:
        """Raise `Divergence` if an earlier life recorded something else, or more, before the episode ended.

        Args:
            found: the end to which this life has come, for people.
        """
        missed = min(
            (key for key, row in self._recorded.items() if key not in self._rows and row.type != ENDED),
            default=None,
        )
        if missed is not None and (self._parted is None or missed < self._parted[0]):
            self.diverged(missed, self._recorded[missed].type, found)
        if self._parted is not None:
            raise self._parted[1]

    def note(self, key: bytes, type: str, body: Mapping[str, Any]) -> None:
        """Telemetry: joined by key, outside every fingerprint."""
        if self._may_grow:
            self._sink.telemetry(self._place, key, type, self.mend(canonical(dict(body))))

    def store(self, blob: Blob) -> None:
        if self._may_grow:
            self._sink.blob(blob)

    def intended(self, key: bytes) -> str | None:
        """Digest of a request that was about to be sent under `key` in an earlier life."""
        return self._intents.get(key)

    async def intend(self, key: bytes, request: str) -> None:
        """Commit that a request is about to be sent; returns when it is on disk."""
        self._sink.intent(self._place, key, request)
        await self._sink.durable()

    async def durable(self) -> None:
        """Return once everything recorded so far is on disk."""
        await self._sink.durable()

    def rows(self) -> list[Event]:
        """The rows of this life, in key order."""
        return [self._rows[key] for key in sorted(self._rows)]

    def fingerprint(self) -> str:
        """SHA-256 over (key, type, canonical body) in key order, each with its length before it."""
        whole = hashlib.sha256()
        for key in sorted(self._rows):
            event = self._rows[key]
            for part in (key, event.type.encode(), event.data):
                whole.update(len(part).to_bytes(4, "big"))
                whole.update(part)
        return whole.hexdigest()


class NullLedger(Ledger):
    """Keeps nothing: with it a graph is an ordinary graph, which may be invoked again and again."""

    def record(self, key: bytes, type: str, body: Mapping[str, Any]) -> Event:
        """Check that the body could be recorded."""
        return Event(key, type, pack(body, self.mend)[0])

    def note(self, key: bytes, type: str, body: Mapping[str, Any]) -> None: ...


def _shown(event: Event, blob: Blob | None = None) -> str:
    data = blob.data if blob is not None else event.data
    text = data.decode("utf-8", "replace")
    return f"{event.type} {text if len(text) <= 300 else text[:300] + '…'}"
