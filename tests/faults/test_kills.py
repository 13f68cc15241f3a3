"""Killed in the middle of something and started again, nothing that was acknowledged is lost and the graph is right."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import command
from tests.events_builder import run
from tests.faults.conftest import EVENTS, is_right, kept, running
from tests.stores import access_settings, database, empty

WITHIN = 60.0
"""Seconds in which progress must show."""


def kill_when(process: subprocess.Popen[bytes], is_under_way: Callable[[], bool]) -> None:
    """Kill a process once its work has begun to show and before it is at its end."""
    deadline = time.monotonic() + WITHIN
    while not is_under_way():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
    process.kill()
    assert process.wait(20) == -9


def stores(request: pytest.FixtureRequest, store: str) -> dict[str, str]:
    if store == "embedded":
        return {}
    uri = str(request.getfixturevalue("neo4j_uri"))
    empty(uri)
    return access_settings(uri)


@pytest.mark.parametrize("store", ["embedded", "neo4j"])
def test_a_load_that_was_killed_is_loaded_again(request: pytest.FixtureRequest, dump: Path, store: str) -> None:
    given = stores(request, store)
    with running("load", "events.ndjson", folder=dump, **given) as process:
        kill_when(process, lambda: kept(dump) >= 500)
    before = kept(dump)
    assert 500 <= before < EVENTS
    assert is_right(dump, before, **given)
    again = command("load", "events.ndjson", folder=dump, **given)
    assert again.returncode == 0
    assert is_right(dump, **given)


def test_every_event_that_a_killed_server_acknowledged_is_there(
    served: tuple[subprocess.Popen[str], str],
    folder: Path,
) -> None:
    process, url = served
    acknowledged: list[object] = []
    enough = threading.Event()

    def send() -> None:
        with httpx.Client(base_url=url) as client, contextlib.suppress(httpx.TransportError):
            for number in itertools.count():
                event = run(f"job {number}", ["orders"], [f"late {number}"], at=number + 10)
                assert client.post("/api/v1/lineage", json=event).status_code == 201
                acknowledged.append(event)
                if number == 30:
                    enough.set()

    sender = threading.Thread(target=send)
    sender.start()
    assert enough.wait(WITHIN)
    process.kill()
    sender.join(20)
    assert not sender.is_alive()
    exported = command("export", "--format", "openlineage", folder=folder).stdout.splitlines()
    kept_later = [json.loads(line) for line in exported[2:]]
    assert kept_later[: len(acknowledged)] == acknowledged
    assert len(kept_later) - len(acknowledged) in (0, 1)
    assert is_right(folder, len(exported))


@pytest.mark.parametrize("moment", ["dropping", "merging"])
def test_a_rebuild_that_was_killed_goes_on_at_the_next_start(
    request: pytest.FixtureRequest, dump: Path, moment: str
) -> None:
    given = stores(request, "neo4j")
    assert command("load", "events.ndjson", folder=dump, **given).returncode == 0
    with database(given["LINEAGE_STORE"]) as driver:

        def is_under_way() -> bool:
            text = "MATCH (l:Ledger) RETURN l.dropping AS dropping, l.applied AS applied"
            ledgers = driver.execute_query(text).records
            if moment == "dropping":
                return any(ledger["dropping"] for ledger in ledgers)
            return any(not ledger["dropping"] and 0 < ledger["applied"] < EVENTS for ledger in ledgers)

        with running("rebuild", folder=dump, **given) as process:
            kill_when(process, is_under_way)
    if moment == "dropping":
        assert is_right(dump, **given)
    else:
        assert command("rebuild", folder=dump, **given).returncode == 0
        assert is_right(dump, **given)


def test_a_rebuild_of_the_embedded_graph_that_was_killed_is_made_by_the_next_start(dump: Path) -> None:
    assert command("load", "events.ndjson", folder=dump).returncode == 0
    saved = dump / "lineage-data" / "graph.snapshot"
    assert saved.exists()
    with running("rebuild", folder=dump) as process:
        kill_when(process, lambda: not saved.exists())
    assert is_right(dump)


@pytest.mark.parametrize("force", [False, True])
def test_a_backup_that_was_killed_leaves_the_one_before_and_is_made_again(dump: Path, force: bool) -> None:
    assert command("load", "events.ndjson", folder=dump).returncode == 0
    file, unfinished = dump / "copy.sqlite", dump / "copy.sqlite.new"
    if force:
        file.write_text("the one before")
    with running("backup", "copy.sqlite", *(["--force"] if force else []), folder=dump) as process:
        kill_when(process, lambda: unfinished.exists() and unfinished.stat().st_size > 0)
    assert (file.read_text() if file.exists() else "") == ("the one before" if force else "")
    assert is_right(dump)
    assert command("backup", "copy.sqlite", "--force", folder=dump).returncode == 0
    assert not unfinished.exists()
    assert command("restore", "copy.sqlite", "--data", "new", folder=dump).returncode == 0
    assert command("check", "--data", "new", folder=dump).returncode == 0


def test_a_restore_that_was_killed_is_made_again(dump: Path) -> None:
    assert command("load", "events.ndjson", folder=dump).returncode == 0
    assert command("backup", "copy.sqlite", folder=dump).returncode == 0
    unfinished = dump / "new" / "journal.sqlite.new"
    with running("restore", "copy.sqlite", "--data", "new", folder=dump) as process:
        kill_when(process, lambda: unfinished.exists() and unfinished.stat().st_size > 0)
    assert not (dump / "new" / "journal.sqlite").exists()
    assert command("restore", "copy.sqlite", "--data", "new", folder=dump).returncode == 0
    assert not unfinished.exists()
    assert command("check", "--data", "new", folder=dump).returncode == 0
