"""OpenLineage events and facets from what the sample's tables and jobs say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from lineage_graph.sample.jobs import Fault, Integration, Job
from lineage_graph.sample.query import RELEASE, RENAME, SYSTEMS, Column, Source, dataset, query, table

Json = dict[str, Any]

_SPEC = "https://openlineage.io/spec"
_VERSIONS = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "DataQualityAssertionsDatasetFacet": "1-1-0",
    "DataQualityMetricsInputDatasetFacet": "1-0-3",
    "DatasetTypeDatasetFacet": "1-0-1",
    "DatasetVersionDatasetFacet": "1-0-1",
    "DatasourceDatasetFacet": "1-0-1",
    "DocumentationDatasetFacet": "1-1-0",
    "DocumentationJobFacet": "1-1-0",
    "ErrorMessageRunFacet": "1-0-1",
    "JobDependenciesRunFacet": "1-0-1",
    "JobTypeJobFacet": "2-0-4",
    "LifecycleStateChangeDatasetFacet": "1-0-1",
    "LineageJobFacet": "1-0-0",
    "NominalTimeRunFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "OwnershipDatasetFacet": "1-0-1",
    "OwnershipJobFacet": "1-0-1",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
    "SourceCodeLocationJobFacet": "1-1-0",
    "StorageDatasetFacet": "1-0-1",
    "SymlinksDatasetFacet": "1-0-1",
    "TagsDatasetFacet": "1-0-0",
}


def timestamp(at: datetime) -> str:
    """With milliseconds, so that texts sort as times do."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


class Facets:
    """Writes for one integration, as things are ``age`` days before the last night."""

    def __init__(self, integration: Integration, age: int) -> None:
        self.integration = integration
        self.age = age

    def event(self, kind: str, at: datetime, **content: Any) -> Json:
        envelope = {"eventTime": timestamp(at), "producer": self.integration.producer}
        return {**envelope, "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/{kind}", **content}

    def facet(self, schema: str, /, **content: Any) -> Json:
        file = "LineageFacet" if schema == "LineageJobFacet" else schema
        url = f"{_SPEC}/facets/{_VERSIONS[schema]}/{file}.json#/$defs/{schema}"
        return {"_producer": self.integration.producer, "_schemaURL": url, **content}

    # -- datasets

    def dataset(self, key: str, facets: Json) -> Json:
        return {**dataset(key, self.age)._asdict(), "facets": facets}

    def schema(self, key: str) -> Json:
        columns = query(key, self.age).columns
        return {"schema": self.facet("SchemaDatasetFacet", fields=_fields(columns))} if columns else {}

    def described(self, key: str) -> Json:
        """All that a writer, or the catalogue, knows of a table."""
        system, about = SYSTEMS[key.partition(".")[0]], table(key)
        tags = [{"key": tag, "value": "true", "source": "CATALOGUE"} for tag in about.tags]
        tags += [
            {"key": "pii", "value": "true", "source": "CATALOGUE", "field": column.name}
            for column in query(key, self.age).columns
            if column.personal
        ]
        facets = {
            **self.schema(key),
            "datasetType": self.facet("DatasetTypeDatasetFacet", datasetType=system.type),
            "dataSource": self.facet("DatasourceDatasetFacet", name=system.namespace, uri=system.namespace),
            "documentation": self.facet("DocumentationDatasetFacet", description=about.doc),
            "ownership": self.facet("OwnershipDatasetFacet", owners=_owners(about.owner)),
        }
        if tags:
            facets["tags"] = self.facet("TagsDatasetFacet", tags=tags)
        if key.startswith("lake."):
            alias = {**dataset(key.replace("lake.", "glue."))._asdict(), "type": "TABLE"}
            facets["symlinks"] = self.facet("SymlinksDatasetFacet", identifiers=[alias])
            facets["storage"] = self.facet("StorageDatasetFacet", storageLayer="iceberg", fileFormat="parquet")
        return facets

    def lifecycle(self, key: str, change: str) -> Json:
        content: Json = {"lifecycleStateChange": change}
        if change == "RENAME":
            content["previousIdentifier"] = dataset(key, RENAME + 1)._asdict()
        return {"lifecycleStateChange": self.facet("LifecycleStateChangeDatasetFacet", **content)}

    def version(self, snapshot: str) -> Json:
        return {"version": self.facet("DatasetVersionDatasetFacet", datasetVersion=snapshot)}

    def statistics(self, key: str, rows: int) -> Json:
        size = rows * 11 * len(query(key, self.age).columns)
        files = {"fileCount": size // 2**25 + 1} if key.startswith(("raw.", "lake.")) else {}
        facet = self.facet("OutputStatisticsOutputDatasetFacet", rowCount=rows, size=size, **files)
        return {"outputStatistics": facet}

    def quality(self, assertions: list[Json], rows: int) -> Json:
        """Input facets of a test: what it asserted, and the metrics it took on the way."""
        columns = {
            check["column"]: {"nullCount": 0} | ({"distinctCount": rows} if check["assertion"] == "unique" else {})
            for check in assertions
        }
        return {
            "dataQualityAssertions": self.facet("DataQualityAssertionsDatasetFacet", assertions=assertions),
            "dataQualityMetrics": self.facet(
                "DataQualityMetricsInputDatasetFacet", rowCount=rows, columnMetrics=columns
            ),
        }

    def column_lineage(self, key: str) -> Json:
        made = query(key, self.age)
        fields = {name: {"inputFields": self._inputs(sources)} for name, sources in made.fields().items()}
        facet = self.facet("ColumnLineageDatasetFacet", fields=fields, dataset=self._inputs(made.whole()))
        return {"columnLineage": facet}

    def _inputs(self, sources: Iterable[Source], **more: str) -> list[Json]:
        """Equal columns once, with all their transformations."""
        entries: dict[tuple[str, str], Json] = {}
        for source in sources:
            name = dataset(source.table, self.age)._asdict()
            entry = {**name, **more, "field": source.field, "transformations": []}
            how = {
                "type": source.type,
                "subtype": source.subtype,
                "description": "",
                "masking": source.masking,
            }
            entries.setdefault((source.table, source.field), entry)["transformations"].append(how)
        return list(entries.values())

    # -- jobs

    def job(self, job: Job, writes: tuple[str, ...]) -> Json:
        release = "2.0" if self.age <= RELEASE else "1.9"
        commit = hashlib.sha1(release.encode()).hexdigest()
        processing: Json = {"processingType": "BATCH"}
        if job.streaming:
            pattern = {
                "eventTrigger": "PERIODIC",
                "eventContentMode": "COMPLETE_SNAPSHOT",
                "windowDuration": 3600,
            }
            processing = {"processingType": "STREAMING", "emissionPattern": pattern}
        facets = {
            "jobType": self.facet("JobTypeJobFacet", integration=self.integration.name, jobType=job.type, **processing),
            "documentation": self.facet("DocumentationJobFacet", description=job.doc),
            "ownership": self.facet("OwnershipJobFacet", owners=_owners(job.owner)),
            "sourceCodeLocation": self.facet(
                "SourceCodeLocationJobFacet",
                type="git",
                url=f"https://git.shop.example/data/pipelines/blob/{commit}/{job.path}",
                repoUrl="https://git.shop.example/data/pipelines.git",
                path=job.path,
                version=commit,
                tag=f"release-{release}",
            ),
        }
        if statement := job.statement or self._select(job, writes):
            facets["sql"] = self.facet("SQLJobFacet", query=statement, dialect=self.integration.dialect)
        if job.explicit:
            entries = [self._entry(key) for key in writes]
            facets["lineage"] = self.facet("LineageJobFacet", entries=entries)
        return {"namespace": job.namespace, "name": job.name, "facets": facets}

    def _select(self, job: Job, writes: tuple[str, ...]) -> str:
        if not job.sql or not writes or not query(writes[0], self.age).clauses:
            return ""
        return query(writes[0], self.age).sql(self.age)

    def _entry(self, key: str) -> Json:
        made = query(key, self.age)
        reads = [{**dataset(read, self.age)._asdict(), "type": "DATASET"} for read in made.reads.values()]
        return {
            **dataset(key, self.age)._asdict(),
            "type": "DATASET",
            "inputs": [*reads, *self._inputs(made.whole(), type="DATASET")],
            "fields": {
                name: {"inputs": self._inputs(sources, type="DATASET")} for name, sources in made.fields().items()
            },
        }

    # -- runs

    def engine(self) -> Json:
        name, version = self.integration.engine, self.integration.version
        return {"processing_engine": self.facet("ProcessingEngineRunFacet", name=name, version=version)}

    def nominal(self, night: datetime) -> Json:
        return {"nominalTime": self.facet("NominalTimeRunFacet", nominalStartTime=timestamp(night))}

    def parent(self, parent: Json, root: Json) -> Json:
        return {"parent": self.facet("ParentRunFacet", **parent, root=root)}

    def dependencies(self, upstream: list[Json], trigger_rule: str) -> Json:
        facet = self.facet("JobDependenciesRunFacet", upstream=upstream, trigger_rule=trigger_rule)
        return {"jobDependencies": facet}

    def error(self, fault: Fault) -> Json:
        content = {"message": fault.message, "programmingLanguage": fault.language}
        if fault.trace:
            content["stackTrace"] = fault.trace
        return {"errorMessage": self.facet("ErrorMessageRunFacet", **content)} if fault.message else {}


def _fields(columns: Iterable[Column]) -> list[Json]:
    """Fields of a schema facet; those with a dotted name inside their struct."""
    fields: dict[str, Json] = {}
    for column in columns:
        struct, _, name = column.name.rpartition(".")
        field: Json = {"name": name, "type": column.type}
        if column.description:
            field["description"] = column.description
        fields[column.name] = field
        if struct:
            fields[struct].setdefault("fields", []).append(field)
    return [field for name, field in fields.items() if "." not in name]


def _owners(team: str) -> list[Json]:
    return [{"name": f"team:{team}", "type": "MAINTAINER"}]
