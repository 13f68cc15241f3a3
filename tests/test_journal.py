"""What the journal keeps, for how long, and what it says when it cannot. Real files, real processes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lineage_graph.errors import JournalError
from lineage_graph.events import Event, parse_time, read
from lineage_graph.journal import SCHEMA_VERSION, Appended, Entry, Journal, Refused

Item = tuple[Event, bytes]


def item(name: str, time: str = "2026-03-01T06:00:00Z", padding: str = "") -> Item:
    body = json.dumps(
        {
            "eventTime": time,
            "eventType": "COMPLETE",
            "run": {"runId": name, "facets": {"padding": {"text": padding}}},
            "job": {"namespace": "shop", "name": name},
        }
    ).encode()
    return read(body), body


def items(count: int, prefix: str = "run") -> list[Item]:
    return [item(f"{prefix} {number}") for number in range(count)]


def entries(journal: Journal, after: int = 0, batch: int = 1000) -> list[Entry]:
    return [entry for entries in journal.replay(after, batch) for entry in entries]


@pytest.fixture(params=["on disk", "in memory"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "data" if request.param == "on disk" else None) as opened:
        yield opened


# -- events


def test_a_new_journal_is_empty(journal: Journal) -> None:
    assert (journal.count, journal.last_offset, entries(journal), journal.dead_letters()) == (0, 0, [], [])


def test_events_are_kept_byte_for_byte_in_the_order_they_came(journal: Journal) -> None:
    event, body = item("a")
    spaced = b'\xef\xbb\xbf{"eventTime" : "2026-03-01T06:00:00Z",\r\n"job":{"namespace":"n","name":"\\u00e9"}} \n'
    assert journal.append([(event, body), (read(spaced), spaced)]) == [Appended(1, True), Appended(2, True)]
    assert journal.append([item("b")]) == [Appended(3, True)]
    assert [entry.body for entry in entries(journal)] == [body, spaced, item("b")[1]]
    assert (journal.count, journal.last_offset) == (3, 3)


def test_the_same_event_is_kept_once(journal: Journal) -> None:
    (event, body), other = item("a"), item("b")
    reordered = json.dumps(json.loads(body), indent=2, sort_keys=True).encode()
    assert reordered != body
    assert journal.append([(event, body), other, (read(reordered), reordered)]) == [
        Appended(1, True),
        Appended(2, True),
        Appended(1, False),
    ]
    assert journal.append([item("c"), other, (event, body)]) == [
        Appended(3, True),
        Appended(2, False),
        Appended(1, False),
    ]
    assert [entry.body for entry in entries(journal)] == [body, other[1], item("c")[1]]


def test_appending_nothing_keeps_nothing(journal: Journal) -> None:
    assert journal.append([]) == []
    assert journal.count == 0


@pytest.mark.parametrize("batch", [1, 3, 10, 11])
def test_replay_starts_after_any_offset(journal: Journal, batch: int) -> None:
    journal.append(items(10))
    for after in range(12):
        assert [entry.offset for entry in entries(journal, after, batch)] == list(range(after + 1, 11))
    assert [len(entries) for entries in journal.replay(batch=batch)] == (
        [batch] * (10 // batch) + ([10 % batch] if 10 % batch else [])
    )


def test_a_replay_takes_in_what_is_appended_meanwhile(journal: Journal) -> None:
    journal.append(items(4))
    replay = journal.replay(batch=3)
    assert [entry.offset for entry in next(replay)] == [1, 2, 3]
    journal.append(items(2, "later"))
    assert [[entry.offset for entry in batch] for batch in replay] == [[4, 5, 6]]


def test_an_event_is_found_by_its_digest(journal: Journal) -> None:
    wanted, other = item("a"), item("b")
    journal.append([other, wanted])
    assert journal.event(wanted[0].digest) == entries(journal)[1]
    assert journal.event("0" * 32) is None
    assert journal.event("no digest") is None


def test_received_times_never_go_back(journal: Journal) -> None:
    for number in range(20):
        journal.append([item(f"{number} a"), item(f"{number} b")])
    received = [entry.received for entry in entries(journal)]
    assert received == sorted(received)
    assert received[0] == received[1]
    assert received[0] > parse_time("2025-01-01T00:00:00Z")[0]


def test_a_large_body_comes_back_whole(journal: Journal) -> None:
    large = item("a", padding="äß" * 2_000_000)
    journal.append([large])
    assert entries(journal)[0].body == large[1]


def test_an_error_of_the_caller_keeps_nothing_of_the_batch(journal: Journal) -> None:
    event, body = item("bad")
    unwritable = event.model_copy(update={"digest": object()})
    with pytest.raises(JournalError):
        journal.append([item("a"), (unwritable, body)])
    assert journal.count == 0
    assert journal.append([item("b")]) == [Appended(1, True)]


# -- dead letters


def test_a_refused_body_is_kept_once_with_where_it_came_from(journal: Journal) -> None:
    first = Refused("dump.ndjson:17", "is not JSON: unexpected end of data at line 1 column 9", "$", b'{"half":')
    second = Refused("POST /api/v1/lineage", "must not be empty", "$.job.name", b"\xff\x00 any bytes")
    journal.refuse([first, second, first])
    journal.refuse([first._replace(source="dump.ndjson:18")])
    kept = journal.dead_letters()
    assert [Refused(letter.source, letter.reason, letter.path, letter.body) for letter in kept] == [
        first,
        second,
    ]
    assert [letter.id for letter in kept] == [1, 2]
    assert all(letter.received > parse_time("2025-01-01T00:00:00Z")[0] for letter in kept)
    assert (journal.count, journal.last_offset) == (0, 0)


def test_dead_letters_are_paged_by_id_and_discarded(journal: Journal) -> None:
    journal.refuse(Refused(f"dump.ndjson:{line}", "is empty", "$", b"%d" % line) for line in range(1, 8))
    assert [letter.id for letter in journal.dead_letters(limit=3)] == [1, 2, 3]
    assert [letter.id for letter in journal.dead_letters(after=3, limit=3)] == [4, 5, 6]
    journal.discard([1, 3, 99])
    assert [letter.id for letter in journal.dead_letters()] == [2, 4, 5, 6, 7]


# -- life of a folder


def test_a_journal_is_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "new" / "folder"
    with Journal.open(folder) as journal:
        journal.append(items(3))
        journal.refuse([Refused("a:1", "is empty", "$", b"")])
        known, identity = entries(journal), journal.id
    with Journal.open(folder) as journal:
        assert entries(journal) == known
        assert journal.id == identity
        assert len(journal.dead_letters()) == 1
        assert journal.append([*items(3), item("new")]) == [
            *(Appended(offset, False) for offset in (1, 2, 3)),
            Appended(4, True),
        ]
        assert entries(journal)[3].received >= known[-1].received
    with Journal.open(tmp_path / "other") as other:
        assert other.id != identity


def test_offsets_are_never_given_twice(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.append(items(3))
    with sqlite3.connect(tmp_path / "journal.sqlite") as database:
        database.execute("DELETE FROM events")
    database.close()
    with Journal.open(tmp_path) as journal:
        assert (journal.count, journal.last_offset) == (0, 3)
        assert journal.append([item("new")]) == [Appended(4, True)]


def test_a_closed_journal_says_so(journal: Journal) -> None:
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="is closed"):
        journal.append([item("a")])
    with pytest.raises(JournalError, match="is closed"):
        journal.event("0" * 32)


def test_every_commit_is_forced_to_the_disk(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        assert journal._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert journal._writer.execute("PRAGMA synchronous").fetchone() == (2,)


# -- several threads and processes


def test_many_threads_append_and_read_at_once(journal: Journal) -> None:
    shared = items(40, "shared")

    def load(thread: int) -> list[Appended]:
        appended = []
        for number in range(40):
            appended += journal.append([item(f"{thread} {number}"), shared[number]])
            offsets = [entry.offset for entry in entries(journal, batch=7)]
            assert offsets == list(range(1, len(offsets) + 1))
        return appended

    with ThreadPoolExecutor(4) as pool:
        results = [result for results in pool.map(load, range(4)) for result in results]
    assert journal.count == journal.last_offset == 5 * 40
    assert sorted(result.offset for result in results if result.is_new) == list(range(1, 201))
    assert len({read(entry.body).digest for entry in entries(journal)}) == 200


def run_python(script: str, *arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


OPEN = """
import sys
from pathlib import Path
from lineage_graph.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
"""

APPEND_FOR_EVER = (
    OPEN
    + """
import json
from lineage_graph.errors import JournalError
from lineage_graph.events import read
for number in range(1_000_000):
    noise = {"noise": {"x": str(hash(number * 1.1)) * 40}}
    job = {"namespace": "shop", "name": f"job {number}", "facets": noise}
    body = json.dumps({"eventTime": "2026-03-01T06:00:00Z", "job": job}).encode()
    try:
        journal.append([(read(body), body)])
    except JournalError as error:
        print(error, file=sys.stderr)
        break
    print(number, flush=True)
"""
)


def test_a_folder_is_used_by_one_process_at_a_time(tmp_path: Path) -> None:
    other = run_python(OPEN + "print('open', flush=True)\ninput()", str(tmp_path))
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    with pytest.raises(JournalError) as caught:
        Journal.open(tmp_path)
    assert caught.value.place == str(tmp_path)
    assert f"is in use by another process (pid {other.pid})" in caught.value.reason
    assert "name another folder" in caught.value.reason
    other.communicate("\n")
    Journal.open(tmp_path).close()


def test_a_folder_that_is_open_is_not_opened_again(tmp_path: Path) -> None:
    with Journal.open(tmp_path), pytest.raises(JournalError, match="is in use by"):
        Journal.open(tmp_path)


def test_what_was_acknowledged_outlives_a_killed_process(tmp_path: Path) -> None:
    other = run_python(APPEND_FOR_EVER, str(tmp_path))
    assert other.stdout is not None
    acknowledged = [int(other.stdout.readline()) for _ in range(50)]
    other.kill()
    acknowledged += [int(line) for line in other.communicate()[0].splitlines()]
    with Journal.open(tmp_path) as journal:
        kept = [json.loads(entry.body)["job"]["name"] for entry in entries(journal)]
    assert kept[: len(acknowledged)] == [f"job {number}" for number in acknowledged]
    assert len(kept) - len(acknowledged) in (0, 1)


def test_a_full_disk_is_said_and_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
    other = run_python(limit + APPEND_FOR_EVER, str(tmp_path))
    acknowledged, error = other.communicate()
    assert error.startswith(f"the journal in {tmp_path} could not be written: ")
    assert other.returncode == 0
    with Journal.open(tmp_path) as journal:
        assert journal.count == len(acknowledged.splitlines()) > 10
        assert journal.append([item("after")])[0].is_new


def test_a_journal_that_could_not_be_written_is_not_well_until_it_can_be(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        (pages,) = journal._writer.execute("PRAGMA page_count").fetchone()
        journal._writer.execute(f"PRAGMA max_page_count = {pages}")
        journal.ping()
        with pytest.raises(JournalError, match="could not be written"):
            journal.append([item(f"job {number}") for number in range(1_000)])
        journal._writer.execute("PRAGMA max_page_count = 1000000")
        journal.ping()
        assert journal.append([item("after")])[0].is_new
        journal._writer.execute("PRAGMA query_only = 1")
        for broken in (lambda: journal.append([item("more")]), journal.ping):
            with pytest.raises(JournalError, match="could not be written"):
                broken()
        journal._writer.execute("PRAGMA query_only = 0")
        journal.ping()


# -- what cannot be opened


@contextmanager
def no_superuser() -> Iterator[None]:
    """Rights bind nobody who is root, as tests in a container often are."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may reach, which the folders of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def refusal(folder: Path) -> str:
    with pytest.raises(JournalError) as caught:
        Journal.open(folder)
    assert caught.value.place == str(folder)
    return caught.value.reason


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert refusal(tmp_path / "file") == "cannot be opened: it is a file; name a folder"
    assert refusal(tmp_path / "file" / "below").startswith("cannot be opened: Not a directory; name a folder")


def test_a_folder_that_may_not_be_written_says_so(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(0o700)
    open_folder.chmod(0o555)
    with no_superuser():
        for folder in (open_folder, open_folder / "new", open_folder / "closed" / "new"):
            assert refusal(folder) == "cannot be opened: Permission denied; name a folder that this user may write"


def test_a_journal_that_may_not_be_written_says_so_when_it_is_opened(open_folder: Path) -> None:
    Journal.open(open_folder).close()
    open_folder.chmod(0o777)
    (open_folder / "journal.lock").chmod(0o666)
    (open_folder / "journal.sqlite").chmod(0o444)
    with no_superuser():
        assert "attempt to write a readonly database" in refusal(open_folder)


def test_a_newer_journal_is_left_alone(tmp_path: Path) -> None:
    Journal.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    before = (tmp_path / "journal.sqlite").read_bytes()
    reason = refusal(tmp_path)
    assert "was written by a newer version" in reason
    assert "update lineage-graph" in reason
    assert (tmp_path / "journal.sqlite").read_bytes() == before


def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "journal.sqlite"
    database.write_bytes(b"this is no database" * 100)
    for _ in range(2):
        assert "file is not a database" in refusal(tmp_path)
    assert database.read_bytes() == b"this is no database" * 100
    database.unlink()
    database.mkdir()
    assert "unable to open database file" in refusal(tmp_path)
    database.rmdir()
    Journal.open(tmp_path).close()
