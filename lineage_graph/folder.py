"""A data folder is used by one process at a time, and knows whether it held a journal before."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from lineage_graph.errors import JournalError

FILE = "journal.sqlite"
LOCK = "journal.lock"


def locked(folder: Path) -> IO[str]:
    """The lock of a folder, made if there is none; held until it is closed or the process ends, however it ends.

    Raises JournalError when another process has it, or the folder can't be made or written.
    """
    place = str(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a+")
    except FileExistsError:
        raise JournalError(place, "cannot be opened: it is a file; name a folder") from None
    except OSError as error:
        reason = f"cannot be opened: {error.strerror}; name a folder that this user may write"
        raise JournalError(place, reason) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.readline().strip()
        lock.close()
        reason = (
            f"is in use by another process ({holder}): stop that one, ask it with --url if it serves, "
            "or name another folder"
        )
        raise JournalError(place, reason) from None
    lock.seek(0)
    write_lock(lock, lock.read().partition("\n")[2])
    return lock


def write_lock(lock: IO[str], journal: str) -> None:
    """Tell others who has the folder, and later starts which journal it holds, if any yet."""
    # On a full disk the lock holds all the same.
    with suppress(OSError):
        lock.truncate(0)
        os.write(lock.fileno(), f"pid {os.getpid()}\n{journal}".encode())


def refuse_if_lost(folder: Path, lock: IO[str]) -> None:
    """Raise JournalError where the journal that a folder held is missing or empty.

    SQLite would take that for a new one, and all events would be gone without a word.
    """
    lock.seek(0)
    before = lock.read().partition("\n")[2]
    file = folder / FILE
    if before and not (file.exists() and file.stat().st_size):
        raise JournalError(
            str(folder),
            f"is gone: {FILE} is missing or empty, but the folder held the journal {before}; restore a backup into it, "
            f"or remove {LOCK} to begin anew",
        )
