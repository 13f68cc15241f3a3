"""The matrix itself: every conformance test runs on every store, and each is the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lineage_graph import LineageGraph, neo4j_store, networkx_store
from lineage_graph import graph as graph_module
from lineage_graph.events import canonical
from lineage_graph.neo4j_store import Neo4jStore
from lineage_graph.networkx_store import NetworkXStore
from lineage_graph.projection import fold
from lineage_graph.upserts import upserts_of
from tests.asking import table, tables
from tests.events_builder import run
from tests.stores import STORES


def test_every_test_with_a_graph_runs_on_every_store(request: pytest.FixtureRequest) -> None:
    stores_of: dict[str, set[str]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and "store_uri" in item.fixturenames:
            name = f"{item.path}::{item.originalname}"
            stores_of.setdefault(name, set()).add(str(item.callspec.params["store_uri"]))
    assert stores_of
    assert {name: held for name, held in stores_of.items() if held != set(STORES)} == {}


def test_the_store_is_the_one_that_was_asked_for(graph: LineageGraph, store_uri: str | None) -> None:
    assert isinstance(graph.store, NetworkXStore if store_uri is None else Neo4jStore)


def test_a_new_graph_is_empty(graph: LineageGraph) -> None:
    assert list(graph.store.elements()) == []
    assert (graph.store.applied, graph.lag) == (0, 0)


@pytest.mark.parametrize("where", ["upserts", "fold"])
def test_an_event_that_cannot_be_merged_is_set_aside_and_the_others_are_merged(
    graph: LineageGraph, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """No such event is known, so a rule is made to fail on one."""
    events = [run(f"copy {number}", ["orders"], [f"report {number}"], at=number) for number in range(9)]

    def failing(rule: Callable[..., Any]) -> Callable[..., Any]:
        def fail(first: Any, *more: Any) -> Any:
            if "report 4" in repr(first):
                raise ZeroDivisionError("a fault of the rule")
            return rule(first, *more)

        return fail

    monkeypatch.setattr(graph_module, "upserts_of", upserts_of if where == "fold" else failing(upserts_of))
    for module in (networkx_store, neo4j_store):
        monkeypatch.setattr(module, "fold", fold if where == "upserts" else failing(fold))
    graph.ingest(events[:3])
    assert all(taken.applied for taken in graph.ingest(events[3:]))
    assert graph.lag == 0
    assert tables(graph.impact(table("orders"))) == {f"report {number}": 1 for number in range(9) if number != 4}
    (letter,) = graph.journal.dead_letters()
    assert letter.body == canonical(events[4])
    assert "could not be merged into the graph: ZeroDivisionError: a fault of the rule" in letter.reason
    assert len(list(graph.events())) == 9
    graph.ingest([run("sum", ["report 5"], ["total"], at=20)])
    assert tables(graph.upstream(table("total"))) == {"report 5": 1, "orders": 2}


def test_the_newest_event_may_be_older_than_1970(graph: LineageGraph) -> None:
    graph.ingest([{**run("copy", ["orders"], ["report"], at=1), "eventTime": "1960-01-01T00:00:00Z"}])
    assert graph.impact(table("orders")).newest_event == "1960-01-01T00:00:00Z"


def test_both_stores_are_bound() -> None:
    assert STORES == ("networkx", "neo4j")
