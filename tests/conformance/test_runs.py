"""Runs (design 4): what their events add up to, asked by run id."""

from __future__ import annotations

import pytest

from lineage_graph import LineageGraph, NotFound
from lineage_graph.events import format_time
from lineage_graph.model import contents_of
from tests.events_builder import clock, declare, run, run_id


def state_of(graph: LineageGraph, name: str) -> tuple[str, str | None, str | None]:
    """State, start and end of a run."""
    state, *times = graph.run(run_id(name)).state
    started, ended = (None if time is None else format_time(time) for time in times)
    return state, started, ended


def test_a_run_goes_from_start_to_complete(graph: LineageGraph) -> None:
    graph.ingest([run("load", at=1, type="START", run="r")])
    assert state_of(graph, "r") == ("RUNNING", clock(1), None)
    graph.ingest([run("load", at=4, type="COMPLETE", run="r")])
    assert state_of(graph, "r") == ("COMPLETED", clock(1), clock(4))


def test_a_late_start_does_not_reopen_a_finished_run(graph: LineageGraph) -> None:
    graph.ingest([run("load", at=4, type="COMPLETE", run="r"), run("load", at=1, type="START", run="r")])
    assert state_of(graph, "r") == ("COMPLETED", clock(1), clock(4))


def test_a_fail_beats_the_complete_that_follows_it(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", at=1, type="START", run="r"),
            run("load", at=2, type="FAIL", run="r"),
            run("load", at=2.1, type="COMPLETE", run="r"),
        ]
    )
    assert state_of(graph, "r") == ("FAILED", clock(1), clock(2))


def test_a_second_attempt_decides_again(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", at=1, type="START", run="r"),
            run("load", at=2, type="FAIL", run="r"),
            run("load", at=3, type="START", run="r"),
            run("load", at=4, type="COMPLETE", run="r"),
        ]
    )
    assert state_of(graph, "r") == ("COMPLETED", clock(1), clock(4))


def test_a_run_known_from_other_alone_is_new(graph: LineageGraph) -> None:
    graph.ingest([run("load", at=1, type="OTHER", run="r"), run("load", at=2, type=None, run="r")])
    assert state_of(graph, "r") == ("NEW", clock(1), None)


def test_a_parent_named_only_by_its_children_is_a_placeholder_without_a_state(graph: LineageGraph) -> None:
    graph.ingest([run("load", at=1, run="r", parent="dag")])
    assert state_of(graph, "dag") == ("NEW", None, None)
    assert graph.run(run_id("dag")).roles == {"parent"}
    assert graph.run(run_id("r")).parent == ("shop", "schedule", run_id("dag"))


def test_a_parent_that_reports_later_has_its_own_state(graph: LineageGraph) -> None:
    graph.ingest([run("load", at=2, run="r", parent="dag"), run("schedule", at=1, type="START", run="dag")])
    assert state_of(graph, "dag") == ("RUNNING", clock(1), None)
    assert graph.run(run_id("dag")).roles == {"parent", "reported"}


def test_a_later_event_without_the_parent_facet_keeps_the_parent(graph: LineageGraph) -> None:
    graph.ingest([run("load", at=1, type="START", run="r", parent="dag"), run("load", at=2, run="r")])
    assert graph.run(run_id("r")).parent == ("shop", "schedule", run_id("dag"))


def test_the_older_name_of_the_parent_facet_is_read(graph: LineageGraph) -> None:
    parent = {"run": {"runId": run_id("dag")}, "job": {"namespace": "shop", "name": "schedule"}}
    graph.ingest([run("load", at=1, run="r", facets={"parentRun": parent})])
    assert graph.run(run_id("r")).parent == ("shop", "schedule", run_id("dag"))


def test_datasets_of_all_events_of_a_run_add_up(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["x", "y"], at=1, type="START", run="r"),
            run("load", ["b"], [], at=2, type="RUNNING", run="r"),
            run("load", [], ["x"], at=3, type="COMPLETE", run="r"),
        ]
    )
    held = graph.run(run_id("r"))
    assert {key[1] for key in held.inputs} == {"a", "b"}
    assert {key[1] for key in held.outputs} == {"x", "y"}


def test_a_facet_is_replaced_whole_by_a_newer_one_and_kept_when_absent(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", at=3, run="r", facets={"one": {"new": 1}}),
            run("load", at=1, type="START", run="r", facets={"one": {"old": 1, "more": 2}, "two": {"kept": 1}}),
        ]
    )
    facets = graph.run(run_id("r")).facets
    assert contents_of(facets) == {"one": {"new": 1}, "two": {"kept": 1}}


def test_unknown_facets_are_kept_as_they_came(graph: LineageGraph) -> None:
    odd = {"environment-properties": {"a.b": [1, {"c": None}], "big": 2**70, "é": "ü"}, "text": "no object", "n": None}
    graph.ingest([run("load", at=1, run="r", facets=odd)])
    facets = contents_of(graph.run(run_id("r")).facets)
    assert facets == {name: content for name, content in odd.items() if content is not None}


def test_an_event_told_twice_is_one_event(graph: LineageGraph) -> None:
    event = run("load", ["a"], ["b"], at=1, run="r")
    first, second = graph.ingest([event]), graph.ingest([event])
    assert (first[0].is_new, second[0].is_new) == (True, False)
    assert len(list(graph.events())) == 1


def test_an_unknown_run_is_not_known(graph: LineageGraph) -> None:
    graph.ingest([declare("model", ["a"], ["b"], at=1)])
    with pytest.raises(NotFound):
        graph.run(run_id("nobody"))


def test_last_run_of_a_job_is_the_one_that_was_active_last(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["b"], at=5, run="late"),
            run("load", ["a"], ["b"], at=1, type="START", run="early"),
            run("load", ["a"], ["b"], at=9, type="OTHER", run="early"),
        ]
    )
    item = next(iter(graph.impact("dataset:shop:a")))
    assert item.last_run is not None
    assert (item.last_run.id, item.last_run.ended_at) == (run_id("late"), clock(5))
