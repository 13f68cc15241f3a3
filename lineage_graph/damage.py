"""What is wrong with a journal's database: SQLite's own check of it, and each body against its digest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from hashlib import blake2b

import zstandard

from lineage_graph.errors import InvalidEvent
from lineage_graph.events import decode, digest_of

_TOLD = 20
"""The most that the database's own check tells."""


def damage_in(connection: sqlite3.Connection) -> Iterator[str]:
    """A sentence for each thing that is wrong; none for a whole journal. Raises nothing for a damaged one."""
    try:
        for (text,) in connection.execute(f"PRAGMA integrity_check({_TOLD})"):
            if text != "ok":
                yield " ".join(str(text).split())
    except sqlite3.Error as error:
        yield f"the database can't be checked: {error}"
    yield from _wrong(connection, "events", "offset", "event at offset", _event_digest)
    yield from _wrong(connection, "dead_letters", "id", "dead letter", _letter_digest)


def _event_digest(body: bytes) -> str:
    return digest_of(decode(body))


def _letter_digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


def _wrong(
    connection: sqlite3.Connection, table: str, key: str, called: str, digest_of_body: Callable[[bytes], str]
) -> Iterator[str]:
    """Rows of a table whose body is not the one that its digest stands for."""
    after = 0
    while True:
        try:
            rows = connection.execute(
                f"SELECT {key}, digest, body FROM {table} WHERE {key} > ? ORDER BY {key}", (after,)
            )
            for after, digest, body in rows:
                try:
                    if digest_of_body(zstandard.decompress(body)) != digest:
                        yield f"the {called} {after} is another one than was kept: its digest is wrong"
                except (zstandard.ZstdError, InvalidEvent, TypeError) as error:
                    yield f"the {called} {after} can't be read: {error}"
            return
        except sqlite3.Error as error:
            unread = _next(connection, table, key, after)
            if unread is None:
                yield f"what follows the {called} {after} can't be read: {error}"
                return
            yield f"the {called} {unread} can't be read: {error}"
            after = unread


def _next(connection: sqlite3.Connection, table: str, key: str, after: int) -> int | None:
    """The key behind ``after``, found without reading what it stands for; ``None`` where even that fails."""
    try:
        (found,) = connection.execute(f"SELECT min({key}) FROM {table} WHERE {key} > ?", (after,)).fetchone()
    except sqlite3.Error:
        return None
    return None if found is None else int(found)
