"""What becomes an event, and with which words the rest is refused."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_graph.errors import InvalidEvent
from lineage_graph.events import DatasetEvent, JobEvent, RunEvent, digest_of, parse, read, run_uuid

SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
SECOND = 1_000_000_000

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


def run_event(**parts: Any) -> dict[str, Any]:
    return {
        "eventTime": "2026-03-01T06:00:00Z",
        "eventType": "COMPLETE",
        "producer": "https://example.org/producer",
        "schemaURL": f"{SPEC}RunEvent",
        "run": {"runId": "2d0ad5d5-d8f4-502b-b913-0a7951368695", "facets": {}},
        "job": {"namespace": "shop", "name": "daily", "facets": {}},
        "inputs": [{"namespace": "db", "name": "a"}],
        "outputs": [{"namespace": "db", "name": "b"}],
    } | parts


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def refusal(body: bytes) -> InvalidEvent:
    with pytest.raises(InvalidEvent) as caught:
        read(body)
    return caught.value


def refusal_of(document: Any) -> InvalidEvent:
    return refusal(json.dumps(document).encode())


# -- what events become


def test_a_run_event_is_read_whole() -> None:
    event = read(
        json.dumps(
            run_event(
                inputs=[
                    {
                        "namespace": "db",
                        "name": "a",
                        "facets": {"schema": {"fields": []}},
                        "inputFacets": {"subset": {"x": 1}},
                    }
                ],
                outputs=[{"namespace": "db", "name": "b", "outputFacets": {"outputStatistics": {"rowCount": 3}}}],
            )
        ).encode()
    )
    assert isinstance(event, RunEvent)
    assert (event.event_type, event.event_time, event.zone_assumed) == (
        "COMPLETE",
        1_772_344_800 * SECOND,
        False,
    )
    assert (event.run.run_id, event.run.given_id) == ("2d0ad5d5-d8f4-502b-b913-0a7951368695", None)
    assert (event.job.namespace, event.job.name, event.job.facets) == ("shop", "daily", {})
    assert (event.inputs[0].facets, event.inputs[0].input_facets) == (
        {"schema": {"fields": []}},
        {"subset": {"x": 1}},
    )
    assert event.outputs[0].output_facets == {"outputStatistics": {"rowCount": 3}}
    assert (event.producer, event.schema_url) == ("https://example.org/producer", f"{SPEC}RunEvent")


@pytest.mark.parametrize("name", ["inputs", "outputs"])
def test_a_list_that_is_absent_or_null_is_empty_in_a_run_event_and_none_in_a_job_event(name: str) -> None:
    job_event = without(run_event(schemaURL=f"{SPEC}JobEvent"), "run", "eventType")
    for kind, document, expected in ((RunEvent, run_event(), []), (JobEvent, job_event, None)):
        for spoken in (without(document, name), document | {name: None}):
            event = parse(spoken)
            assert isinstance(event, kind)
            assert getattr(event, name) == expected
        empty = parse(document | {name: []})
        assert getattr(empty, name) == []


def test_a_dataset_event_is_read() -> None:
    document = {
        "eventTime": "2026-03-01T06:00:00Z",
        "schemaURL": f"{SPEC}DatasetEvent",
        "dataset": {"namespace": "db", "name": "a", "facets": {"ownership": {"owners": []}}},
    }
    event = parse(document)
    assert isinstance(event, DatasetEvent)
    assert (event.dataset.name, event.dataset.facets) == ("a", {"ownership": {"owners": []}})


def test_without_a_telling_schema_url_the_parts_decide_the_kind() -> None:
    bare = without(run_event(), "schemaURL")
    dataset = {"namespace": "db", "name": "a"}
    assert isinstance(parse(bare), RunEvent)
    assert isinstance(parse(without(bare, "run")), JobEvent)
    assert isinstance(parse(bare | {"run": None}), JobEvent)
    assert isinstance(parse(without(bare, "run", "job") | {"dataset": dataset}), DatasetEvent)
    assert isinstance(parse(without(bare, "run") | {"job": None, "dataset": dataset}), DatasetEvent)
    assert isinstance(parse(bare | {"schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json"}), RunEvent)


def test_an_event_with_a_run_is_a_run_event_whatever_its_schema_url_says() -> None:
    assert isinstance(parse(run_event(schemaURL=f"{SPEC}JobEvent")), RunEvent)


def test_null_counts_as_absent_and_odd_facets_are_kept() -> None:
    event = parse(
        run_event(
            eventType=None,
            producer=None,
            schemaURL=None,
            run={"runId": "x", "facets": None},
            job={"namespace": "n", "name": "j", "facets": {"sql": None, "odd": [1], "number": 3}},
            inputs=[{"namespace": "db", "name": "a", "facets": None, "inputFacets": None}],
            outputs=[{"namespace": "db", "name": "b", "outputFacets": {"gone": None, "kept": {"a": None}}}],
        )
    )
    assert isinstance(event, RunEvent)
    assert (event.event_type, event.producer, event.schema_url) == (None, "", "")
    assert event.run.facets == {}
    assert event.job.facets == {"odd": [1], "number": 3}
    assert (event.inputs[0].facets, event.inputs[0].input_facets) == ({}, {})
    assert event.outputs[0].output_facets == {"kept": {"a": None}}


def test_producer_and_schema_url_may_be_missing() -> None:
    event = parse(without(run_event(), "producer", "schemaURL"))
    assert (event.producer, event.schema_url) == ("", "")


def test_keys_of_the_document_cannot_pass_for_what_is_worked_out() -> None:
    forged = {"digest": "0", "zoneAssumed": True, "zone_assumed": True, "event_time": 1, "schema_url": "x"}
    event = parse(run_event(**forged, run={"runId": "2d0ad5d5-d8f4-502b-b913-0a7951368695", "givenId": "forged"}))
    assert isinstance(event, RunEvent)
    assert (event.event_time, event.zone_assumed) == (1_772_344_800 * SECOND, False)
    assert event.digest == digest_of(run_event(**forged, run={"runId": event.run.run_id, "givenId": "forged"}))
    assert (event.schema_url, event.run.given_id) == (f"{SPEC}RunEvent", None)


@pytest.mark.parametrize(
    "name", [" ", "a b ", "Ä/ö:'\"", "x" * 100_000, "line\nbreak", "nul\u0000", "\u2028", "😀", "%2F", "null"]
)
def test_names_are_kept_exactly(name: str) -> None:
    document = run_event(job={"namespace": name, "name": name}, inputs=[{"namespace": name, "name": name}])
    event = read(json.dumps(document).encode())
    assert isinstance(event, RunEvent)
    assert (event.job.namespace, event.job.name, event.inputs[0].name) == (name, name, name)


def test_an_event_cannot_be_changed() -> None:
    event = parse(run_event())
    with pytest.raises(ValueError, match="frozen"):
        event.producer = "someone else"


# -- what is refused

NOT_A_RUN_EVENT = [
    ({"job": None}, "$.job", "must be an object, but is null"),
    ({"job": "daily"}, "$.job", 'must be an object, but is "daily"'),
    ({"job": {"namespace": "", "name": "j"}}, "$.job.namespace", "must not be empty"),
    ({"job": {"namespace": "n", "name": ""}}, "$.job.name", "must not be empty"),
    ({"job": {"namespace": "n"}}, "$.job.name", "is missing"),
    ({"job": {"namespace": "n", "name": None}}, "$.job.name", "must be a string, but is null"),
    ({"job": {"namespace": ["n"], "name": "j"}}, "$.job.namespace", "must be a string, but is a list"),
    (
        {"job": {"namespace": "n", "name": "j", "facets": []}},
        "$.job.facets",
        "must be an object, but is a list",
    ),
    ({"run": None}, "$.run", "must be an object, but is null"),
    ({"run": {}}, "$.run.runId", "is missing"),
    ({"run": {"runId": ""}}, "$.run.runId", "must not be empty"),
    ({"run": {"runId": None}}, "$.run.runId", "must be a string, but is null"),
    ({"run": {"runId": 7}}, "$.run.runId", "must be a string, but is 7"),
    ({"run": "x"}, "$.run", 'must be an object, but is "x"'),
    ({"inputs": "a"}, "$.inputs", 'must be a list of objects, but is "a"'),
    ({"inputs": {"a": 1}}, "$.inputs", "must be a list of objects, but is an object"),
    ({"inputs": [None]}, "$.inputs[0]", "must be an object, but is null"),
    ({"inputs": [{"name": "a"}]}, "$.inputs[0].namespace", "is missing"),
    ({"outputs": [{"namespace": "n", "name": "a"}, {"namespace": "n"}]}, "$.outputs[1].name", "is missing"),
    (
        {"outputs": [{"namespace": "n", "name": "a", "outputFacets": 1}]},
        "$.outputs[0].outputFacets",
        "must be an object, but is 1",
    ),
    ({"producer": 5}, "$.producer", "must be a string, but is 5"),
    (
        {"eventType": "FINISHED"},
        "$.eventType",
        'must be one of START, RUNNING, COMPLETE, ABORT, FAIL, OTHER, but is "FINISHED"',
    ),
    (
        {"eventType": "start"},
        "$.eventType",
        'must be one of START, RUNNING, COMPLETE, ABORT, FAIL, OTHER, but is "start"',
    ),
    (
        {"eventTime": None},
        "$.eventTime",
        "must be an RFC 3339 time such as 2026-03-01T06:00:00Z, but is null",
    ),
]


@pytest.mark.parametrize(("parts", "path", "reason"), NOT_A_RUN_EVENT)
def test_a_refusal_names_the_part_to_mend(parts: dict[str, Any], path: str, reason: str) -> None:
    refused = refusal_of(run_event(**parts))
    assert (refused.path, refused.reason) == (path, reason)
    assert str(refused) == f"{path} {reason}"


@pytest.mark.parametrize("missing", ["eventTime", "run", "job"])
def test_a_missing_part_is_named(missing: str) -> None:
    refused = refusal_of(without(run_event(), missing))
    assert refused.path == f"$.{missing}"
    assert refused.reason.startswith("is missing")


@pytest.mark.parametrize(("kind", "part"), [("RunEvent", "run"), ("JobEvent", "job"), ("DatasetEvent", "dataset")])
def test_what_the_schema_url_promises_is_asked_for(kind: str, part: str) -> None:
    document = {"eventTime": "2026-03-01T06:00:00Z", "schemaURL": SPEC + kind}
    assert refusal_of(document).path == f"$.{part}"
    assert refusal_of(document | {part: None}).path == f"$.{part}"


def test_a_problem_in_the_list_of_a_job_event_is_named() -> None:
    document = without(run_event(schemaURL=f"{SPEC}JobEvent", inputs=[{"namespace": "", "name": "a"}]), "run")
    assert refusal_of(document).path == "$.inputs[0].namespace"


def test_a_document_with_nothing_to_tell_its_kind_says_what_is_needed() -> None:
    refused = refusal_of({})
    assert refused.path == "$"
    assert all(word in refused.reason for word in ("run", "job", "dataset"))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"[]", "a list"),
        (b'"x"', '"x"'),
        (b"null", "null"),
        (b"12", "12"),
        (b"true", "true"),
        (b"[{}]", "a list"),
    ],
)
def test_what_is_no_object_is_no_event(body: bytes, shown: str) -> None:
    refused = refusal(body)
    assert (refused.path, refused.reason) == (
        "$",
        f"must be an object that is an OpenLineage event, but is {shown}",
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    assert len(str(refusal_of(run_event(eventType="x" * 1_000_000)))) < 200


def test_a_million_bad_inputs_are_one_short_refusal() -> None:
    refused = refusal_of(run_event(inputs=[None] * 1_000_000))
    assert refused.path == "$.inputs[0]"


def test_a_refusal_survives_pickling() -> None:
    refused = refusal_of(run_event(job=None))
    again = pickle.loads(pickle.dumps(refused))
    assert (again.path, again.reason, str(again)) == (refused.path, refused.reason, str(refused))


# -- run ids


@pytest.mark.parametrize(
    ("sent", "run_id"),
    [
        ("2d0ad5d5-d8f4-502b-b913-0a7951368695", "2d0ad5d5-d8f4-502b-b913-0a7951368695"),
        ("2D0AD5D5-D8F4-502B-B913-0A7951368695", "2d0ad5d5-d8f4-502b-b913-0a7951368695"),
        ("00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
        # As java.util.UUID.nameUUIDFromBytes gives them.
        ("hello", "5d41402a-bc4b-3a76-b971-9d911017c592"),
        ("The quick brown fox jumps over the lazy dog", "9e107d9d-372b-3682-abd8-1d3542a419d6"),
    ],
)
def test_a_run_id_is_a_uuid_in_lower_case_or_the_name_based_one(sent: str, run_id: str) -> None:
    event = parse(run_event(run={"runId": sent}))
    assert isinstance(event, RunEvent)
    assert run_uuid(sent) == event.run.run_id == run_id
    assert event.run.given_id == (None if sent == run_id else sent)


@pytest.mark.parametrize(
    "text",
    [
        "2d0ad5d5d8f4502bb9130a7951368695",
        "{2d0ad5d5-d8f4-502b-b913-0a7951368695}",
        "2d0ad5d5-d8f4-502b-b913-0a7951368695\n",
        "urn:uuid:2d0ad5d5-d8f4-502b-b913-0a7951368695",
        "\uff12d0ad5d5-d8f4-502b-b913-0a7951368695",
        "größe",
        "\udcff",
    ],
)
def test_only_the_usual_36_characters_are_a_uuid(text: str) -> None:
    made = run_uuid(text)
    assert made[14] == "3"
    assert made != "2d0ad5d5-d8f4-502b-b913-0a7951368695"
    assert run_uuid(made) == made


# -- anything at all


@given(ANYTHING)
def test_any_json_is_an_event_or_an_invalid_event(document: Any) -> None:
    try:
        read(json.dumps(document).encode())
    except InvalidEvent as error:
        assert error.path.startswith("$")


@given(
    st.sampled_from(["eventTime", "eventType", "run", "job", "dataset", "inputs", "outputs", "producer", "schemaURL"]),
    ANYTHING,
    st.sampled_from(["RunEvent", "JobEvent", "DatasetEvent", ""]),
)
def test_any_json_as_one_part_of_an_event_is_taken_or_named(part: str, value: Any, kind: str) -> None:
    document = run_event(schemaURL=SPEC + kind, dataset={"namespace": "db", "name": "a"}) | {part: value}
    try:
        parse(document)
    except InvalidEvent as error:
        assert error.path.startswith(f"$.{part}")


@given(
    ANYTHING,
    st.sampled_from(["run", "job", "input", "output"]),
    st.sampled_from(["runId", "namespace", "name", "facets"]),
)
def test_any_json_inside_a_part_is_taken_or_named(value: Any, part: str, name: str) -> None:
    document = run_event()
    place = {
        "run": document["run"],
        "job": document["job"],
        "input": document["inputs"][0],
        "output": document["outputs"][0],
    }[part]
    place[name] = value
    try:
        parse(document)
    except InvalidEvent as error:
        assert error.path.endswith(f".{name}") or "UTF-8" in error.reason


@given(st.integers(min_value=0, max_value=400), st.integers(min_value=0, max_value=20), st.binary(max_size=20))
def test_a_damaged_body_is_an_event_or_an_invalid_event(place: int, length: int, bytes_there: bytes) -> None:
    body = json.dumps(run_event()).encode()
    try:
        read(body[:place] + bytes_there + body[place + length :])
    except InvalidEvent as error:
        assert error.path.startswith("$")
