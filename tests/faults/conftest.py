"""A command that is at work, and what its folder holds whoever uses it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, command
from tests.cli.conftest import folder as folder
from tests.cli.conftest import served as served
from tests.events_builder import run
from tests.test_journal import open_folder as open_folder

EVENTS = 3_000


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A working folder with a dump of many events."""
    events = (
        run(f"job {number % 300}", [f"table {number % 300}"], [f"table {number % 300 + 1}"], at=number)
        for number in range(EVENTS)
    )
    (tmp_path / "events.ndjson").write_text("\n".join(map(json.dumps, events)))
    return tmp_path


@contextmanager
def running(*words: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_")}
    process = subprocess.Popen(
        [COMMAND, *words], cwd=folder, env=clean | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def kept(where: Path) -> int:
    """Events in the journal, whoever uses the folder."""
    file = where / "lineage-data" / "journal.sqlite"
    if not file.exists():
        return 0
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as held:
        try:
            count: int = held.execute("SELECT count(*) FROM events").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
    return count


def is_right(where: Path, events: int = EVENTS, **environment: str) -> bool:
    checked = command("check", folder=where, **environment)
    return checked.returncode == 0 and re.match(f"{events} events? whole, and", checked.stdout) is not None
