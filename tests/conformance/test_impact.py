"""What depends on a node (design 6): who is reached, how far, how surely, and where the answer was cut off."""

from __future__ import annotations

import pytest

from lineage_graph import BadRequest, Bounds, LineageGraph, NotFound
from tests.asking import EVER, NOW, column, columns, job, jobs, pages, short, table, tables
from tests.events_builder import Event, column_lineage, dataset, declare, describe, run, run_id

CHAIN = [run(f"j{i}", [f"t{i}"], [f"t{i + 1}"], at=i) for i in range(5)]
DIAMOND = [
    run("split", ["a"], ["b", "c"], at=1),
    run("left", ["b"], ["d"], at=2),
    run("right", ["c"], ["d"], at=3),
    run("short", ["a"], ["d"], at=4),
]


def test_impact_lists_every_dataset_and_job_downstream_with_its_depth(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.impact(table("t1"))
    assert tables(answer) == {"t2": 1, "t3": 2, "t4": 3, "t5": 4}
    assert jobs(answer) == {"j1": 1, "j2": 2, "j3": 3, "j4": 4}
    assert answer.complete
    assert (answer.truncated_by, answer.frontier, answer.total) == ([], [], 8)
    assert answer.counts == {"dataset": 4, "job": 4}


def test_impact_never_turns_back_up_through_a_sibling(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a", "other"], ["b"], at=1), run("two", ["other"], ["c"], at=1)])
    assert tables(graph.impact(table("a"))) == {"b": 1}


def test_each_item_has_a_shortest_path_and_the_jobs_that_make_its_steps(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    items = {item.name: item for item in graph.impact(table("t1"))}
    assert [short(node) for node in items["t3"].path] == ["t1", "t2", "t3"]
    assert [short(node) for node in items["t3"].via] == ["j1", "j2"]
    assert [short(node) for node in items["j2"].path] == ["t1", "t2", "j2"]
    assert [short(node) for node in items["j2"].via] == ["j1", "j2"]


def test_impact_of_a_cycle_leaves_out_the_start(graph: LineageGraph) -> None:
    graph.ingest([run("there", ["a"], ["b"], at=1), run("back", ["b"], ["a"], at=2)])
    answer = graph.impact(table("a"))
    assert tables(answer) == {"b": 1}
    assert jobs(answer) == {"there": 1, "back": 2}
    assert answer.complete


def test_a_job_that_reads_and_writes_one_table_is_no_reason_to_list_the_table(graph: LineageGraph) -> None:
    graph.ingest([run("merge", ["a"], ["a"], at=1)])
    answer = graph.impact(table("a"))
    assert tables(answer) == {}
    assert jobs(answer) == {"merge": 1}


def test_a_node_that_is_reached_in_several_ways_has_the_least_depth_and_is_listed_once(graph: LineageGraph) -> None:
    graph.ingest(DIAMOND)
    answer = graph.impact(table("a"))
    assert tables(answer) == {"b": 1, "c": 1, "d": 1}
    assert len(answer.items) == len({item.id for item in answer})


def test_a_ladder_of_diamonds_ends_at_once(graph: LineageGraph) -> None:
    rungs = 40
    graph.ingest(
        event
        for i in range(rungs)
        for event in (
            run(f"s{i}", [f"n{i}"], [f"l{i}", f"r{i}"], at=i),
            run(f"m{i}", [f"l{i}", f"r{i}"], [f"n{i + 1}"], at=i),
        )
    )
    answer = graph.impact(table("n0"))
    assert answer.counts == {"dataset": 3 * rungs, "job": 2 * rungs}
    assert tables(answer)[f"n{rungs}"] == 2 * rungs


def test_a_job_that_only_reads_is_listed(graph: LineageGraph) -> None:
    graph.ingest([run("report", ["a"], at=1)])
    answer = graph.impact(table("a"))
    assert (tables(answer), jobs(answer)) == ({}, {"report": 1})


def test_impact_of_a_job_begins_with_its_outputs(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.impact(job("j1"))
    assert tables(answer) == {"t2": 1, "t3": 2, "t4": 3, "t5": 4}
    assert jobs(answer) == {"j2": 2, "j3": 3, "j4": 4}
    assert [short(node) for node in answer.items[0].path] == ["j1", "t2"]


def test_impact_of_a_run_begins_with_what_that_run_wrote(graph: LineageGraph) -> None:
    graph.ingest(
        [run("daily", ["a"], ["mon"], at=1), run("daily", ["a"], ["tue"], at=2), run("use", ["mon"], ["x"], at=3)]
    )
    assert tables(graph.impact(f"run:{run_id('daily@1')}")) == {"mon": 1, "x": 2}
    assert tables(graph.impact(f"run:{run_id('daily@2')}")) == {"tue": 1}


def test_a_node_that_nobody_named_is_not_known(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    for asked in (table("nothing"), job("t1"), column("t1.x"), table("t1", "elsewhere")):
        with pytest.raises(NotFound):
            graph.impact(asked)


def test_a_dataset_without_any_job_has_an_empty_complete_answer(graph: LineageGraph) -> None:
    graph.ingest([describe("alone", at=1)])
    answer = graph.impact(table("alone"))
    assert (answer.items, answer.complete, answer.column_coverage) == ([], True, None)


def test_items_tell_owners_tags_last_run_and_when_they_were_seen(graph: LineageGraph) -> None:
    owned = {
        "ownership": {"owners": [{"name": "team:sales", "type": "OWNER"}]},
        "tags": {
            "tags": [
                {"key": "pii", "value": "true"},
                {"key": "tier", "value": "gold"},
                {"key": "x", "value": "1", "field": "c"},
            ]
        },
    }
    graph.ingest(
        [
            run("load", ["a"], [dataset("b", facets=owned)], at=1, run="first"),
            run("load", ["a"], ["b"], at=5, type="FAIL", run="second"),
        ]
    )
    item = next(item for item in graph.impact(table("a")) if item.name == "b")
    assert (item.owners, item.tags) == (["team:sales"], ["pii", "tier=gold"])
    assert item.last_run is not None
    assert (item.last_run.id, item.last_run.state) == (run_id("second"), "FAILED")
    assert (item.first_seen, item.last_seen) == ("2026-01-01T00:01:00Z", "2026-01-01T00:05:00Z")


def test_the_answer_tells_scope_newest_event_and_column_coverage(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"]}}), run("two", ["b"], ["c"], at=7)])
    answer = graph.impact(table("a"))
    assert (answer.scope, answer.newest_event, answer.column_coverage) == ("current", "2026-01-01T00:07:00Z", 0.5)
    assert answer.node.id == "dataset:shop:a"
    assert graph.impact(table("a"), EVER).scope == "all"


# -- limits


def test_a_depth_cuts_the_answer_and_says_where(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.impact(table("t0"), NOW, Bounds(depth=2))
    assert tables(answer) == {"t1": 1, "t2": 2}
    assert jobs(answer) == {"j0": 1, "j1": 2}
    assert (answer.complete, answer.truncated_by, answer.frontier) == (False, ["depth"], ["dataset:shop:t2"])


def test_a_depth_that_reaches_the_end_leaves_the_answer_complete(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.impact(table("t0"), NOW, Bounds(depth=5))
    assert (answer.complete, answer.truncated_by, answer.frontier) == (True, [], [])


def test_a_job_that_only_reads_at_the_edge_keeps_the_answer_from_being_complete(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["b"], at=1), run("report", ["b"], at=2)])
    answer = graph.impact(table("a"), NOW, Bounds(depth=1))
    assert (jobs(answer), answer.complete, answer.frontier) == ({"load": 1}, False, ["dataset:shop:b"])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_expanded_frontier_makes_the_answer_whole(graph: LineageGraph, depth: int) -> None:
    graph.ingest([*CHAIN, *DIAMOND, run("join", ["d", "t2"], ["t4", "a"], at=9)])
    for start in ("t0", "a"):
        whole = {item.id for item in graph.impact(table(start))} - {f"dataset:shop:{start}"}
        cut = graph.impact(table(start), NOW, Bounds(depth=depth))
        found = {item.id for item in cut} | {item.id for node in cut.frontier for item in graph.impact(node)}
        assert found - {f"dataset:shop:{start}"} == whole


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_a_limit_of_nodes_is_never_silent(graph: LineageGraph, nodes: int) -> None:
    graph.ingest([*CHAIN, run("fan", ["t1"], [f"f{i}" for i in range(6)], at=8)])
    cut = graph.impact(table("t0"), NOW, Bounds(nodes=nodes))
    assert (cut.complete, cut.truncated_by) == (False, ["nodes"])
    whole = {item.id for item in graph.impact(table("t0"))}
    assert {item.id for item in cut} | {item.id for node in cut.frontier for item in graph.impact(node)} == whole


def test_pages_together_are_the_whole_answer_in_order(graph: LineageGraph) -> None:
    graph.ingest([*CHAIN, *DIAMOND, run("fan", ["a"], [f"f{i}" for i in range(20)], at=9)])
    whole = graph.impact(table("a"))
    for limit in (1, 3, 7, 1000):
        parts = list(pages(graph.impact, table("a"), limit))
        assert [item for page in parts for item in page] == whole.items
        assert {page.total for page in parts} == {whole.total}
        assert all(len(page) == limit for page in parts[:-1])


def test_a_cursor_goes_on_after_the_last_item_though_the_graph_grew(graph: LineageGraph) -> None:
    graph.ingest([run("fan", ["a"], ["b", "d", "f"], at=1)])
    first = graph.impact(table("a"), NOW, Bounds(limit=2))
    graph.ingest([run("more", ["a"], ["c", "e"], at=2)])
    second = graph.impact(table("a"), NOW, Bounds(cursor=first.next))
    seen = [item.name for item in (*first, *second) if item.type == "dataset"]
    assert seen == ["b", "d", "e", "f"]


def test_a_cursor_that_no_answer_gave_is_refused(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    for cursor in ("x", "e30", "!!!!", ""):
        with pytest.raises(BadRequest, match="cursor"):
            graph.impact(table("t0"), NOW, Bounds(cursor=cursor))


def test_only_the_asked_types_are_listed(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    answer = graph.impact(table("t3"), NOW, Bounds(only=("dataset",)))
    assert [item.name for item in answer] == ["t4", "t5"]
    assert answer.counts == {"dataset": 2}


# -- columns


def test_a_change_of_a_column_reaches_the_columns_made_from_it_step_by_step(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x IDENTITY"], "y": ["a.y IDENTITY"]}}),
            run("two", ["b"], ["c"], at=2, columns={"c": {"sum": ["b.x AGGREGATION", "b.y AGGREGATION"]}}),
            run("three", ["c"], ["d"], at=3, columns={"d": {"total": ["c.sum IDENTITY"]}}),
        ]
    )
    answer = graph.impact(column("a.x"))
    assert columns(answer) == {"b.x": "direct", "c.sum": "direct", "d.total": "direct"}
    assert {item.field: item.depth for item in answer if item.type == "column"} == {"x": 1, "sum": 2, "total": 3}
    assert jobs(answer) == {"one": 1, "two": 2, "three": 3}
    last = next(item for item in answer if item.field == "total")
    assert [short(node) for node in last.path] == ["a.x", "b.x", "c.sum", "d.total"]
    assert [short(node) for node in last.via] == ["one", "two", "three"]


def test_a_column_that_is_only_filtered_by_is_indirect(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x IDENTITY", "a.y FILTER"], "z": ["a.z"]}})])
    assert columns(graph.impact(column("a.y"))) == {"b.x": "indirect"}
    assert columns(graph.impact(column("a.x"))) == {"b.x": "direct"}


def test_what_follows_from_an_indirect_step_is_indirect(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.y FILTER"]}}),
            run("two", ["b"], ["c"], at=2, columns={"c": {"x": ["b.x IDENTITY"]}}),
        ]
    )
    assert columns(graph.impact(column("a.y"))) == {"b.x": "indirect", "c.x": "indirect"}


def test_certainty_is_the_best_over_all_ways_and_depth_the_least(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("near", ["a"], ["c"], at=1, columns={"c": {"x": ["a.x FILTER"]}}),
            run("far", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x IDENTITY"]}}),
            run("further", ["b"], ["c"], at=2, columns={"c": {"x": ["b.x IDENTITY"]}}),
        ]
    )
    item = next(item for item in graph.impact(column("a.x")) if item.name == "c")
    assert (item.certainty, item.depth) == ("direct", 1)
    assert [short(node) for node in item.path] == ["a.x", "b.x", "c.x"]


def test_one_input_that_is_value_and_filter_of_a_column_is_direct(graph: LineageGraph) -> None:
    both = {"transformations": [{"type": "INDIRECT", "subtype": "FILTER"}, {"type": "DIRECT", "subtype": "IDENTITY"}]}
    facet = {"fields": {"x": {"inputFields": [{"namespace": "shop", "name": "a", "field": "x", **both}]}}}
    graph.ingest([run("one", ["a"], [dataset("b", facets={"columnLineage": facet})], at=1)])
    assert columns(graph.impact(column("a.x"))) == {"b.x": "direct"}


def test_behind_a_job_without_column_lineage_every_column_is_possible(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", [dataset("a", schema=["x"])], [dataset("b", schema=["p", "q"])], at=1),
            run("two", ["b"], ["c"], at=2, columns={"c": {"r": ["b.p IDENTITY"]}}),
        ]
    )
    answer = graph.impact(column("a.x"))
    assert columns(answer) == {"b.p": "possible", "b.q": "possible", "c.r": "possible"}
    assert answer.column_coverage == 0.5


def test_a_dataset_without_any_known_column_stands_for_its_columns(graph: LineageGraph) -> None:
    graph.ingest([run("one", [dataset("a", schema=["x"])], ["b"], at=1), run("two", ["b"], ["c"], at=2)])
    assert columns(graph.impact(column("a.x"))) == {"b": "possible", "c": "possible"}


def test_a_column_that_no_schema_lists_is_possible_too_and_so_is_what_follows_from_it(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", [dataset("a", schema=["x"])], [dataset("b", schema=["documented"])], at=1),
            run("two", ["b"], ["c"], at=2, columns={"c": {"r": ["b.undocumented IDENTITY"]}}),
        ]
    )
    assert columns(graph.impact(column("a.x"))) == {
        "b.documented": "possible",
        "b.undocumented": "possible",
        "c.r": "possible",
    }


def test_an_input_that_column_lineage_leaves_out_is_possible_not_gone(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run(
                "one",
                [dataset("a", schema=["x"]), dataset("k", schema=["id"])],
                ["b"],
                at=1,
                columns={"b": {"x": ["a.x"]}},
            )
        ]
    )
    assert columns(graph.impact(column("k.id"))) == {"b.x": "possible"}
    assert tables(graph.impact(table("k"))) == {"b": 1}


def test_a_column_that_feeds_nothing_of_a_job_with_column_lineage_has_no_impact_there(graph: LineageGraph) -> None:
    graph.ingest([run("one", [dataset("a", schema=["x", "unused"])], ["b"], at=1, columns={"b": {"x": ["a.x"]}})])
    assert columns(graph.impact(column("a.unused"))) == {}


def test_an_indirect_source_of_the_whole_dataset_touches_each_of_its_columns(graph: LineageGraph) -> None:
    lineage = {"x": ["a.x IDENTITY"], "y": ["a.y IDENTITY"], "*": ["a.day FILTER"]}
    graph.ingest([run("one", ["a"], [dataset("b", schema=["x", "y", "z"])], at=1, columns={"b": lineage})])
    assert columns(graph.impact(column("a.day"))) == {"b.x": "indirect", "b.y": "indirect", "b.z": "indirect"}


def test_an_indirect_source_that_every_field_repeats_means_the_same_as_one_of_the_whole_dataset(
    graph: LineageGraph,
) -> None:
    once = {"x": ["a.x IDENTITY"], "y": ["a.y IDENTITY"], "*": ["a.day FILTER"]}
    repeated = {"x": ["a.x IDENTITY", "a.day FILTER"], "y": ["a.y IDENTITY", "a.day FILTER"]}
    graph.ingest(
        [run("one", ["a"], ["b"], at=1, columns={"b": once}), run("two", ["a"], ["c"], at=1, columns={"c": repeated})]
    )
    answer = columns(graph.impact(column("a.day")))
    assert answer == {f"{name}.{field}": "indirect" for name in "bc" for field in "xy"}


def test_direct_entries_of_the_dataset_list_are_survived(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"], "*": ["a.x IDENTITY", "a.day FILTER"]}})])
    assert columns(graph.impact(column("a.x"))) == {"b.x": "direct"}
    assert columns(graph.impact(column("a.day"))) == {"b.x": "indirect"}


def test_the_older_form_of_column_lineage_counts_as_direct(graph: LineageGraph) -> None:
    facet = column_lineage({"x": ["a.x"]})
    facet["fields"]["x"] |= {"transformationType": "IDENTITY", "transformationDescription": "as it is"}
    graph.ingest([run("one", ["a"], [dataset("b", facets={"columnLineage": facet})], at=1)])
    assert columns(graph.impact(column("a.x"))) == {"b.x": "direct"}


def test_column_names_with_dots_colons_and_case_are_kept_apart(graph: LineageGraph) -> None:
    fields = {
        "address.geo": ["a.plain"],
        "größe": ["a.plain"],
        "ID": ["a.plain"],
        "id": ["a.other"],
        "x:y": ["a.plain"],
    }
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": fields})])
    found = {item.field for item in graph.impact(column("a.plain")) if item.type == "column"}
    assert found == {"address.geo", "größe", "ID", "x:y"}


def test_a_depth_cuts_a_column_answer_and_its_frontier_completes_it(graph: LineageGraph) -> None:
    graph.ingest(
        run(f"j{i}", [f"t{i}"], [f"t{i + 1}"], at=i, columns={f"t{i + 1}": {"x": [f"t{i}.x IDENTITY"]}})
        for i in range(5)
    )
    cut = graph.impact(column("t0.x"), NOW, Bounds(depth=2))
    assert columns(cut) == {"t1.x": "direct", "t2.x": "direct"}
    assert (cut.complete, cut.truncated_by, cut.frontier) == (False, ["depth"], ["datasetField:shop:t2:x"])
    whole = {item.id for item in graph.impact(column("t0.x"))}
    assert {item.id for item in cut} | {item.id for node in cut.frontier for item in graph.impact(node)} == whole


def test_a_limit_of_nodes_at_the_start_of_a_column_answer_is_not_silent(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"]}})])
    cut = graph.impact(column("a.x"), NOW, Bounds(nodes=1))
    assert (cut.complete, cut.truncated_by, cut.frontier) == (False, ["nodes"], ["datasetField:shop:a:x"])


def test_a_cursor_of_another_question_is_refused(graph: LineageGraph) -> None:
    graph.ingest(CHAIN)
    cursor = graph.impact(table("t0"), NOW, Bounds(limit=2)).next
    assert len(graph.impact(table("t0"), NOW, Bounds(limit=3, cursor=cursor))) == 3
    found = graph.search("t", limit=2).next
    assert len(graph.search("t", limit=3, cursor=found).items) == 3
    for question in (
        lambda: graph.impact(table("t1"), NOW, Bounds(cursor=cursor)),
        lambda: graph.upstream(table("t0"), NOW, Bounds(cursor=cursor)),
        lambda: graph.impact(table("t0"), EVER, Bounds(cursor=cursor)),
        lambda: graph.impact(table("t0"), NOW, Bounds(depth=1, cursor=cursor)),
        lambda: graph.impact(table("t0"), NOW, Bounds(only=("job",), cursor=cursor)),
        lambda: graph.impact(table("t0"), NOW, Bounds(cursor=found)),
        lambda: graph.search("j", cursor=found),
        lambda: graph.search("t", cursor=cursor),
    ):
        with pytest.raises(BadRequest, match=r"^cursor is of another question"):
            question()


@pytest.mark.parametrize(
    "bounds",
    [Bounds(only=("colum",)), Bounds(limit=0), Bounds(limit=10_001), Bounds(depth=-1), Bounds(nodes=0)],
)
def test_bounds_that_cannot_be_kept_are_refused(graph: LineageGraph, bounds: Bounds) -> None:
    graph.ingest(CHAIN)
    for question in (graph.impact, graph.upstream, graph.graph):
        with pytest.raises(BadRequest):
            question(table("t0"), NOW, bounds)
    with pytest.raises(BadRequest):
        graph.search("t", limit=0)


def test_a_job_behind_the_edge_of_a_column_answer_keeps_it_from_being_complete(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("mix", ["d"], ["a"], at=1, columns={"a": {"x": ["d.y"]}}),
            run("load", ["a"], [dataset("d", schema=["y"])], at=2),
        ]
    )
    assert jobs(graph.impact(column("d.y"))) == {"mix": 1, "load": 2}
    cut = graph.impact(column("d.y"), NOW, Bounds(depth=1))
    assert (cut.complete, cut.frontier) == (False, ["datasetField:shop:a:x"])


def test_a_limit_of_nodes_is_not_silent_of_columns_in_tables_already_met(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a", dataset("b", schema=["x", "y"])], ["b"], at=1, columns={"b": {"y": ["a.x"]}})])
    assert columns(graph.impact(column("a.x"))) == {"b.y": "direct", "b.x": "possible"}
    cut = graph.impact(column("a.x"), NOW, Bounds(nodes=2))
    assert cut.complete == ("b.x" in columns(cut))


def test_column_answers_come_in_pages_too(graph: LineageGraph) -> None:
    wide: dict[str, list[str]] = {f"c{i}": ["a.x IDENTITY"] for i in range(25)}
    graph.ingest([run("one", ["a"], ["b"], at=1, columns={"b": wide})])
    whole = graph.impact(column("a.x"))
    assert [item for page in pages(graph.impact, column("a.x"), 4) for item in page] == whole.items


def test_a_column_of_a_cycle_is_no_item_of_its_own_answer(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("one", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"]}}),
            run("two", ["b"], ["a"], at=2, columns={"a": {"x": ["b.x"], "y": ["a.x"]}}),
        ]
    )
    assert columns(graph.impact(column("a.x"))) == {"b.x": "direct", "a.y": "direct"}


# -- declared lineage


def test_lineage_that_a_job_event_declares_counts(graph: LineageGraph) -> None:
    graph.ingest([declare("model", ["a"], ["b"], at=1)])
    answer = graph.impact(table("a"))
    assert (tables(answer), jobs(answer)) == ({"b": 1}, {"model": 1})


def test_a_dataset_event_with_column_lineage_declares_sources_without_a_job(graph: LineageGraph) -> None:
    graph.ingest([describe("b", at=1, columns={"b": {"x": ["a.x"]}})])
    answer = graph.impact(table("a"))
    assert (tables(answer), jobs(answer)) == ({"b": 1}, {})
    assert columns(graph.impact(column("a.x"))) == {"b.x": "direct"}


@pytest.fixture
def explicit() -> Event:
    """A run with two inputs and two outputs whose lineage facets say which comes from which."""
    one = {"lineage": {"inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}]}}
    none: dict[str, object] = {"lineage": {"inputs": []}}
    return run("etl", ["a", "b"], [dataset("c", facets=one), dataset("made_up", facets=none)], at=1)


def test_an_explicit_lineage_facet_decides_alone(graph: LineageGraph, explicit: Event) -> None:
    graph.ingest([explicit])
    assert tables(graph.impact(table("a"))) == {"c": 1}
    assert tables(graph.impact(table("b"))) == {}


def test_explicit_lineage_with_an_empty_list_is_known_to_have_no_source(graph: LineageGraph, explicit: Event) -> None:
    graph.ingest([explicit])
    assert tables(graph.upstream(table("made_up"))) == {}
