"""How a fold's changes are written to Neo4j: rows for the queries of the Cypher library, only where text differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lineage_graph import elements, packing
from lineage_graph.elements import Row
from lineage_graph.model import NO_JOB, NOTHING, Dataset, DatasetKey, OutputKey, Run, key_of
from lineage_graph.projection import Changes, Output

_ROWS = 5_000
_TIMES = ("first_seen", "last_seen", "started_at", "ended_at", "at", "since")


def _row(row: Row, **more: Any) -> Row:
    """Keys and times apart from the other properties, as the queries take them."""
    properties = {name: value for name, value in row.items() if name not in ("key", "start", "end", *_TIMES)}
    kept = {name: row[name] for name in ("key", "start", "end", *_TIMES) if name in row}
    return kept | {"properties": properties} | more


def _fields(dataset: Dataset) -> dict[str, tuple[int, str]]:
    """Place and type by the name of each column that the schema lists."""
    return {path: (position, kind) for position, (path, kind, _) in enumerate(elements.schema_fields(dataset))}


class Writer:
    """Writes one fold's changes in one transaction; ``before`` is the packed text read in it, by node key."""

    def __init__(self, ask: Callable[..., Any], before: dict[str, Any]) -> None:
        self._ask = ask
        self._before = before
        self.turned: set[str] = set()
        """Digests of flows that became current, or ceased to be."""

    def write(self, changes: Changes) -> None:
        self._nodes(changes)
        self._runs(changes)
        self._columns(changes)
        self._current(changes)
        self._lost(changes)

    def _send(self, name: str, rows: Iterable[Row]) -> None:
        ordered = sorted(rows, key=lambda row: (row.get("key", ""), row.get("start", ""), row.get("end", "")))
        for first in range(0, len(ordered), _ROWS):
            self._ask(name, rows=ordered[first : first + _ROWS])

    # -- datasets and jobs

    def _nodes(self, changes: Changes) -> None:
        namespaces = {key[0] for key in (*changes.datasets, *changes.jobs)}
        self._send("upsert_namespaces", ({"key": key_of("namespace", name), "name": name} for name in namespaces))
        datasets, facets_of = self._entities(changes.datasets.values(), elements.dataset_row, packing.pack_dataset)
        self._send("upsert_datasets", datasets)
        jobs, facets_of_jobs = self._entities(changes.jobs.values(), elements.job_row, packing.pack_job)
        self._send("upsert_jobs", jobs)
        self._labels("dataset", facets_of)
        self._labels("job", facets_of_jobs)
        self._aliases(changes.datasets.values())
        edges = [edge for job in changes.jobs.values() for edge in elements.job_edge_rows(job)]
        self._send("link_jobs_to_parents", (_row(row) for kind, row in edges if kind == "PART_OF"))
        self._send("link_jobs_to_dependencies", (_row(row) for kind, row in edges if kind == "AFTER"))
        reads = []
        for (dataset, job), evidence in changes.reads.items():
            row = {"start": elements.dataset_key(dataset), "end": elements.job_key(job)}
            text = packing.pack(packing.evidence_out(evidence))
            if self._before.get(f"{row['start']} {row['end']}") != text:
                reads.append(_row(row | elements.evidence_properties(evidence), record=text))
        self._send("upsert_reads", reads)

    def _entities(
        self, entities: Iterable[Any], row_of: Callable[[Any], Row], pack: Callable[[Any], tuple[str, str]]
    ) -> tuple[list[Row], list[Any]]:
        """Rows of those that changed, and those of them whose facets have another content than before."""
        rows, with_facets = [], []
        for entity in entities:
            row, (record, facets) = row_of(entity), pack(entity)
            old_record, old_facets = self._before.get(row["key"], (None, None))
            if facets != old_facets:
                with_facets.append(entity)
            if (record, facets) != (old_record, old_facets):
                search = elements.searched(entity.key[1])
                changed = facets if facets != old_facets else None
                rows.append(_row(row | {"search": search}, record=record, facets=changed))
        return rows, with_facets

    def _labels(self, kind: str, entities: list[Any]) -> None:
        """Tags and owners of entities whose facets changed."""
        key_of_entity = elements.dataset_key if kind == "dataset" else elements.job_key
        if not entities:
            return
        self._ask(f"remove_labels_of_{kind}s", keys=sorted(key_of_entity(entity.key) for entity in entities))
        rows: dict[str, list[Row]] = {}
        for entity in entities:
            key = key_of_entity(entity.key)
            for tag in elements.tags_of(entity):
                rows.setdefault(f"tag_{kind}s", []).append({"start": key, "end": key_of("tag", tag), "name": tag})
            for owner in elements.owners_of(entity):
                rows.setdefault(f"own_{kind}s", []).append({"start": key, "end": key_of("owner", owner), "name": owner})
        for name, some in rows.items():
            self._send(name, some)

    def _aliases(self, datasets: Iterable[Dataset]) -> None:
        """Names are replaced whole where the newest facet, or its stamp, is another one."""
        keys, rows = [], []
        for dataset in datasets:
            given = list(elements.same_as_rows(dataset))
            old = self._before.get(elements.dataset_key(dataset.key))
            if given or (old is not None and packing.names_given(old)):
                keys.append(elements.dataset_key(dataset.key))
                rows += [_row(row) for row in given]
        if keys:
            self._ask(
                "replace_aliases",
                keys=sorted(keys),
                rows=sorted(rows, key=lambda row: (row["start"], row["end"])),
            )

    # -- runs

    def _runs(self, changes: Changes) -> None:
        changed = []
        rows: dict[bool, list[Row]] = {False: [], True: []}
        for run in changes.runs.values():
            row, text = elements.run_row(run), packing.pack_run(run)
            if self._before.get(row["key"]) != text:
                changed.append(run)
                execution = key_of("execution", *run.execution[0], run.execution[1])
                rows[run.declared].append(_row(row | {"execution": execution}, record=text))
        self._send("upsert_runs", rows[False])
        self._send("upsert_declarations", rows[True])
        for declared, suffix in ((False, "runs"), (True, "declarations")):
            some = [run for run in changed if run.declared is declared]
            self._run_edges(some, suffix)

    def _run_edges(self, runs: list[Run], suffix: str) -> None:
        accesses = [edge for run in runs for edge in elements.run_dataset_rows(run)]
        self._send(f"upsert_run_reads_of_{suffix}", (_row(row) for kind, row in accesses if kind == "READ"))
        self._send(f"upsert_run_writes_of_{suffix}", (_row(row) for kind, row in accesses if kind == "WROTE"))
        links = [edge for run in runs for edge in elements.run_edge_rows(run)]
        self._send(f"link_{suffix}_to_jobs", (row for kind, row in links if kind == "RUN_OF"))
        if suffix == "runs":
            self._send("link_runs_to_parents", (row for kind, row in links if kind == "CHILD_OF"))

    # -- columns

    def _columns(self, changes: Changes) -> None:
        self._send("upsert_columns", self._new_columns(changes))
        written = {digest for (output, digest) in changes.uses if elements.use_key(output, digest) in self._before}
        self._send(
            "upsert_mappings",
            (
                {"key": digest, "content": packing.pack_mapping(mapping)}
                for digest, mapping in changes.mappings.items()
                if digest not in written
            ),
        )
        schemas = []
        for (dataset, digest), (schema, evidence) in changes.schemas.items():
            key, text = key_of("schema", *dataset, digest), packing.pack(packing.evidence_out(evidence))
            if self._before.get(key) != text:
                row = {"key": key, "fields": [name for name, _, _ in schema.fields]}
                row |= elements.evidence_properties(evidence)
                schemas.append(_row(row, record=text, dataset=elements.dataset_key(dataset)))
        self._send("upsert_schemas", schemas)
        listed, tagged = [], []
        for changed in changes.datasets.values():
            if not self._facets_changed(changed):
                continue
            listed += self._listed_otherwise(changed)
            tagged += [
                {"start": elements.column_key(changed.key, column), "end": key_of("tag", tag), "name": tag}
                for column, tags in elements.column_tags_of(changed).items()
                for tag in tags
            ]
        self._send("list_columns", listed)
        self._send("tag_columns", tagged)

    def _new_columns(self, changes: Changes) -> list[Row]:
        """Columns that neither the schema as it was nor a mapping already reported has named: a job that reports the
        same thousand columns each hour writes none."""
        known = {
            column
            for (output, digest), use in changes.uses.items()
            if use is not None and digest in changes.mappings and elements.use_key(output, digest) in self._before
            for column in changes.mappings[digest].columns(output[1])
        }
        named: dict[DatasetKey, list[str]] = {}
        for key, name in changes.columns - known:
            named.setdefault(key, []).append(name)
        rows = []
        for key, names in named.items():
            before = self._fields_before(changes.datasets[key])
            new = [name for name in names if name not in before]
            for name, listed in zip(new, elements.has_column_rows(changes.datasets[key], new), strict=True):
                rows.append(elements.column_row(key, name) | {k: listed[k] for k in ("listed", "position", "type")})
        return rows

    def _listed_otherwise(self, dataset: Dataset) -> list[Row]:
        """Columns whose place in the schema is another than before; a new dataset's are written with theirs."""
        if elements.dataset_key(dataset.key) not in self._before:
            return []
        before, now = self._fields_before(dataset), _fields(dataset)
        names = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
        return list(elements.has_column_rows(dataset, names))

    def _facets_changed(self, dataset: Dataset) -> bool:
        old = self._before.get(elements.dataset_key(dataset.key))
        return old is None or old[1] != packing.pack_dataset(dataset)[1]

    def _fields_before(self, dataset: Dataset) -> dict[str, tuple[int, str]]:
        old = self._before.get(elements.dataset_key(dataset.key))
        return _fields(packing.unpack_dataset(dataset.key, *old)) if old is not None else {}

    # -- what is current

    def _current(self, changes: Changes) -> None:
        first_used = self._first_used(changes)
        flows = {digest: flow for digest, flow in changes.flows.items() if digest in first_used}
        self._send(
            "upsert_flows",
            (
                {
                    "key": elements.flow_key(digest),
                    "digest": digest,
                    "job": elements.job_key(flow.job),
                    "content": packing.pack_flow(flow),
                }
                for digest, flow in flows.items()
            ),
        )
        self._send(
            "link_sources_to_flows",
            (
                {"start": elements.dataset_key(source), "end": elements.flow_key(digest), "rule": rule}
                for digest, flow in flows.items()
                for source, rule in flow.sources
            ),
        )
        outputs, writes = [], []
        for output in changes.outputs.values():
            key, text = elements.output_key(output.key), packing.pack_output(output)
            if self._before.get(key) == text:
                continue
            outputs.append(
                {
                    "key": key,
                    "job": elements.job_key(output.key[0]),
                    "dataset": elements.dataset_key(output.key[1]),
                    "parts": [*output.key[0], *output.key[1]],
                    "record": text,
                }
            )
            if output.evidence is not None and output.key[0] != NO_JOB:
                writes.append(_row(elements.writes_row(output)))
        self._send("upsert_outputs", outputs)
        self._send("upsert_writes", writes)
        self._evidence(changes)
        self._marks(changes)

    def _first_used(self, changes: Changes) -> set[str]:
        """Digests of flows and mappings that some output is first reported with."""
        return {
            digest
            for (output, digest), use in changes.uses.items()
            if use is not None and elements.use_key(output, digest) not in self._before
        }

    def _evidence(self, changes: Changes) -> None:
        evidence: list[Row] = []
        feeds: list[Row] = []
        edges: dict[str, list[Row]] = {"DERIVES": [], "INFLUENCES": []}
        for (key, digest), use in changes.uses.items():
            if use is None:
                continue
            row, text = elements.evidence_row(key, digest, use), packing.pack_use(use)
            before = self._before.get(row["key"])
            if before == text:
                continue
            parts = [*key[0], *key[1]]
            evidence.append(_row(row, record=text, output=elements.output_key(key), digest=digest, parts=parts))
            output = changes.outputs[key]
            if digest in changes.mappings:
                if before is None:
                    current = digest in elements.current_mappings(output)
                    for kind, edge in elements.column_edge_rows(key, changes.mappings[digest], current):
                        edges[kind].append(_row(edge))
            elif key[1] != NOTHING and digest in changes.flows:
                how = elements.current_flows(output).get(digest)
                feeds.append(_row(elements.feeds_row(key, digest, use, how)))
        self._send("upsert_evidence", evidence)
        self._send("upsert_feeds", feeds)
        self._send("create_derives", edges["DERIVES"])
        self._send("create_influences", edges["INFLUENCES"])

    def _marks(self, changes: Changes) -> None:
        """Edges that became current, or ceased to be, by another run than the ones that reported them now."""
        feeds, columns = [], []
        for output in changes.outputs.values():
            old_text = self._before.get(elements.output_key(output.key))
            old = packing.unpack_output(output.key, old_text) if old_text else Output(output.key)
            turned = self._turned(output, old)
            self.turned |= turned.keys()
            if output.key[1] != NOTHING:
                end = elements.dataset_key(output.key[1])
                feeds += [
                    {"start": elements.flow_key(digest), "end": end, "current": how is not None, "how": how}
                    for digest, how in turned.items()
                ]
            was, now = elements.current_mappings(old), elements.current_mappings(output)
            columns += [
                {"evidence": elements.use_key(output.key, digest), "current": digest in now} for digest in was ^ now
            ]
        self._send("mark_feeds", feeds)
        self._send("mark_derives", columns)
        self._send("mark_influences", columns)

    @staticmethod
    def _turned(output: Output, old: Output) -> dict[str, str | None]:
        """Flows that count otherwise than before: digest -> how they count now."""
        was, now = elements.current_flows(old), elements.current_flows(output)
        return {digest: now.get(digest) for digest in was.keys() | now.keys() if was.get(digest) != now.get(digest)}

    def _lost(self, changes: Changes) -> None:
        lost: list[tuple[OutputKey, str]] = [key for key, use in changes.uses.items() if use is None]
        if not lost:
            return
        self._send(
            "delete_evidence",
            (
                {
                    "key": elements.use_key(*key),
                    "flow": elements.flow_key(key[1]),
                    "dataset": elements.dataset_key(key[0][1]),
                }
                for key in lost
            ),
        )
        self._ask("delete_flows", digests=sorted({digest for _, digest in lost}))
