"""Nodes and edges around a node, both ways (design 3 and 6)."""

from __future__ import annotations

import pytest

from lineage_graph import BadRequest, Bounds, LineageGraph
from tests.asking import EVER, NOW, column, edges, job, short, table
from tests.events_builder import PRODUCER, Ref, dataset, declare, describe, run, run_id

HOUR_GLASS = [
    run("in1", ["a"], ["m"], at=1),
    run("in2", ["b"], ["m"], at=2),
    run("out1", ["m"], ["c"], at=3),
    run("out2", ["m"], ["d"], at=4),
    run("far", ["c"], ["e"], at=5),
]


def test_a_graph_holds_both_ways_with_edges_in_the_direction_of_the_data(graph: LineageGraph) -> None:
    graph.ingest(HOUR_GLASS)
    answer = graph.graph(table("m"))
    assert {(node.type, node.name): node.depth for node in answer.nodes} == {
        ("dataset", "m"): 0,
        ("dataset", "a"): -1,
        ("dataset", "b"): -1,
        ("job", "in1"): -1,
        ("job", "in2"): -1,
        ("dataset", "c"): 1,
        ("dataset", "d"): 1,
        ("job", "out1"): 1,
        ("job", "out2"): 1,
        ("dataset", "e"): 2,
        ("job", "far"): 2,
    }
    assert edges(answer) == {
        *(("READ_BY", "a", "in1"), ("WRITES", "in1", "m"), ("READ_BY", "b", "in2"), ("WRITES", "in2", "m")),
        *(("READ_BY", "m", "out1"), ("WRITES", "out1", "c"), ("READ_BY", "m", "out2"), ("WRITES", "out2", "d")),
        *(("READ_BY", "c", "far"), ("WRITES", "far", "e")),
    }
    assert (answer.total, answer.complete) == (11, True)


def test_a_depth_cuts_both_ways_and_names_the_frontier(graph: LineageGraph) -> None:
    graph.ingest([*HOUR_GLASS, run("before", ["z"], ["a"], at=0)])
    answer = graph.graph(table("m"), NOW, Bounds(depth=1))
    assert {node.name for node in answer.nodes} == {"m", "a", "b", "c", "d", "in1", "in2", "out1", "out2"}
    assert (answer.complete, answer.truncated_by) == (False, ["depth"])
    assert sorted(map(short, answer.frontier)) == ["a", "c"]


def test_no_edge_ends_at_a_node_that_is_not_drawn(graph: LineageGraph) -> None:
    graph.ingest([*HOUR_GLASS, run("wide", ["m", "x"], ["y", "c"], at=6), run("loop", ["e"], ["a"], at=7)])
    for depth in (1, 2, None):
        for level in ("dataset", "column"):
            answer = graph.graph(table("m"), NOW, Bounds(depth=depth), level=level)
            drawn = {node.id for node in answer.nodes}
            assert {end for edge in answer.edges for end in (edge.source, edge.target)} <= drawn


def test_every_edge_explains_itself(graph: LineageGraph) -> None:
    events = [run("load", ["a"], ["b"], at=1), run("load", ["a"], ["b"], at=2)]
    graph.ingest(events)
    answer = graph.graph(table("b"))
    for edge in answer.edges:
        assert (edge.first_seen, edge.last_seen) == ("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z")
        assert (edge.declared, edge.observed, edge.producer) == (False, True, PRODUCER)
        entries = [graph.journal.event(digest) for digest in (edge.first_event, edge.last_event) if digest]
        assert [entry.offset for entry in entries if entry] == [1, 2]


def test_declared_edges_are_told_from_observed_ones(graph: LineageGraph) -> None:
    graph.ingest([declare("model", ["a"], ["b"], at=1)])
    assert {(e.type, e.declared, e.observed) for e in graph.graph(table("a")).edges} == {
        ("READ_BY", True, False),
        ("WRITES", True, False),
    }


def test_feeds_edges_tell_which_output_of_a_job_comes_from_which_input(graph: LineageGraph) -> None:
    graph.ingest(
        [run("copy", ["a1"], ["b1"], at=1), run("copy", ["a2"], ["b2"], at=2), run("mix", ["b1", "b2"], ["c"], at=3)]
    )
    answer = graph.graph(table("c"))
    assert edges(answer, "FEEDS") == {("FEEDS", "a1", "b1"), ("FEEDS", "a2", "b2")}


def test_the_rule_of_a_feeds_edge_says_what_it_comes_from(graph: LineageGraph) -> None:
    facet = {"lineage": {"inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}]}}
    out: list[Ref] = [dataset("x", facets=facet), "y", "z"]
    graph.ingest(
        [run("job", ["a", "b"], out, at=1, columns={"y": {"c": ["b.c"]}}), run("end", ["x", "y", "z"], ["all"], at=2)]
    )
    rules = {(short(e.source), short(e.target)): e.rule for e in graph.graph(table("all")).edges if e.type == "FEEDS"}
    assert rules[("a", "x")] == "explicit"
    assert rules[("b", "y")] == "column"
    assert rules[("b", "z")] == "product"
    assert ("b", "x") not in rules


def test_lineage_that_no_job_declares_is_drawn_as_feeds(graph: LineageGraph) -> None:
    graph.ingest([describe("b", at=1, columns={"b": {"x": ["a.x"]}})])
    answer = graph.graph(table("a"))
    assert edges(answer) == {("FEEDS", "a", "b")}
    assert answer.edges[0].declared


def test_the_graph_of_a_job_has_the_job_in_the_middle(graph: LineageGraph) -> None:
    graph.ingest(HOUR_GLASS)
    answer = graph.graph(job("out1"))
    depths = {node.name: node.depth for node in answer.nodes}
    assert (depths["out1"], depths["c"], depths["m"], depths["a"]) == (0, 1, -1, -2)
    assert ("READ_BY", "m", "out1") in edges(answer)
    assert ("WRITES", "out1", "c") in edges(answer)


def test_the_graph_of_a_run_draws_its_tables(graph: LineageGraph) -> None:
    graph.ingest(HOUR_GLASS)
    answer = graph.graph(f"run:{run_id('out1@3')}")
    assert answer.node.type == "run"
    assert {("READ_BY", "m", "out1"), ("WRITES", "out1", "c")} <= edges(answer)


def test_aliases_are_one_node(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], [dataset("x", symlinks=["y"])], at=1), run("read", ["y"], ["b"], at=2)])
    answer = graph.graph(table("y"))
    assert [(node.name, [alias.name for alias in node.aliases]) for node in answer.nodes if node.depth == 0] == [
        ("x", ["y"])
    ]
    assert edges(answer) == {
        *(("READ_BY", "a", "write"), ("WRITES", "write", "x"), ("READ_BY", "x", "read"), ("WRITES", "read", "b")),
    }


def test_at_column_level_derives_and_influences_join_the_columns(graph: LineageGraph) -> None:
    lineage = {"x": ["a.x IDENTITY"], "y": ["a.y AGGREGATION"], "*": ["a.day FILTER"]}
    graph.ingest([run("job", ["a"], ["b"], at=1, columns={"b": lineage})])
    answer = graph.graph(table("b"), level="column")
    assert edges(answer, "DERIVES", "INFLUENCES") == {
        ("DERIVES", "a.x", "b.x"),
        ("DERIVES", "a.y", "b.y"),
        ("INFLUENCES", "a.day", "b"),
    }
    derives = next(edge for edge in answer.edges if edge.type == "DERIVES" and short(edge.target) == "b.y")
    assert derives.transformations == [
        {"type": "DIRECT", "subtype": "AGGREGATION", "description": "", "masking": False}
    ]
    assert derives.job == "job:shop:job"


def test_the_graph_of_a_column_holds_its_own_columns_only(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"], "y": ["a.y"]}}),
            run("two", ["b"], ["c"], at=2, columns={"c": {"x": ["b.x"], "y": ["b.y"]}}),
        ]
    )
    answer = graph.graph(column("b.x"))
    assert answer.level == "column"
    assert edges(answer, "DERIVES") == {("DERIVES", "a.x", "b.x"), ("DERIVES", "b.x", "c.x")}
    assert {short(node.id): node.depth for node in answer.nodes if node.type == "column"} == {
        "a.x": -1,
        "b.x": 0,
        "c.x": 1,
    }


def test_a_graph_holds_what_impact_and_upstream_hold(graph: LineageGraph) -> None:
    graph.ingest([*HOUR_GLASS, run("loop", ["e"], ["a"], at=7)])
    for scope in (NOW, EVER):
        drawn = {node.id for node in graph.graph(table("m"), scope).nodes}
        listed = {item.id for ask in (graph.impact, graph.upstream) for item in ask(table("m"), scope)}
        assert drawn == listed | {"dataset:shop:m"}


def test_another_level_is_refused(graph: LineageGraph) -> None:
    graph.ingest(HOUR_GLASS)
    with pytest.raises(BadRequest, match="level"):
        graph.graph(table("m"), level="row")


def test_no_edge_is_drawn_twice(graph: LineageGraph) -> None:
    graph.ingest([run("mix", ["a"], ["c"], at=1), run("mix", ["a", "b"], ["c"], at=2)])
    drawn = [(e.type, e.source, e.target, e.job) for e in graph.graph(table("c"), EVER).edges]
    assert len(drawn) == len(set(drawn))


def test_the_evidence_of_an_edge_is_that_of_all_runs_that_said_so(graph: LineageGraph) -> None:
    graph.ingest([run("mix", ["a"], ["c"], at=1), run("mix", ["b"], ["c"], at=2), run("mix", ["a"], ["d"], at=3)])
    edge = next(e for e in graph.graph(table("c"), EVER).edges if e.type == "WRITES" and short(e.target) == "c")
    assert (edge.first_seen, edge.last_seen) == ("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z")


def test_a_source_that_only_column_lineage_names_has_evidence_too(graph: LineageGraph) -> None:
    graph.ingest([run("load", [], ["b"], at=1, columns={"b": {"y": ["a.x"]}})])
    (read,) = [edge for edge in graph.graph(table("b"), NOW).edges if edge.type == "READ_BY"]
    assert (read.producer, read.first_seen, read.observed) == (PRODUCER, "2026-01-01T00:01:00Z", True)


def test_the_producer_of_an_edge_is_that_of_its_last_event(graph: LineageGraph) -> None:
    events = [
        {**run("load", ["a"], ["b"], at=1, type="START", run="r", columns={"b": {"y": ["a.x"]}}), "producer": "spark"},
        {**run("load", at=2, run="r"), "producer": "airflow"},
        {**run("sum", at=2, run="s"), "producer": "airflow"},
        {**run("sum", ["b"], ["c"], at=1, type="START", run="s", columns={"c": {"z": ["b.y"]}}), "producer": "spark"},
    ]
    for event in events:
        graph.ingest([event])
    drawn = graph.graph(table("b"), NOW, level="column").edges
    assert {edge.type for edge in drawn} == {"READ_BY", "WRITES", "DERIVES"}
    assert {(edge.producer, edge.last_seen) for edge in drawn} == {("spark", "2026-01-01T00:01:00Z")}


def test_a_column_edge_tells_all_transformations_and_all_evidence_of_it(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("mix", ["a"], ["b"], at=1, columns={"b": {"y": ["a.x IDENTITY"]}}),
            run("mix", ["a"], ["b"], at=2, columns={"b": {"y": ["a.x AGGREGATION"]}}),
        ]
    )
    (edge,) = [e for e in graph.graph(table("b"), EVER, level="column").edges if e.type == "DERIVES"]
    assert [said["subtype"] for said in edge.transformations] == ["AGGREGATION", "IDENTITY"]
    assert (edge.first_seen, edge.last_seen) == ("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z")
    assert edge.in_latest_execution
