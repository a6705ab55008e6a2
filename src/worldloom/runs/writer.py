"""The one writer of a run: a thread that takes rows first in, first out, many to a transaction.

What is on disk is therefore always a causally closed prefix; a torn batch is rolled back by SQLite. When a write
fails (disk full, read-only, locked), the failure is kept and raised at the next hand-over: nothing is lost silently.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from worldloom.core.content import Blob
from worldloom.core.errors import RecordError
from worldloom.core.event import Event
from worldloom.runs.ledger import Place

BATCH_S = 0.05
"""Longest time a row waits before its transaction begins."""

_EVENT = "INSERT INTO events (episode, scoring, key, type, data) VALUES (?, ?, ?, ?, ?)"
_TELEMETRY = "INSERT INTO telemetry (episode, scoring, key, type, data) VALUES (?, ?, ?, ?, ?)"
_INTENT = "INSERT OR REPLACE INTO intents (episode, key, request) VALUES (?, ?, ?)"
_FAILED = "UPDATE run SET value = '\"failed\"' WHERE name = 'status'"
_SIDE_FILES = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
_BLOB = "INSERT OR IGNORE INTO blobs (sha256, media_type, data) VALUES (?, ?, ?)"


def lacks_side_files(failure: Exception) -> bool:
    """Whether SQLite could not make the files that it keeps beside a record, as on a disk that is full."""
    return getattr(failure, "sqlite_errorcode", None) in _SIDE_FILES


def told(failure: Exception) -> str:
    """What SQLite says of a failure, and what it leaves unsaid."""
    if lacks_side_files(failure):
        return f"{failure}, as the files beside it cannot be made; is the disk full? Free 1 MB on it"
    return str(failure)


class Writer:
    """Sink of every ledger of a run. Owns the connection from `start` to `stop`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pending: deque[tuple[str, Sequence[Any]]] = deque()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._lock = threading.Condition()
        self._closing = False
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Open the store.

        Raises:
            RecordError: it cannot be opened.
        """
        try:
            connection = sqlite3.connect(
                self._path, timeout=30, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA synchronous")  # reads the file, which may be none
        except sqlite3.Error as failure:
            self._failure = failure
        self.check()
        self._thread = threading.Thread(
            target=self._work, args=(connection,), name="worldloom-writer", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Write what is pending and stop; `check` then says whether all of it was written."""
        with self._lock:
            self._closing = True
            self._lock.notify()
        if self._thread is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise the `RecordError` of a write that failed, if one did."""
        if self._failure is not None:
            raise RecordError(
                f"cannot write the record {self._path}: {told(self._failure)}. What was written before stays; "
                "mend the cause and resume the run"
            ) from self._failure

    def put(self, sql: str, values: Sequence[Any]) -> None:
        """Hand over one statement.

        Raises:
            RecordError: an earlier write failed.
        """
        if self._failure is not None:
            self.check()
        self._pending.append((sql, values))

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is handed over while this is entered is on disk all at once or not at all."""
        with self._lock:
            yield

    def event(self, place: Place, event: Event) -> None:
        self.put(_EVENT, (*place, event.key, event.type, event.data))

    def telemetry(self, place: Place, key: bytes, type: str, data: bytes) -> None:
        self.put(_TELEMETRY, (*place, key, type, data))

    def intent(self, place: Place, key: bytes, request: str) -> None:
        self.put(_INTENT, (place[0], key, request))

    def blob(self, blob: Blob) -> None:
        self.put(_BLOB, (blob.sha256, blob.media_type, blob.data))

    async def durable(self) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        with self._lock:
            self.check()
            self._waiters.append((loop, done))
            self._lock.notify()
        await done
        self.check()

    def _work(self, connection: sqlite3.Connection) -> None:
        try:
            while True:
                with self._lock:
                    if not self._waiters and not self._closing:
                        self._lock.wait(BATCH_S)
                    waiters, self._waiters = self._waiters, []
                    closing = self._closing
                    batch = [self._pending.popleft() for _ in range(len(self._pending))]
                if batch and self._failure is None:
                    self._write(connection, batch, durable=bool(waiters))
                for loop, done in waiters:
                    _settle(loop, done)
                if closing and not self._pending:
                    return
        finally:
            connection.close()

    def _write(
        self, connection: sqlite3.Connection, batch: Sequence[tuple[str, Sequence[Any]]], *, durable: bool
    ) -> None:
        try:
            # On kill -9 nothing committed is lost; on power loss the last batches may be, but never the file, and
            # nothing that somebody waits for because it must be there before something is sent.
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            # In their order: a later row may change an earlier one.
            for sql, rows in groupby(batch, key=itemgetter(0)):
                connection.executemany(sql, (values for _, values in rows))
            connection.execute("COMMIT")
        except Exception as failure:  # noqa: BLE001  # the thread's boundary: kept, and raised at the next hand-over
            self._failure = failure
            with contextlib.suppress(sqlite3.Error):  # the run says that it failed, if there is room for that
                if connection.in_transaction:
                    connection.rollback()
                connection.execute("PRAGMA busy_timeout=1000")  # a lock has been waited for already
                connection.execute(_FAILED)


def _settle(loop: asyncio.AbstractEventLoop, done: "asyncio.Future[None]") -> None:
    def set_result() -> None:
        if not done.done():
            done.set_result(None)

    with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
        loop.call_soon_threadsafe(set_result)
