"""The embedded graph is saved, taken back when that can be trusted, and else made anew."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_graph import LineageGraph, snapshot
from lineage_graph.journal import Journal
from lineage_graph.networkx_store import NetworkXStore
from lineage_graph.sample import EXAMPLES, events
from lineage_graph.snapshot import FILE, Snapshots
from tests.events_builder import run


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    with LineageGraph.open(folder) as graph:
        graph.ingest(events())
    assert (folder / FILE).exists()
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(scope="module")
def fresh() -> LineageGraph:
    graph = LineageGraph.open(None)
    graph.ingest(events())
    return graph


def held_from_snapshot(folder: Path) -> int:
    """Up to which offset a store is before anything is merged into it."""
    with Journal.open(folder) as journal:
        return NetworkXStore(Snapshots(folder, journal)).applied


def is_whole(graph: LineageGraph, fresh: LineageGraph) -> bool:
    answers = [g.impact(EXAMPLES["column"]).model_dump() for g in (graph, fresh)]
    return graph.lag == 0 and answers[0] == answers[1] and [*graph.store.elements()] == [*fresh.store.elements()]


def test_a_graph_is_taken_back_as_it_was(folder: Path, fresh: LineageGraph) -> None:
    assert held_from_snapshot(folder) == len(list(events()))
    with LineageGraph.open(folder) as graph:
        assert is_whole(graph, fresh)


def test_what_came_after_the_snapshot_is_merged_into_it(folder: Path) -> None:
    more = [run("late copy", [], [f"late {number}"], at=number) for number in range(3)]
    with LineageGraph.open(folder) as graph:
        graph.ingest(more)
    assert held_from_snapshot(folder) == len(list(events()))
    with LineageGraph.open(folder) as graph, LineageGraph.open(None) as other:
        other.ingest([*events(), *more])
        assert is_whole(graph, other)


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        flip,
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content[:30],
        lambda content: b"",
        lambda content: b"something else",
        lambda content: content + b"more",
    ],
    ids=["a bit flipped", "an end cut off", "half", "a header cut off", "empty", "another file", "more behind it"],
)
def test_a_damaged_snapshot_is_passed_over(
    folder: Path, fresh: LineageGraph, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    (folder / FILE).write_bytes(damage((folder / FILE).read_bytes()))
    assert held_from_snapshot(folder) == 0
    assert "is passed over and the graph made anew from the journal" in caplog.text
    with LineageGraph.open(folder) as graph:
        assert is_whole(graph, fresh)
    assert held_from_snapshot(folder) == len(list(events()))


def test_a_snapshot_of_another_version_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "VERSION", snapshot.VERSION + 1)
    assert held_from_snapshot(folder) == 0


def test_a_snapshot_of_another_journal_is_passed_over(folder: Path, tmp_path: Path) -> None:
    with LineageGraph.open(tmp_path / "other") as other:
        other.ingest(events())
    shutil.copy(folder / FILE, tmp_path / "other" / FILE)
    assert held_from_snapshot(tmp_path / "other") == 0


def test_a_journal_taken_back_to_an_earlier_day_does_not_trust_a_later_snapshot(folder: Path) -> None:
    with Journal.open(folder) as journal:
        journal._writer.execute("DELETE FROM events WHERE offset > 1000")
    assert held_from_snapshot(folder) == 0


def test_a_folder_that_takes_no_snapshot_loses_nothing(
    folder: Path, fresh: LineageGraph, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / FILE).unlink()
    (folder / f"{FILE}.new").mkdir()
    with caplog.at_level(logging.WARNING), LineageGraph.open(folder) as graph:
        assert is_whole(graph, fresh)
    assert "could not be written" in caplog.text
