"""The sample pipeline tells the story that its docstring promises."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

import pytest

import lineage_graph
from lineage_graph.sample import END, EXAMPLES, events
from tests.sample_reading import Json, Key, columns, datasets, key, mapping, runs, short


@pytest.fixture(scope="module")
def sample() -> list[Json]:
    return list(events())


# -- runs


def test_what_a_run_reads_was_written_before_and_is_not_being_written(sample: list[Json]) -> None:
    writing: Counter[Key] = Counter()
    alias: dict[Key, Key] = {}
    for event in sample:
        for output in event.get("outputs", []):
            for name in output["facets"].get("symlinks", {}).get("identifiers", []):
                alias[key(name)] = key(output)
    outputs_of: dict[str, list[Key]] = {}
    for event in sample:
        if "run" not in event or event["job"]["name"] == "sessionize":
            continue
        if event["eventType"] == "START":
            read = {alias.get(key(dataset), key(dataset)) for dataset in event["inputs"]}
            assert not [name for name in read if writing[name]]
            outputs_of[event["run"]["runId"]] = [key(dataset) for dataset in event["outputs"]]
            writing.update(outputs_of[event["run"]["runId"]])
        else:
            writing.subtract(outputs_of[event["run"]["runId"]])


def test_parents_enclose_their_children_and_share_the_root(sample: list[Json]) -> None:
    spans: dict[str, list[str]] = {}
    parents: dict[str, Json] = {}
    for event in sample:
        if "run" in event:
            spans.setdefault(event["run"]["runId"], []).append(event["eventTime"])
            if "parent" in event["run"]["facets"]:
                parents[event["run"]["runId"]] = event["run"]["facets"]["parent"]
    assert len(parents) > 400
    for child, parent in parents.items():
        outer = spans[parent["run"]["runId"]]
        assert outer[0] <= spans[child][0] <= spans[child][-1] <= outer[-1]
        assert parent["root"]["job"]["name"] == "shop_daily"
        assert parent["root"]["run"]["runId"] in spans
    names = {parent["job"]["name"] for parent in parents.values()}
    assert names == {"shop_daily", "shop_daily.spark_lake", "shop_lake", "shop_daily.dbt_build", "dbt-run-shop"}


def test_the_mapped_task_writes_three_tables_in_three_runs_under_one_parent(sample: list[Json]) -> None:
    by_parent: dict[str, list[tuple[str, str]]] = {}
    for attempts in runs(sample, "shop_daily.extract").values():
        done = attempts[-1]
        (read,), (written,) = done["inputs"], done["outputs"]
        parent = done["run"]["facets"]["parent"]["run"]["runId"]
        by_parent.setdefault(parent, []).append((read["name"], written["name"]))
    assert len(by_parent) == 14
    for pairs in by_parent.values():
        assert sorted(pairs) == [
            (f"shop.public.{name}", f"raw/{name}") for name in ("customers", "order_items", "orders")
        ]


def test_the_payments_copy_fails_on_two_days_and_works_when_repeated(sample: list[Json]) -> None:
    ends = [attempts[-1] for attempts in runs(sample, "shop_daily.extract_payments").values()]
    states = [event["eventType"] for event in ends]
    failed = [event for event in ends if event["eventType"] == "FAIL"]
    assert len(failed) == 2
    assert "".join(state[0] for state in states).count("FC") == 2
    for event in failed:
        assert "OperationalError" in event["run"]["facets"]["errorMessage"]["stackTrace"]


def test_in_the_last_night_the_orders_fail_and_the_marts_are_stale(sample: list[Json]) -> None:
    orders = [attempts[-1] for attempts in runs(sample, "shop_lake.lake_orders").values()]
    assert [event["eventType"] for event in orders] == ["COMPLETE"] * 13 + ["FAIL"]
    assert "9 of 31 rates" in orders[-1]["run"]["facets"]["errorMessage"]["message"]

    rates = [_rows(attempts[-1]) for attempts in runs(sample, "shop_daily.fetch_fx_rates").values()]
    assert rates == [31] * 13 + [9]
    for model in ("analytics.staging.shop.stg_orders", "analytics.marts.shop.fct_orders"):
        counts = [_rows(attempts[-1]) for attempts in runs(sample, model).values()]
        assert counts == sorted(counts)
        assert len(set(counts[:-1])) == 13
        assert counts[-1] == counts[-2]
    assert list(runs(sample, "shop_daily").values())[-1][-1]["eventType"] == "COMPLETE"


def _rows(event: Json) -> int:
    rows: int = event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"]
    return rows


def test_only_the_recency_test_of_the_last_night_fails(sample: list[Json]) -> None:
    failed = [
        (event["eventTime"][:10], event["job"]["name"], assertion["assertion"])
        for event in sample
        if event.get("eventType") == "COMPLETE"
        for dataset in event["inputs"]
        for assertion in dataset.get("inputFacets", {}).get("dataQualityAssertions", {}).get("assertions", [])
        if not assertion["success"]
    ]
    assert failed == [("2026-06-15", "analytics.marts.shop.fct_daily_revenue.test", "recency")]


def test_the_training_is_aborted_once(sample: list[Json]) -> None:
    states = [attempts[-1]["eventType"] for attempts in runs(sample, "churn.train").values()]
    assert Counter(states) == {"COMPLETE": 13, "ABORT": 1}


def test_the_stream_starts_once_and_never_completes(sample: list[Json]) -> None:
    ((run, found),) = runs(sample, "sessionize").items()
    assert UUID(run)
    assert [event["eventType"] for event in found] == ["START"] + ["RUNNING"] * (len(found) - 1)
    assert len(found) > 300
    assert END - datetime.fromisoformat(found[-1]["eventTime"]) < timedelta(hours=1)
    assert found[-1]["job"]["facets"]["jobType"]["processingType"] == "STREAMING"


# -- what changes on the way


def _each_night(sample: list[Json], job: str) -> list[Json]:
    return [attempts[-1] for attempts in runs(sample, job).values() if attempts[-1]["eventType"] == "COMPLETE"]


def test_the_discount_column_appears_with_the_release_and_is_mapped_to_the_marts(sample: list[Json]) -> None:
    for job, column in {
        "shop_daily.extract": "discount_cents",
        "analytics.staging.shop.stg_orders": "discount_eur",
        "analytics.marts.shop.fct_daily_revenue": "discount_eur",
    }.items():
        nights = [e["outputs"][0] for e in _each_night(sample, job) if e["outputs"][0]["name"] not in _NO_ORDERS]
        has = [column in columns(output) for output in nights]
        mapped = [column in output["facets"]["columnLineage"]["fields"] for output in nights]
        assert has == mapped == [False] * 6 + [True] * 8
    declared = [e["dataset"] for e in sample if "dataset" in e and e["dataset"]["name"] == "shop.public.orders"]
    assert ["discount_cents" in columns(dataset) for dataset in declared] == [False, True]


_NO_ORDERS = ("raw/customers", "raw/order_items")


def test_the_features_read_other_tables_since_the_release(sample: list[Json]) -> None:
    read = [{short(i["name"]) for i in e["inputs"]} for e in _each_night(sample, "churn.features")]
    before, since = {"int_customer_orders", "sessions"}, {"int_customer_orders", "int_customer_sessions"}
    assert read == [before] * 6 + [since] * 8


def test_the_customer_table_is_renamed(sample: list[Json]) -> None:
    written = [e["outputs"][0]["name"] for e in _each_night(sample, "analytics.marts.shop.customer_360")]
    assert written == ["analytics.marts.customer_profile"] * 9 + ["analytics.marts.customer_360"] * 5
    (rename,) = _each_night(sample, "rename_customer_profile")
    change = rename["outputs"][0]["facets"]["lifecycleStateChange"]
    assert rename["outputs"][0]["name"] == written[-1]
    assert change["lifecycleStateChange"] == "RENAME"
    assert change["previousIdentifier"]["name"] == written[0]
    read = [short(e["inputs"][0]["name"]) for e in _each_night(sample, "refresh.customer-health")]
    assert read == ["customer_profile"] * 9 + ["customer_360"] * 5


def test_the_campaign_table_is_made_read_and_dropped(sample: list[Json]) -> None:
    story = [
        (role, dataset["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange"))
        for event in sample
        if event.get("eventType") == "COMPLETE"
        for role in ("inputs", "outputs")
        for dataset in event[role]
        if dataset["name"] == "analytics.scratch.spring_audience"
    ]
    assert story == [("outputs", "CREATE"), ("inputs", None), ("outputs", "DROP")]


def test_one_old_table_is_declared_and_used_by_nobody(sample: list[Json]) -> None:
    used = {key(d) for event in sample if "dataset" not in event for d in datasets(event)}
    declared = {key(event["dataset"]) for event in sample if "dataset" in event}
    assert {name for _, name in declared - used} == {"shop.public.coupons_2019"}


def test_the_view_is_declared_and_the_crm_job_keeps_its_outputs_apart(sample: list[Json]) -> None:
    (view,) = [event for event in sample if "run" not in event and "job" in event]
    assert [dataset["name"] for dataset in view["outputs"]] == ["analytics.marts.revenue_by_country"]
    explicit = {e["job"]["name"] for e in sample if "lineage" in e.get("job", {}).get("facets", {})}
    assert explicit == {"shop_daily.crm_sync"}
    facet = _each_night(sample, "shop_daily.crm_sync")[-1]["job"]["facets"]["lineage"]
    sources = {e["name"]: {short(i["name"]) for i in e["inputs"] if "field" not in i} for e in facet["entries"]}
    assert sources == {"Contact": {"customer_360", "customers"}, "CampaignMember": {"churn_scores"}}


def test_some_jobs_report_no_column_lineage_and_some_write_nothing(sample: list[Json]) -> None:
    with_outputs = [e for e in sample if e.get("eventType") == "COMPLETE" and e["inputs"] and e["outputs"]]
    mapped = {e["job"]["name"] for e in with_outputs if any(mapping(e))}
    assert {e["job"]["name"] for e in with_outputs} - mapped == {
        "shop.returns",
        "churn.train",
        "refresh.executive-revenue",
        "refresh.customer-health",
    }
    only_read = {e["job"]["name"] for e in sample if e.get("eventType") == "COMPLETE" and not e["outputs"]}
    assert "finance.morning_check" in only_read


def test_the_graph_takes_the_sample_and_knows_the_examples(sample: list[Json]) -> None:
    with lineage_graph.open(":memory:") as graph:
        graph.ingest(sample)
        for name in ("impact", "column", "change", "path_source"):
            assert graph.impact(EXAMPLES[name]).total > 5
        for name in ("upstream", "root_cause", "path_target"):
            assert graph.upstream(EXAMPLES[name]).total > 5
        assert EXAMPLES["blast_radius"] in {item.id for item in graph.upstream(EXAMPLES["root_cause"]).items}
        reached = {item.certainty for item in graph.impact(EXAMPLES["column"]).items}
        assert reached == {"direct", "indirect", "possible"}
