"""Events of real producers and of bug reports: each is taken, or refused for a reason that is listed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lineage_graph.errors import InvalidEvent
from lineage_graph.events import canonical, decode, parse, read

SHARED = Path(__file__).resolve().parents[2] / "shared"


def lines(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line.strip()]


def problem(body: bytes) -> str | None:
    """The path that a refusal names, ``None`` for an event."""
    try:
        read(body)
    except InvalidEvent as error:
        return error.path
    return None


TEMPLATES = {
    "OpenLineage__integration_spark_cli_tests_test_failing.ndjson": {"is missing": 1},
    "OpenLineage__integration_spark_cli_tests_test_pyspark.ndjson": {"is missing": 2},
    "OpenLineage__integration_spark_cli_tests_test_simple.ndjson": {"is missing": 2},
    "compatibility-tests__producer_dbt_scenarios_csv_to_postgres_events.ndjson": {"is missing": 2},
    "compatibility-tests__producer_spark_dataproc_scenarios_bigquery_events.ndjson": {
        "is missing": 10,
        "{{": 2,
    },
    "compatibility-tests__producer_spark_dataproc_scenarios_bigquery_to_delta_events.ndjson": {
        "is missing": 4,
        "{{": 1,
    },
    "compatibility-tests__producer_spark_dataproc_scenarios_bigtable_events.ndjson": {
        "is missing": 4,
        "{{": 1,
    },
    "compatibility-tests__producer_spark_dataproc_scenarios_cloudsql_events.ndjson": {
        "is missing": 5,
        "{{": 1,
    },
    "compatibility-tests__producer_spark_dataproc_scenarios_spanner_events.ndjson": {
        "is missing": 5,
        "{{": 1,
    },
    "compatibility-tests__producer_template_scenarios_scenario_template_events.ndjson": {"is missing": 1},
    "marquez__docker.ndjson": {"{{": 26},
}
"""Lines that are patterns to compare events with, so they have no eventTime, or a placeholder for one."""


@pytest.mark.parametrize("path", sorted(SHARED.glob("corpus/**/*.ndjson")), ids=lambda path: path.name)
def test_every_line_of_the_corpus_is_an_event_unless_it_is_a_template(path: Path) -> None:
    refused: Counter[str] = Counter()
    for line in lines(path):
        try:
            event = read(line)
        except InvalidEvent as error:
            assert error.path == "$.eventTime"
            refused["is missing" if error.reason.startswith("is missing") else "{{"] += 1
            assert "is missing" in error.reason or 'but is "{{' in error.reason
        else:
            assert read(canonical(decode(line))) == event
    assert dict(refused) == TEMPLATES.get(path.name, {})


EMPTY_NAMES = {"30-empty-or-newline-namespace": ["$.inputs[0].namespace", "$.job.name"]}
"""The schema allows an empty text where a name is to be; here nothing is known by an empty name."""


@pytest.mark.parametrize("path", sorted(SHARED.glob("reports/*/events.ndjson")), ids=lambda path: path.parent.name)
def test_every_event_of_the_reports_is_taken_unless_it_has_an_empty_name(path: Path) -> None:
    found = (problem(line) for line in lines(path))
    assert [path for path in found if path is not None] == EMPTY_NAMES.get(path.parent.name, [])


def test_every_event_of_the_cases_is_taken() -> None:
    events = [event for path in SHARED.glob("cases/*.json") for event in json.loads(path.read_bytes())["events"]]
    assert len(events) > 50
    for event in events:
        parse(event)


def test_the_bad_bodies_of_the_cases_name_what_to_mend() -> None:
    posts = [ask for ask in json.loads((SHARED / "cases/bad-input.json").read_bytes())["ask"] if "post" in ask]
    assert [problem(ask["post"].encode()) for ask in posts] == [
        *["$"] * 5,
        "$.eventTime",
        "$.job.namespace",
        "$.job.name",
        "$.job",
        "$.run.runId",
        "$.inputs",
        "$.inputs[0]",
        "$.inputs[0].namespace",
        "$.eventTime",
        None,
    ]


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("07-null-where-an-object-was-expected/raw-null-facets.ndjson", [None, None]),
        (
            "08-required-parts-missing/raw-bad.ndjson",
            [
                "$.job",
                "$.job",
                "$.job.name",
                "$.run.runId",
                "$.eventTime",
                "$.inputs[0].namespace",
                "$.outputs",
                "$.outputs[1].name",
                "$",
                "$",
            ],
        ),
        ("17-run-id-that-is-not-a-uuid/raw-non-uuid.ndjson", [None, None, None]),
        ("37-unparseable-event-time/raw-times.ndjson", ["$.eventTime"] * 6),
        ("77-deeply-nested-json/raw-nested-3000.json", ["$"]),
        ("83-nul-and-lone-surrogates/raw-odd-strings.ndjson", [None, "$", None]),
        ("06-static-job-event/raw-run-null.json", [None]),
        ("91-bad-line-in-the-middle/dump.ndjson", [None, "$", None, "$.job", None]),
    ],
)
def test_the_raw_lines_of_the_reports_are_taken_or_name_what_to_mend(name: str, paths: list[str | None]) -> None:
    assert [problem(line) for line in lines(SHARED / "reports" / name)] == paths
