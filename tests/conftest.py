"""Fixtures that every test folder shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lineage_graph import LineageGraph
from tests.neo4j_server import running
from tests.stores import STORES, empty_graph


@pytest.fixture(scope="session")
def neo4j_uri() -> Iterator[str]:
    """A real Neo4j 5, one for the whole run. Raises where none can be had: the suite never skips it."""
    with running() as uri:
        yield uri


@pytest.fixture(scope="session", params=STORES)
def store_uri(request: pytest.FixtureRequest) -> str | None:
    """Each store in turn, as :meth:`LineageGraph.open` takes it."""
    return None if request.param == "networkx" else str(request.getfixturevalue("neo4j_uri"))


@pytest.fixture
def new_graph(store_uri: str | None) -> Iterator[Callable[[], LineageGraph]]:
    """Makes an empty graph at each call; the one made before is closed, as both may be in one database."""
    made: list[LineageGraph] = []

    def make() -> LineageGraph:
        while made:
            made.pop().close()
        made.append(empty_graph(store_uri))
        return made[0]

    yield make
    while made:
        made.pop().close()


@pytest.fixture
def graph(new_graph: Callable[[], LineageGraph]) -> LineageGraph:
    """An empty graph, on each store."""
    return new_graph()
