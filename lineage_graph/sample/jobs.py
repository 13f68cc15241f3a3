"""The jobs of the sample pipeline, in the order of a night, and what goes wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from lineage_graph.sample.query import RENAME


class Integration(NamedTuple):
    """Who sends the events of a job's namespace."""

    name: str
    producer: str
    engine: str
    version: str
    dialect: str = ""


_OPENLINEAGE = "https://github.com/OpenLineage/OpenLineage/tree"
_SHOP = "https://git.shop.example/data/openlineage"
INTEGRATIONS = {
    "airflow-prod": Integration(
        "AIRFLOW",
        "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3",
        "Airflow",
        "3.0.6",
        "postgres",
    ),
    "spark-prod": Integration("SPARK", f"{_OPENLINEAGE}/1.53.0/integration/spark", "spark", "3.5.6", "spark"),
    "dbt-prod": Integration("DBT", f"{_OPENLINEAGE}/1.54.0/integration/dbt", "dbt", "1.10.23", "snowflake"),
    "flink-prod": Integration("FLINK", f"{_OPENLINEAGE}/1.53.0/integration/flink", "flink", "1.20.2", "flink"),
    "snowflake-prod": Integration("SNOWFLAKE", _SHOP, "Snowflake", "9.12", "snowflake"),
    "ml-prod": Integration("PYTHON", _SHOP, "Python", "3.12.4", "snowflake"),
    "connector-prod": Integration("CONNECTOR", _SHOP, "Connector", "4.1"),
    "reverse-etl-prod": Integration("REVERSE_ETL", _SHOP, "Reverse ETL", "2.8", "snowflake"),
    "catalogue": Integration("CATALOGUE", _SHOP, "Catalogue", "1.3", "snowflake"),
    "bi-prod": Integration("SUPERSET", _SHOP, "Superset", "5.0.0"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """``at`` and ``minutes`` place a run in the night, counted from its begin at 02:00 UTC."""

    namespace: str
    name: str
    type: str
    owner: str
    doc: str
    path: str
    at: float
    minutes: float
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """What it reads beyond the tables of the queries of what it writes."""
    parent: str = ""
    after: tuple[str, ...] = ()
    trigger_rule: str = "all_success"
    mapped: bool = False
    """One run for each table written, all under the same parent run."""
    streaming: bool = False
    explicit: bool = False
    """Reports its lineage by the explicit facet, which keeps its two outputs apart."""
    sql: bool = True
    """Whether the query of what it writes is SQL that it reports."""
    statement: str = ""
    """SQL that it reports in place of such a query."""
    checks: tuple[tuple[str, str], ...] = ()
    """Assertions on what it reads: their kind and column."""
    age: int | None = None
    """Days before the last night when it runs once; None for every night."""
    lifecycle: str = ""

    @property
    def fills(self) -> bool:
        """Whether it runs the queries of the tables it writes."""
        return self.lifecycle not in ("DROP", "RENAME")


_task = partial(
    Job,
    namespace="airflow-prod",
    type="TASK",
    parent="shop_daily",
    path="dags/shop_daily.py",
    owner="data-platform",
)
_campaign = partial(
    Job,
    namespace="snowflake-prod",
    type="QUERY",
    minutes=2,
    owner="marketing",
    path="worksheets/spring.sql",
    age=9,
)
_refresh = partial(
    Job,
    namespace="bi-prod",
    type="QUERY",
    at=180,
    minutes=2,
    doc="Fills the cache of the dashboard.",
)
_churn = partial(Job, namespace="ml-prod", type="JOB", owner="machine-learning", lifecycle="OVERWRITE")
_extract = partial(_task, lifecycle="OVERWRITE")


def _spark(table: str, at: float) -> Job:
    return Job(
        namespace="spark-prod", name=f"shop_lake.lake_{table}", type="SQL_JOB", parent="shop_lake", at=at,
        minutes=4.5, owner="data-platform", doc=f"Rewrites lake.{table} as a whole.",
        path=f"spark/lake/{table}.sql", writes=(f"lake.{table}",), lifecycle="OVERWRITE",
    )  # fmt: skip


def _model(key: str, at: float, owner: str = "analytics-engineering") -> Job:
    layer, _, short = key.partition(".")
    schema, prefix = {"stg": ("staging", "stg_"), "int": ("intermediate", "int_"), "mart": ("marts", "")}[layer]
    return Job(
        namespace="dbt-prod", name=f"analytics.{schema}.shop.{prefix}{short}", type="MODEL",
        parent="dbt-run-shop", at=at, minutes=1.5, owner=owner, doc=f"dbt model {prefix}{short}.",
        path=f"dbt/models/{schema}/{prefix}{short}.sql", writes=(key,), lifecycle="OVERWRITE",
    )  # fmt: skip


def _test(model: Job, at: float, *checks: tuple[str, str]) -> Job:
    return Job(
        namespace="dbt-prod", name=f"{model.name}.test", type="TEST", parent="dbt-run-shop", at=at,
        minutes=0.5, owner=model.owner, doc=f"Tests of {model.name.rpartition('.')[2]}.",
        path="dbt/models/schema.yml", reads=model.writes, checks=checks,
    )  # fmt: skip


_STAGING = [_model(f"stg.{name}", 62) for name in ("customers", "orders", "order_lines", "payments", "sessions")]
_INTERMEDIATE = [
    _model(f"int.{name}", 66) for name in ("order_payments", "order_margins", "customer_orders", "customer_sessions")
]
_ORDERS, _CUSTOMERS = _model("mart.fct_orders", 70), _model("mart.dim_customers", 70)
_REVENUE = _model("mart.fct_daily_revenue", 74, "finance")

JOBS = (
    Job(namespace="snowflake-prod", name="rename_customer_profile", type="COMMAND", owner="marketing", at=-30,
        minutes=1, doc="Gives the table the name people use.", path="migrations/0042_customer_360.sql",
        statement="alter table analytics.marts.customer_profile rename to analytics.marts.customer_360",
        writes=("mart.customer_360",), age=RENAME, lifecycle="RENAME"),
    Job(namespace="airflow-prod", name="shop_daily", type="DAG", owner="data-platform", at=0, minutes=150,
        doc="The shop's night: copy, clean, model, send out.", path="dags/shop_daily.py"),
    _extract(name="shop_daily.extract", at=2, minutes=6, mapped=True,
             doc="Copies the shop's main tables, one mapped task each.",
             writes=("raw.customers", "raw.orders", "raw.order_items")),
    _extract(name="shop_daily.extract_products", at=2, minutes=2, doc="Copies the products.",
             writes=("raw.products",)),
    _extract(name="shop_daily.extract_payments", at=2, minutes=5, owner="payments",
             doc="Copies the payments from the replica.", writes=("raw.payments",)),
    _extract(name="shop_daily.fetch_fx_rates", at=3, minutes=1, owner="finance",
             doc="Fetches the day's euro rates over HTTP.", writes=("raw.fx_rates",)),
    Job(namespace="connector-prod", name="shop.returns", type="SYNC", owner="data-platform", at=10, minutes=6,
        doc="Brings returns into the warehouse; reports no column lineage.", path="connectors/returns.yml",
        writes=("wh.returns",), reads=("pg.returns",)),
    _task(name="shop_daily.spark_lake", at=25, minutes=28, doc="Submits the Spark application shop_lake.",
          after=("shop_daily.extract", "shop_daily.extract_products", "shop_daily.extract_payments",
                 "shop_daily.fetch_fx_rates")),
    Job(namespace="spark-prod", name="shop_lake", type="APPLICATION", parent="shop_daily.spark_lake", at=26,
        minutes=26, owner="data-platform", doc="Cleans the copies into Iceberg tables.",
        path="spark/lake/Main.scala"),
    _spark("customers", 27), _spark("order_lines", 32), _spark("payments", 37), _spark("orders", 42),
    _task(name="shop_daily.dbt_build", at=60, minutes=25, owner="analytics-engineering",
          doc="Runs dbt build, whatever became of spark_lake.", after=("shop_daily.spark_lake",),
          trigger_rule="all_done"),
    Job(namespace="dbt-prod", name="dbt-run-shop", type="JOB", parent="shop_daily.dbt_build", at=61,
        minutes=23, owner="analytics-engineering", doc="All models and tests of the project.",
        path="dbt/dbt_project.yml"),
    *_STAGING, *_INTERMEDIATE, _ORDERS, _CUSTOMERS, _REVENUE,
    _model("mart.customer_360", 74, "marketing"), _model("mart.channel_performance", 74, "marketing"),
    _test(_STAGING[0], 79, ("unique", "customer_id"), ("not_null", "customer_key")),
    _test(_STAGING[1], 79, ("unique", "order_id"), ("not_null", "customer_id")),
    _test(_ORDERS, 79, ("unique", "order_id"), ("not_null", "payment_state")),
    _test(_CUSTOMERS, 79, ("unique", "customer_id"), ("not_null", "country")),
    _test(_REVENUE, 80, ("not_null", "country"), ("recency", "order_day")),
    _churn(name="churn.features", at=90, minutes=8, doc="Fills the feature table.",
           path="ml/churn/features.sql", writes=("ml.customer_features",)),
    _campaign(name="spring_campaign.create_audience", at=90, doc="Picks the customers to write to.",
              writes=("tmp.spring_audience",), lifecycle="CREATE"),
    _campaign(name="spring_campaign.count", at=95, doc="Counts the audience by segment for the agency.",
              statement="select segment, count(*) from analytics.scratch.spring_audience group by segment",
              reads=("tmp.spring_audience",)),
    _campaign(name="spring_campaign.drop_audience", at=100, doc="Cleans up after the campaign.",
              statement="drop table analytics.scratch.spring_audience",
              writes=("tmp.spring_audience",), lifecycle="DROP"),
    _churn(name="churn.train", at=100, minutes=20, doc="Trains the churn model anew.",
           path="ml/churn/train.py", writes=("model.churn",), reads=("ml.customer_features",)),
    _churn(name="churn.score", at=122, minutes=6, doc="Scores all customers.", path="ml/churn/score.py",
           writes=("ml.churn_scores",), sql=False),
    _task(name="shop_daily.crm_sync", at=132, minutes=9, owner="marketing",
          doc="Brings contacts and campaign members to the CRM.", after=("shop_daily.dbt_build",),
          writes=("crm.Contact", "crm.CampaignMember"), explicit=True, sql=False),
    Job(namespace="reverse-etl-prod", name="customer_segments", type="SYNC", owner="marketing", at=132,
        minutes=5, doc="Brings segments and churn risk back to the shop.", path="reverse_etl/customer_segments.sql",
        writes=("pg.customer_segments",)),
    _refresh(name="refresh.executive-revenue", owner="finance", path="bi/executive-revenue.yml",
             writes=("bi.executive-revenue",), reads=("mart.fct_daily_revenue", "mart.revenue_by_country")),
    _refresh(name="refresh.customer-health", owner="marketing", path="bi/customer-health.yml",
             writes=("bi.customer-health",), reads=("mart.customer_360", "ml.churn_scores")),
    Job(namespace="snowflake-prod", name="finance.morning_check", type="QUERY", owner="finance", at=200,
        minutes=1, doc="Compares revenue with the ledger and mails the difference; writes nothing.",
        statement="select order_day, sum(revenue_eur) from analytics.marts.fct_daily_revenue group by order_day",
        path="worksheets/morning_check.sql", reads=("mart.fct_daily_revenue",)),
)  # fmt: skip
"""In the order of ``at``; what reads a table comes after what writes it."""

STREAM = Job(
    namespace="flink-prod", name="sessionize", type="JOB", owner="data-platform", at=-45, minutes=0,
    doc="Cuts page views into visits, all day.", path="flink/sessionize.sql", writes=("lake.sessions",),
    streaming=True,
)  # fmt: skip
VIEW = Job(
    namespace="snowflake-prod", name="analytics.marts.revenue_by_country", type="VIEW", owner="finance",
    at=-40, minutes=0, doc="Definition of the view.", path="migrations/0007_revenue_by_country.sql",
    writes=("mart.revenue_by_country",),
)  # fmt: skip


class Fault(NamedTuple):
    """How a run ends instead of COMPLETE; a repeated one is followed by a run that works."""

    event: str
    message: str = ""
    language: str = ""
    trace: str = ""
    repeated: bool = False


_REPLICA = Fault(
    "FAIL",
    "server closed the connection unexpectedly",
    "PYTHON",
    'Traceback (most recent call last):\n  File "shop_daily.py", line 84, in extract_payments\n'
    "    cursor.execute(query)\npsycopg2.OperationalError: server closed the connection unexpectedly\n"
    "\tThis probably means the server terminated abnormally\n\tbefore or while processing the request.",
    repeated=True,
)
_RATES = "requirement failed: orders in CZK, HUF, PLN, but raw/fx_rates has only 9 of 31 rates"
FAULTS = {
    ("shop_daily.extract_payments", 11): _REPLICA,
    ("shop_daily.extract_payments", 5): _REPLICA,
    ("churn.train", 6): Fault("ABORT"),
    ("shop_lake.lake_orders", 0): Fault(
        "FAIL",
        _RATES,
        "JAVA",
        f"java.lang.IllegalArgumentException: {_RATES}\n\tat scala.Predef$.require(Predef.scala:337)\n"
        "\tat example.shop.lake.Orders$.checkRates(Orders.scala:52)\n"
        "\tat example.shop.lake.Orders$.run(Orders.scala:31)\n\tat example.shop.lake.Main$.main(Main.scala:18)",
    ),
    ("shop_lake", 0): Fault("FAIL", "User application exited with status 1", "JAVA"),
    ("shop_daily.spark_lake", 0): Fault("FAIL", "Cannot execute: spark-submit. Error code is: 1.", "PYTHON"),
}
"""By name of the job and days before the last night."""
SHORT = {("raw.fx_rates", 0): 9}
"""Rows of a table that came short, by table and days before the last night."""
