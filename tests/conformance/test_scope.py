"""Which lineage counts (design 5): ``current``, ``current`` with a window, and ``all``."""

from __future__ import annotations

import pytest

from lineage_graph import BadRequest, LineageGraph, Scope
from tests.asking import EVER, column, columns, jobs, table, tables
from tests.events_builder import dataset, declare, describe, run

DELETED = {"columnLineage": {"_deleted": True}}


NOW = Scope()


def sources(graph: LineageGraph, name: str, scope: Scope = NOW) -> set[str]:
    """Direct sources of a dataset."""
    return {name for name, depth in tables(graph.upstream(table(name), scope)).items() if depth == 1}


# -- executions


def test_a_removed_input_leaves_with_the_next_run_that_writes_the_same_output(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a", "b"], ["x"], at=1), run("load", ["a"], ["x"], at=2)])
    assert sources(graph, "x") == {"a"}
    assert tables(graph.impact(table("b"))) == {}
    assert sources(graph, "x", EVER) == {"a", "b"}


def test_a_removed_input_does_not_leave_by_a_run_that_wrote_something_else(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a", "b"], ["x"], at=1), run("load", ["a"], ["y"], at=2)])
    assert (sources(graph, "x"), sources(graph, "y")) == ({"a", "b"}, {"a"})


def test_a_job_that_writes_another_table_on_each_run_keeps_every_producer(graph: LineageGraph) -> None:
    graph.ingest(run("daily", [f"in{day}"], [f"out{day}"], at=day) for day in range(5))
    for day in range(5):
        assert sources(graph, f"out{day}") == {f"in{day}"}
        assert jobs(graph.upstream(table(f"out{day}"))) == {"daily": 1}


def test_two_jobs_that_write_one_table_are_both_its_producers(graph: LineageGraph) -> None:
    graph.ingest([run("one", ["a"], ["x"], at=1), run("two", ["b"], ["x"], at=2)])
    assert sources(graph, "x") == {"a", "b"}


def test_runs_under_one_parent_are_one_execution(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("task", ["p1"], ["x"], at=1, run="m1", parent="monday"),
            run("task", ["p2"], ["x"], at=2, run="m2", parent="monday"),
        ]
    )
    assert sources(graph, "x") == {"p1", "p2"}
    graph.ingest([run("task", ["p3"], ["x"], at=3, run="t1", parent="tuesday")])
    assert sources(graph, "x") == {"p3"}


def test_mapped_tasks_do_not_mix_their_tables(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("task", ["a1"], ["b1"], at=1, run="m1", parent="monday"),
            run("task", ["a2"], ["b2"], at=1, run="m2", parent="monday"),
        ]
    )
    assert (sources(graph, "b1"), sources(graph, "b2")) == ({"a1"}, {"a2"})
    assert tables(graph.impact(table("a1"))) == {"b1": 1}


def test_a_parent_that_is_learned_late_joins_the_executions(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("task", ["p1"], ["x"], at=1, run="m1"),
            run("task", ["p2"], ["x"], at=2, run="m2", parent="monday"),
        ]
    )
    assert sources(graph, "x") == {"p2"}
    graph.ingest([run("task", at=3, type="OTHER", run="m1", parent="monday")])
    assert sources(graph, "x") == {"p1", "p2"}


def test_a_run_is_no_part_of_the_execution_of_a_parent_with_its_id(graph: LineageGraph) -> None:
    graph.ingest(
        [run("task", ["a"], ["x"], at=1, run="shared"), run("task", ["b"], ["x"], at=2, run="own", parent="shared")]
    )
    assert sources(graph, "x") == {"b"}


def test_the_latest_execution_is_the_one_that_completed_last_not_the_one_that_came_last(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["new"], ["x"], at=5), run("load", ["old"], ["x"], at=2)])
    assert sources(graph, "x") == {"new"}


def test_inputs_in_start_and_outputs_in_complete_are_one_pair(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], at=1, type="START", run="r"),
            run("load", ["b"], at=2, type="RUNNING", run="r"),
            run("load", (), ["x"], at=3, type="COMPLETE", run="r"),
        ]
    )
    assert sources(graph, "x") == {"a", "b"}


def test_an_empty_list_erases_nothing(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1, type="START", run="r"), run("load", at=2, run="r")])
    assert sources(graph, "x") == {"a"}


def test_what_a_job_only_reads_is_what_its_latest_successful_execution_read(graph: LineageGraph) -> None:
    graph.ingest([run("report", ["a", "b"], at=1), run("report", ["b"], at=2), run("report", ["c"], at=3, type="FAIL")])
    assert jobs(graph.impact(table("a"))) == {}
    assert jobs(graph.impact(table("b"))) == {"report": 1}
    assert jobs(graph.impact(table("c"))) == {}
    assert jobs(graph.impact(table("a"), EVER)) == {"report": 1}


def test_each_item_says_whether_its_step_is_in_the_latest_execution(graph: LineageGraph) -> None:
    graph.ingest([run("daily", ["a"], ["mon"], at=1), run("daily", ["a"], ["tue"], at=2)])
    latest = {item.name: item.in_latest_execution for item in graph.impact(table("a")) if item.type == "dataset"}
    assert latest == {"mon": False, "tue": True}


# -- failures


@pytest.mark.parametrize("end", ["FAIL", "ABORT"])
def test_a_run_that_did_not_succeed_adds_nothing(graph: LineageGraph, end: str) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1), run("load", ["b"], ["x"], at=2, type=end)])
    assert sources(graph, "x") == {"a"}
    assert sources(graph, "x", EVER) == {"a", "b"}


def test_a_failed_run_without_datasets_erases_nothing(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1),
            run("load", at=2, type="START", run="r"),
            run("load", at=3, type="FAIL", run="r"),
        ]
    )
    assert sources(graph, "x") == {"a"}


def test_what_a_job_reported_counts_while_it_never_succeeded(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1, type="FAIL"), run("load", ["b"], ["x"], at=2, type="FAIL")])
    assert sources(graph, "x") == {"b"}
    graph.ingest([run("load", ["c"], ["x"], at=3)])
    assert sources(graph, "x") == {"c"}


def test_success_is_asked_for_each_output_by_itself(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1), run("load", ["b"], ["y"], at=2, type="FAIL")])
    assert (sources(graph, "x"), sources(graph, "y")) == ({"a"}, {"b"})


def test_a_fail_beside_a_complete_takes_the_run_back(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1), run("load", ["b"], ["x"], at=3, run="r")])
    assert sources(graph, "x") == {"b"}
    graph.ingest([run("load", at=2.9, type="FAIL", run="r")])
    assert sources(graph, "x") == {"a"}


def test_column_lineage_of_a_failed_run_adds_nothing(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1, columns={"x": {"c": ["a.c"]}}),
            run("load", ["a"], ["x"], at=2, type="FAIL", columns={"x": {"c": ["a.d", "seed.c"]}}),
        ]
    )
    assert sources(graph, "x") == {"a"}
    assert columns(graph.upstream(column("x.c"))) == {"a.c": "direct"}


def test_column_lineage_of_a_failed_run_adds_nothing_to_a_success_without_any(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1, type="FAIL", columns={"x": {"c": ["seed.c"]}}),
            run("load", ["a"], ["x"], at=2),
        ]
    )
    assert sources(graph, "x") == {"a"}


# -- runs that are not over


def test_a_run_begun_since_the_last_success_counts_beside_it(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1), run("load", ["b"], ["x"], at=2, type="START")])
    assert sources(graph, "x") == {"a", "b"}


def test_a_run_that_never_ended_leaves_once_a_later_one_succeeded(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1, type="START"), run("load", ["b"], ["x"], at=2)])
    assert sources(graph, "x") == {"b"}


def test_a_streaming_job_counts_while_it_reports(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("stream", ["topic"], ["x"], at=1, type="START", run="live"),
            run("stream", ["topic"], ["x"], at=9, type="RUNNING", run="live"),
            run("stream", ["backfill"], ["x"], at=5, run="once"),
        ]
    )
    assert sources(graph, "x") == {"topic", "backfill"}


def test_a_run_of_unknown_state_is_not_over(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1, type=None), run("load", ["b"], ["x"], at=2, type="OTHER")])
    assert sources(graph, "x") == {"a", "b"}


# -- column lineage


def test_a_run_without_column_lineage_does_not_hide_what_an_earlier_one_sent(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1, columns={"x": {"c": ["a.c"]}}), run("load", ["a"], ["x"], at=2)])
    assert columns(graph.upstream(column("x.c"))) == {"a.c": "direct"}


def test_newer_column_lineage_replaces_the_older_whole(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1, columns={"x": {"c": ["a.c"], "d": ["a.d"]}}),
            run("load", ["a"], ["x"], at=2, columns={"x": {"c": ["a.e"]}}),
        ]
    )
    assert columns(graph.upstream(column("x.c"))) == {"a.e": "direct"}
    assert columns(graph.impact(column("a.d"))) == {}
    assert columns(graph.impact(column("a.d"), EVER)) == {"x.d": "direct"}


def test_deleted_column_lineage_makes_its_columns_possible(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", [dataset("a", schema=["c", "k"])], ["x"], at=1, columns={"x": {"c": ["a.c"]}}),
            run("load", ["a"], [dataset("x", schema=["c"], facets=DELETED)], at=2),
        ]
    )
    assert columns(graph.upstream(column("x.c"))) == {"a.c": "possible", "a.k": "possible"}


def test_a_source_only_known_from_column_lineage_stays_with_it(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("model", (), ["x"], at=1, columns={"x": {"c": ["seed.c"]}}),
            run("model", (), ["x"], at=2),
        ]
    )
    assert sources(graph, "x") == {"seed"}
    graph.ingest([run("model", (), ["x"], at=3, columns={"x": {"c": ["other.c"]}})])
    assert sources(graph, "x") == {"other"}


# -- declarations


def test_a_declaration_holds_until_an_execution_for_the_same_output(graph: LineageGraph) -> None:
    graph.ingest([declare("model", ["a"], ["x"], at=1)])
    assert sources(graph, "x") == {"a"}
    graph.ingest([run("model", ["b"], ["y"], at=2)])
    assert sources(graph, "x") == {"a"}
    graph.ingest([run("model", ["b"], ["x"], at=3)])
    assert sources(graph, "x") == {"b"}


def test_a_newer_declaration_replaces_the_older(graph: LineageGraph) -> None:
    graph.ingest([declare("model", ["b"], ["x"], at=2), declare("model", ["a"], ["x"], at=1)])
    assert sources(graph, "x") == {"b"}


def test_a_failed_execution_leaves_the_declaration(graph: LineageGraph) -> None:
    graph.ingest([declare("model", ["a"], ["x"], at=1), run("model", ["b"], ["x"], at=2, type="FAIL")])
    assert sources(graph, "x") == {"a"}


def test_a_declaration_without_inputs_says_nothing_of_the_sources(graph: LineageGraph) -> None:
    graph.ingest([run("model", ["a"], ["x"], at=1), declare("model", None, ["x"], at=2)])
    assert sources(graph, "x") == {"a"}


def test_a_dataset_event_replaces_what_an_older_one_declared(graph: LineageGraph) -> None:
    graph.ingest(
        [describe("x", at=1, columns={"x": {"c": ["a.c"]}}), describe("x", at=2, columns={"x": {"c": ["b.c"]}})]
    )
    assert sources(graph, "x") == {"b"}
    assert columns(graph.upstream(column("x.c"))) == {"b.c": "direct"}


# -- window and all


def test_a_window_also_takes_what_succeeded_that_long_before(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["old"], ["x"], at=0),
            run("load", ["yesterday"], ["x"], at=100),
            run("load", ["broken"], ["x"], at=110, type="FAIL"),
            run("load", ["now"], ["x"], at=120),
        ]
    )
    assert sources(graph, "x", Scope.parse(window="PT20M")) == {"now", "yesterday"}
    assert sources(graph, "x", Scope.parse(window="PT19M")) == {"now"}
    assert sources(graph, "x", Scope.parse(window="P1D")) == {"now", "yesterday", "old"}


def test_what_a_window_adds_is_not_in_the_latest_execution(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], ["x"], at=1), run("load", ["b"], ["x"], at=2)])
    latest = {
        item.name: item.in_latest_execution
        for item in graph.upstream(table("x"), Scope.parse(window="P1D"))
        if item.type == "dataset"
    }
    assert latest == {"a": False, "b": True}


def test_a_window_does_not_reach_into_an_earlier_life(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1),
            run("drop", (), [dataset("x", change="DROP")], at=2),
            run("load", ["b"], ["x"], at=3),
        ]
    )
    assert sources(graph, "x", Scope.parse(window="P1D")) == {"b"}


def test_a_window_takes_earlier_column_lineage_too(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1, columns={"x": {"c": ["a.c"]}}),
            run("load", ["a"], ["x"], at=2, columns={"x": {"c": ["a.d"]}}),
        ]
    )
    assert columns(graph.upstream(column("x.c"), Scope.parse(window="PT1H"))) == {"a.c": "direct", "a.d": "direct"}


@pytest.mark.parametrize("window", ["", "7", "P", "PT", "P7", "-P1D", "P1Y", "P1DT", "7 days", "P1.5D"])
def test_a_window_that_is_no_duration_is_refused(window: str) -> None:
    with pytest.raises(BadRequest, match="window"):
        Scope.parse(window=window)


def test_all_and_a_window_exclude_each_other() -> None:
    with pytest.raises(BadRequest):
        Scope.parse(everything=True, window="P1D")


def test_all_holds_failed_running_dropped_and_replaced_lineage(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x"], at=1),
            run("load", ["b"], ["x"], at=2, type="FAIL"),
            run("drop", (), [dataset("x", change="DROP")], at=3),
            run("load", ["c"], ["x"], at=4),
            run("load", ["d"], ["x"], at=5, type="START"),
        ]
    )
    assert sources(graph, "x", EVER) == {"a", "b", "c", "d"}
    assert sources(graph, "x") == {"c", "d"}
