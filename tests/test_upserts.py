"""From one event to upserts: pure, and the only code that knows what a facet means (design 1.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_graph.events import digest_of, parse, parse_time
from lineage_graph.model import ColumnSource, Run, Transformation, contents_of
from lineage_graph.upserts import Upserts, upserts_of
from tests.events_builder import clock, column_lineage, dataset, declare, describe, run, run_id

ODD: list[Any] = [[], {}, "text", 7, True, [None], ["x"], [{}], {"a": None}, [{"namespace": 1, "name": 2}]]
KNOWN = [
    *("schema", "symlinks", "columnLineage", "lineage", "lifecycleStateChange", "tags", "ownership", "documentation"),
    *("parent", "parentRun", "jobDependencies", "jobType", "sql", "datasetType", "version", "outputStatistics"),
]


def upserts(event: dict[str, Any]) -> Upserts:
    return upserts_of(parse(event))


def only_run(event: dict[str, Any]) -> Run:
    return next(held for held in upserts(event).runs.values() if "reported" in held.roles)


def test_the_same_event_gives_the_same_upserts() -> None:
    event = run("load", ["a"], [dataset("b", schema=["x"])], at=1, parent="p", columns={"b": {"x": ["a.x"]}})
    assert upserts(event) == upserts(json.loads(json.dumps(event)))


def test_every_stamp_is_the_time_and_digest_of_the_event() -> None:
    event = run("load", ["a"], ["b"], at=1)
    stamp = (parse_time(clock(1))[0], digest_of(event))
    held = only_run(event)
    assert held.first == stamp
    assert held.inputs["shop", "a"].first == held.outputs["shop", "b"].last[:2] == stamp
    assert upserts(event).reads[("shop", "a"), ("shop", "load")].first == stamp


def test_a_run_event_observes_and_a_job_event_declares() -> None:
    observed = upserts(run("load", ["a"], ["b"], at=1)).writes[("shop", "load"), ("shop", "b")]
    declared = upserts(declare("load", ["a"], ["b"], at=1)).writes[("shop", "load"), ("shop", "b")]
    assert (observed.observed, observed.declared) == (True, False)
    assert (declared.observed, declared.declared) == (False, True)


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("odd", ODD)
def test_a_facet_of_any_shape_is_survived_and_kept(name: str, odd: Any) -> None:
    event = run(
        "load",
        [dataset("a", facets={name: odd})],
        [dataset("b", facets={name: odd})],
        at=1,
        facets={name: odd},
        job_facets={name: odd},
    )
    held = only_run(event)
    assert set(held.inputs) == {("shop", "a")}
    assert set(held.outputs) == {("shop", "b")}
    assert contents_of(held.facets)[name] == odd


@pytest.mark.parametrize("odd", ODD)
def test_a_part_of_column_lineage_of_any_shape_is_passed_over(odd: Any) -> None:
    good = column_lineage({"x": ["a.x"]})
    for facet in (
        {**good, "dataset": odd},
        {"fields": {**good["fields"], "y": odd}},
        {"fields": {**good["fields"], "y": {"inputFields": odd}}},
        {"fields": {"x": {"inputFields": [*good["fields"]["x"]["inputFields"], odd]}}},
    ):
        event = run("load", ["a"], [dataset("b", facets={"columnLineage": facet})], at=1)
        mapping = next(iter(upserts(event).mappings.values()))
        assert (ColumnSource(("shop", "a"), "x", ()),) in dict(mapping.fields).values()


def test_a_deleted_facet_is_kept_as_deleted() -> None:
    facets = {"documentation": {"_deleted": True}}
    event = run("load", at=1, outputs=[dataset("b", facets=facets)], job_facets=facets)
    assert upserts(event).datasets["shop", "b"].facets["documentation"][2] is None
    assert upserts(event).jobs["shop", "load"].facets["documentation"][2] is None


def test_nested_fields_of_a_schema_are_dotted_paths() -> None:
    fields = [
        {"name": "address", "type": "struct", "fields": [{"name": "geo", "fields": [{"name": "lat"}]}, {"name": "zip"}]}
    ]
    event = describe(dataset("a", facets={"schema": {"fields": fields}}), at=1)
    assert {name for _, name in upserts(event).columns} == {"address", "address.geo", "address.geo.lat", "address.zip"}


def test_an_indirect_source_that_every_field_repeats_is_held_once() -> None:
    wide = {f"c{i}": [f"a.c{i} IDENTITY", "a.day FILTER", "k.id JOIN"] for i in range(50)}
    mapping = next(iter(upserts(run("load", ["a"], ["b"], at=1, columns={"b": wide})).mappings.values()))
    assert {(source.dataset[1], source.field) for source in mapping.every_field} == {("a", "day"), ("k", "id")}
    assert all(len(sources) == 1 for _, sources in mapping.fields)


def test_a_source_repeated_by_every_field_keeps_its_value_transformations() -> None:
    both = {
        "namespace": "shop",
        "name": "a",
        "field": "x",
        "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}, {"type": "INDIRECT", "subtype": "FILTER"}],
    }
    facet = {"fields": {"p": {"inputFields": [both]}, "q": {"inputFields": [both]}}}
    mapping = next(
        iter(upserts(run("load", ["a"], [dataset("b", facets={"columnLineage": facet})], at=1)).mappings.values())
    )
    direct = Transformation("DIRECT", "IDENTITY", "", False)
    assert [sources[0].transformations for _, sources in mapping.fields] == [(direct,), (direct,)]
    assert [source.transformations[0].subtype for source in mapping.every_field] == ["FILTER"]


def test_equal_column_lineage_of_many_runs_is_one_mapping() -> None:
    fields = {"x": ["a.x IDENTITY", "a.y FILTER"]}
    digests = {next(iter(upserts(run("load", ["a"], ["b"], at=at, columns={"b": fields})).mappings)) for at in range(3)}
    assert len(digests) == 1


def test_the_older_masked_form_is_masking() -> None:
    facet = column_lineage({"x": ["a.x"]})
    facet["fields"]["x"]["transformationType"] = "MASKED"
    mapping = next(
        iter(upserts(run("load", ["a"], [dataset("b", facets={"columnLineage": facet})], at=1)).mappings.values())
    )
    assert dict(mapping.fields)["x"][0].transformations == (Transformation("DIRECT", "MASKED", "", True),)


def test_a_transformation_keeps_all_that_was_said_of_it() -> None:
    said = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "sha2(email)", "masking": True}
    source = {"namespace": "shop", "name": "a", "field": "email", "transformations": [said]}
    facet = {"fields": {"h": {"inputFields": [source]}}}
    mapping = next(
        iter(upserts(run("load", ["a"], [dataset("b", facets={"columnLineage": facet})], at=1)).mappings.values())
    )
    assert dict(mapping.fields)["h"][0].transformations[0]._asdict() == said


def test_other_and_a_missing_type_leave_no_mark() -> None:
    for kind in ("OTHER", None):
        held = only_run(run("load", at=1, type=kind))
        assert (held.marks, held.alive) == (frozenset(), None)


def test_a_drop_is_no_write() -> None:
    dropped = upserts(run("drop", outputs=[dataset("b", change="DROP")], at=1)).datasets["shop", "b"]
    written = upserts(run("load", outputs=[dataset("b", change="OVERWRITE")], at=1)).datasets["shop", "b"]
    assert (dropped.written, dropped.dropped is not None) == (None, True)
    assert (written.written is not None, written.dropped) == (True, None)


def test_one_dataset_twice_in_one_list_is_one_output() -> None:
    twice = [dataset("b", facets={"catalog": {"name": "c"}}), dataset("b", schema=["x"])]
    event = run("load", ["a"], twice, at=1)
    assert set(only_run(event).outputs) == {("shop", "b")}
    assert set(upserts(event).datasets["shop", "b"].facets) == {"catalog", "schema"}


def test_parent_and_root_are_placeholders_that_know_nothing_of_their_own() -> None:
    parent = {
        "run": {"runId": run_id("task")},
        "job": {"namespace": "shop", "name": "task"},
        "root": {"run": {"runId": "manual__2026"}, "job": {"namespace": "shop", "name": "dag"}},
    }
    found = upserts(run("load", at=1, run="r", facets={"parent": parent, "nominalTime": {"x": 1}}))
    roles = {key[1]: held.roles for key, held in found.runs.items()}
    assert roles == {"load": {"reported"}, "task": {"parent"}, "dag": {"root"}}
    assert next(held for key, held in found.runs.items() if key[1] == "dag").given_ids == {"manual__2026"}
    assert all(not held.facets and not held.marks for held in found.runs.values() if "reported" not in held.roles)
    assert found.jobs["shop", "load"].parents.keys() == {("shop", "task")}


def test_a_run_that_is_its_own_parent_is_in_no_other() -> None:
    own = {"run": {"runId": run_id("r")}, "job": {"namespace": "shop", "name": "load"}}
    assert only_run(run("load", at=1, run="r", facets={"parent": own})).parent is None


def test_job_dependencies_are_control_flow_not_data_flow() -> None:
    other = {"job": {"namespace": "shop", "name": "before"}}
    found = upserts(
        run("load", ["a"], ["b"], at=1, facets={"jobDependencies": {"upstream": [other], "downstream": []}})
    )
    assert found.jobs["shop", "load"].after.keys() == {("shop", "before")}
    assert found.jobs["shop", "before"].roles == {"dependency"}
    assert {job for _, job in found.reads} == {("shop", "load")}


def test_a_job_that_the_lineage_facet_names_as_source_writes_the_dataset() -> None:
    entry = {
        "namespace": "shop",
        "name": "b",
        "type": "DATASET",
        "inputs": [{"namespace": "shop", "name": "maker", "type": "JOB"}],
    }
    found = upserts(declare("load", at=1, job_facets={"lineage": {"entries": [entry]}}))
    assert (("shop", "maker"), ("shop", "b")) in found.writes


def test_data_that_the_lineage_facet_lets_flow_into_a_job_is_read_by_it() -> None:
    entry = {
        "namespace": "shop",
        "name": "reader",
        "type": "JOB",
        "inputs": [{"namespace": "shop", "name": "a", "type": "DATASET"}],
    }
    found = upserts(declare("load", at=1, job_facets={"lineage": {"entries": [entry]}}))
    assert (("shop", "a"), ("shop", "reader")) in found.reads


def test_a_dataset_known_only_from_column_lineage_is_marked_so() -> None:
    found = upserts(run("load", ["a"], ["b"], at=1, columns={"b": {"x": ["cte.x", "a.x"]}}))
    assert found.datasets["shop", "cte"].only_named_in_columns
    assert not found.datasets["shop", "a"].only_named_in_columns
