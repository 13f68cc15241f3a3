"""Damage done in the database itself is found, named by tables and jobs, and mended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest

from lineage_graph import LineageGraph
from lineage_graph.checking import check
from lineage_graph.errors import JournalError
from tests.conformance.test_check import HISTORY, told
from tests.stores import access, database, empty, empty_graph

DAMAGE = {
    "a node deleted": (
        "MATCH (n:Dataset {name: 'board'}) DETACH DELETE n",
        "dataset:shop:board: is missing",
    ),
    "an edge deleted": (
        "MATCH (:Dataset {name: 'clean'})-[r:READ_BY]->() DELETE r",
        "READ_BY from dataset:shop:clean to job:shop:second: is missing",
    ),
    "an edge doubled": (
        "MATCH (j:Job {name: 'second'})-[r:WRITES]->(d) CREATE (j)-[s:WRITES]->(d) SET s = properties(r)",
        "WRITES from job:shop:second to dataset:shop:report: should not be there",
    ),
    "a property changed": (
        "MATCH (n:Job {name: 'second'}) SET n.sql = 'drop'",
        "job:shop:second: sql is 'drop', should be missing",
    ),
    "a property removed": (
        "MATCH (n:Run {state: 'FAILED'}) REMOVE n.state",
        "state is missing, should be 'FAILED'",
    ),
    "a property of an edge changed": (
        "MATCH ()-[r:DERIVES]->() SET r.current = false",
        "DERIVES from datasetField:shop:clean:total to datasetField:shop:report:sum: current is False, should be True",
    ),
    "a node too many": (
        "CREATE (:Dataset {key: 'x', namespace: 'shop', name: 'ghost'})",
        "dataset:shop:ghost: should not be there",
    ),
    "the state of a dataset": (
        "MATCH (n:Dataset {name: 'clean'}) SET n.record = replace(n.record, '1', '2')",
        "dataset:shop:clean: record is",
    ),
    "the facets of a dataset": (
        "MATCH (n:Dataset {name: 'board'}) SET n.facets = '{}'",
        "dataset:shop:board: facets is '{}', should be ",
    ),
    "the state of a job": (
        "MATCH (n:Job {name: 'first'}) SET n.record = '[]'",
        "job:shop:first: record is '[]'",
    ),
    "the state of a run": (
        "MATCH (n:Run {state: 'FAILED'}) SET n.record = ''",
        ": record is ''",
    ),
    "what is current of an output": (
        "MATCH (n:Output) WHERE n.parts[1] = 'second' AND n.parts[3] = 'report' SET n.record = '[]'",
        "Output of job:shop:second and dataset:shop:report: record is '[]'",
    ),
    "the content of a flow": (
        "MATCH (n:Flow) SET n.content = ''",
        "Flow of job:shop:first: content is ''",
    ),
    "the content of a column mapping": (
        "MATCH (n:Mapping) SET n.content = '{}'",
        "content is '{}'",
    ),
    "the evidence of an edge": (
        "MATCH (:Dataset {name: 'orders'})-[r:READ_BY]->() SET r.record = ''",
        "READ_BY from dataset:shop:orders to job:shop:first: record is ''",
    ),
    "the evidence of a column mapping": (
        "MATCH (n:Evidence) SET n.record = '[]'",
        "Evidence of job:shop:first and dataset:shop:clean: record is '[]'",
    ),
    "a schema version": (
        "MATCH (n:SchemaVersion) SET n.record = '[]'",
        "SchemaVersion",
    ),
    "a searched name": (
        "MATCH (n:Dataset {name: 'orders'}) SET n.search = 'other'",
        "dataset:shop:orders: search is 'other', should be 'orders'",
    ),
    "all nodes": (
        "MATCH (n) WHERE NOT n:Ledger DETACH DELETE n",
        "dataset:shop:orders: is missing",
    ),
}


@pytest.fixture(scope="module")
def driver(neo4j_uri: str) -> Iterator[neo4j.Driver]:
    with database(neo4j_uri) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph(neo4j_uri: str) -> Iterator[LineageGraph]:
    """A right graph in Neo4j; a test leaves it right."""
    with empty_graph(neo4j_uri) as made:
        made.ingest(HISTORY)
        yield made


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_and_named_and_mended(graph: LineageGraph, driver: neo4j.Driver, name: str) -> None:
    statement, expected = DAMAGE[name]
    assert driver.execute_query(statement).summary.counters.contains_updates
    report = check(graph)
    assert report.different
    assert expected in told(report)
    graph.rebuild()
    assert check(graph).different == 0


def test_what_others_keep_in_the_database_is_no_difference_and_stays(graph: LineageGraph, driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Person {name: 'ann'})-[:LIKES]->(:Tag {name: 'a tag without a key'})")
    before = list(graph.store.elements())
    assert check(graph).different == 0
    graph.rebuild()
    assert list(graph.store.elements()) == before
    (record,) = driver.execute_query("MATCH (p:Person)-[:LIKES]->(t:Tag) RETURN p.name, t.name").records
    assert record.values() == ["ann", "a tag without a key"]


@pytest.fixture
def folder(neo4j_uri: str, tmp_path: Path) -> Path:
    """A data folder that is merged into Neo4j."""
    empty(neo4j_uri)
    with LineageGraph.open(tmp_path, neo4j_uri, **access()) as made:
        made.ingest(HISTORY)
    return tmp_path


def test_a_drop_that_was_cut_short_is_ended_by_the_next_start(
    folder: Path, neo4j_uri: str, driver: neo4j.Driver
) -> None:
    """As a drop leaves it that was killed: it is noted, and only some nodes are gone."""
    driver.execute_query("MATCH (l:Ledger) SET l.applied = 0, l.newest = null, l.dropping = true")
    driver.execute_query("MATCH (n) WHERE n:Dataset OR n:Tag DETACH DELETE n")
    with LineageGraph.open(folder, neo4j_uri, **access()) as started:
        assert started.lag == 0
        assert check(started).different == 0


def test_a_graph_of_a_later_day_than_the_journal_is_not_merged_into(
    folder: Path, neo4j_uri: str, driver: neo4j.Driver
) -> None:
    """As when the folder was put back to a copy of an earlier day by hand: new events would get the offsets of old."""
    driver.execute_query("MATCH (l:Ledger) SET l.applied = 40")
    with pytest.raises(JournalError, match="ends at offset 4, but the graph holds its events up to 40"):
        LineageGraph.open(folder, neo4j_uri, **access())


def test_other_journals_of_a_database_are_known(folder: Path, neo4j_uri: str, tmp_path: Path) -> None:
    with LineageGraph.open(tmp_path / "other", neo4j_uri, **access()) as other:
        assert list(other.store.other_journals().values()) == [len(HISTORY)]
        other.ingest(HISTORY[:1])
        own = other.journal.id
    with LineageGraph.open(folder, neo4j_uri, **access()) as graph:
        assert graph.store.other_journals() == {own: 1}
        graph.rebuild()
        assert graph.store.other_journals() == {}
