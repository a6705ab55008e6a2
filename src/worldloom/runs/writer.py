"""The one writer of a run: a thread that takes rows first in, first out, many to a transaction.

What is on disk is therefore always a causally closed prefix; a torn batch is rolled back by SQLite. When a write
fails (disk full, read-only, locked), the failure is kept and raised at the next hand-over: nothing is lost silently.
"""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from worldloom.core.canonical import canonical
from worldloom.core.content import Blob
from worldloom.core.errors import RecordError
from worldloom.core.event import Event

BATCH_S = 0.05
"""Longest time a row waits before its transaction begins."""

_EVENT = "INSERT INTO events (episode, key, type, data) VALUES (?, ?, ?, ?)"
_TELEMETRY = "INSERT INTO telemetry (episode, key, type, data) VALUES (?, ?, ?, ?)"
_INTENT = "INSERT OR REPLACE INTO intents (episode, key, request) VALUES (?, ?, ?)"
_BLOB = "INSERT OR IGNORE INTO blobs (sha256, media_type, data) VALUES (?, ?, ?)"


class Writer:
    """Sink of every ledger of a run. Owns the connection from `start` to `close`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pending: deque[tuple[str, Sequence[Any]]] = deque()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._lock = threading.Condition()
        self._closing = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="worldloom-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is pending and stop.

        Raises:
            RecordError: a write failed.
        """
        with self._lock:
            self._closing = True
            self._lock.notify()
        self._thread.join()
        self._raise_failure()

    def put(self, sql: str, values: Sequence[Any]) -> None:
        """Hand over one statement.

        Raises:
            RecordError: an earlier write failed.
        """
        if self._failure is not None:
            self._raise_failure()
        self._pending.append((sql, values))

    def event(self, episode: int, event: Event) -> None:
        self.put(_EVENT, (episode, event.key, event.type, event.data))

    def telemetry(self, episode: int, key: bytes, type: str, body: Mapping[str, Any]) -> None:
        self.put(_TELEMETRY, (episode, key, type, canonical(dict(body))))

    def intent(self, episode: int, key: bytes, request: str) -> None:
        self.put(_INTENT, (episode, key, request))

    def blob(self, blob: Blob) -> None:
        self.put(_BLOB, (blob.sha256, blob.media_type, blob.data))

    async def durable(self) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        with self._lock:
            self._raise_failure()
            self._waiters.append((loop, done))
            self._lock.notify()
        await done
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise RecordError(
                f"cannot write the record {self._path}: {self._failure}. What was written before stays; "
                "mend the cause and resume the run"
            ) from self._failure

    def _work(self) -> None:
        connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        # On kill -9 nothing committed is lost; on power loss the last batches may be, but never the file.
        connection.execute("PRAGMA synchronous=NORMAL")
        try:
            while True:
                with self._lock:
                    if not self._waiters and not self._closing:
                        self._lock.wait(BATCH_S)
                    waiters, self._waiters = self._waiters, []
                    closing = self._closing
                batch = [self._pending.popleft() for _ in range(len(self._pending))]
                if batch and self._failure is None:
                    self._write(connection, batch)
                for loop, done in waiters:
                    _settle(loop, done)
                if closing and not self._pending:
                    return
        finally:
            connection.close()

    def _write(self, connection: sqlite3.Connection, batch: Sequence[tuple[str, Sequence[Any]]]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for sql, rows in groupby(batch, key=itemgetter(0)):  # in their order: a later row may change an earlier
                connection.executemany(sql, (values for _, values in rows))
            connection.execute("COMMIT")
        except Exception as failure:  # noqa: BLE001  # the thread's boundary: kept, and raised at the next hand-over
            self._failure = failure
            if connection.in_transaction:
                connection.rollback()


def _settle(loop: asyncio.AbstractEventLoop, done: "asyncio.Future[None]") -> None:
    def set_result() -> None:
        if not done.done():
            done.set_result(None)

    if not loop.is_closed():
        loop.call_soon_threadsafe(set_result)
