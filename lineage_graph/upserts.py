"""An event becomes upserts: the only code that knows what a facet means (design 1.2).

:func:`upserts_of` is pure: no store, no clock, no cache in its result. What it returns are elements of the lattice in
:mod:`lineage_graph.model`, so any number of upserts join to the same graph in any order.

Facets are read leniently: a part that has not the shape of its schema is passed over, the facet itself is kept as sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern
from typing import Any

from lineage_graph.events import DatasetEvent, Event, JobEvent, RunEvent, canonical, run_uuid
from lineage_graph.model import (
    NO_JOB,
    ColumnMapping,
    ColumnSource,
    Dataset,
    DatasetKey,
    Evidence,
    Facets,
    Job,
    JobKey,
    Lineage,
    Run,
    RunInput,
    RunKey,
    RunOutput,
    Schema,
    Transformation,
    join_maps,
    later,
    shared_key,
)


@dataclass(slots=True)
class Upserts:
    """What one event, or a batch of them, adds: entities by key, each an element that joins."""

    datasets: dict[DatasetKey, Dataset] = field(default_factory=dict)
    jobs: dict[JobKey, Job] = field(default_factory=dict)
    runs: dict[RunKey, Run] = field(default_factory=dict)
    reads: dict[tuple[DatasetKey, JobKey], Evidence] = field(default_factory=dict)
    writes: dict[tuple[JobKey, DatasetKey], Evidence] = field(default_factory=dict)
    schemas: dict[tuple[DatasetKey, Schema], Evidence] = field(default_factory=dict)
    mappings: dict[str, ColumnMapping] = field(default_factory=dict)
    columns: set[tuple[DatasetKey, str]] = field(default_factory=set)
    newest: int | None = field(default=None, kw_only=True)
    """Newest event time."""

    def join(self, other: Upserts) -> Upserts:
        """Take in what another event added. The other one must not be used afterwards."""
        join_maps(self.datasets, other.datasets)
        join_maps(self.jobs, other.jobs)
        join_maps(self.runs, other.runs)
        join_maps(self.reads, other.reads)
        join_maps(self.writes, other.writes)
        join_maps(self.schemas, other.schemas)
        self.mappings |= other.mappings
        self.columns |= other.columns
        self.newest = later(self.newest, other.newest)
        return self


def upserts_of(event: Event) -> Upserts:
    """The nodes and edges that one event speaks of. Takes any event; raises nothing for odd facets."""
    return _Reader(event).read()


class _Reader:
    """Collects the upserts of one event; every stamp in them is the event's."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.time = event.event_time
        self.stamp = (event.event_time, event.digest)
        self.upserts = Upserts(newest=self.time)
        declared = not isinstance(event, RunEvent)
        self.evidence = Evidence(self.stamp, (*self.stamp, event.producer), declared, not declared)

    def read(self) -> Upserts:
        event = self.event
        if isinstance(event, RunEvent):
            self.run_event(event)
        elif isinstance(event, JobEvent):
            job = self.job(shared_key(event.job.namespace, event.job.name), "reported", event.job.facets)
            run = self.declaration(job.key)
            self.datasets(run, event.inputs or (), event.outputs or ())
            self.job_lineage(run, event.job.facets)
            self.settle(run)
        elif isinstance(event, DatasetEvent):
            self.dataset_event(event)
        return self.upserts

    # -- events

    def run_event(self, event: RunEvent) -> None:
        job = self.job(shared_key(event.job.namespace, event.job.name), "reported", event.job.facets)
        run = self.run((*job.key, event.run.run_id), "reported")
        run.facets = self.facets(event.run.facets)
        if event.run.given_id is not None:
            run.given_ids = frozenset([event.run.given_id])
        if event.event_type in ("START", "COMPLETE", "FAIL", "ABORT"):
            run.marks = frozenset([(self.time, event.event_type)])
        elif event.event_type == "RUNNING":
            run.alive = self.time
        if event.event_type != "OTHER":
            job.last_run = (self.time, event.run.run_id)
        self.containment(run, job, event.run.facets)
        self.dependencies(job, event.run.facets.get("jobDependencies"))
        self.datasets(run, event.inputs, event.outputs)
        self.job_lineage(run, event.job.facets)
        self.settle(run)

    def dataset_event(self, event: DatasetEvent) -> None:
        """A DatasetEvent declares the dataset; with a lineage facet it declares its sources too, with no job."""
        dataset = self.dataset(shared_key(event.dataset.namespace, event.dataset.name), "event", event.dataset.facets)
        change = _object(event.dataset.facets.get("lifecycleStateChange"))
        if change.get("lifecycleStateChange") == "DROP":
            dataset.dropped = self.time
        self.declared_sources(dataset.key, event.dataset.facets)

    def declared_sources(self, key: DatasetKey, facets: dict[str, Any]) -> None:
        """Lineage facets on a dataset that no job of this event writes."""
        if any(name in facets for name in _LINEAGE):
            run = self.declaration(NO_JOB)
            self.output(run, key, facets, _of_run(facets))
            self.settle(run)

    def declaration(self, job: JobKey) -> Run:
        """A declared edge counts like one successful execution at the event's time (design 5)."""
        run = self.run((*job, self.event.digest), "reported")
        run.declared = True
        return run

    def settle(self, run: Run) -> None:
        """Edges between the run's job and its datasets, once all of them are known."""
        for key in run.inputs:
            self.upserts.reads[key, run.job] = self.evidence
        for key in run.outputs:
            self.upserts.writes[run.job, key] = self.evidence

    # -- nodes

    def dataset(self, key: DatasetKey, role: str, facets: dict[str, Any] | None = None) -> Dataset:
        dataset = self.upserts.datasets.get(key)
        if dataset is None:
            dataset = self.upserts.datasets[key] = Dataset(key, self.time, self.time)
        dataset.roles |= {role}
        if facets:
            dataset.facets.update(self.facets(facets, leave_out=_LINEAGE))
            self.dataset_facets(dataset, facets)
        return dataset

    def job(self, key: JobKey, role: str, facets: dict[str, Any] | None = None) -> Job:
        job = self.upserts.jobs.get(key)
        if job is None:
            job = self.upserts.jobs[key] = Job(key, self.time, self.time)
        job.roles |= {role}
        if facets:
            job.facets.update(self.facets(facets))
        return job

    def run(self, key: RunKey, role: str) -> Run:
        run = self.upserts.runs.get(key)
        if run is None:
            run = self.upserts.runs[key] = Run(key, self.stamp, self.evidence.last)
        run.roles |= {role}
        return run

    def facets(self, facets: dict[str, Any], leave_out: Iterable[str] = ()) -> Facets:
        return {
            name: (
                *self.stamp,
                None if isinstance(content, dict) and content.get("_deleted") is True else canonical(content),
            )
            for name, content in facets.items()
            if name not in leave_out
        }

    # -- facets of datasets

    def dataset_facets(self, dataset: Dataset, facets: dict[str, Any]) -> None:
        schema = Schema.of(dataset.facets) if "schema" in facets else None
        if schema is not None and schema.fields:
            self.upserts.schemas[dataset.key, schema] = self.evidence
            self.upserts.columns.update((dataset.key, name) for name, _, _ in schema.fields)
        for tag in _objects(_object(facets.get("tags")).get("tags")):
            if _text(tag.get("field")):
                self.upserts.columns.add((dataset.key, tag["field"]))
        for other in _objects(_object(facets.get("symlinks")).get("identifiers")):
            if (name := _identifier(other)) and name != dataset.key:
                self.dataset(name, "symlink")
        change = _object(facets.get("lifecycleStateChange"))
        previous = _identifier(_object(change.get("previousIdentifier")))
        if change.get("lifecycleStateChange") == "RENAME" and previous and previous != dataset.key:
            self.dataset(previous, "renamed")
            dataset.renamed_from[previous] = self.time

    def datasets(self, run: Run, inputs: Iterable[Any], outputs: Iterable[Any]) -> None:
        for ref in inputs:
            dataset = self.dataset(shared_key(ref.namespace, ref.name), "input", ref.facets)
            own = self.facets(_of_run(ref.facets) | ref.input_facets)
            run.inputs.setdefault(dataset.key, RunInput(self.stamp, self.evidence.last)).facets.update(own)
            self.declared_sources(dataset.key, ref.facets)
        for ref in outputs:
            dataset = self.dataset(shared_key(ref.namespace, ref.name), "output", ref.facets)
            self.output(run, dataset.key, ref.facets, _of_run(ref.facets) | ref.output_facets)

    def output(self, run: Run, key: DatasetKey, facets: dict[str, Any], own: dict[str, Any]) -> None:
        output = run.outputs.setdefault(key, RunOutput(self.stamp, self.evidence.last))
        output.facets.update(self.facets(own))
        dataset = self.upserts.datasets[key]
        if output.lifecycle == "DROP":
            dataset.dropped = self.time
        elif not run.declared:
            dataset.written = self.time
        if isinstance(facets.get("columnLineage"), dict):
            output.columns = self.column_lineage(facets["columnLineage"], key)
        if isinstance(facets.get("lineage"), dict):
            output.explicit = self.explicit(facets["lineage"], key) or output.explicit

    # -- lineage

    def column_lineage(self, facet: dict[str, Any], target: DatasetKey) -> Lineage:
        """columnLineage 1-2-0: per field, and for the whole dataset; its older forms too."""
        if facet.get("_deleted") is True:
            return Lineage(*self.stamp, "", None)
        fields = {
            out: _sources(_objects(_object(entry).get("inputFields")), _object(entry))
            for out, entry in _object(facet.get("fields")).items()
        }
        return self.lineage(fields, _sources(_objects(facet.get("dataset")), {}), target)

    def lineage(self, fields: dict[str, list[ColumnSource]], whole: list[ColumnSource], target: DatasetKey) -> Lineage:
        mapping = _mapping(fields, whole)
        for key in mapping.sources:
            self.dataset(key, "column")
        if not mapping.fields and not mapping.whole_dataset:
            return Lineage(*self.stamp, "", None)
        self.upserts.mappings[mapping.digest] = mapping
        self.upserts.columns.update(mapping.columns(target))
        return Lineage(*self.stamp, mapping.digest, mapping.sources)

    def explicit(self, facet: dict[str, Any], target: DatasetKey) -> Lineage | None:
        """One target of a lineage facet 1-0-0: ``inputs: []`` is known to have no source, absence is unknown."""
        inputs, fields = facet.get("inputs"), _object(facet.get("fields"))
        if not isinstance(inputs, list) and not fields:
            return None
        entities = [entry for entry in _objects(inputs) if entry.get("type", "DATASET") == "DATASET"]
        by_field = {
            out: _sources([e for e in _objects(_object(entry).get("inputs")) if e.get("field")], {})
            for out, entry in fields.items()
        }
        lineage = self.lineage(by_field, _sources([entry for entry in entities if entry.get("field")], {}), target)
        named = {key for entry in entities if (key := _identifier(entry))}
        named |= {
            key
            for entry in fields.values()
            for source in _objects(_object(entry).get("inputs"))
            if source.get("type", "DATASET") == "DATASET" and (key := _identifier(source))
        }
        for key in named - {target}:
            self.dataset(key, "lineage")
        return lineage._replace(sources=tuple(sorted(named)))

    def job_lineage(self, run: Run, job_facets: dict[str, Any]) -> None:
        """The job form of the lineage facet: entries may name datasets that inputs and outputs lack."""
        facet = _object(job_facets.get("lineage"))
        if facet.get("_deleted") is True:
            return
        for entry in _objects(facet.get("entries")):
            target = _identifier(entry)
            if entry.get("type") == "JOB":
                self.job_entry(run, entry, target)
            elif target:
                self.dataset(target, "lineage")
                self.output(run, target, {"lineage": entry}, {})
                self.source_jobs(run, entry, target)

    def source_jobs(self, run: Run, entry: dict[str, Any], target: DatasetKey) -> None:
        """A job named as the source of a dataset writes it; from what is for that job's own events to say."""
        for source in _objects(entry.get("inputs")):
            key = _identifier(source)
            if source.get("type") == "JOB" and key and key != run.job:
                self.job(key, "lineage")
                self.upserts.writes[key, target] = self.evidence

    def job_entry(self, run: Run, entry: dict[str, Any], target: JobKey | None) -> None:
        """Data that flows into a job: that job reads the datasets named."""
        reader = run
        if target is not None and target != run.job:
            self.job(target, "lineage")
            reader = self.run((*target, self.event.digest), "reported")
            reader.declared = True
        for source in _objects(entry.get("inputs")):
            key = _identifier(source)
            if source.get("type", "DATASET") == "DATASET" and key:
                self.dataset(key, "lineage")
                reader.inputs.setdefault(key, RunInput(self.stamp, self.evidence.last))
        if reader is not run:
            self.settle(reader)

    # -- runs among each other

    def containment(self, run: Run, job: Job, facets: dict[str, Any]) -> None:
        """Parent and root: containment of runs and of jobs. Facets forwarded on it never reach the parent's own."""
        parent = _object(facets.get("parent") if facets.get("parent") is not None else facets.get("parentRun"))
        for role, facet in (("parent", parent), ("root", _object(parent.get("root")))):
            run_id = _object(facet.get("run")).get("runId")
            key = _identifier(_object(facet.get("job")))
            if key is None or not isinstance(run_id, str) or not run_id:
                continue
            container = self.run((*key, run_uuid(run_id)), role)
            if run_uuid(run_id) != run_id.lower():
                container.given_ids = frozenset([run_id])
            self.job(key, role)
            if role == "parent" and container.key != run.key:
                run.contained_in = (*self.stamp, container.key)
                if key != job.key:
                    job.parents[key] = self.evidence

    def dependencies(self, job: Job, facet: Any) -> None:
        for direction in ("upstream", "downstream"):
            for entry in _objects(_object(facet).get(direction)):
                key = _identifier(_object(entry.get("job")))
                if key is None or key == job.key:
                    continue
                other = self.job(key, "dependency")
                later, earlier = (job, other) if direction == "upstream" else (other, job)
                later.after[earlier.key] = self.evidence


_LINEAGE = ("columnLineage", "lineage")
"""Facets that become edges; what they say is held there."""


def _of_run(facets: dict[str, Any]) -> dict[str, Any]:
    """Facets of a dataset that also speak of the one read or write they came with."""
    return {name: facets[name] for name in ("lifecycleStateChange", "version") if name in facets}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _identifier(value: dict[str, Any]) -> tuple[str, str] | None:
    namespace, name = value.get("namespace"), value.get("name")
    if isinstance(namespace, str) and isinstance(name, str) and namespace and name:
        return shared_key(namespace, name)
    return None


@lru_cache(maxsize=1_000)
def _transformation(kind: str, subtype: str, description: str, masking: bool) -> Transformation:
    """One object for equal transformations: a thousand columns say the same."""
    return Transformation(kind, subtype, description, masking)


def _transformations(entry: dict[str, Any], older: dict[str, Any]) -> Iterator[Transformation]:
    held = _objects(entry.get("transformations"))
    for t in held:
        masking = t.get("masking") is True
        yield _transformation(_text(t.get("type")), _text(t.get("subtype")), _text(t.get("description")), masking)
    if not held and (kind := _text(older.get("transformationType"))):
        yield _transformation("DIRECT", kind, _text(older.get("transformationDescription")), kind == "MASKED")


def _sources(entries: list[dict[str, Any]], older: dict[str, Any]) -> list[ColumnSource]:
    """Sources of one field, equal ones joined. ``older`` is the entry that may hold the deprecated per-field form."""
    found: dict[tuple[DatasetKey, str], set[Transformation]] = {}
    for entry in entries:
        key, column = _identifier(entry), entry.get("field")
        if key is not None and isinstance(column, str) and column:
            found.setdefault((key, intern(column)), set()).update(_transformations(entry, older))
    return [ColumnSource(*named, tuple(sorted(found[named]))) for named in sorted(found)]


def _mapping(fields: dict[str, list[ColumnSource]], whole: list[ColumnSource]) -> ColumnMapping:
    """Indirect transformations that every mapped field repeats are held once (design 3), not once a field."""
    repeated: set[tuple[DatasetKey, str, Transformation]] = set()
    if len(fields) > 1:
        of_each = map(_indirect, fields.values())
        repeated = next(of_each)
        for others in of_each:
            if not repeated:
                break
            repeated &= others
    kept = tuple((out, tuple(_without(fields[out], repeated))) for out in sorted(fields) if out)
    return ColumnMapping(kept, _grouped(repeated), tuple(whole))


def _indirect(sources: list[ColumnSource]) -> set[tuple[DatasetKey, str, Transformation]]:
    return {(s.dataset, s.field, t) for s in sources for t in s.transformations if t.type == "INDIRECT"}


def _without(
    sources: list[ColumnSource], repeated: set[tuple[DatasetKey, str, Transformation]]
) -> Iterable[ColumnSource]:
    if not repeated:
        return sources
    left = [
        source._replace(
            transformations=tuple(
                t for t in source.transformations if (source.dataset, source.field, t) not in repeated
            )
        )
        for source in sources
    ]
    return [
        source
        for source, given in zip(left, sources, strict=True)
        if source.transformations or not given.transformations
    ]


def _grouped(found: set[tuple[DatasetKey, str, Transformation]]) -> tuple[ColumnSource, ...]:
    grouped: dict[tuple[DatasetKey, str], list[Transformation]] = {}
    for dataset, column, transformation in sorted(found):
        grouped.setdefault((dataset, column), []).append(transformation)
    return tuple(ColumnSource(*key, tuple(transformations)) for key, transformations in grouped.items())
