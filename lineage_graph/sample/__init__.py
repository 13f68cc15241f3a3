"""The sample pipeline that ``lineage-graph demo`` fills an empty data folder with: two weeks of a web shop.

Every night at 02:00 UTC an Airflow DAG copies the shop's tables to S3, Spark cleans them into Iceberg tables,
dbt models them in Snowflake, and the results go to the board, to marketing and back to the shop. Flink cuts page
views into visits all day::

    shop          PostgreSQL: customers orders order_items products payments returns     Kafka: page_views
                      │ Airflow shop_daily.extract, connector shop.returns                  │
    raw           S3 raw/: customers orders order_items products payments                   │ Flink
                           fx_rates (from an API); analytics.raw.returns                    │ sessionize
                      │ Spark shop_lake                                                     │
    lake          S3 lake/: customers orders order_lines payments                        sessions
                      │ dbt, by their names in Glue                                         │
    staging       stg_customers stg_orders stg_order_lines stg_payments                  stg_sessions
    intermediate  int_order_payments int_order_margins int_customer_orders       int_customer_sessions
    marts         fct_orders dim_customers fct_daily_revenue customer_360 channel_performance
                  revenue_by_country (a view)
                      │                           │                      │
    use           churn: customer_features,   Salesforce: Contact,   dashboards: executive-revenue,
                  model, churn_scores         CampaignMember         customer-health
                                              shop: customer_segments

The story, in days before the last night: 11 and 5, the payments replica drops the connection and a second try
works; 9, a campaign table is made, counted and dropped; 7, release 2.0 adds ``discount_cents`` to the orders,
maps it to the marts, and lets the churn features read ``int_customer_sessions`` in place of the visits
themselves; 6, the training is aborted; 4, ``customer_profile`` is renamed to ``customer_360``.

**In the last night** the bank's API gives 9 of 31 exchange rates. ``shop_lake.lake_orders`` fails on it and is
not repaired. dbt runs all the same, so the marts are built from the orders of the day before, the DAG is green,
and only the recency test of ``fct_daily_revenue`` says something.

The e-mail address of a customer is personal data: on the way to the marts it ends as a pseudonym in
``lake/customers``; to the CRM it goes as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from random import Random
from typing import NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from lineage_graph.sample.facets import Facets, Json
from lineage_graph.sample.jobs import FAULTS, INTEGRATIONS, JOBS, SHORT, STREAM, VIEW, Fault, Job
from lineage_graph.sample.query import RELEASE, query, stored, table
from lineage_graph.sample.tables import TABLES

_CATALOGUE = INTEGRATIONS["catalogue"]
_BY_NAME = {job.name: job for job in JOBS}

END = datetime(2026, 6, 15, 9, tzinfo=UTC)

EXAMPLES = {
    "impact": "dataset:s3://shop-lake:raw/orders",
    "column": "datasetField:postgres://db.shop.example:5432:shop.public.customers:email",
    "upstream": "dataset:snowflake://shop-eu:analytics.marts.customer_360",
    "root_cause": "dataset:snowflake://shop-eu:analytics.marts.fct_daily_revenue",
    "blast_radius": "job:airflow-prod:shop_daily.fetch_fx_rates",
    "path_source": "dataset:postgres://db.shop.example:5432:shop.public.payments",
    "path_target": "dataset:superset://bi.shop.example:dashboard/executive-revenue",
    "change": "datasetField:s3://shop-lake:lake/orders:amount_eur",
    "select": "tag:pii+",
    "tag": "pii",
}
"""Good starting points, by question: node ids, a selector, a tag. ``blast_radius`` is about that job's last run."""


def events(end: datetime = END, days: int = 14, seed: int = 7) -> Iterator[Json]:
    """The OpenLineage events of the pipeline's last ``days`` nights, in the order of their times.

    ``end`` needs a time zone; the last night is the latest that was over by then, and no event is later. Equal
    arguments give equal events; ``seed`` changes run ids, durations and row counts, not what depends on what.
    Raises ``ValueError`` for an ``end`` without time zone, and for less than one night.
    """
    if end.tzinfo is None or days < 1:
        raise ValueError("end needs a time zone, and days must be at least 1")
    return iter(sorted(_Nights(end.astimezone(UTC), days, seed).all(), key=itemgetter("eventTime")))


class _Attempt(NamedTuple):
    """One run: of a job, in a night, for all that it writes or one mapped part of it."""

    job: Job
    age: int
    writes: tuple[str, ...] = ()
    number: int = 1


class _Nights:
    """Lets the jobs run, night after night; ``age`` counts the days before the last one."""

    def __init__(self, end: datetime, days: int, seed: int) -> None:
        self.end, self.days, self.seed = end, days, seed
        night = end.replace(hour=2, minute=0, second=0, microsecond=0)
        self.last = night if night + timedelta(hours=6) <= end else night - timedelta(days=1)
        self.data_age: dict[str, int] = {}
        """How old the data in a table is: older than the night after a failure upstream."""
        self.snapshots: dict[str, str] = {}
        """The current Iceberg snapshot of each table of the lake."""

    def night(self, age: int) -> datetime:
        return self.last - timedelta(days=age)

    def all(self) -> Iterator[Json]:
        written = {key for job in (*JOBS, STREAM, VIEW) for key in job.writes}
        yield from self.declare([key for key in TABLES if key not in written], self.days - 1)
        yield self.view(self.days - 1)
        yield from self.stream()
        for age in reversed(range(self.days)):
            if age == RELEASE < self.days - 1:
                yield from self.declare(["pg.orders"], age)
            for job in JOBS:
                if job.age is None or job.age == age:
                    for writes in [(key,) for key in job.writes] if job.mapped else [job.writes]:
                        yield from self.run(_Attempt(job, age, writes))

    # -- what is declared

    def declare(self, keys: list[str], age: int) -> Iterator[Json]:
        """What the catalogue says of tables that the pipeline only reads."""
        facets = Facets(_CATALOGUE, age)
        for nth, key in enumerate(keys):
            at = self.night(age) - timedelta(minutes=50) + timedelta(seconds=nth)
            yield facets.event("DatasetEvent", at, dataset=facets.dataset(key, facets.described(key)))

    def view(self, age: int) -> Json:
        facets = Facets(_CATALOGUE, age)
        return facets.event(
            "JobEvent",
            self.night(age) - timedelta(minutes=40),
            job=facets.job(VIEW, VIEW.writes),
            inputs=self.inputs(facets, VIEW, VIEW.writes),
            outputs=[self.output(facets, VIEW, key) for key in VIEW.writes],
        )

    # -- what runs

    def stream(self) -> Iterator[Json]:
        """One run that starts before the first night and is still running at the end."""
        age = self.days - 1
        facets = Facets(INTEGRATIONS[STREAM.namespace], age)
        run = {"runId": self.run_id(_Attempt(STREAM, age)), "facets": facets.engine()}
        at, state = self.night(age) + timedelta(minutes=STREAM.at), "START"
        while at <= self.end:
            random = Random(f"{self.seed} {STREAM.name} {at}")
            outputs = [self.output(facets, STREAM, key) for key in STREAM.writes]
            for key, output in zip(STREAM.writes, outputs, strict=True):
                output["outputFacets"] = facets.statistics(key, random.randint(400, 800))
            yield facets.event(
                "RunEvent",
                at,
                eventType=state,
                run=run,
                job=facets.job(STREAM, STREAM.writes),
                inputs=self.inputs(facets, STREAM, STREAM.writes),
                outputs=outputs,
            )
            at, state = at + timedelta(hours=1), "RUNNING"

    def run(self, first: _Attempt) -> Iterator[Json]:
        """The run of a night, and a second one when the first has failed and is repeated."""
        job, night = first.job, self.night(first.age)
        random = Random(f"{self.seed} {job.name} {first.writes} {night}")
        container = not (job.writes or job.reads)
        begin = night + timedelta(minutes=job.at, seconds=0 if container else random.uniform(1, 20))
        length = timedelta(minutes=job.minutes * (1 if container else random.uniform(0.6, 0.9)))
        fault = FAULTS.get((job.name, first.age))
        if fault is None:
            yield from self.attempt(first, begin, begin + length)
            return
        failed = begin + (length if container else length / 4)
        yield from self.attempt(first, begin, failed, fault)
        if fault.repeated:
            again = failed + timedelta(minutes=5)
            yield from self.attempt(first._replace(number=2), again, again + length)

    def attempt(self, attempt: _Attempt, begin: datetime, stop: datetime, fault: Fault | None = None) -> Iterator[Json]:
        job, age, writes, _ = attempt
        facets = Facets(INTEGRATIONS[job.namespace], age)
        run: Json = {"runId": self.run_id(attempt), "facets": self.run_facets(facets, job)}
        common = {"job": facets.job(job, writes), "inputs": self.inputs(facets, job, writes)}
        planned = [facets.dataset(key, facets.schema(key)) for key in writes]
        yield facets.event("RunEvent", begin, eventType="START", run=run, **common, outputs=planned)
        if fault:
            run = {**run, "facets": run["facets"] | facets.error(fault)}
            yield facets.event("RunEvent", stop, eventType=fault.event, run=run, **common, outputs=[])
        else:
            written = [self.write(facets, job, key, run["runId"]) for key in writes]
            yield facets.event("RunEvent", stop, eventType="COMPLETE", run=run, **common, outputs=written)

    def run_id(self, attempt: _Attempt) -> str:
        job = attempt.job
        part = attempt.writes if job.mapped else ()
        night = self.night(attempt.age).date()
        return str(uuid5(NAMESPACE_URL, f"{job.namespace} {job.name} {part} {attempt.number} {night} {self.seed}"))

    def run_facets(self, facets: Facets, job: Job) -> Json:
        found = facets.nominal(self.night(facets.age)) | facets.engine()
        if job.parent:
            parent = root = _BY_NAME[job.parent]
            while root.parent:
                root = _BY_NAME[root.parent]
            found |= facets.parent(self.container(parent, facets.age), self.container(root, facets.age))
        if job.after:
            upstream = [{"job": {"namespace": job.namespace, "name": name}} for name in job.after]
            found |= facets.dependencies(upstream, job.trigger_rule)
        return found

    def container(self, job: Job, age: int) -> Json:
        run_id = self.run_id(_Attempt(job, age))
        return {"run": {"runId": run_id}, "job": {"namespace": job.namespace, "name": job.name}}

    # -- what it reads and writes

    def inputs(self, facets: Facets, job: Job, writes: tuple[str, ...]) -> list[Json]:
        inputs = []
        for key in _reads(job, writes, facets.age):
            snapshot = self.snapshots.get(stored(key))
            version = facets.version(snapshot) if snapshot else {}
            entry = facets.dataset(key, facets.schema(key) | version)
            if job.checks:
                assertions = [self.assertion(key, kind, column, facets.age) for kind, column in job.checks]
                entry["inputFacets"] = facets.quality(assertions, self.rows(key))
            inputs.append(entry)
        return inputs

    def output(self, facets: Facets, job: Job, key: str) -> Json:
        described = facets.described(key)
        if job.fills and not job.explicit and query(key, facets.age).clauses:
            described |= facets.column_lineage(key)
        if job.lifecycle:
            described |= facets.lifecycle(key, job.lifecycle)
        return facets.dataset(key, described)

    def write(self, facets: Facets, job: Job, key: str, run_id: str) -> Json:
        """An output that is written now; it is as old as what the query starts from."""
        reads = list(_reads(job, (key,), facets.age))
        self.data_age[key] = self.data_age.get(stored(reads[0]), facets.age) if reads else facets.age
        output = self.output(facets, job, key)
        if key.startswith("lake."):
            self.snapshots[key] = str(UUID(run_id).int >> 66)
            output["facets"] |= facets.version(self.snapshots[key])
        if job.fills and table(key).rows:
            output["outputFacets"] = facets.statistics(key, self.rows(key))
        return output

    def rows(self, key: str) -> int:
        """Tables of any size grow by some 0.4 % a day."""
        age, full = self.data_age[key], table(key).rows
        if full < 100:
            return SHORT.get((key, age), full)
        return round(full * (1 - 0.004 * age + Random(f"{self.seed} {key} {age}").uniform(-0.001, 0.001)))

    def assertion(self, key: str, kind: str, column: str, age: int) -> Json:
        assertion: Json = {"assertion": kind, "success": True, "column": column, "severity": "error"}
        if kind == "recency":
            expected, actual = (
                (self.night(a) - timedelta(days=1)).date().isoformat() for a in (age, self.data_age[key])
            )
            assertion |= {"severity": "warn", "expected": expected, "actual": actual}
            assertion["success"] = actual == expected
        return assertion


def _reads(job: Job, writes: tuple[str, ...], age: int) -> dict[str, None]:
    """Keys of the tables that a job reads, in order."""
    queries = [query(key, age) for key in writes] if job.fills else []
    return dict.fromkeys([*(key for made in queries for key in made.reads.values()), *job.reads])
