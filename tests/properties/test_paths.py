"""Paths agree with all ways that there are, worked out with no thought of speed, over random histories."""

from __future__ import annotations

from contextlib import closing
from itertools import permutations

import networkx as nx
from hypothesis import given, note, settings
from hypothesis import strategies as st

from lineage_graph import Asked, Bounds, LineageGraph, Scope
from lineage_graph.cut import NodeId
from lineage_graph.nodes import text_id
from lineage_graph.questions.reach import CERTAINTIES
from lineage_graph.questions.shortest import shortest_paths
from tests.events_builder import NAMESPACE, Event, dataset, describe
from tests.properties.histories import DATASETS, EXAMPLES, FIELDS, histories, told
from tests.properties.test_agreement import COLUMNS, TABLES, graph_of, known, scopes

NODES = [("dataset", NAMESPACE, name) for name in "abcdefg"]


@settings(max_examples=EXAMPLES or 300, deadline=None)
@given(st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES))))
def test_shortest_paths_are_all_simple_paths_by_length_and_then_by_text(edges: set[tuple[NodeId, NodeId]]) -> None:
    graph: nx.DiGraph[NodeId] = nx.DiGraph(edges)
    graph.add_nodes_from(NODES)
    start, end = NODES[0], NODES[-1]
    wanted = sorted(nx.all_simple_paths(graph, start, end), key=lambda path: (len(path), path))
    assert list(shortest_paths(graph, start, end, text_id, lambda: None)) == wanted


def described(history: list[Event]) -> list[Event]:
    """The history, after which all tables are there and have all columns."""
    return [*history, *(describe(dataset(name, schema=FIELDS), at=10) for name in DATASETS)]


def table_graph(graph: LineageGraph, scope: Scope) -> nx.DiGraph[str]:
    """Which tables come from which, one step each, by their ids."""
    steps: nx.DiGraph[str] = nx.DiGraph()
    for node in known(graph, TABLES):
        answer = graph.impact(node, scope, Bounds(depth=1))
        found = {item.id for item in answer if item.type == "dataset"} | {*answer.left_out.dropped}
        steps.add_edges_from((shown_as(graph, node), other) for other in found)
    return steps


def shown_as(graph: LineageGraph, node: Asked) -> str:
    """The id that a table or column has in answers, whichever name of the table was asked for."""
    drawn = graph.graph(node, bounds=Bounds(depth=0), level="column" if node.field else "dataset").nodes
    return next(item.id for item in drawn if item.type != "job" and item.field == node.field)


@settings(max_examples=EXAMPLES or 50, deadline=None)
@given(histories, scopes)
def test_paths_of_tables_are_all_simple_paths_in_their_order(history: list[Event], scope: Scope) -> None:
    note(told(history))
    with closing(graph_of(described(history))) as graph:
        steps = table_graph(graph, scope)
        for start, end in permutations(steps, 2):
            wanted = sorted(nx.all_simple_paths(steps, start, end), key=lambda path: (len(path), path))
            answer = graph.paths(start, end, scope, k=100)
            assert [path.nodes for path in answer] == wanted[:100]
            assert (answer.complete, answer.more) == (True, len(wanted) > 100)
            assert [path.nodes for path in graph.paths(start, end, scope, k=2)] == wanted[:2]
            if not wanted:
                assert answer.reverse == nx.has_path(steps, end, start)


@settings(max_examples=EXAMPLES or 50, deadline=None)
@given(histories, scopes)
def test_a_path_leads_to_each_column_of_an_impact_and_to_no_other(history: list[Event], scope: Scope) -> None:
    note(told(history))
    with closing(graph_of(described(history))) as graph:
        columns = [node for node in known(graph, COLUMNS) if not graph.impact(node).node.dropped]
        for start in columns:
            reached = {item.id: item for item in graph.impact(start, scope)}
            for end in columns:
                if end == start:
                    continue
                answer = graph.paths(start, end, scope, k=100)
                assert answer.complete
                item = reached.get(shown_as(graph, end))
                assert bool(answer.items) == (item is not None)
                if item is not None:
                    assert answer.items[0].depth == item.depth
                    if not answer.more:
                        best = min(CERTAINTIES.index(path.certainty) for path in answer)
                        assert CERTAINTIES[best] == item.certainty
                texts = [path.nodes for path in answer]
                assert len(texts) == len(set(map(tuple, texts)))
                assert texts == sorted(texts, key=lambda path: (len(path), path))


@settings(max_examples=EXAMPLES or 50, deadline=None)
@given(histories, scopes)
def test_a_table_leads_where_one_of_its_columns_does(history: list[Event], scope: Scope) -> None:
    note(told(history))
    with closing(graph_of(described(history))) as graph:
        tables = [node for node in known(graph, TABLES) if not graph.impact(node).node.dropped]
        for table, other in permutations(tables, 2):
            for field in FIELDS:
                column = Asked(namespace=NAMESPACE, name=other.name, field=field)
                own = [Asked(namespace=NAMESPACE, name=table.name, field=name) for name in FIELDS]
                assert bool(graph.paths(table, column, scope).items) == any(
                    graph.paths(start, column, scope).items for start in own
                )
                assert bool(graph.paths(column, table, scope).items) == any(
                    graph.paths(column, end, scope).items for end in own
                )
