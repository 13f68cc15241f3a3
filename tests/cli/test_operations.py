"""Proving, mending, copying and trying again, as people type it."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import zstandard

from lineage_graph import LineageGraph
from lineage_graph.events import read
from lineage_graph.journal import Journal
from lineage_graph.networkx_store import NetworkXStore
from lineage_graph.snapshot import Snapshots
from lineage_graph.upserts import upserts_of
from tests.cli.conftest import command
from tests.events_builder import run
from tests.stores import access_settings, database, empty

BAD = '{"half":\n{"eventTime": "2026-01-01T00:00:00Z", "job": {"namespace": "shop", "name": ""}}\n{}\n'


@pytest.fixture
def with_letters(folder: Path) -> Path:
    (folder / "bad.ndjson").write_text(BAD)
    assert command("load", "bad.ndjson", folder=folder).returncode == 3
    return folder


def letters(folder: Path, *more: object) -> dict[str, object]:
    answer: dict[str, object] = json.loads(command("dead-letters", "list", "--json", *more, folder=folder).stdout)
    return answer


# -- check and rebuild


def test_a_check_of_what_is_right_counts_it(folder: Path) -> None:
    result = command("check", folder=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "2 events whole, and the graph is what they say: 14 nodes, 14 relationships\n"


def test_a_graph_that_was_saved_wrong_is_found_and_repaired(tmp_path: Path) -> None:
    """The saved graph says that it holds all events, and lacks every other one."""
    events = [json.dumps(run("copy", ["orders"], [f"table {number}"], at=number)).encode() for number in range(600)]
    with Journal.open(tmp_path / "lineage-data") as journal:
        journal.append([(read(body), body) for body in events])
        store = NetworkXStore(Snapshots(tmp_path / "lineage-data", journal))
        for body in events[::2]:
            store.merge(upserts_of(read(body)), journal.last_offset)
        store.close()
    assert command("impact", "dataset:shop:table 1", folder=tmp_path).returncode == 4
    wrong = command("check", folder=tmp_path)
    assert wrong.returncode == 1
    assert re.search(r"^dataset:shop:table \d*[13579]: is missing$", wrong.stdout, re.M)
    assert not re.search(r"^dataset:shop:table \d*[02468]: is missing$", wrong.stdout, re.M)
    assert "lineage-graph check --repair makes the graph again" in wrong.stdout
    repaired = command("check", "--repair", folder=tmp_path)
    assert repaired.returncode == 0
    assert "the graph was made again" in repaired.stdout
    assert command("check", folder=tmp_path).returncode == 0
    assert command("impact", "dataset:shop:table 1", folder=tmp_path).returncode == 0


def test_a_graph_in_neo4j_is_checked_repaired_and_made_again(folder: Path, neo4j_uri: str) -> None:
    empty(neo4j_uri)
    given = access_settings(neo4j_uri)
    assert command("check", folder=folder, **given).returncode == 0
    with database(neo4j_uri) as driver:
        driver.execute_query("MATCH (:Job {name: 'first'})-[r:WRITES]->() DELETE r")
    wrong = command("check", folder=folder, **given)
    assert wrong.returncode == 1
    assert "WRITES from job:shop:first to dataset:shop:clean: is missing\n" in wrong.stdout
    assert command("check", "--repair", folder=folder, **given).returncode == 0
    assert command("rebuild", folder=folder, **given).stdout == "the graph was made again from 2 events\n"
    assert command("check", folder=folder, **given).returncode == 0


def test_a_database_of_two_journals_is_neither_checked_nor_dropped_without_a_word(folder: Path, neo4j_uri: str) -> None:
    empty(neo4j_uri)
    given = access_settings(neo4j_uri)
    for data in ("lineage-data", "other"):
        assert command("load", "events.ndjson", "--data", data, folder=folder, **given).returncode == 0
    for asked in ("check", "rebuild"):
        refused = command(asked, folder=folder, **given)
        assert refused.returncode == 2
        assert "other journals have merged into" in refused.stderr
        assert "lineage-graph rebuild --all-journals" in refused.stderr
    assert command("rebuild", "--all-journals", folder=folder, **given).returncode == 0
    assert command("check", folder=folder, **given).returncode == 0


def test_an_event_that_is_not_what_was_kept_is_named(folder: Path) -> None:
    other = zstandard.compress(json.dumps(run("other", ["orders"], ["clean"], at=0)).encode())
    with closing(sqlite3.connect(folder / "lineage-data" / "journal.sqlite", isolation_level=None)) as database:
        whole = database.execute("SELECT body FROM events WHERE offset = 2").fetchone()[0]
        database.execute("UPDATE events SET body = ? WHERE offset = 1", (other,))
        database.execute("UPDATE events SET body = ? WHERE offset = 2", (whole[: len(whole) // 2],))
    result = command("check", folder=folder)
    assert result.returncode == 1
    assert "the event at offset 1 is another one than was kept: its digest is wrong" in result.stdout
    assert "the event at offset 2 can't be read: " in result.stdout
    assert "the journal in lineage-data is damaged; restore a backup into another folder" in result.stdout
    asked = command("impact", "dataset:shop:orders", folder=folder)
    assert asked.returncode == 5
    assert "the journal in lineage-data holds a damaged event at offset" in asked.stderr
    assert "restore a backup" in asked.stderr
    kept = command("rebuild", folder=folder)
    assert kept.returncode == 5
    assert "is damaged, so the graph was not dropped: the event at offset 1" in kept.stderr
    refused = command("backup", "copy.sqlite", folder=folder)
    assert refused.returncode == 5
    assert "is damaged, so no backup was made: the event at offset 1" in refused.stderr
    assert not (folder / "copy.sqlite").exists()


# -- backups


def contents(folder: Path) -> tuple[object, ...]:
    with LineageGraph.open(folder) as graph:
        entries = [entry for entries in graph.journal.replay() for entry in entries]
        return entries, graph.journal.dead_letters(), list(graph.store.elements())


def test_a_backup_is_restored_with_all_that_was_kept(with_letters: Path) -> None:
    folder = with_letters
    made = command("backup", "copy.sqlite", folder=folder)
    assert made.returncode == 0
    assert made.stdout.startswith("2 events and 3 dead letters in copy.sqlite, ")
    restored = command("restore", "copy.sqlite", "--data", "new", folder=folder)
    assert (restored.returncode, restored.stderr) == (0, "")
    assert contents(folder / "new") == contents(folder / "lineage-data")
    assert command("check", "--data", "new", folder=folder).returncode == 0
    with Journal.open(folder / "new") as new, Journal.open(folder / "lineage-data") as old:
        assert new.id != old.id
    assert sorted(path.name for path in folder.glob("copy*")) == ["copy.sqlite"]


def test_a_backup_is_made_while_a_server_takes_events(
    served: tuple[object, str],
    folder: Path,
) -> None:
    _, url = served
    assert httpx.post(f"{url}/api/v1/lineage", json=run("third", ["report"], ["board"], at=2)).status_code == 201
    assert command("backup", "copy.sqlite", folder=folder).stdout.startswith("3 events and 0 dead letters")
    assert httpx.post(f"{url}/api/v1/lineage", json=run("fourth", ["board"], ["wall"], at=3)).status_code == 201
    assert command("restore", "copy.sqlite", "--data", "new", folder=folder).returncode == 0
    assert "3 datasets, 3 jobs" in command("impact", "dataset:shop:orders", "--data", "new", folder=folder).stdout
    assert command("backup", "copy.sqlite", "--force", folder=folder).stdout.startswith("4 events")


def test_a_file_that_is_there_is_replaced_on_demand_only(folder: Path) -> None:
    (folder / "copy.sqlite").write_text("mine")
    refused = command("backup", "copy.sqlite", folder=folder)
    assert refused.returncode == 2
    assert "copy.sqlite exists; name another one, or replace it with --force" in refused.stderr
    assert (folder / "copy.sqlite").read_text() == "mine"
    assert command("backup", "copy.sqlite", "--force", folder=folder).returncode == 0
    assert command("restore", "copy.sqlite", "--data", "new", folder=folder).returncode == 0


def test_what_can_not_be_backed_up_is_said(folder: Path) -> None:
    none = command("backup", "copy.sqlite", "--data", "none", folder=folder)
    assert (none.returncode, "holds no journal" in none.stderr) == (2, True)
    nowhere = command("backup", "no/such/folder/copy.sqlite", folder=folder)
    assert nowhere.returncode == 5
    assert "no/such/folder/copy.sqlite could not be written: No such file or directory" in nowhere.stderr


def test_a_folder_that_holds_events_is_not_restored_into(folder: Path) -> None:
    command("backup", "copy.sqlite", folder=folder)
    before = contents(folder / "lineage-data")
    refused = command("restore", "copy.sqlite", folder=folder)
    assert refused.returncode == 2
    assert "lineage-data, which holds 2 events and 0 dead letters; name an empty folder" in refused.stderr
    assert contents(folder / "lineage-data") == before


def test_an_empty_journal_gives_way_to_a_backup(folder: Path) -> None:
    command("backup", "copy.sqlite", folder=folder)
    Journal.open(folder / "new").close()
    assert command("restore", "copy.sqlite", "--data", "new", folder=folder).returncode == 0
    assert contents(folder / "new") == contents(folder / "lineage-data")


@pytest.mark.parametrize("exists", [True, False], ids=["into a folder", "into no folder"])
@pytest.mark.parametrize("damage", ["text", "empty", "another database", "half", "a body", "a newer schema"])
def test_a_file_that_is_no_whole_backup_is_refused_and_the_folder_is_as_it_was(
    folder: Path, damage: str, exists: bool
) -> None:
    file, new = folder / "copy.sqlite", folder / "new"
    command("backup", "copy.sqlite", folder=folder)
    if damage == "text":
        file.write_text("this is no database" * 100)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "half":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    else:
        statement = {
            "another database": "DROP TABLE dead_letters",
            "a body": "UPDATE events SET body = x'00' WHERE offset = 2",
            "a newer schema": "PRAGMA user_version = 99",
        }[damage]
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            database.execute(statement)
    if exists:
        new.mkdir()
        (new / "note").write_text("mine")
    refused = command("restore", "copy.sqlite", "--data", "new", folder=folder)
    assert refused.returncode == 5
    assert "the journal in copy.sqlite " in refused.stderr
    assert "Traceback" not in refused.stderr
    if damage == "a body":
        assert "is damaged, so nothing was restored: the event at offset 2 can't be read" in refused.stderr
    if exists:
        assert {path.name for path in new.iterdir()} - {"journal.lock"} == {"note"}
    else:
        assert not new.exists()


def test_a_file_that_is_not_there_is_not_restored(folder: Path) -> None:
    refused = command("restore", "none.sqlite", "--data", "new", folder=folder)
    assert (refused.returncode, "none.sqlite does not exist" in refused.stderr) == (2, True)
    assert not (folder / "new").exists()


# -- dead letters


def test_dead_letters_are_listed_with_their_place_and_reason(with_letters: Path) -> None:
    shown = command("dead-letters", "list", folder=with_letters, COLUMNS="160").stdout
    assert "bad.ndjson:2   $.job.name   must not be empty" in shown
    assert "3 of 3 dead letters" in shown
    page = command("dead-letters", "list", "--limit", "2", folder=with_letters).stdout
    assert "2 of 3 dead letters; the next ones: --after 2" in page
    answer = letters(with_letters, "--after", "2")
    assert (answer["total"], answer["next"]) == (3, None)
    assert [item["source"] for item in answer["items"]] == ["bad.ndjson:3"]  # type: ignore[attr-defined]


def test_a_dead_letter_is_shown_as_it_came(with_letters: Path) -> None:
    assert command("dead-letters", "show", "1", folder=with_letters).stdout == '{"half":'
    unknown = command("dead-letters", "show", "9", folder=with_letters)
    assert (unknown.returncode, "dead letter 9 is not known" in unknown.stderr) == (4, True)


def test_dead_letters_of_a_server_are_asked_for_by_its_address(
    with_letters: Path,
    served: tuple[object, str],
) -> None:
    _, url = served
    assert "3 of 3 dead letters" in command("dead-letters", "list", "--url", url, folder=with_letters).stdout
    assert command("dead-letters", "show", "1", "--url", url, folder=with_letters).stdout == '{"half":'
    assert command("dead-letters", "show", "9", "--url", url, folder=with_letters).returncode == 4
    assert httpx.get(f"{url}/api/v1/dead-letters", params={"limit": 0}).status_code == 422
    assert command("dead-letters", "retry", "--all", folder=with_letters).returncode == 5


def test_what_is_an_event_by_now_leaves_the_list_and_the_others_stay(with_letters: Path) -> None:
    """As when a later version takes what an earlier one refused: a letter's body is an event."""
    event = json.dumps(run("third", ["report"], ["board"], at=2)).encode()
    with closing(sqlite3.connect(with_letters / "lineage-data" / "journal.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE dead_letters SET body = ? WHERE id = 2", (zstandard.compress(event),))
    one = command("dead-letters", "retry", "1", folder=with_letters)
    assert (one.returncode, one.stdout) == (3, "0 events taken, 1 dead letter left as before\n")
    every = command("dead-letters", "retry", "--all", folder=with_letters)
    assert (every.returncode, every.stdout) == (3, "1 event taken, 2 dead letters left as before\n")
    assert [item["id"] for item in letters(with_letters)["items"]] == [1, 3]  # type: ignore[attr-defined]
    assert "3 datasets, 3 jobs" in command("impact", "dataset:shop:orders", folder=with_letters).stdout


def test_which_letters_to_try_again_must_be_said(with_letters: Path) -> None:
    for given in ((), ("1", "--all")):
        assert command("dead-letters", "retry", *given, folder=with_letters).returncode == 2
    assert command("dead-letters", "retry", "1", "9", folder=with_letters).returncode == 4
    assert letters(with_letters)["total"] == 3
