"""Copies of a journal: made while it is in use or not, proven whole, and put back into a folder."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from uuid import uuid4

from lineage_graph import snapshot
from lineage_graph.damage import damage_in
from lineage_graph.errors import BadRequest, JournalError
from lineage_graph.folder import FILE, LOCK, locked
from lineage_graph.journal import SCHEMA_VERSION, mend_of, newer

_NO_JOURNAL = "it is no journal, or a damaged one"
_PAGES = 1_000
"""Copied at once, so that a copy can be ended by Ctrl-C."""


class Copied(NamedTuple):
    """What a copy holds."""

    events: int
    dead_letters: int
    bytes: int


def backup(folder: Path, file: Path, replace: bool = False) -> Copied:
    """Copy the journal of a folder, as it is at one moment, into a file that stands whole or not at all.

    A server may be taking events meanwhile. Dead letters are in it, the graph is not. Raises :class:`BadRequest` when
    there is no journal, or the file is there and ``replace`` is not asked for, and :class:`JournalError` when the
    journal is damaged or one of the two can't be read or written; the file is then as it was.
    """
    if not (folder / FILE).exists():
        raise BadRequest("--data", f"names {folder}, which holds no journal")
    if file.exists() and not replace:
        raise BadRequest("FILE", f"{file} exists; name another one, or replace it with --force")
    with _new(file) as new:
        _copy(folder / FILE, new, str(folder))
        return _proven(new, str(folder), "no backup was made")


def restore(file: Path, folder: Path) -> Copied:
    """Put a backup into a folder that holds no events. It becomes a journal of its own, with a new id: what is
    merged of the journal that it was copied from may be of a later day.

    Raises :class:`BadRequest` when there is no such file or the folder holds events, and :class:`JournalError` when
    the file is damaged or no backup, or the folder is in use or can't be written; the folder is then as it was.
    """
    if not file.is_file():
        raise BadRequest("FILE", f"{file} does not exist" if not file.exists() else f"{file} is no file")
    was_there = folder.exists()
    with closing(locked(folder)):
        try:
            _refuse_if_used(folder)
            with _new(folder / FILE) as new:
                _copy(file, new, str(file))
                copied = _proven(new, str(file), "nothing was restored")
                _give_new_id(new, str(folder))
                for name in (f"{FILE}-wal", f"{FILE}-shm", snapshot.FILE):
                    (folder / name).unlink(missing_ok=True)
        except BaseException:
            if not was_there:
                (folder / LOCK).unlink()
                folder.rmdir()
            raise
    return copied


@contextmanager
def _new(file: Path) -> Iterator[Path]:
    """A file to fill that takes the place of ``file`` at the end, once it is on the disk; gone where that fails."""
    new = file.with_name(file.name + ".new")
    try:
        new.unlink(missing_ok=True)
        new.touch()
        yield new
        _sync(new)
        new.replace(file)
        _sync(file.parent)
    except OSError as error:
        reason = f"could not be written: {error.strerror}; make room on the disk, or name another place"
        raise JournalError(str(file), reason) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _reading(file: Path, place: str) -> Iterator[sqlite3.Connection]:
    """The database in a file, to read only. Its errors are raised as :class:`JournalError` of a place."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(file.resolve()))}?mode=ro", uri=True, isolation_level=None)
        ) as held:
            yield held
    except sqlite3.Error as error:
        raise JournalError(place, f"could not be copied: {error}; {mend_of(error, _NO_JOURNAL)}") from error


def _copy(source: Path, new: Path, place: str) -> None:
    with _reading(source, place) as held, closing(sqlite3.connect(new, isolation_level=None)) as made:
        # An open transaction holds one moment fast, or the copy would begin again whenever an event comes.
        held.execute("BEGIN")
        version = held.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise newer(place, version)
        if version < 1 or not held.execute("SELECT 1 FROM sqlite_master WHERE name = 'dead_letters'").fetchone():
            raise JournalError(place, "is none: it is a database of something else")
        held.backup(made, pages=_PAGES)
        # One file, that can be read where nothing may be written.
        made.execute("PRAGMA journal_mode = DELETE")


def _proven(new: Path, place: str, outcome: str) -> Copied:
    with _reading(new, place) as made:
        wrong = next(damage_in(made), None)
        if wrong is not None:
            raise JournalError(place, f"is damaged, so {outcome}: {wrong}")
        return Copied(*_counts(made), new.stat().st_size)


def _counts(connection: sqlite3.Connection) -> tuple[int, int]:
    """Events and dead letters."""
    query = "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM dead_letters)"
    events, letters = connection.execute(query).fetchone()
    return events, letters


def _give_new_id(new: Path, place: str) -> None:
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as made:
            made.execute("UPDATE meta SET value = ? WHERE name = 'id'", (str(uuid4()),))
    except sqlite3.Error as error:
        raise JournalError(place, f"could not be written: {error}; {mend_of(error)}") from error


def _refuse_if_used(folder: Path) -> None:
    if (folder / FILE).exists():
        with _reading(folder / FILE, str(folder)) as held:
            events, letters = _counts(held)
        if events or letters:
            reason = f"names {folder}, which holds {events} events and {letters} dead letters; name an empty folder"
            raise BadRequest("--data", reason)
