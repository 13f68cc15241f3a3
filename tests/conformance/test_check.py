"""The graph is what the journal says, and every way in which it is not is found and mended."""

from __future__ import annotations

from lineage_graph import LineageGraph
from lineage_graph.checking import Report, check
from lineage_graph.events import canonical, read
from lineage_graph.sample import events
from lineage_graph.upserts import upserts_of
from tests.events_builder import dataset, declare, run

OWNED = {"ownership": {"owners": [{"name": "ann"}]}, "tags": {"tags": [{"key": "pii"}]}}
HISTORY = [
    declare("first", ["orders"], ["clean"], at=0),
    run("first", ["orders"], [dataset("clean", schema=["id", "total"])], at=1),
    run("second", ["clean"], ["report"], at=2, columns={"report": {"sum": ["clean.total"], "*": ["clean.id FILTER"]}}),
    run("third", ["report"], [dataset("board", facets=OWNED, symlinks=["board_v1"])], at=3, type="FAIL"),
]


def told(report: Report) -> str:
    return "\n".join(f"{difference.what}: {difference.how}" for difference in report.first)


def test_the_graph_of_the_sample_is_what_its_journal_says(graph: LineageGraph) -> None:
    graph.ingest(events())
    report = check(graph)
    assert (report.different, report.first) == (0, [])
    elements = list(graph.store.elements())
    assert report.events == len(list(events()))
    assert report.relationships == len([element for element in elements if element.start])
    assert report.nodes >= len([element for element in elements if not element.start])


def test_an_empty_graph_of_an_empty_journal_is_right(graph: LineageGraph) -> None:
    assert check(graph) == Report(0)


def test_what_no_event_of_the_journal_said_is_found_and_gone_after_a_rebuild(graph: LineageGraph) -> None:
    graph.ingest(HISTORY)
    before = list(graph.store.elements())
    stray = canonical(run("stray", ["orders"], ["elsewhere"], at=9))
    graph.store.merge(upserts_of(read(stray)), graph.store.applied)
    report = check(graph)
    assert "dataset:shop:elsewhere: should not be there" in told(report)
    assert "WRITES from job:shop:stray to dataset:shop:elsewhere: should not be there" in told(report)
    assert "dataset:shop:orders: last_seen is '2026-01-01T00:09:00Z', should be '2026-01-01T00:01:00Z'" in told(report)
    assert graph.rebuild() == len(HISTORY)
    assert check(graph).different == 0
    assert list(graph.store.elements()) == before
    assert graph.lag == 0


def test_a_rebuild_tells_how_far_it_is(graph: LineageGraph) -> None:
    graph.ingest([run("copy", ["orders"], [f"table {number}"], at=number) for number in range(600)])
    reached: list[int] = []
    assert graph.rebuild(reached.append) == 600
    assert reached == [500, 600]
