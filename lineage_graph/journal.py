"""The journal: every accepted event as received, durable before it is acknowledged (design 1 and 8).

A SQLite database in the data folder. Offsets grow and are never given twice, so a reader that remembers the
last one it has seen can always go on from there. An event is kept once, known by its digest. What could not
be taken as an event is kept beside the events, as a dead letter.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from threading import RLock
from typing import IO, Any, NamedTuple, Self
from uuid import uuid4

import zstandard

from lineage_graph.damage import damage_in
from lineage_graph.errors import JournalError
from lineage_graph.events import Event
from lineage_graph.folder import FILE, locked, refuse_if_lost, write_lock

SCHEMA_VERSION = 1

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    offset INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL UNIQUE,
    received INTEGER NOT NULL,   -- nanoseconds since 1970; never less than in the row before
    event_time INTEGER NOT NULL, -- nanoseconds since 1970; the nearest that fits 64 bits
    body BLOB NOT NULL           -- the bytes as received, as a zstd frame
);
CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL UNIQUE, -- of the bytes as received
    received INTEGER NOT NULL,
    source TEXT NOT NULL,
    reason TEXT NOT NULL,
    path TEXT NOT NULL,
    body BLOB NOT NULL           -- the bytes as received, as a zstd frame
);
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""

_COMPRESSION_LEVEL = 1
"""Column lineage shrinks to a fifth in 15 µs; higher levels take longer for little more."""


class Appended(NamedTuple):
    """Where an event is in the journal, and whether this call put it there."""

    offset: int
    is_new: bool


class Entry(NamedTuple):
    """An event in the journal: when it was received (nanoseconds since 1970), its digest, its body byte for byte."""

    offset: int
    received: int
    digest: str
    body: bytes


class Refused(NamedTuple):
    """What could not be taken as an event: where it came from (``dump.ndjson:17``), and what is to mend."""

    source: str
    reason: str
    path: str
    body: bytes


class DeadLetter(NamedTuple):
    """A refused body as it is kept: of equal bodies, the one that came first."""

    id: int
    received: int
    source: str
    reason: str
    path: str
    body: bytes


class Journal:
    """The events of one data folder. Made by :meth:`open`; may be used from several threads.

    Every method raises :class:`~lineage_graph.errors.JournalError` when the database fails, as with a full
    disk. Nothing of what it was asked to keep is then kept, and all of it may be sent again.
    """

    def __init__(self, place: str, database: str, lock: IO[str] | None) -> None:
        self.place = place
        self._lock = lock
        self._closed = self._failed = False
        self._writing = self._reading = RLock()
        self._writer = self._reader = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
        try:
            self._writer.execute("PRAGMA journal_mode = WAL")
            # A commit returns when the log is on the disk: only then is an event acknowledged (design 1).
            self._writer.execute("PRAGMA synchronous = FULL")
            self._prepare_schema()
            if lock is not None:
                self._reading = RLock()
                self._reader = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
            self.id: str = self._one("SELECT value FROM meta WHERE name = 'id'")
            """A random UUID made with the journal: tells whether a remembered offset is of this journal."""
            self._received: int = self._one("SELECT received FROM events ORDER BY offset DESC LIMIT 1") or 0
            self._last_offset: int = self._one("SELECT seq FROM sqlite_sequence WHERE name = 'events'") or 0
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, folder: Path | None) -> Journal:
        """The journal in ``folder``, made if there is none; ``None`` is a new one in memory.

        A folder is used by one process at a time. Raises JournalError if another one has it, if the folder
        cannot be made or written, or if what is in it was written by a newer version or is no journal.
        """
        if folder is None:
            return cls("memory", ":memory:", None)
        lock = locked(folder)
        try:
            refuse_if_lost(folder, lock)
            journal = cls(str(folder), str(folder / FILE), lock)
        except sqlite3.Error as error:
            lock.close()
            raise JournalError(str(folder), f"cannot be opened: {error} ({FILE}); {mend_of(error)}") from error
        except JournalError:
            lock.close()
            raise
        write_lock(lock, journal.id)
        return journal

    def _prepare_schema(self) -> None:
        version = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise newer(self.place, version)
        if version == 0:
            self._writer.executescript(_SCHEMA)
        # A way to find out that the file may not be written while nobody waits for an answer yet.
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.execute("INSERT INTO meta VALUES ('id', ?) ON CONFLICT DO NOTHING", (str(uuid4()),))
        self._writer.execute("COMMIT")

    # -- writing

    def append(self, items: Sequence[tuple[Event, bytes]]) -> list[Appended]:
        """Keep events with their bodies, all or none; returns when they are on the disk.

        One result for each item in order. An event that is in the journal already, or earlier among
        ``items``, gets the offset it has there.
        """
        compress = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress
        rows = [(event.digest, event.event_time, compress(body)) for event, body in items]
        appended = []
        with self._transaction() as connection:
            received = self._received = max(time.time_ns(), self._received)
            for digest, event_time, body in rows:
                # Asked first, because an insert that meets a conflict uses up an offset.
                known = connection.execute("SELECT offset FROM events WHERE digest = ?", (digest,)).fetchone()
                if known is None:
                    known = connection.execute(
                        "INSERT INTO events (digest, received, event_time, body) VALUES (?, ?, ?, ?) RETURNING offset",
                        (digest, received, event_time, body),
                    ).fetchone()
                    appended.append(Appended(known[0], True))
                else:
                    appended.append(Appended(known[0], False))
        self._last_offset = max([self._last_offset, *(at.offset for at in appended)])
        return appended

    def refuse(self, items: Iterable[Refused]) -> None:
        """Keep what could not be taken as dead letters, all or none. A body is kept once."""
        compress = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress
        received = time.time_ns()
        rows = [
            (
                blake2b(item.body, digest_size=16).hexdigest(),
                received,
                item.source,
                item.reason,
                item.path,
                compress(item.body),
            )
            for item in items
        ]
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO dead_letters (digest, received, source, reason, path, body) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",
                rows,
            )

    def discard(self, dead_letters: Iterable[int]) -> None:
        """Forget dead letters by id, once they were taken or given up. Unknown ids are passed over."""
        with self._transaction() as connection:
            connection.executemany("DELETE FROM dead_letters WHERE id = ?", [(id,) for id in dead_letters])

    # -- reading

    def replay(self, after: int = 0, batch: int = 1000) -> Iterator[list[Entry]]:
        """The events with an offset greater than ``after``, oldest first, in lists of up to ``batch``.

        Events that are appended in the meantime come too; it ends when there are no more.
        """
        while rows := self._rows(
            "SELECT offset, received, digest, body FROM events WHERE offset > ? ORDER BY offset LIMIT ?", after, batch
        ):
            yield self._entries(rows)
            after = rows[-1][0]

    def event(self, digest: str) -> Entry | None:
        """The event of that digest, if it is here."""
        rows = self._rows("SELECT offset, received, digest, body FROM events WHERE digest = ?", digest)
        return self._entries(rows)[0] if rows else None

    def _entries(self, rows: Iterable[tuple[int, int, str, bytes]]) -> list[Entry]:
        decompress = zstandard.ZstdDecompressor().decompress
        entries = []
        for offset, received, digest, body in rows:
            try:
                entries.append(Entry(offset, received, digest, decompress(body)))
            except zstandard.ZstdError as error:
                raise self.damaged(offset, str(error)) from error
        return entries

    def damaged(self, offset: int, reason: str) -> JournalError:
        """The error to raise where the event at an offset turns out to be another one than was kept."""
        return JournalError(self.place, f"holds a damaged event at offset {offset}: {reason}; {_RESTORE}")

    def damage(self) -> list[str]:
        """Everything that is wrong with what is kept, a sentence each: the database's own check, then the digest of
        each event and dead letter against its body. Takes as long as reading all of it."""
        with self._reading:
            self._check_open()
            return list(damage_in(self._reader))

    def digest_at(self, offset: int) -> str | None:
        """The digest of the event at an offset, if there is one."""
        rows = self._rows("SELECT digest FROM events WHERE offset = ?", offset)
        return rows[0][0] if rows else None

    def dead_letters(self, after: int = 0, limit: int = 1000) -> list[DeadLetter]:
        """Up to ``limit`` dead letters with an id greater than ``after``, oldest first."""
        rows = self._rows(
            "SELECT id, received, source, reason, path, body FROM dead_letters WHERE id > ? ORDER BY id LIMIT ?",
            after,
            limit,
        )
        return [DeadLetter._make((*row[:-1], zstandard.decompress(row[-1]))) for row in rows]

    @property
    def dead_letter_count(self) -> int:
        """How many dead letters there are."""
        return self._one("SELECT count(*) FROM dead_letters") or 0

    @property
    def last_offset(self) -> int:
        """The last offset that was given, 0 before the first."""
        return self._last_offset

    def ping(self) -> None:
        """Return if the journal can be read, and written where the last attempt to write failed."""
        self._one("SELECT value FROM meta")
        if self._failed:
            with self._transaction() as connection:
                connection.execute(
                    "INSERT INTO meta VALUES ('probe', '') ON CONFLICT DO UPDATE SET value = value || ' '"
                )
                connection.execute("DELETE FROM meta WHERE name = 'probe'")

    @property
    def count(self) -> int:
        """How many events there are."""
        return self._one("SELECT count(*) FROM events") or 0

    def close(self) -> None:
        """Let go of the folder. Nothing is lost without it; closing twice does no harm."""
        with self._writing, self._reading:
            self._closed = True
            self._reader.close()
            self._writer.close()
            if self._lock is not None:
                self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            self._check_open()
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
                self._failed = False
            except BaseException as error:
                self._failed = True
                # SQLite has rolled back by itself after some errors, a full disk among them.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise JournalError(self.place, f"could not be written: {error}; {mend_of(error)}") from error
                raise

    def _rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._reading:
            self._check_open()
            try:
                return self._reader.execute(query, parameters).fetchall()
            except sqlite3.Error as error:
                raise JournalError(self.place, f"could not be read: {error}; {mend_of(error)}") from error

    def _one(self, query: str) -> Any:
        rows = self._rows(query)
        return rows[0][0] if rows else None

    def _check_open(self) -> None:
        if self._closed:
            raise JournalError(self.place, "is closed")


_RESTORE = "`lineage-graph check` says what is wrong with it; restore a backup into another folder"


def mend_of(error: sqlite3.Error, damaged: str = _RESTORE) -> str:
    """What to do about an error of the database; ``damaged`` is what to do where it is none, or none any more."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return "make room on the disk, or look after it, and send the events again; what was acknowledged is kept"
    return "see that this user may write the folder and what is in it, or name another folder"


def newer(place: str, version: int) -> JournalError:
    """The error for a schema that this version does not know."""
    return JournalError(
        place,
        f"was written by a newer version of lineage-graph (schema {version}, this one knows {SCHEMA_VERSION}); "
        "update lineage-graph, or name another folder",
    )
