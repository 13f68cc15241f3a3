"""The property graph that people query: nodes and relationships as rows, derived from the entities.

Both stores show the same rows: the Neo4j store writes them, the embedded one makes them for an export. Each row
function is pure and names every property that the label or type has (design 3). Times are RFC 3339 text in UTC.
Columns of one output share the evidence node that their ``evidence`` property names: a job that reports the same
thousand columns each hour then renews one node, not a thousand edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from lineage_graph.events import format_time
from lineage_graph.model import (
    NO_JOB,
    NOTHING,
    ColumnMapping,
    ColumnSource,
    Dataset,
    DatasetKey,
    Evidence,
    Job,
    JobKey,
    Life,
    OutputKey,
    Run,
    RunKey,
    Schema,
    facet_content,
    key_of,
)
from lineage_graph.projection import Changes, Output, Use

Row: TypeAlias = dict[str, Any]


class Element(NamedTuple):
    """A node (``start`` and ``end`` are empty) or a relationship between the nodes with these keys."""

    type: str
    key: str
    start: str
    end: str
    properties: Row


def dataset_key(key: DatasetKey) -> str:
    return key_of("dataset", *key)


def job_key(key: JobKey) -> str:
    return key_of("job", *key)


def run_key(key: RunKey) -> str:
    return key_of("run", *key)


def column_key(dataset: DatasetKey, name: str) -> str:
    return key_of("column", *dataset, name)


def flow_key(digest: str) -> str:
    return key_of("flow", digest)


def output_key(key: OutputKey) -> str:
    return key_of("output", *key[0], *key[1])


def dataset_row(dataset: Dataset) -> Row:
    return {
        "key": dataset_key(dataset.key),
        "namespace": dataset.key[0],
        "name": dataset.key[1],
        "first_seen": format_time(dataset.first_seen),
        "last_seen": format_time(dataset.last_seen),
        "roles": sorted(dataset.roles),
        "description": _described(dataset),
        "type": _text(dataset.facet("datasetType").get("datasetType")),
        "dropped": Life.of([dataset]).is_dropped,
    }


def job_row(job: Job) -> Row:
    kind = job.facet("jobType")
    return {
        "key": job_key(job.key),
        "namespace": job.key[0],
        "name": job.key[1],
        "first_seen": format_time(job.first_seen),
        "last_seen": format_time(job.last_seen),
        "roles": sorted(job.roles),
        "description": _described(job),
        "integration": _text(kind.get("integration")),
        "type": _text(kind.get("jobType")),
        "processing": _text(kind.get("processingType")),
        "sql": _text(job.facet("sql").get("query")),
        "source": _text(job.facet("sourceCodeLocation").get("url")),
    }


def run_row(run: Run) -> Row:
    state, started, ended = run.state
    return {
        "key": run_key(run.key),
        "run_id": run.key[2],
        "job": job_key(run.job),
        "parent": run_key(run.parent) if run.parent else None,
        "given_ids": sorted(run.given_ids),
        "roles": sorted(run.roles),
        "declared": run.declared,
        "state": state,
        "started_at": _time(started),
        "ended_at": _time(ended),
        "first_seen": format_time(run.first[0]),
        "last_seen": format_time(run.last[0]),
        "producer": run.last[2],
    }


def run_dataset_rows(run: Run) -> Iterator[tuple[str, Row]]:
    """READ and WROTE of one run, with what its own facets say of the size and kind of the access."""
    for key, read in run.inputs.items():
        yield "READ", {"start": run_key(run.key), "end": dataset_key(key), "at": format_time(read.last[0])}
    for key, out in run.outputs.items():
        counted = facet_content(out.facets, "outputStatistics")
        yield (
            "WROTE",
            {
                "start": run_key(run.key),
                "end": dataset_key(key),
                "at": format_time(out.last[0]),
                "lifecycle": out.lifecycle or None,
                "row_count": _count(counted.get("rowCount")),
                "size": _count(counted.get("size")),
            },
        )


def evidence_properties(evidence: Evidence) -> Row:
    """Every edge explains itself: first and last time, the events that said so, the producer, declared or observed."""
    return {
        "first_seen": format_time(evidence.first[0]),
        "last_seen": format_time(evidence.last[0]),
        "first_event": evidence.first[1],
        "last_event": evidence.last[1],
        "producer": evidence.last[2],
        "declared": evidence.declared,
        "observed": evidence.observed,
    }


def feeds_row(output: OutputKey, digest: str, use: Use, how: str | None) -> Row:
    """Flow to dataset: the pair with each of the flow's sources counts (design 3)."""
    return {
        "start": flow_key(digest),
        "end": dataset_key(output[1]),
        "job": job_key(output[0]),
        "current": how is not None,
        "how": how,
        "runs": use.runs,
        **evidence_properties(use.evidence()),
    }


def use_key(output: OutputKey, digest: str) -> str:
    return key_of("use", *output[0], *output[1], digest)


def evidence_row(output: OutputKey, digest: str, use: Use) -> Row:
    """Evidence: who said that an output has this flow or this column mapping."""
    return {
        "key": use_key(output, digest),
        "job": job_key(output[0]),
        "dataset": dataset_key(output[1]),
        "runs": use.runs,
        **evidence_properties(use.evidence()),
    }


def column_edge_rows(output: OutputKey, mapping: ColumnMapping, current: bool) -> Iterator[tuple[str, Row]]:
    """DERIVES and INFLUENCES of one output, a relationship for each transformation."""
    evidence = use_key(output, mapping.digest)

    def rows(source: ColumnSource, end: str, **more: Any) -> Iterator[Row]:
        for transformation in source.transformations or (None,):
            yield {
                "start": column_key(source.dataset, source.field),
                "end": end,
                "job": job_key(output[0]),
                "evidence": evidence,
                "type": transformation.type if transformation else "",
                "subtype": transformation.subtype if transformation else "",
                "description": transformation.description if transformation else "",
                "masking": transformation.masking if transformation else False,
                "current": current,
                **more,
            }

    for name, sources in mapping.fields:
        for source in sources:
            yield from (("DERIVES", row) for row in rows(source, column_key(output[1], name)))
    for reach, sources in (
        ("every mapped column", mapping.every_field),
        ("whole dataset", mapping.whole_dataset),
    ):
        for source in sources:
            yield from (("INFLUENCES", row) for row in rows(source, dataset_key(output[1]), reach=reach))


def column_row(dataset: DatasetKey, name: str) -> Row:
    return {
        "key": column_key(dataset, name),
        "dataset": dataset_key(dataset),
        "namespace": dataset[0],
        "dataset_name": dataset[1],
        "name": name,
    }


def has_column_rows(dataset: Dataset, names: Iterable[str]) -> Iterator[Row]:
    """HAS_COLUMN of all columns ever named; ``listed`` ones are in the schema as it holds now."""
    fields = {path: (position, kind) for position, (path, kind, _) in enumerate(schema_fields(dataset))}
    for name in names:
        position, kind = fields.get(name, (None, None))
        yield {
            "start": dataset_key(dataset.key),
            "end": column_key(dataset.key, name),
            "listed": name in fields,
            "position": position,
            "type": kind,
        }


def schema_fields(dataset: Dataset) -> tuple[tuple[str, str, str], ...]:
    """Fields of the schema facet as it holds now, nested ones with dotted paths."""
    return Schema.of(dataset.facets).fields


def tags_of(entity: Dataset | Job) -> list[str]:
    """Tag keys of a dataset or job, those of its columns left out; ``key=value`` where the value says more."""
    tags = {_tag(tag) for tag in _objects(entity.facet("tags").get("tags")) if not tag.get("field")}
    return sorted(tags - {""})


def column_tags_of(dataset: Dataset) -> dict[str, list[str]]:
    tags: dict[str, set[str]] = {}
    for tag in _objects(dataset.facet("tags").get("tags")):
        if isinstance(tag.get("field"), str) and tag["field"] and _tag(tag):
            tags.setdefault(tag["field"], set()).add(_tag(tag))
    return {name: sorted(names) for name, names in tags.items()}


def owners_of(entity: Dataset | Job) -> list[str]:
    return sorted(
        {owner["name"] for owner in _objects(entity.facet("ownership").get("owners")) if _text(owner.get("name"))}
    )


def searched(name: str) -> str:
    """What a search looks at of a name: without case, and no longer than an index takes."""
    return name.casefold()[:4000]


def elements_of(changes: Changes) -> Iterator[Element]:
    """All elements of a graph given whole, nodes first, in a fixed order."""
    yield from in_order(_nodes(changes), _relationships(changes))


def in_order(nodes: Iterable[Element], relationships: Iterable[Element]) -> Iterator[Element]:
    yield from sorted(nodes, key=lambda node: node[:2])
    yield from sorted(relationships, key=lambda e: (*e[:4], sorted((k, str(v)) for k, v in e[4].items())))


def _nodes(changes: Changes) -> Iterator[Element]:
    namespaces = {key[0] for key in (*changes.datasets, *changes.jobs)}
    for namespace in namespaces:
        yield _node("Namespace", {"key": key_of("namespace", namespace), "name": namespace})
    for dataset in changes.datasets.values():
        yield _node("Dataset", dataset_row(dataset))
    for job in changes.jobs.values():
        yield _node("Job", job_row(job))
    for run in changes.runs.values():
        yield _node("Declaration" if run.declared else "Run", run_row(run))
    for (output, digest), use in changes.uses.items():
        assert use is not None
        yield _node("Evidence", evidence_row(output, digest, use))
    for digest, flow in changes.flows.items():
        yield _node("Flow", {"key": flow_key(digest), "job": job_key(flow.job)})
    for dataset_name, name in changes.columns:
        yield _node("Column", column_row(dataset_name, name))
    for (dataset_name, digest), (schema, evidence) in changes.schemas.items():
        row = {
            "key": key_of("schema", *dataset_name, digest),
            "fields": [field[0] for field in schema.fields],
        }
        yield _node("SchemaVersion", row | evidence_properties(evidence))
    entities: list[Dataset | Job] = [*changes.datasets.values(), *changes.jobs.values()]
    tags = {tag for entity in entities for tag in tags_of(entity)}
    tags |= {tag for ds in changes.datasets.values() for held in column_tags_of(ds).values() for tag in held}
    owners = {owner for entity in entities for owner in owners_of(entity)}
    yield from (_node("Tag", {"key": key_of("tag", tag), "name": tag}) for tag in tags)
    yield from (_node("Owner", {"key": key_of("owner", owner), "name": owner}) for owner in owners)


def _relationships(changes: Changes) -> Iterator[Element]:
    columns: dict[DatasetKey, list[str]] = {}
    for key, name in changes.columns:
        columns.setdefault(key, []).append(name)
    for dataset in changes.datasets.values():
        for row in has_column_rows(dataset, sorted(columns.get(dataset.key, ()))):
            yield _relationship("HAS_COLUMN", row)
        yield from (_relationship("SAME_AS", row) for row in same_as_rows(dataset))
        yield from (_relationship(kind, row) for kind, row in label_rows(dataset, dataset_key(dataset.key)))
    for job in changes.jobs.values():
        yield from (_relationship(kind, row) for kind, row in label_rows(job, job_key(job.key)))
        yield from (_relationship(kind, row) for kind, row in job_edge_rows(job))
    for run in changes.runs.values():
        yield from (_relationship(kind, row) for kind, row in run_dataset_rows(run))
        yield from (_relationship(kind, row) for kind, row in run_edge_rows(run))
    for (dataset_name, digest), _ in changes.schemas.items():
        start, end = dataset_key(dataset_name), key_of("schema", *dataset_name, digest)
        yield _relationship("HAD_SCHEMA", {"start": start, "end": end})
    for (dataset_name, reader), evidence in changes.reads.items():
        yield _relationship(
            "READ_BY",
            {"start": dataset_key(dataset_name), "end": job_key(reader)} | evidence_properties(evidence),
        )
    for output in changes.outputs.values():
        if output.evidence is not None and output.key[0] != NO_JOB:
            yield _relationship("WRITES", writes_row(output))
    for digest, flow in changes.flows.items():
        for source, rule in flow.sources:
            yield _relationship("FEEDS", {"start": dataset_key(source), "end": flow_key(digest), "rule": rule})
    for (made, digest), use in changes.uses.items():
        assert use is not None
        output = changes.outputs[made]
        if digest in changes.flows:
            if made[1] != NOTHING:
                yield _relationship("FEEDS", feeds_row(made, digest, use, current_flows(output).get(digest)))
        elif digest in changes.mappings:
            current = digest in current_mappings(output)
            for kind, row in column_edge_rows(made, changes.mappings[digest], current):
                yield _relationship(kind, row)


def current_flows(output: Output) -> dict[str, str]:
    """Digest -> how it counts, of the flows that hold now."""
    return {digest: how for digest, (how, _) in output.current_flows().items()}


def current_mappings(output: Output) -> set[str]:
    return {value.partition("/")[0] for value in output.current_columns()} - {""}


def writes_row(output: Output) -> Row:
    assert output.evidence is not None
    return {
        "start": job_key(output.key[0]),
        "end": dataset_key(output.key[1]),
        "current": bool(output.flows.current()),
        **evidence_properties(output.evidence),
    }


def same_as_rows(dataset: Dataset) -> Iterator[Row]:
    """Other names, with the facet that said so and when."""
    held = dataset.facets.get("symlinks")
    for name in dict.fromkeys(dataset.symlinks()):
        assert held
        yield {
            "start": dataset_key(dataset.key),
            "end": dataset_key(name),
            "rule": "symlink",
            "since": format_time(held[0]),
            "event": held[1],
        }
    for name, time in dataset.renamed_from.items():
        yield {
            "start": dataset_key(dataset.key),
            "end": dataset_key(name),
            "rule": "rename",
            "since": format_time(time),
            "event": None,
        }


def label_rows(entity: Dataset | Job, key: str) -> Iterator[tuple[str, Row]]:
    """TAGGED and OWNED_BY."""
    for tag in tags_of(entity):
        yield "TAGGED", {"start": key, "end": key_of("tag", tag)}
    for owner in owners_of(entity):
        yield "OWNED_BY", {"start": key, "end": key_of("owner", owner)}
    if isinstance(entity, Dataset):
        for name, tags in column_tags_of(entity).items():
            for tag in tags:
                yield "TAGGED", {"start": column_key(entity.key, name), "end": key_of("tag", tag)}


def job_edge_rows(job: Job) -> Iterator[tuple[str, Row]]:
    for parent, evidence in job.parents.items():
        yield "PART_OF", {"start": job_key(job.key), "end": job_key(parent)} | evidence_properties(evidence)
    for earlier, evidence in job.after.items():
        yield "AFTER", {"start": job_key(job.key), "end": job_key(earlier)} | evidence_properties(evidence)


def run_edge_rows(run: Run) -> Iterator[tuple[str, Row]]:
    if run.job != NO_JOB:
        yield "RUN_OF", {"start": run_key(run.key), "end": job_key(run.job)}
    if run.parent:
        yield "CHILD_OF", {"start": run_key(run.key), "end": run_key(run.parent)}


def _node(label: str, row: Row) -> Element:
    return Element(label, row["key"], "", "", {name: value for name, value in row.items() if value not in (None, [])})


def _relationship(kind: str, row: Row) -> Element:
    held = {name: value for name, value in row.items() if value is not None and name not in ("start", "end")}
    return Element(kind, "", row["start"], row["end"], held)


def _described(entity: Dataset | Job) -> str | None:
    return _text(entity.facet("documentation").get("description"))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _time(ns: int | None) -> str | None:
    return None if ns is None else format_time(ns)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def _tag(tag: dict[str, Any]) -> str:
    """``key``, or ``key=value`` where the value is more than true; the same word for one tag everywhere."""
    key, value = tag.get("key") or tag.get("name"), tag.get("value")
    if not isinstance(key, str):
        return ""
    return key if value in (None, "", "true", "True", True) or not isinstance(value, str) else f"{key}={value}"
