"""The embedded store: the graph in memory, as entities with compact adjacency; cuts and exports are NetworkX graphs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import zstandard

from lineage_graph.elements import Element, elements_of
from lineage_graph.model import (
    NOTHING,
    ColumnMapping,
    Dataset,
    DatasetKey,
    Evidence,
    ExecutionKey,
    Flow,
    Job,
    JobKey,
    OutputKey,
    Run,
    RunKey,
    Schema,
    later,
)
from lineage_graph.names import standing_of
from lineage_graph.projection import Changes, Output, Use, UseKey, fold
from lineage_graph.snapshot import KINDS, Part, Snapshots
from lineage_graph.steps import StepMemory, StepView, Touched
from lineage_graph.store import Found, Neighbourhood, found_in
from lineage_graph.upserts import Upserts

_SAVED_EVERY, _WORTH_SAVING = 100_000, 500
"""Events merged after which the graph is saved while it goes on, and when it is closed."""

K = TypeVar("K")
V = TypeVar("V")


@lru_cache(maxsize=4_096)
def _mapping(compressed: bytes) -> ColumnMapping:
    return ColumnMapping.of_content(zstandard.decompress(compressed))


def _held(held: dict[K, V], keys: Iterable[K]) -> dict[K, V]:
    return {key: held[key] for key in keys if key in held}


@contextmanager
def _without_collector() -> Iterator[None]:
    """All that is made here stays; looking through it for garbage would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Graph:
    """What the store holds: the fold's :class:`~lineage_graph.projection.Reader` and a cut's neighbourhood."""

    def __init__(self) -> None:
        self._datasets: dict[DatasetKey, Dataset] = {}
        self._jobs: dict[JobKey, Job] = {}
        self._runs: dict[RunKey, Run] = {}
        self._outputs: dict[OutputKey, Output] = {}
        self._uses: dict[OutputKey, dict[str, Use]] = {}
        self._reads: dict[tuple[DatasetKey, JobKey], Evidence] = {}
        self._schemas: dict[tuple[DatasetKey, str], tuple[Schema, Evidence]] = {}
        self._flows: dict[str, Flow] = {}
        self._mappings: dict[str, bytes] = {}
        """Content of each, compressed: a fiftieth of the memory of what it says."""
        self._columns: dict[DatasetKey, dict[str, None]] = {}
        self._execution_of: dict[RunKey, ExecutionKey] = {}
        self._runs_by_execution: dict[ExecutionKey, dict[RunKey, None]] = {}
        self._runs_by_output: dict[OutputKey, dict[RunKey, None]] = {}
        self._runs_by_id: dict[str, dict[RunKey, None]] = {}
        self._flows_by_source: dict[DatasetKey, dict[str, None]] = {}
        self._outputs_by_flow: dict[str, dict[OutputKey, None]] = {}
        self._outputs_by_job: dict[JobKey, dict[OutputKey, None]] = {}
        self._writers: dict[DatasetKey, dict[JobKey, None]] = {}
        self._names: dict[DatasetKey, frozenset[DatasetKey]] = {}
        self._named_by: dict[DatasetKey, dict[DatasetKey, None]] = {}
        self.steps = StepMemory()

    @property
    def memory(self) -> StepView:
        return self.steps.look()

    def expect(self, keys: Iterable[DatasetKey], downstream: bool) -> None:
        """All of it is at hand."""

    def datasets(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, Dataset]:
        return _held(self._datasets, keys)

    def jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, Job]:
        return _held(self._jobs, keys)

    def runs(self, keys: Iterable[RunKey]) -> dict[RunKey, Run]:
        return _held(self._runs, keys)

    def outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, Output]:
        return _held(self._outputs, keys)

    def uses(self, keys: Iterable[UseKey]) -> dict[UseKey, Use]:
        return {key: self._uses[key[0]][key[1]] for key in keys if key[1] in self._uses.get(key[0], ())}

    def reads(self, keys: Iterable[tuple[DatasetKey, JobKey]]) -> dict[tuple[DatasetKey, JobKey], Evidence]:
        return _held(self._reads, keys)

    def schemas(self, keys: Iterable[tuple[DatasetKey, str]]) -> dict[tuple[DatasetKey, str], Evidence]:
        return {key: self._schemas[key][1] for key in keys if key in self._schemas}

    def expect_executions(self, executions: Iterable[ExecutionKey]) -> None:
        """All of them are at hand."""

    def runs_of_execution(self, execution: ExecutionKey) -> Iterable[Run]:
        return [self._runs[key] for key in self._runs_by_execution.get(execution, ())]

    def runs_of_output(self, output: OutputKey) -> Iterable[Run]:
        return [self._runs[key] for key in self._runs_by_output.get(output, ())]

    def flows(self, digests: Iterable[str]) -> dict[str, Flow]:
        return _held(self._flows, digests)

    def mappings(self, digests: Iterable[str]) -> dict[str, ColumnMapping]:
        return {digest: _mapping(content) for digest, content in _held(self._mappings, digests).items()}

    def alias_claims(self, keys: Iterable[DatasetKey]) -> set[DatasetKey]:
        return {other for key in keys for other in (*self._names.get(key, ()), *self._named_by.get(key, ()))}

    def fed_by(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        return {key: list(self._flows_by_source[key]) for key in keys if key in self._flows_by_source}

    def outputs_of_flows(self, digests: Iterable[str]) -> dict[str, list[OutputKey]]:
        return {digest: list(self._outputs_by_flow.get(digest, ())) for digest in digests}

    def writers(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[JobKey]]:
        return {key: list(self._writers[key]) for key in keys if key in self._writers}

    def uses_of_outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, dict[str, Use]]:
        return _held(self._uses, keys)

    def known_columns(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        return {key: sorted(self._columns[key]) for key in keys if key in self._columns}

    def outputs_of_jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, list[OutputKey]]:
        return {key: list(self._outputs_by_job.get(key, ())) for key in keys}

    def put(self, changes: Changes) -> None:
        """Take in what a fold changed; entities are the ones held already, or new."""
        self._reads.update(changes.reads)
        self._schemas.update(changes.schemas)
        compress = zstandard.ZstdCompressor(level=1).compress
        self._mappings.update(
            (digest, compress(mapping.content))
            for digest, mapping in changes.mappings.items()
            if digest not in self._mappings
        )
        self._jobs.update(changes.jobs)
        self._datasets.update(changes.datasets)
        self._runs.update(changes.runs)
        self._outputs.update(changes.outputs)
        for name, column in changes.columns:
            self._columns.setdefault(name, {})[column] = None
        for dataset in changes.datasets.values():
            self._index_names(dataset.key, frozenset(dataset.other_names()))
        for run in changes.runs.values():
            self._index_run(run.key, run)
        for output in changes.outputs:
            self._outputs_by_job.setdefault(output[0], {})[output] = None
            if output[1] != NOTHING:
                self._writers.setdefault(output[1], {})[output[0]] = None
        for (output, digest), use in changes.uses.items():
            if use is None:
                self._drop_use(output, digest)
                continue
            self._uses.setdefault(output, {})[digest] = use
            if digest in changes.flows:
                self._flows[digest] = changes.flows[digest]
                self._outputs_by_flow.setdefault(digest, {})[output] = None
                for source, _ in changes.flows[digest].sources:
                    self._flows_by_source.setdefault(source, {})[digest] = None

    def touched(self, changes: Changes) -> Touched:
        """What steps a change may reach: those of all that the jobs concerned read and write, or make."""
        jobs = {output[0] for output in changes.outputs}
        digests = {digest for output in changes.outputs for digest in self._uses.get(output, ())}
        flows = [*changes.flows.values(), *_held(self._flows, digests).values()]
        near = {*changes.datasets, *(output[1] for output in changes.outputs)}
        near.update(source for flow in flows for source, _ in flow.sources)
        return Touched(near, jobs, standing_of(self, changes.datasets))

    def _index_run(self, key: RunKey, run: Run) -> None:
        before, execution = self._execution_of.get(key), run.execution
        if before != execution:
            if before is not None:
                del self._runs_by_execution[before][key]
            self._execution_of[key] = execution
            self._runs_by_execution.setdefault(execution, {})[key] = None
        self._runs_by_id.setdefault(key[2], {})[key] = None
        for dataset in (*run.outputs, NOTHING):
            self._runs_by_output.setdefault((run.job, dataset), {})[key] = None

    def _index_names(self, key: DatasetKey, names: frozenset[DatasetKey]) -> None:
        before = self._names.get(key, frozenset())
        for gone in before - names:
            del self._named_by[gone][key]
        for new in names - before:
            self._named_by.setdefault(new, {})[key] = None
        if names:
            self._names[key] = names
        else:
            self._names.pop(key, None)

    def _drop_use(self, output: OutputKey, digest: str) -> None:
        self._uses.get(output, {}).pop(digest, None)
        outputs = self._outputs_by_flow.get(digest)
        if outputs is None:
            return
        outputs.pop(output, None)
        if not outputs:
            del self._outputs_by_flow[digest]
            for source, _ in self._flows.pop(digest).sources:
                del self._flows_by_source[source][digest]

    def parts(self) -> Iterator[Part]:
        """What is held, by the kinds of :data:`~lineage_graph.snapshot.KINDS`."""
        for kind in KINDS:
            yield kind, getattr(self, f"_{kind}")

    def fill(self, kind: str, part: dict[Any, Any]) -> None:
        """Take back what :meth:`parts` gave."""
        if kind in ("datasets", "jobs", "runs", "outputs", "reads", "schemas"):
            changes = Changes()
            setattr(changes, kind, part)
            self.put(changes)
        elif kind == "uses":
            uses = {(output, digest): use for output, held in part.items() for digest, use in held.items()}
            self.put(Changes(uses=uses, flows=_held(self._flows, {digest for _, digest in uses})))
        else:
            getattr(self, f"_{kind}").update(part)

    def all_changes(self) -> Changes:
        """Everything held, in the shape of a change to an empty store."""
        used = {digest for uses in self._uses.values() for digest in uses}
        return Changes(
            self._datasets,
            self._jobs,
            self._runs,
            self._outputs,
            {(output, digest): use for output, uses in self._uses.items() for digest, use in uses.items()},
            self._reads,
            self._schemas,
            self._flows,
            self.mappings(used),
            {(dataset, name) for dataset, names in self._columns.items() for name in names},
        )


class NetworkXStore:
    """The :class:`~lineage_graph.store.Store` in memory. One merge at a time; a cut waits for it and sees all of it."""

    def __init__(self, snapshots: Snapshots | None = None) -> None:
        self._graph = _Graph()
        self._lock = threading.RLock()
        self.applied = 0
        self.newest_event: int | None = None
        self._snapshots = snapshots
        self._saved = 0
        """Offset of the newest snapshot."""
        if snapshots is not None:
            self._take_back(snapshots)

    def _take_back(self, snapshots: Snapshots) -> None:
        with _without_collector():
            found = snapshots.load()
            if found is not None:
                header, parts = found
                for kind, part in parts:
                    self._graph.fill(kind, part)
                self.applied = self._saved = header.applied
                self.newest_event = header.newest

    def _save(self, worth: int) -> None:
        """Save the graph if so many events at least were merged since it was."""
        if self._snapshots is not None and self.applied - self._saved >= worth:
            with _without_collector():
                self._snapshots.save(self.applied, self.newest_event, self._graph.parts())
            self._saved = self.applied

    def merge(self, upserts: Upserts, offset: int) -> None:
        with self._lock:
            try:
                changes = fold(upserts, self._graph)
                self._graph.put(changes)
                self._graph.steps.touched(self._graph.touched(changes))
            except BaseException:
                # What is held may be changed in part; whoever keeps the journal fills an empty store again.
                self._graph, self.applied, self.newest_event = _Graph(), 0, None
                raise
            self.applied = max(self.applied, offset)
            self.newest_event = later(self.newest_event, upserts.newest)
            self._save(_SAVED_EVERY)

    @contextmanager
    def look(self) -> Iterator[Neighbourhood]:
        """The held graph itself."""
        with self._lock:
            yield self._graph

    def ping(self) -> None:
        """Memory answers."""

    def run_keys(self, run_id: str) -> list[RunKey]:
        with self._lock:
            return sorted(self._graph._runs_by_id.get(run_id, ()))

    def search(self, text: str, kinds: Iterable[str], namespace: str | None) -> list[Found]:
        with self._lock:
            return found_in(self._graph._datasets, self._graph._jobs, text, kinds, namespace)

    def elements(self) -> Iterator[Element]:
        """Every node and relationship, as the Neo4j store would hold it."""
        with self._lock:
            yield from elements_of(self._graph.all_changes())

    def changes(self) -> Changes:
        """The whole graph, in the shape of a change to an empty store."""
        with self._lock:
            return self._graph.all_changes()

    def held(self) -> Iterator[Element]:
        return self.elements()

    def expected(self, changes: Changes) -> Iterator[Element]:
        return elements_of(changes)

    def drop(self) -> None:
        with self._lock:
            if self._snapshots is not None:
                self._snapshots.forget()
            self._graph, self.applied, self.newest_event, self._saved = _Graph(), 0, None, 0

    def other_journals(self) -> dict[str, int]:
        """None: memory is this process's own."""
        return {}

    def close(self) -> None:
        with self._lock:
            self._save(_WORTH_SAVING)
