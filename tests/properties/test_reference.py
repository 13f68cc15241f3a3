"""What the product holds to be current, against a model that works it out from all events each time."""

from __future__ import annotations

import networkx as nx
from hypothesis import given, note, settings

from lineage_graph import LineageGraph, Scope
from lineage_graph.cut import Cutter, NodeId
from tests.events_builder import NAMESPACE, Event
from tests.properties.histories import DATASETS, EXAMPLES, histories, told
from tests.properties.reference import MATTERS, ColumnEdge, Pair, Reference


def pairs_of(graph: LineageGraph, scope: Scope) -> dict[Pair, str]:
    """The pairs of a graph as one-step cuts show them."""
    found: dict[Pair, str] = {}
    with graph.store.look() as near:
        for name in DATASETS:
            cut = Cutter(near, scope).cut([(NAMESPACE, name)], downstream=False)
            for flow, target, edge in cut.edges(data=True):
                if flow[0] != "flow":
                    continue
                for source in cut.predecessors(flow):
                    pair = (_names(cut, source), cut.nodes[flow]["job"][1], _names(cut, target))
                    how = edge["counted"].how
                    found[pair] = max(how, found.get(pair, how), key=MATTERS.index)
    return found


def _names(cut: nx.MultiDiGraph[NodeId], node: NodeId) -> frozenset[str]:
    return frozenset(member.key[1] for member in cut.nodes[node]["members"])


def column_edges_of(graph: LineageGraph) -> set[ColumnEdge]:
    found: set[ColumnEdge] = set()
    with graph.store.look() as near:
        for name in DATASETS:
            cut = Cutter(near, Scope()).cut([(NAMESPACE, name)], downstream=False)
            for _, _, edge in cut.edges(data=True):
                for mapping in near.mappings(edge.get("mappings", ())).values():
                    output = edge["output"][1][1]
                    outs = [out for out, _ in mapping.fields]
                    found |= {(s.dataset[1], s.field, output, out) for out, sources in mapping.fields for s in sources}
                    found |= {(s.dataset[1], s.field, output, out) for s in mapping.every_field for out in outs}
                    found |= {(s.dataset[1], s.field, output, "*") for s in mapping.whole_dataset}
    return found


def graph_of(history: list[Event]) -> LineageGraph:
    graph = LineageGraph.open(None)
    graph.ingest(history)
    return graph


@settings(max_examples=EXAMPLES or 300, deadline=None)
@given(histories)
def test_current_pairs_are_those_that_design_5_describes(history: list[Event]) -> None:
    note(told(history))
    with graph_of(history) as graph:
        found, expected = pairs_of(graph, Scope()), Reference(history).pairs()
        assert found.keys() == expected.keys()
        # Of equal lineage in two lives of a dataset the product tells how it counts of both together.
        if "'DROP'" not in told(history):
            assert found == expected


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories)
def test_all_holds_every_pair_that_a_run_reported(history: list[Event]) -> None:
    note(told(history))
    with graph_of(history) as graph:
        assert set(pairs_of(graph, Scope("all"))) == Reference(history).ever()


@settings(max_examples=EXAMPLES or 150, deadline=None)
@given(histories)
def test_current_column_edges_are_those_of_the_latest_run_that_sent_some(history: list[Event]) -> None:
    note(told(history))
    with graph_of(history) as graph:
        assert column_edges_of(graph) == Reference(history).column_edges()
