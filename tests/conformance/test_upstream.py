"""Where a node comes from (design 6)."""

from __future__ import annotations

import pytest

from lineage_graph import Bounds, LineageGraph
from tests.asking import NOW, column, columns, job, jobs, pages, short, table, tables
from tests.events_builder import dataset, declare, describe, run, run_id

CHAIN = [run(f"j{i}", [f"t{i}"], [f"t{i + 1}"], at=i) for i in range(5)]


def test_upstream_lists_every_dataset_and_job_with_its_depth(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.upstream(table("t3"))
    assert tables(answer) == {"t2": 1, "t1": 2, "t0": 3}
    assert jobs(answer) == {"j2": 1, "j1": 2, "j0": 3}
    assert answer.complete
    far = next(item for item in answer if item.name == "t0")
    assert [short(node) for node in far.path] == ["t3", "t2", "t1", "t0"]
    assert [short(node) for node in far.via] == ["j2", "j1", "j0"]


def test_upstream_never_turns_back_down_to_a_sibling(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["b", "c"], at=1), run("two", ["x"], ["c"], at=2)])
    assert tables(graph.upstream(table("b"))) == {"a": 1}
    assert tables(graph.upstream(table("c"))) == {"a": 1, "x": 1}


def test_upstream_of_a_cycle_leaves_out_the_start(graph: LineageGraph) -> None:
    graph.ingest([run("there", ["a"], ["b"], at=1), run("back", ["b"], ["a"], at=2)])
    assert tables(graph.upstream(table("a"))) == {"b": 1}


def test_upstream_of_a_self_loop_names_the_job_only(graph: LineageGraph) -> None:
    graph.ingest([run("merge", ["a", "new"], ["a"], at=1)])
    answer = graph.upstream(table("a"))
    assert (tables(answer), jobs(answer)) == ({"new": 1}, {"merge": 1})


def test_a_job_without_inputs_is_the_producer_of_what_it_writes(graph: LineageGraph) -> None:
    graph.ingest([run("import", (), ["a"], at=1), run("load", ["a"], ["b"], at=2)])
    answer = graph.upstream(table("b"))
    assert (tables(answer), jobs(answer)) == ({"a": 1}, {"load": 1, "import": 2})


def test_a_job_that_only_declares_an_output_is_its_producer(graph: LineageGraph) -> None:
    graph.ingest([declare("import", None, ["a"], at=1)])
    answer = graph.upstream(table("a"))
    assert (tables(answer), jobs(answer)) == ({}, {"import": 1})


def test_upstream_of_a_job_begins_with_its_inputs(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.upstream(job("j2"))
    assert tables(answer) == {"t2": 1, "t1": 2, "t0": 3}
    assert jobs(answer) == {"j1": 2, "j0": 3}


def test_upstream_of_a_job_that_only_reads(graph: LineageGraph) -> None:
    graph.ingest([*CHAIN, run("report", ["t2"], at=9)])
    assert tables(graph.upstream(job("report"))) == {"t2": 1, "t1": 2, "t0": 3}


def test_upstream_of_a_run_begins_with_what_that_run_read(graph: LineageGraph) -> None:
    graph.ingest(
        [run("load", ["mon"], ["x"], at=1), run("load", ["tue"], ["x"], at=2), run("get", ["web"], ["mon"], at=0)]
    )
    assert tables(graph.upstream(f"run:{run_id('load@1')}")) == {"mon": 1, "web": 2}
    assert tables(graph.upstream(f"run:{run_id('load@2')}")) == {"tue": 1}


def test_a_depth_cuts_and_the_expanded_frontier_makes_the_answer_whole(graph: LineageGraph) -> None:
    graph.ingest([*CHAIN, run("more", ["x", "y"], ["t2"], at=9)])
    whole = {item.id for item in graph.upstream(table("t4"))}
    for depth in (1, 2, 3):
        cut = graph.upstream(table("t4"), NOW, Bounds(depth=depth))
        assert (cut.complete, cut.truncated_by) == (False, ["depth"])
        assert {item.id for item in cut} | {item.id for node in cut.frontier for item in graph.upstream(node)} == whole


def test_a_producer_without_inputs_at_the_edge_keeps_the_answer_from_being_complete(graph: LineageGraph) -> None:
    graph.ingest([run("import", (), ["a"], at=1), run("load", ["a"], ["b"], at=2)])
    answer = graph.upstream(table("b"), NOW, Bounds(depth=1))
    assert (answer.complete, answer.frontier) == (False, ["dataset:shop:a"])


def test_pages_together_are_the_whole_answer(graph: LineageGraph) -> None:
    graph.ingest([run("wide", [f"in{i}" for i in range(23)], ["out"], at=1)])
    whole = graph.upstream(table("out"))
    assert [item for page in pages(graph.upstream, table("out"), 5) for item in page] == whole.items
    assert whole.total == 24


def test_each_output_of_a_job_keeps_the_sources_that_were_reported_with_it(graph: LineageGraph) -> None:
    graph.ingest([run("copy", ["a1"], ["b1"], at=1), run("copy", ["a2"], ["b2"], at=2)])
    assert tables(graph.upstream(table("b1"))) == {"a1": 1}
    assert tables(graph.upstream(table("b2"))) == {"a2": 1}
    assert tables(graph.impact(table("a1"))) == {"b1": 1}


# -- columns


def test_the_sources_of_a_column_with_their_certainty(graph: LineageGraph) -> None:
    lineage = {"x": ["a.x IDENTITY", "k.id JOIN"], "n": ["a.n AGGREGATION"], "*": ["a.day FILTER"]}
    graph.ingest([run("one", ["a", "k"], ["b"], at=1, columns={"b": lineage})])
    assert columns(graph.upstream(column("b.x"))) == {"a.x": "direct", "k.id": "indirect", "a.day": "indirect"}
    assert columns(graph.upstream(column("b.n"))) == {"a.n": "direct", "a.day": "indirect"}


def test_a_constant_column_has_no_source(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": {"one": [], "x": ["a.x"]}})])
    answer = graph.upstream(column("b.one"))
    assert columns(answer) == {}


def test_upstream_of_a_job_without_column_lineage_every_column_is_possible(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", [dataset("a", schema=["p", "q"])], [dataset("b", schema=["x"])], at=1),
            run("two", ["b"], ["c"], at=2, columns={"c": {"y": ["b.x IDENTITY"]}}),
        ]
    )
    assert columns(graph.upstream(column("c.y"))) == {"b.x": "direct", "a.p": "possible", "a.q": "possible"}


def test_an_input_that_column_lineage_leaves_out_is_a_possible_source(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a", dataset("k", schema=["id"])], ["b"], at=1, columns={"b": {"x": ["a.x"]}})])
    assert columns(graph.upstream(column("b.x"))) == {"a.x": "direct", "k.id": "possible"}


# -- sources that only column lineage names


def test_a_source_that_only_column_lineage_names_is_listed_and_marked(graph: LineageGraph) -> None:
    graph.ingest([run("model", (), ["orders"], at=1, columns={"orders": {"id": ["raw_orders.id"]}})])
    items = {item.name: item for item in graph.upstream(table("orders"))}
    assert items["raw_orders"].only_in_column_lineage
    assert not items["model"].only_in_column_lineage
    assert columns(graph.upstream(column("orders.id"))) == {"raw_orders.id": "direct"}


def test_column_only_sources_can_be_left_out_and_the_answer_says_so(graph: LineageGraph) -> None:
    lineage = {"orders": {"id": ["raw_orders.id", "o.id"]}}
    graph.ingest([run("seed", (), ["raw_orders"], at=0), run("model", ["stage"], ["orders"], at=1, columns=lineage)])
    answer = graph.upstream(table("orders"), NOW, Bounds(column_only=False))
    assert set(tables(answer)) == {"raw_orders", "stage"}
    assert answer.left_out.only_in_column_lineage == ["dataset:shop:o"]
    assert set(tables(graph.upstream(table("orders")))) == {"raw_orders", "stage", "o"}


def test_what_lies_behind_a_left_out_source_is_still_listed(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("model", (), ["orders"], at=1, columns={"orders": {"id": ["cte.id"]}}),
            describe("cte_seen_elsewhere", at=1),
            run("other", ["real"], ["cte2"], at=1, columns={"cte2": {"id": ["orders.id"]}}),
        ]
    )
    answer = graph.upstream(table("cte2"), NOW, Bounds(column_only=False))
    assert tables(answer) == {"orders": 1, "real": 1}
    assert answer.left_out.only_in_column_lineage == ["dataset:shop:cte"]


# -- explicit lineage facet


def test_the_job_form_of_the_lineage_facet_names_datasets_that_the_lists_lack(graph: LineageGraph) -> None:
    entry = {
        "namespace": "shop",
        "name": "b",
        "type": "DATASET",
        "inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}],
    }
    graph.ingest([declare("job", at=1, job_facets={"lineage": {"entries": [entry]}})])
    answer = graph.upstream(table("b"))
    assert (tables(answer), jobs(answer)) == ({"a": 1}, {"job": 1})


def test_field_entries_of_the_lineage_facet_are_column_lineage(graph: LineageGraph) -> None:
    source = {"namespace": "shop", "name": "a", "type": "DATASET", "field": "x"}
    facet = {"inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}], "fields": {"y": {"inputs": [source]}}}
    graph.ingest([run("etl", ["a", "other"], [dataset("b", facets={"lineage": facet})], at=1)])
    assert tables(graph.upstream(table("b"))) == {"a": 1}
    assert columns(graph.upstream(column("b.y"))) == {"a.x": "direct"}


def test_explicit_lineage_beats_column_lineage_of_the_same_event(graph: LineageGraph) -> None:
    explicit = {"inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}]}
    event = run("etl", ["a", "b"], [dataset("c", facets={"lineage": explicit})], at=1, columns={"c": {"x": ["b.x"]}})
    graph.ingest([event])
    assert tables(graph.upstream(table("c"))) == {"a": 1}


@pytest.mark.parametrize("with_facet_first", [True, False])
def test_the_facet_counts_whichever_event_of_the_run_brings_it(graph: LineageGraph, with_facet_first: bool) -> None:
    facet = {"lineage": {"inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}]}}
    told, plain = dataset("c", facets=facet), "c"
    first, last = (told, plain) if with_facet_first else (plain, told)
    graph.ingest(
        [
            run("etl", ["a", "b"], [first], at=1, type="START", run="r"),
            run("etl", ["a", "b"], [last], at=2, type="COMPLETE", run="r"),
        ]
    )
    assert tables(graph.upstream(table("c"))) == {"a": 1}
