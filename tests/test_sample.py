"""The sample pipeline: valid events, and SQL that agrees with the column lineage."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
import sqlglot
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from sqlglot import exp

from lineage_graph.sample import END, events
from tests.sample_reading import Json, columns, datasets, facets, key, mapping, runs, short

SPEC = Path(__file__).parents[2] / "shared" / "spec"
CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json"


@pytest.fixture(scope="module")
def sample() -> list[Json]:
    return list(events())


def subtypes(sample: list[Json]) -> Counter[tuple[str, str]]:
    return Counter(
        (t["type"], t["subtype"])
        for event in sample
        for _, _, source in mapping(event)
        for t in source["transformations"]
    )


# -- events


@cache
def schemas() -> dict[str, Json]:
    files = [SPEC / "OpenLineage.json", *SPEC.glob("facets/*.json")]
    return {schema["$id"]: schema for schema in (json.loads(file.read_text()) for file in files)}


@cache
def validator(url: str) -> Validator:
    known = Registry().with_resources((name, Resource.from_contents(s)) for name, s in schemas().items())
    return Draft202012Validator({"$ref": url}, registry=known, format_checker=Draft202012Validator.FORMAT_CHECKER)


def test_every_event_is_valid_against_the_core_schema(sample: list[Json]) -> None:
    for event in sample:
        validator(event["schemaURL"]).validate(event)
        assert event["schemaURL"].startswith(CORE)
        assert datetime.fromisoformat(event["eventTime"]).utcoffset() == timedelta(0)


def test_every_facet_is_valid_against_the_schema_it_names(sample: list[Json]) -> None:
    contents = {json.dumps(facet, sort_keys=True) for event in sample for _, facet in facets(event)}
    for text in contents:
        facet = json.loads(text)
        validator(facet["_schemaURL"]).validate(facet)


def test_every_facet_sits_under_the_name_of_its_schema(sample: list[Json]) -> None:
    used = {(name, facet["_schemaURL"]) for event in sample for name, facet in facets(event)}
    for name, url in used:
        assert name in schemas()[url.partition("#")[0]]["properties"], (name, url)


def test_equal_arguments_give_equal_events(sample: list[Json]) -> None:
    assert list(events()) == sample
    assert list(events(END, 14, 7)) == sample


def test_another_seed_gives_other_runs_of_the_same_lineage(sample: list[Json]) -> None:
    other = list(events(seed=8))
    ids = [{e["run"]["runId"] for e in these if "run" in e} for these in (sample, other)]
    lineage = [
        {(key(output), field, key(source), source["field"]) for e in these for output, field, source in mapping(e)}
        for these in (sample, other)
    ]
    assert len(ids[0]) == len(ids[1])
    assert not ids[0] & ids[1]
    assert lineage[0] == lineage[1]


def test_an_end_without_time_zone_and_no_nights_are_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        events(datetime(2026, 6, 15))
    with pytest.raises(ValueError, match="at least 1"):
        events(days=0)


def test_two_weeks_are_one_to_three_thousand_events(sample: list[Json]) -> None:
    assert 1_500 <= len(sample) <= 3_000


@pytest.mark.parametrize(
    ("end", "last_night"),
    [
        ("2026-06-15T09:00:00+00:00", "2026-06-15"),
        ("2026-06-15T08:00:00+00:00", "2026-06-15"),
        ("2026-06-15T07:59:59.999999+00:00", "2026-06-14"),
        ("2026-06-15T00:10:00+00:00", "2026-06-14"),
        ("2026-06-15T00:10:00-09:00", "2026-06-15"),
    ],
)
def test_the_last_night_is_the_latest_that_was_over_at_the_end(end: str, last_night: str) -> None:
    until = datetime.fromisoformat(end)
    found = list(events(until, days=2))
    times = [event["eventTime"] for event in found]
    nights = sorted({e["run"]["facets"]["nominalTime"]["nominalStartTime"] for e in found if _nominal(e)})
    assert times == sorted(times)
    assert datetime.fromisoformat(times[-1]) <= until
    assert nights[-1] == f"{last_night}T02:00:00.000Z"
    assert len(nights) == 2
    assert runs(found, "shop_lake.lake_orders").popitem()[1][-1]["eventType"] == "FAIL"


def _nominal(event: Json) -> bool:
    return "nominalTime" in event.get("run", {}).get("facets", {})


# -- datasets and columns


def test_some_forty_datasets_under_all_their_names(sample: list[Json]) -> None:
    found = {key(dataset) for event in sample for dataset in datasets(event)}
    aliases = {
        key(name)
        for event in sample
        for dataset in datasets(event)
        for name in dataset["facets"].get("symlinks", {}).get("identifiers", [])
    }
    former = {
        key(dataset["facets"]["lifecycleStateChange"]["previousIdentifier"])
        for event in sample
        for dataset in datasets(event)
        if "previousIdentifier" in dataset["facets"].get("lifecycleStateChange", {})
    }
    assert aliases <= found
    assert former <= found
    assert 38 <= len(found - aliases - former) <= 45
    assert len({namespace for namespace, _ in found}) >= 7


def test_every_column_of_column_lineage_is_in_the_schemas_of_its_event(sample: list[Json]) -> None:
    for event in sample:
        read = {key(dataset): columns(dataset) for dataset in event.get("inputs", [])}
        written = {key(dataset): columns(dataset) for dataset in event.get("outputs", [])}
        for output, field, source in mapping(event):
            assert source["field"] in read[key(source)]
            assert field == "" or field in written[key(output)]


def test_every_column_of_a_mapped_output_is_mapped(sample: list[Json]) -> None:
    for event in sample:
        for output in event.get("outputs", []):
            if "columnLineage" in output["facets"]:
                assert output["facets"]["columnLineage"]["fields"].keys() == columns(output)


def test_schemas_have_types_descriptions_and_structs(sample: list[Json]) -> None:
    schemas = {
        key(dataset): dataset["facets"]["schema"]["fields"]
        for event in sample
        for dataset in datasets(event)
        if "schema" in dataset["facets"]
    }
    fields = [field for schema in schemas.values() for field in schema]
    assert len(schemas) >= 45
    assert all(field["type"] for field in fields)
    assert sum("description" in field for field in fields) > 0.8 * len(fields)
    assert {name for (_, name), schema in schemas.items() if any("fields" in field for field in schema)} == {
        "shop.public.customers",
        "raw/customers",
        "page_views",
    }


def test_sql_and_column_lineage_agree(sample: list[Json]) -> None:
    """What an independent parser finds in the SQL of a job is what its columnLineage says, kind included."""
    seen = set()
    for event in sample:
        statement = event.get("job", {}).get("facets", {}).get("sql")
        for output in event.get("outputs", []):
            facet = output["facets"].get("columnLineage")
            if statement and facet and (text := statement["query"]) not in seen:
                seen.add(text)
                fields, whole = _parsed(_parse(text, statement["dialect"]))
                assert {
                    name: _kinds(entry["inputFields"]) for name, entry in facet["fields"].items() if "." not in name
                } == fields
                assert {source for source, _ in _kinds(facet["dataset"])} == whole
    assert len(seen) >= 30


def _parse(text: str, dialect: str) -> exp.Select:
    if dialect == "flink":  # not known to the parser, which takes Flink's session() for a keyword
        text, dialect = text.replace("session(", "session_window("), "spark"
    return sqlglot.parse_one(text, dialect=dialect, into=exp.Select)


def _kinds(sources: list[Json]) -> set[tuple[str, str]]:
    return {
        (f"{short(source['name'])}.{source['field']}", how["subtype"])
        for source in sources
        for how in source["transformations"]
    }


def _parsed(select: exp.Select) -> tuple[dict[str, set[tuple[str, str]]], set[str]]:
    tables = {table.alias: short(table.name) for table in select.find_all(exp.Table)}

    def source(column: exp.Column) -> str:
        alias, *path = (part.name for part in column.parts)
        return f"{tables[alias]}.{'.'.join(path)}"

    def kind(column: exp.Column, projection: exp.Expr) -> str:
        if column is projection:
            return "IDENTITY"
        if column.find_ancestor(exp.Window):
            return "WINDOW"
        branch = column.find_ancestor(exp.If)
        if branch and column in list(branch.this.find_all(exp.Column)):
            return "CONDITIONAL"
        return "AGGREGATION" if projection.find(exp.AggFunc) else "TRANSFORMATION"

    fields = {
        projection.alias_or_name: {
            (source(column), kind(column, projection.unalias())) for column in projection.find_all(exp.Column)
        }
        for projection in select.selects
    }
    parts = [*select.args.get("joins", []), *(select.args.get(name) for name in ("where", "group", "order"))]
    return fields, {source(column) for part in parts if part for column in part.find_all(exp.Column)}


def test_all_kinds_of_transformation_occur(sample: list[Json]) -> None:
    direct = {("DIRECT", subtype) for subtype in ("IDENTITY", "TRANSFORMATION", "AGGREGATION")}
    indirect = {("INDIRECT", subtype) for subtype in ("FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL")}
    assert subtypes(sample).keys() == direct | indirect


def test_the_pseudonym_is_masked_and_the_address_reaches_the_crm(sample: list[Json]) -> None:
    made = {
        (short(output["name"]), field, short(source["name"]), source["field"], how["masking"])
        for event in sample
        for output, field, source in mapping(event)
        for how in source["transformations"]
        if how["type"] == "DIRECT"
    }
    assert ("customers", "email_sha256", "customers", "email", True) in made
    assert ("customers", "email", "customers", "email", False) in made
    assert ("Contact", "Email", "customers", "email", False) in made
    assert not any(source == "email" for output, _, _, source, _ in made if output.startswith("stg_"))


def test_personal_data_is_tagged_at_its_source(sample: list[Json]) -> None:
    tagged = {
        (dataset["name"], tag.get("field"))
        for event in sample
        for dataset in datasets(event)
        for tag in dataset["facets"].get("tags", {}).get("tags", [])
        if tag["key"] == "pii"
    }
    customers = "shop.public.customers"
    assert {(customers, None), (customers, "email"), (customers, "address.street"), ("Contact", None)} <= tagged
