"""What a dataset is called (design 2): ids, symlinks, renames, and lives that a DROP ends."""

from __future__ import annotations

import pytest

from lineage_graph import Ambiguous, Asked, BadRequest, LineageGraph, NotFound
from lineage_graph.events import canonical, parse
from tests.asking import EVER, column, columns, short, table, tables
from tests.events_builder import dataset, describe, run, run_id

# -- ids


@pytest.mark.parametrize("part", ["namespace", "name", "field"])
@pytest.mark.parametrize("node", ["dataset:shop:orders", "job:shop:copy", "datasetField:shop:orders:id"])
def test_an_id_and_parts_of_a_name_are_not_taken_together(graph: LineageGraph, node: str, part: str) -> None:
    graph.ingest([run("copy", ["orders"], ["report"], at=1)])
    with pytest.raises(BadRequest, match=f"^{part} is given beside node="):
        graph.impact(Asked(node, **{part: "orders"}))


def test_a_column_of_a_job_is_refused(graph: LineageGraph) -> None:
    graph.ingest([run("copy", ["orders"], ["copy"], at=1, columns={"copy": {"id": ["orders.id"]}})])
    with pytest.raises(BadRequest, match="a job has no columns"):
        graph.impact(Asked(namespace="shop", name="copy", field="id", type="job"))


def test_a_name_that_is_not_known_yet_tells_how_far_behind_the_graph_is(graph: LineageGraph) -> None:
    graph.ingest([run("copy", ["orders"], ["report"], at=1)])
    assert graph.impact(table("orders")).lag == 0
    event = run("sum", ["report"], ["total"], at=2)
    kept = graph.keep([(parse(event), canonical(event))])
    with pytest.raises(NotFound, match="events not in the graph yet: 1") as raised:
        graph.impact(table("total"))
    assert raised.value.lag == 1
    for answer in (graph.impact(table("orders")), graph.graph(table("orders")), graph.search("orders")):
        assert (answer.lag, answer.newest_event) == (1, "2026-01-01T00:01:00Z")
    graph.apply(kept)
    assert graph.upstream(table("total")).lag == 0


def test_names_that_differ_in_case_slash_or_space_are_different_datasets(graph: LineageGraph) -> None:
    names = ["Orders", "orders", "orders/", " orders", "orders ", "órders", 'o"r', "o'r`", "a:b:c", "%6frders", "x\\y"]
    graph.ingest(run(f"job {i}", [name], [f"out {i}"], at=i) for i, name in enumerate(names))
    for i, name in enumerate(names):
        assert tables(graph.impact(table(name))) == {f"out {i}": 1}


def test_an_id_with_colons_in_namespace_and_name_is_found(graph: LineageGraph) -> None:
    graph.ingest([run("load", [dataset("db:table", namespace="postgres://host:5432")], ["b"], at=1)])
    assert tables(graph.impact("dataset:postgres://host:5432:db:table")) == {"b": 1}
    assert tables(graph.impact(table("db:table", "postgres://host:5432"))) == {"b": 1}


def test_an_id_with_two_readings_is_refused_with_both(graph: LineageGraph) -> None:
    graph.ingest([describe(dataset("b:c", namespace="a"), at=1), describe(dataset("c", namespace="a:b"), at=1)])
    with pytest.raises(Ambiguous) as error:
        graph.impact("dataset:a:b:c")
    assert error.value.readings == ("dataset namespace='a' name='b:c'", "dataset namespace='a:b' name='c'")
    assert graph.impact(table("b:c", "a")).node.name == "b:c"


def test_a_column_id_with_dots_and_colons_is_found(graph: LineageGraph) -> None:
    out = dataset("t", namespace="s3://bucket")
    graph.ingest([run("load", ["a"], [out], at=1, columns={"t": {"geo.lat:deg": ["a.x"]}})])
    assert columns(graph.upstream("datasetField:s3://bucket:t:geo.lat:deg")) == {"a.x": "direct"}


@pytest.mark.parametrize(
    "node", ["", "orders", "dataset:", "dataset:shop", "table:shop:a", "run:", "datasetField:shop:a"]
)
def test_what_is_no_id_is_refused(graph: LineageGraph, node: str) -> None:
    with pytest.raises(BadRequest):
        graph.impact(node)


def test_an_id_of_a_thousand_colons_is_refused_and_its_parts_are_taken(graph: LineageGraph) -> None:
    name = ":".join("a" * 1000)
    graph.ingest([run("load", [name], ["b"], at=1)])
    with pytest.raises(BadRequest):
        graph.impact(f"dataset:shop:{name}")
    assert tables(graph.impact(table(name))) == {"b": 1}


def test_namespace_alone_is_not_enough(graph: LineageGraph) -> None:
    with pytest.raises(BadRequest):
        graph.impact(Asked(namespace="shop"))


def test_names_too_long_for_an_index_are_kept_apart(graph: LineageGraph) -> None:
    long = "n" * 9000
    graph.ingest([run("one", [long + "1"], ["b"], at=1), run("two", [long + "2"], ["c"], at=1)])
    assert tables(graph.impact(table(long + "1"))) == {"b": 1}


def test_text_that_looks_like_cypher_is_text(graph: LineageGraph) -> None:
    name = "x'}) DETACH DELETE n //"
    graph.ingest([run("$name`", [name], ["b"], at=1, columns={"b": {"`y`": [f"{name}.z"]}})])
    assert tables(graph.impact(table(name))) == {"b": 1}
    assert columns(graph.upstream(column("b.`y`"))) == {f"{name}.z": "direct"}


def test_a_run_id_that_is_no_uuid_is_found_as_it_was_sent(graph: LineageGraph) -> None:
    event = run("load", ["a"], ["b"], at=1)
    event["run"]["runId"] = "scheduled__2026-01-01"
    graph.ingest([event])
    assert tables(graph.impact("run:scheduled__2026-01-01")) == {"b": 1}
    assert graph.run("scheduled__2026-01-01").given_ids == {"scheduled__2026-01-01"}


def test_one_run_id_sent_by_two_jobs_is_two_runs(graph: LineageGraph) -> None:
    graph.ingest(
        [run("one", ["a"], ["b"], at=1, run="shared"), run("two", ["c"], ["d"], at=2, run="shared", type="FAIL")]
    )
    assert tables(graph.impact(table("a"))) == {"b": 1}
    with pytest.raises(Ambiguous):
        graph.impact(f"run:{run_id('shared')}")
    with pytest.raises(Ambiguous):
        graph.run(run_id("shared"))
    assert graph.run(run_id("shared"), ("shop", "one")).state.state == "COMPLETED"
    assert graph.run(run_id("shared"), ("shop", "two")).state.state == "FAILED"


# -- symlinks


def test_an_alias_is_crossed_at_no_cost_and_shown(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], ["/warehouse/orders"], at=1),
            describe(dataset("/warehouse/orders", symlinks=["orders"]), at=2),
            run("read", ["orders"], ["report"], at=3),
        ]
    )
    answer = graph.impact(table("a"))
    assert tables(answer) == {"/warehouse/orders": 1, "report": 2}
    item = next(item for item in answer if item.depth == 1 and item.type == "dataset")
    assert [alias.name for alias in item.aliases] == ["orders"]
    assert tables(graph.upstream(table("report"))) == {"/warehouse/orders": 1, "a": 2}


def test_a_dataset_is_found_by_each_of_its_names_with_one_answer(graph: LineageGraph) -> None:
    graph.ingest(
        [run("write", ["a"], [dataset("x", symlinks=["y", ("other", "z")])], at=1), run("read", ["y"], ["b"], at=2)]
    )
    for asked in (table("x"), table("y"), table("z", "other")):
        assert tables(graph.impact(asked)) == {"b": 1}
        assert tables(graph.upstream(asked)) == {"a": 1}


def test_chains_and_cycles_of_symlinks_are_one_dataset(graph: LineageGraph) -> None:
    graph.ingest(
        [
            describe(dataset("n1", symlinks=["n2"]), at=1),
            describe(dataset("n2", symlinks=["n3"]), at=1),
            describe(dataset("n3", symlinks=["n1", "n4"]), at=1),
            run("write", ["a"], ["n1"], at=2),
            run("read", ["n4"], ["b"], at=3),
        ]
    )
    assert list(tables(graph.impact(table("a"))).values()) == [1, 2]
    assert tables(graph.upstream(table("b")))["a"] == 2


def test_one_name_that_two_datasets_claim_joins_them(graph: LineageGraph) -> None:
    graph.ingest(
        [
            describe(dataset("left", symlinks=["both"]), at=1),
            describe(dataset("right", symlinks=["both"]), at=1),
            run("write", ["a"], ["left"], at=2),
            run("read", ["right"], ["b"], at=3),
        ]
    )
    assert tables(graph.impact(table("a")))["b"] == 2


def test_a_dataset_that_links_to_itself_is_survived(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], [dataset("b", symlinks=["b"])], at=1)])
    assert tables(graph.impact(table("a"))) == {"b": 1}


def test_a_newer_facet_without_the_name_undoes_the_join(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], [dataset("x", symlinks=["y"])], at=1), run("read", ["y"], ["b"], at=2)])
    assert tables(graph.impact(table("a"))) == {"x": 1, "b": 2}
    graph.ingest([describe(dataset("x", symlinks=["z"]), at=3)])
    assert tables(graph.impact(table("a"))) == {"x": 1}
    assert tables(graph.upstream(table("z"))) == {"a": 1}


def test_an_older_facet_that_comes_late_changes_nothing(graph: LineageGraph) -> None:
    graph.ingest(
        [describe(dataset("x", symlinks=["z"]), at=3), run("write", ["a"], [dataset("x", symlinks=["y"])], at=1)]
    )
    with_y = graph.upstream(table("x")).node.aliases
    assert [alias.name for alias in with_y] == ["z"]


def test_an_event_without_the_facet_leaves_the_join(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], [dataset("x", symlinks=["y"])], at=1), run("write", ["a"], ["x"], at=2)])
    assert tables(graph.upstream(table("y"))) == {"a": 1}


def test_a_deleted_symlinks_facet_undoes_the_join(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], [dataset("x", symlinks=["y"])], at=1),
            describe(dataset("x", facets={"symlinks": {"_deleted": True}}), at=2),
        ]
    )
    assert tables(graph.upstream(table("y"))) == {}


def test_columns_are_joined_under_all_names_of_a_dataset(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], [dataset("x", symlinks=["y"])], at=1, columns={"x": {"c": ["a.c"]}}),
            run("read", ["y"], ["b"], at=2, columns={"b": {"d": ["y.c"]}}),
        ]
    )
    assert columns(graph.impact(column("a.c"))) == {"x.c": "direct", "b.d": "direct"}
    assert columns(graph.impact(column("y.c"))) == {"b.d": "direct"}
    assert columns(graph.upstream(column("b.d"))) == {"x.c": "direct", "a.c": "direct"}


# -- renames


def test_a_rename_joins_old_and_new_history(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], ["old"], at=1),
            run("rename", (), [dataset("new", change="RENAME", previous="old")], at=2),
            run("read", ["new"], ["b"], at=3),
        ]
    )
    answer = graph.impact(table("a"))
    assert tables(answer) == {"new": 1, "b": 2}
    assert tables(graph.impact(table("old"))) == {"b": 1}
    assert graph.impact(table("old")).node.aliases


def test_a_rename_joins_until_the_old_name_is_written_again(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], ["old"], at=1),
            run("rename", (), [dataset("new", change="RENAME", previous="old")], at=2),
            run("read", ["new"], ["b"], at=3),
            run("write", ["a"], ["old"], at=4),
        ]
    )
    assert tables(graph.impact(table("a"))) == {"old": 1}
    assert tables(graph.impact(table("new"))) == {"b": 1}


def test_two_renames_in_a_row_are_one_dataset(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], ["v1"], at=1),
            run("mv", (), [dataset("v2", change="RENAME", previous="v1")], at=2),
            run("mv", (), [dataset("v3", change="RENAME", previous="v2")], at=3),
        ]
    )
    answer = graph.impact(table("a"))
    assert list(tables(answer).values()) == [1]
    assert {short(node) for node in ("dataset:shop:v3",)} <= set(tables(answer))


# -- drops


def test_a_dropped_dataset_leaves_current_answers_and_the_answer_says_so(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], ["b", "c"], at=1), run("drop", (), [dataset("b", change="DROP")], at=2)])
    answer = graph.impact(table("a"))
    assert tables(answer) == {"c": 1}
    assert answer.left_out.dropped == ["dataset:shop:b"]
    assert graph.impact(table("b")).node.dropped


def test_a_dropped_dataset_stays_in_history(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], ["b"], at=1), run("drop", (), [dataset("b", change="DROP")], at=2)])
    answer = graph.impact(table("a"), EVER)
    assert tables(answer) == {"b": 1}
    assert answer.items[0].dropped
    assert tables(graph.upstream(table("b"))) == {"a": 1}


def test_a_write_after_a_drop_starts_a_life_without_the_old_producers(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("first", ["a"], ["t"], at=1),
            run("drop", (), [dataset("t", change="DROP")], at=2),
            run("second", ["b"], ["t"], at=3),
        ]
    )
    assert tables(graph.upstream(table("t"))) == {"b": 1}
    assert tables(graph.impact(table("a"))) == {}
    assert tables(graph.upstream(table("t"), EVER)) == {"a": 1, "b": 1}
    assert not graph.upstream(table("t")).node.dropped


def test_a_drop_that_arrives_late_ends_the_life_that_it_is_about(graph: LineageGraph) -> None:
    graph.ingest([run("first", ["a"], ["t"], at=1), run("second", ["b"], ["t"], at=3)])
    assert tables(graph.upstream(table("t"))) == {"a": 1, "b": 1}
    graph.ingest([run("drop", (), [dataset("t", change="DROP")], at=2)])
    assert tables(graph.upstream(table("t"))) == {"b": 1}


def test_overwrite_truncate_and_append_keep_producers(graph: LineageGraph) -> None:
    for at, change in enumerate(("OVERWRITE", "TRUNCATE", "ALTER", "CREATE")):
        graph.ingest([run(f"by {change}", ["a"], [dataset(f"t{at}", change=change)], at=at)])
    assert set(tables(graph.impact(table("a")))) == {"t0", "t1", "t2", "t3"}


def test_a_drop_that_a_dataset_event_tells_ends_the_life(graph: LineageGraph) -> None:
    graph.ingest([run("write", ["a"], ["b"], at=1), describe(dataset("b", change="DROP"), at=2)])
    assert tables(graph.impact(table("a"))) == {}
    assert graph.impact(table("b")).node.dropped


def test_a_drop_by_another_name_ends_the_life(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("write", ["a"], [dataset("/warehouse/t", symlinks=["t"])], at=1),
            run("drop", (), [dataset("t", change="DROP")], at=2),
        ]
    )
    assert tables(graph.impact(table("a"))) == {}
    assert graph.impact(table("t")).node.dropped


def test_a_write_by_another_name_starts_a_life_without_the_old_producers(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("first", ["a"], [dataset("/warehouse/t", symlinks=["t"])], at=1),
            run("drop", (), [dataset("/warehouse/t", change="DROP")], at=2),
            run("second", ["b"], ["t"], at=3),
        ]
    )
    assert tables(graph.upstream(table("t"))) == {"b": 1}


def test_equal_lineage_of_both_lives_counts_for_the_new_one(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["t"], at=1, type="START"),
            run("drop", (), [dataset("t", change="DROP")], at=2),
            run("load", ["a"], ["t"], at=3, type="FAIL"),
        ]
    )
    assert tables(graph.upstream(table("t"))) == {"a": 1}
