"""The matrix itself: every conformance test runs on every store, and each is the real one."""

from __future__ import annotations

import pytest

from lineage_graph import LineageGraph
from lineage_graph.neo4j_store import Neo4jStore
from lineage_graph.networkx_store import NetworkXStore
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


def test_both_stores_are_bound() -> None:
    assert STORES == ("networkx", "neo4j")
