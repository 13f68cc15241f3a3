"""Events of real producers: nothing is lost, and the lineage is what a person reads in their SQL and plans.

``../shared/corpus/recorded`` was recorded from Spark, dbt, Airflow and the Python client; ``../shared/corpus/public``
holds the event files of public repositories.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_graph import Answer, Asked, Bounds, InvalidEvent, LineageGraph
from lineage_graph.events import decode, digest_of
from tests.asking import NOW, tables
from tests.stores import empty_graph

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"
FILES = sorted(CORPUS.glob("*/*.ndjson"))
RECORDED = {"airflow": 117, "dbt": 234, "python-client": 69, "spark": 218}
SPARK = "/data/spark/"
DBT = ("duckdb:///data/dbt/shop.duckdb", "shop.main.")


def lines_of(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line.strip()]


def take(graph: LineageGraph, lines: list[bytes]) -> list[str]:
    """Offer every line, as a server does one event at a time; reasons of those that are no events."""
    reasons = []
    for number, line in enumerate(lines, 1):
        try:
            graph.ingest([line])
        except InvalidEvent as error:
            graph.refuse([(f"line {number}", error, line)])
            reasons.append(str(error))
    return reasons


# -- nothing is lost


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-50:])
def test_every_line_is_an_event_of_the_journal_or_a_dead_letter_with_a_reason(path: Path) -> None:
    lines = lines_of(path)
    with empty_graph(None) as graph:
        reasons = take(graph, lines)
        dead = graph.journal.dead_letters()
        assert [letter.body for letter in dead] + list(graph.events()) == sorted_by_fate(lines)
        assert all(reason.startswith("$.eventTime") for reason in reasons)
        assert graph.lag == 0


def sorted_by_fate(lines: list[bytes]) -> list[bytes]:
    """Lines without an event time first, then one of each event in the order of the file."""
    documents = [(line, decode(line)) for line in lines]
    refused = [line for line, document in documents if not str(document.get("eventTime", "")).startswith("2")]
    taken = {digest_of(document): line for line, document in reversed(documents) if line not in refused}
    return refused + [line for line, document in documents if taken.get(digest_of(document)) is line]


def test_every_recorded_event_is_taken() -> None:
    counts = {path.stem: len(lines_of(path)) for path in FILES if path.parent.name == "recorded"}
    assert counts == RECORDED
    for path in FILES:
        if path.parent.name == "recorded":
            with empty_graph(None) as graph:
                assert take(graph, lines_of(path)) == []


@pytest.mark.parametrize("producer", RECORDED)
def test_both_stores_hold_the_same_graph_of_a_recording(producer: str, neo4j_uri: str) -> None:
    lines = lines_of(CORPUS / "recorded" / f"{producer}.ndjson")
    with empty_graph(None) as embedded, empty_graph(neo4j_uri) as stored:
        take(embedded, lines)
        stored.ingest(lines)
        assert list(stored.store.elements()) == list(embedded.store.elements())


@pytest.mark.parametrize("producer", RECORDED)
def test_a_recording_told_backwards_gives_the_same_graph(producer: str) -> None:
    lines = lines_of(CORPUS / "recorded" / f"{producer}.ndjson")
    with empty_graph(None) as forwards, empty_graph(None) as backwards:
        forwards.ingest(lines)
        take(backwards, lines[::-1])
        assert list(backwards.store.elements()) == list(forwards.store.elements())


# -- Spark, as its program says


@pytest.fixture(scope="module")
def spark(store_uri: str | None) -> Iterator[LineageGraph]:
    with empty_graph(store_uri) as graph:
        graph.ingest(lines_of(CORPUS / "recorded" / "spark.ndjson"))
        yield graph


SPARK_TABLES = {
    "lake/customers": {"raw/customers.csv"},
    "lake/orders": {"raw/orders.csv"},
    "lake/items": {"raw/items.csv"},
    "lake/order_facts": {"lake/orders", "lake/items", "lake/customers"},
    "lake/top_customers": {"lake/orders", "lake/items", "lake/customers"},
    "lake/exposure_union": {"lake/orders", "lake/customers"},
    "lake/self_join": {"lake/customers"},
    "lake/squares": set(),
    "lake/never": {"lake/orders"},
    "warehouse/shop.db/dim_customer": {"lake/customers"},
    "warehouse/shop.db/fct_orders": {"lake/orders", "lake/items"},
    "warehouse/shop.db/country_month": {"warehouse/shop.db/dim_customer", "warehouse/shop.db/fct_orders"},
    "warehouse/shop.db/customers_archive": {"warehouse/shop.db/dim_customer", "warehouse/shop.db/country_month"},
    "warehouse/shop.db/status_totals": {"warehouse/shop.db/fct_orders", "lake/orders"},
    "lake/orders_history": {"warehouse/shop.db/fct_orders"},
    "lake/orders_by_status": {"warehouse/shop.db/fct_orders"},
    "lake/paid_csv": {"lake/orders_by_status"},
    "ice/shop/orders": {"lake/orders"},
    "ice/shop/by_customer": {"ice/shop/orders"},
    "lake/delta_orders": {"lake/orders"},
    "lake/delta_by_customer": {"lake/delta_orders"},
}
"""Table -> the tables that the statement that makes it reads; the MERGE into an Iceberg table reads itself too."""


def of_spark(name: str, field: str | None = None) -> Asked:
    return Asked(namespace="file", name=SPARK + name, field=field)


@pytest.mark.parametrize("name", SPARK_TABLES)
def test_spark_tables_come_from_what_their_statement_reads(spark: LineageGraph, name: str) -> None:
    answer = spark.upstream(of_spark(name), NOW, Bounds(depth=1))
    assert {source.removeprefix(SPARK) for source in tables(answer)} == SPARK_TABLES[name]


def columns_of(answer: Answer, prefix: str, certainty: str) -> set[str]:
    """``table.field`` of the columns with a certainty."""
    return {
        f"{item.name.removeprefix(prefix)}.{item.field}"
        for item in answer
        if item.type == "column" and item.certainty == certainty
    }


def test_spark_column_values_are_followed_through_three_jobs(spark: LineageGraph) -> None:
    answer = spark.impact(of_spark("raw/customers.csv", "segment"))
    assert columns_of(answer, SPARK, "direct") == {
        "lake/customers.segment",
        "lake/order_facts.segment",
        "warehouse/shop.db/dim_customer.segment",
        "warehouse/shop.db/customers_archive.segment",
    }
    assert answer.column_coverage == 1.0


def test_spark_aggregates_come_from_values_and_depend_on_join_filter_and_window(spark: LineageGraph) -> None:
    answer = spark.upstream(of_spark("lake/top_customers", "rank"), NOW, Bounds(depth=1))
    assert columns_of(answer, SPARK, "direct") == {"lake/items.line_total"}
    assert columns_of(answer, SPARK, "indirect") == {
        "lake/customers.country",
        "lake/customers.customer_id",
        "lake/items.order_id",
        "lake/orders.customer_id",
        "lake/orders.order_id",
        "lake/orders.status",
    }


def test_spark_computed_columns_come_from_all_that_their_expression_names(spark: LineageGraph) -> None:
    answer = spark.upstream(of_spark("lake/items", "line_total"))
    assert columns_of(answer, SPARK, "direct") == {"raw/items.csv.qty", "raw/items.csv.price"}
    answer = spark.upstream(of_spark("lake/delta_by_customer", "amount"))
    assert columns_of(answer, SPARK, "direct") == {
        "lake/delta_orders.amount",
        "lake/orders.amount",
        "raw/orders.csv.amount",
    }


def test_a_table_of_the_metastore_is_found_by_its_sql_name(spark: LineageGraph) -> None:
    answer = spark.upstream(
        Asked(namespace="file:/data/spark/warehouse", name="shop.country_month"), NOW, Bounds(depth=1)
    )
    assert {name.removeprefix(SPARK) for name in tables(answer)} == SPARK_TABLES["warehouse/shop.db/country_month"]


def test_a_renamed_spark_table_is_found_by_its_old_name(spark: LineageGraph) -> None:
    answer = spark.upstream(of_spark("warehouse/shop.db/customers_copy"), NOW, Bounds(depth=1))
    assert {name.removeprefix(SPARK) for name in tables(answer)} == SPARK_TABLES["warehouse/shop.db/customers_archive"]


# -- dbt, as the SQL of its models says


@pytest.fixture(scope="module")
def dbt(store_uri: str | None) -> Iterator[LineageGraph]:
    with empty_graph(store_uri) as graph:
        graph.ingest(lines_of(CORPUS / "recorded" / "dbt.ndjson"))
        yield graph


DBT_TABLES = {
    "stg_customers": {"raw_customers"},
    "stg_orders": {"raw_orders"},
    "stg_events": {"shop.app.events"},
    "order_facts": {"stg_orders"},
    "country_month": {"order_facts", "stg_customers"},
    "customer_ltv": {"order_facts", "stg_customers"},
    "churn_risk": {"customer_ltv", "eph_returned", "stg_events"},
    "top_customers": {"customer_ltv"},
}
"""Model -> what its SQL selects from, common table expressions resolved."""


def of_dbt(name: str, field: str | None = None) -> Asked:
    return Asked(namespace=DBT[0], name=DBT[1] + name, field=field)


@pytest.mark.parametrize("name", DBT_TABLES)
def test_dbt_models_come_from_what_their_sql_selects_from(dbt: LineageGraph, name: str) -> None:
    answer = dbt.upstream(of_dbt(name), NOW, Bounds(depth=1, column_only=False))
    assert {source.removeprefix(DBT[1]) for source in tables(answer)} == DBT_TABLES[name]


def test_aliases_of_common_table_expressions_are_marked_and_left_out_on_request(dbt: LineageGraph) -> None:
    whole = dbt.upstream(of_dbt("churn_risk"), NOW, Bounds(depth=1))
    marked = {item.name for item in whole if item.type == "dataset" and item.only_in_column_lineage}
    assert marked == {"__dbt__cte__eph_returned", "e"}
    shorter = dbt.upstream(of_dbt("churn_risk"), NOW, Bounds(depth=1, column_only=False))
    assert shorter.left_out.only_in_column_lineage == [
        f"dataset:{DBT[0]}:__dbt__cte__eph_returned",
        f"dataset:{DBT[0]}:e",
    ]


def test_a_broken_dbt_model_never_succeeded_so_what_it_reported_counts(dbt: LineageGraph) -> None:
    assert set(tables(dbt.upstream(of_dbt("broken"), NOW, Bounds(depth=1)))) == {DBT[1] + "customer_ltv"}


def test_dbt_columns_are_followed_from_the_seed_to_the_marts(dbt: LineageGraph) -> None:
    answer = dbt.impact(of_dbt("raw_customers", "country"))
    assert columns_of(answer, DBT[1], "direct") == {
        "stg_customers.country",
        "country_month.country",
        "customer_ltv.country",
    }
    answer = dbt.upstream(of_dbt("churn_risk", "name"))
    assert columns_of(answer, DBT[1], "direct") == {
        "customer_ltv.name",
        "stg_customers.name",
        "raw_customers.first_name",
        "raw_customers.last_name",
    }


def test_models_that_sent_no_column_lineage_make_their_columns_possible(dbt: LineageGraph) -> None:
    answer = dbt.impact(of_dbt("customer_ltv", "ltv"))
    assert {name for name in columns_of(answer, DBT[1], "possible") if name.startswith("top_customers.")} >= {
        "top_customers.ltv",
        "top_customers.rk",
    }
    assert answer.column_coverage is not None
    assert answer.column_coverage < 1
