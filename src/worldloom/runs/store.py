"""Store: one run on disk, a folder with `run.sqlite` and `run.lock`.

Created once, opened by one writing process at a time and by any number of readers. Summaries read the `episodes`
and `scores` projections only; events are read an episode at a time.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from worldloom.core.arguments import shown
from worldloom.core.canonical import canonical
from worldloom.core.content import Blob
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.event import Event
from worldloom.core.key import show_key
from worldloom.runs.rows import EPISODE_COLUMNS, EpisodeRow, Score, read_episodes, read_scores
from worldloom.runs.shape import checked, fits
from worldloom.runs.writer import Writer, lacks_side_files, told

T = TypeVar("T")
DEFAULT_SCORING = "default"
"""Name of the scoring pass that is made when an episode ends."""
FORMAT = 3
"""Version of the schema; a store with another is refused by name."""


class RunStore:
    """Reads, and through `writer` writes, the record of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "run.sqlite"
        self._reader: sqlite3.Connection | None = None

    @property
    def reader(self) -> sqlite3.Connection:
        if self._reader is None:
            if not self.path.is_file():
                raise UsageError(f"{self.folder} holds no run (there is no {self.path.name} in it)")
            try:
                self._reader = self._opened()
            except sqlite3.Error as failure:
                raise RecordError(f"{self.path} cannot be opened: {failure}") from failure
            try:
                self._check_format()
            except RecordError:
                self.close()
                raise
        return self._reader

    def _opened(self) -> sqlite3.Connection:
        """A connection, if need be one for which SQLite makes no side files.

        It may not where there is no writing (archives, images of disks), and cannot on a disk that is full.
        """
        address = self.path.absolute().as_uri()
        logged = self._is_logged()
        if not (os.access(self.folder, os.W_OK) and os.access(self.path, os.W_OK)):
            return _connect(address + ("?mode=ro" if logged else "?immutable=1"))
        reader = _connect(address)
        try:
            reader.execute("PRAGMA schema_version")
        except sqlite3.Error as failure:
            if not lacks_side_files(failure):
                return reader  # the first that reads is told what is wrong
            reader.close()
            if logged or _is_written(self.folder):
                raise RecordError(f"{self.path} cannot be read: {told(failure)}") from failure
            return _connect(address + "?immutable=1")
        return reader

    def _is_logged(self) -> bool:
        """Whether a log beside it holds what a process writes just now, or what a crash has left, to be read too."""
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size > 0
        except FileNotFoundError:  # there is none, or its process has just put it away
            return False

    def _check_format(self) -> None:
        found = self.value("format")
        if found is None:
            raise RecordError(f"{self.path} is damaged, or no record of worldloom: it names no record format")
        if type(found) is not int or found != FORMAT:
            raise RecordError(
                f"{self.path} has record format {shown(found)}; this worldloom reads format {FORMAT}"
            )

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        reader = self._reader or self.reader
        try:
            return reader.execute(sql, values).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeError) as failure:
            raise RecordError(f"{self.path} cannot be read as the record of a run: {failure}") from failure

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    @staticmethod
    def create(
        folder: Path, manifest: Mapping[str, Any], episodes: Iterable[EpisodeRow], blobs: Iterable[Blob] = ()
    ) -> "RunStore":
        """Lay out a new run: manifest, its blobs and the planned episodes.

        It is a run once all of them are there: whatever cuts this short leaves a folder that holds no run.

        Raises:
            RecordError: it cannot be written.
        """
        store = RunStore(folder)
        laid = store.path.with_name(store.path.name + ".new")
        try:
            folder.mkdir(parents=True)
            with contextlib.closing(sqlite3.connect(laid, isolation_level=None)) as connection:
                connection.executescript(
                    "BEGIN;" + files(__package__).joinpath("schema.sql").read_text("utf-8")
                )
                connection.executemany(
                    "INSERT INTO run VALUES (?, ?)",
                    [("format", json.dumps(FORMAT)), ("status", '"planned"'), ("manifest", _text(manifest))],
                )
                connection.executemany(_INSERT_EPISODE, (asdict(row) for row in episodes))
                connection.executemany(
                    "INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)",
                    [(blob.sha256, blob.media_type, blob.data) for blob in blobs],
                )
                connection.execute("COMMIT")
                # Only now: a log would have to be moved along with its file.
                connection.execute("PRAGMA journal_mode=WAL")
            laid.rename(store.path)
        except (OSError, sqlite3.Error) as failure:
            raise RecordError(f"cannot create the run folder {folder}: {failure}") from failure
        return store

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """The run's one writer; a second process is refused while this one holds the lock.

        Raises:
            UsageError: another process is writing.
            RecordError: the record cannot be written; raised at the end, if nothing else was raised before.
        """
        with contextlib.closing(_lock(self.folder)):
            writer = Writer(str(self.path))
            writer.start()
            self.close()  # a reader that was opened on a full disk would see nothing of what is written from now on
            try:
                yield writer
            finally:
                writer.stop()
            writer.check()

    def status(self) -> str:
        """The status of the run as recorded, but `interrupted` for `running` when no process writes the run."""
        found = str(self.value("status"))
        return "interrupted" if found == "running" and not _is_written(self.folder) else found

    def value(self, name: str) -> Any:
        """A named value of the run: `format`, `status`, `manifest`; None if it is not there."""
        found = self._rows("SELECT value FROM run WHERE name = ?", (name,))
        try:
            return json.loads(found[0][0]) if found else None
        except (TypeError, ValueError) as damage:
            raise RecordError(f"{self.path} is damaged: its {name} is no JSON") from damage

    def manifest(self, name: str, kind: type[T]) -> T:
        """A part of the manifest.

        Raises:
            RecordError: it is not there, or not of this kind: the record is damaged.
        """
        manifest = self.value("manifest")
        found = manifest.get(name) if isinstance(manifest, dict) else None
        if not isinstance(manifest, dict) or name not in manifest or not fits(found, kind):
            raise RecordError(f"{self.path} is damaged: its manifest has no usable {name!r}")
        return cast(T, found)

    def read_manifest(self, name: str, read: Callable[[Any], T]) -> T:
        """A part of the manifest, as `read` makes it out of JSON.

        Raises:
            RecordError: it cannot be made out of what is there: the record is damaged.
        """
        return self._read(f"{name!r} in its manifest", read, self.manifest(name, object))

    def read_value(self, name: str, read: Callable[[Any], T]) -> T:
        """A named value of the run, as `read` makes it out of JSON, or out of None if it is not there.

        Raises:
            RecordError: it cannot be made out of what is there: the record is damaged.
        """
        return self._read(f"its {name}", read, self.value(name))

    def _read(self, what: str, read: Callable[[Any], T], part: Any) -> T:
        try:
            return checked(read(part))
        except (LookupError, TypeError, ValueError, AttributeError, UsageError) as damage:
            raise RecordError(f"{self.path} is damaged: {what} cannot be read: {damage!r}") from damage

    def episodes(self) -> list[EpisodeRow]:
        """All episodes in the order of the plan.

        Raises:
            RecordError: one is not as it was written.
        """
        rows = self._rows(f"SELECT {_COLUMNS} FROM episodes ORDER BY row")
        # Only now: what a resume plays with is told before the first episode that it plays.
        return read_episodes(rows, 1 + self.read_value("resumed", lambda told: len(told or ())), self.path)

    def episode(self, number: int) -> EpisodeRow:
        """One episode.

        Raises:
            UsageError: the run has none of this number.
        """
        rows = self.episodes()
        if not 0 <= number < len(rows):
            raise UsageError(f"{self.folder} has no episode {number}; allowed: 0 to {len(rows) - 1}")
        return rows[number]

    def events(self, episode: int, scoring: str = "") -> dict[bytes, Event]:
        """key -> event of one episode, or of a scoring pass over it, in key order."""
        rows = self._rows(f"{_SELECT_EVENTS} ORDER BY key", (episode, scoring))
        return {row[0]: self._event(row) for row in rows}

    def arrivals(self, episode: int, scoring: str = "") -> list[Event]:
        """As `events`, in the order in which they were recorded."""
        rows = self._rows(f"{_SELECT_EVENTS} ORDER BY seq", (episode, scoring))
        return [self._event(row) for row in rows]

    def _event(self, row: Sequence[Any]) -> Event:
        key, type, data = row
        if not (isinstance(key, bytes) and isinstance(type, str) and isinstance(data, bytes)):
            where = show_key(key) if isinstance(key, bytes) else repr(key)
            raise RecordError(f"{self.path} is damaged: the event under key {where} is not as it was written")
        return Event(key, type, data, self.blob)

    def telemetry(self, episode: int, scoring: str = "") -> list[tuple[bytes, str, dict[str, Any]]]:
        """(key, type, body) of one episode, or of a scoring pass over it, in key order."""
        return [(key, type, json.loads(data)) for key, type, data in self.raw_telemetry(episode, scoring)]

    def raw_telemetry(self, episode: int, scoring: str = "") -> list[tuple[bytes, str, bytes]]:
        """As `telemetry`, each body as it is written."""
        return self._rows(
            "SELECT key, type, data FROM telemetry WHERE episode = ? AND scoring = ? ORDER BY key, seq",
            (episode, scoring),
        )

    def intents(self, episode: int) -> dict[bytes, str]:
        """key -> request digest of side effects that were about to be sent."""
        return dict(self._rows("SELECT key, request FROM intents WHERE episode = ?", (episode,)))

    def answers(self, episode: int) -> dict[bytes, tuple[str, str]]:
        """key -> (digest of a question, a person's answer), whether an episode has used it yet or not."""
        rows = self._rows("SELECT key, request, answer FROM answers WHERE episode = ?", (episode,))
        return {key: (request, answer) for key, request, answer in rows}

    def blob(self, sha256: str) -> bytes:
        found = self._rows("SELECT data FROM blobs WHERE sha256 = ?", (sha256,))
        if not found:
            raise RecordError(f"blob {sha256} is not in {self.path}")
        data = found[0][0]
        if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != sha256:
            raise RecordError(f"{self.path} is damaged: blob {sha256} is not as it was written")
        return data

    def scores(self, scoring: str = DEFAULT_SCORING) -> dict[int, list[Score]]:
        """Episode row -> its scores in one scoring pass.

        Raises:
            RecordError: one is not as it was written.
        """
        rows = self._rows(
            "SELECT episode, name, value, n, unit, how, detail FROM scores WHERE scoring = ? ORDER BY episode, place",
            (scoring,),
        )
        return read_scores(rows, self.path)


_SELECT_EVENTS = "SELECT key, type, data FROM events WHERE episode = ? AND scoring = ?"
_COLUMNS = ", ".join(EPISODE_COLUMNS)
_PLACES = ", ".join(f":{name}" for name in EPISODE_COLUMNS)
_INSERT_EPISODE = f"INSERT INTO episodes ({_COLUMNS}) VALUES ({_PLACES})"


def put_episode(writer: Writer, row: int, **values: Any) -> None:
    """Change columns of an episode's projection, in the same transaction as the events before it."""
    sets = ", ".join(f"{name} = ?" for name in values)
    writer.put(f"UPDATE episodes SET {sets} WHERE row = ?", (*values.values(), row))


def put_scores(writer: Writer, episode: int, scores: Sequence[Score], scoring: str = DEFAULT_SCORING) -> None:
    """Keep the scores of one scoring pass over an episode."""
    for place, score in enumerate(scores):
        writer.put(
            "INSERT OR REPLACE INTO scores (scoring, episode, place, name, value, n, unit, how, detail)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (scoring, episode, place, score.name, score.value, score.n, score.unit, score.how, score.detail),
        )


def put_value(writer: Writer, name: str, value: Any) -> None:
    """Set a named value of the run."""
    writer.put("INSERT OR REPLACE INTO run VALUES (?, ?)", (name, _text(value)))


def reopen(writer: Writer, episode: int, undone: Iterable[tuple[str, bytes]]) -> None:
    """Take away what says that an episode was stopped or has ended, so that it can go on.

    Args:
        undone: scoring pass, empty for the play, and key of each row that goes.
    """
    with writer.together():
        for scoring, key in undone:
            writer.put(
                "DELETE FROM events WHERE episode = ? AND scoring = ? AND key = ?", (episode, scoring, key)
            )
        writer.put("DELETE FROM scores WHERE episode = ? AND scoring = ?", (episode, DEFAULT_SCORING))
        # Not `planned`: what is planned has no past, and this one has, should a crash come next.
        put_episode(writer, episode, status="running", reason=None, fault=None, detail=None, fingerprint=None)


def forget_scoring(writer: Writer, episode: int) -> None:
    """Take away what was judged in any scoring pass over an episode that is played anew."""
    for table in ("events", "telemetry", "scores"):
        writer.put(f"DELETE FROM {table} WHERE episode = ? AND scoring != ''", (episode,))
    put_episode(writer, episode, scored=None)


def _text(value: Any) -> str:
    return canonical(value if not isinstance(value, Mapping) else dict(value)).decode("utf-8")


def _connect(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)


def _lock(folder: Path) -> IO[str]:
    try:
        lock = (folder / "run.lock").open("w")
    except OSError as failure:
        raise RecordError(f"cannot write the record in {folder}: {failure}") from failure
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise UsageError(f"another process is writing the run {folder}; wait for it or stop it") from None
    return lock


def _is_written(folder: Path) -> bool:
    """Whether a process holds the run's lock."""
    try:
        with (folder / "run.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is no lock, or it is not ours to look at
        return False
    return False
