"""The store on Neo4j 5: the same fold as the embedded store's, over entities kept on the nodes (see ``cypher/``).

Each node carries its entity as packed text beside readable properties. A merge is one managed transaction: it locks
the jobs and datasets it touches in sorted order, folds, and writes what the fold changed; text that is equal to what
was read is not written. Two writers therefore wait for each other, and the graph is the same as one writer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import neo4j
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from lineage_graph import elements, neo4j_whole, packing
from lineage_graph.cypher import query
from lineage_graph.elements import Element
from lineage_graph.errors import StoreUnavailable
from lineage_graph.model import (
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
    key_of,
    later,
)
from lineage_graph.names import standing_of
from lineage_graph.neo4j_write import Writer
from lineage_graph.projection import Changes, Output, Use, UseKey, fold
from lineage_graph.steps import StepMemory, StepView, Touched
from lineage_graph.store import Found, Neighbourhood, found_in
from lineage_graph.upserts import Upserts

_ROWS = 5_000
"""Rows sent in one UNWIND."""

K = TypeVar("K")
V = TypeVar("V")


def execution_key(execution: ExecutionKey) -> str:
    return key_of("execution", *execution[0], execution[1])


def _output(parts: list[str]) -> OutputKey:
    return (parts[0], parts[1]), (parts[2], parts[3])


class _Graph:
    """The stored graph as seen from one transaction; remembers what it fetched, so nothing is asked twice."""

    def __init__(self, transaction: neo4j.Transaction | neo4j.ManagedTransaction, memory: StepView) -> None:
        self._transaction = transaction
        self.memory = memory
        self._memory: dict[str, dict[Any, Any]] = {}
        self.texts: dict[str, Any] = {}
        """Packed text by node key, as it was read."""

    def ask(self, name: str, **parameters: Any) -> list[list[Any]]:
        """The rows of a query of the library; none for one that only writes."""
        asked = query(name)
        if not asked.columns:
            self._transaction.run(asked.text, parameters).consume()
            return []
        rows: list[list[Any]] = self._transaction.run(asked.gathered, parameters).single(strict=True)["rows"]
        return rows

    def _fetch(self, what: str, keys: Iterable[K], fetch: Callable[[list[K]], dict[K, V]]) -> dict[K, V]:
        memory = self._memory.setdefault(what, {})
        keys = list(dict.fromkeys(keys))
        missing = [key for key in keys if key not in memory]
        for first in range(0, len(missing), _ROWS):
            chunk = missing[first : first + _ROWS]
            found = fetch(chunk)
            memory.update({key: found.get(key) for key in chunk})
        return {key: memory[key] for key in keys if memory[key] is not None}

    def _entities(self, name: str, keys: list[K], key_text: Callable[[K], str], unpack: Callable[..., V]) -> dict[K, V]:
        by_text = {key_text(key): key for key in keys}
        found: dict[K, V] = {}
        for key, *texts in self.ask(name, keys=sorted(by_text)):
            if texts[0] is not None:
                self.texts[key] = tuple(texts) if len(texts) > 1 else texts[0]
                found[by_text[key]] = unpack(by_text[key], *texts)
        return found

    def lock(self, datasets: Iterable[DatasetKey], jobs: Iterable[JobKey]) -> None:
        """Take the write locks of a merge, and read what they guard."""
        for what, keys, name, text, unpack in (
            ("jobs", jobs, "lock_jobs", elements.job_key, packing.unpack_job),
            ("datasets", datasets, "lock_datasets", elements.dataset_key, packing.unpack_dataset),
        ):
            wanted = list(keys)
            found = self._entities(name, wanted, text, unpack) if wanted else {}
            self._memory[what] = {key: found.get(key) for key in wanted}

    def datasets(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, Dataset]:
        return self._fetch(
            "datasets",
            keys,
            lambda some: self._entities("fetch_datasets", some, elements.dataset_key, packing.unpack_dataset),
        )

    def jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, Job]:
        return self._fetch(
            "jobs",
            keys,
            lambda some: self._entities("fetch_jobs", some, elements.job_key, packing.unpack_job),
        )

    def runs(self, keys: Iterable[RunKey]) -> dict[RunKey, Run]:
        def fetch(some: list[RunKey]) -> dict[RunKey, Run]:
            found = {}
            for (text,) in self.ask("fetch_runs", keys=sorted(map(elements.run_key, some))):
                run = packing.unpack_run(text)
                self.texts[elements.run_key(run.key)] = text
                found[run.key] = run
            return found

        return self._fetch("runs", keys, fetch)

    def runs_of_execution(self, execution: ExecutionKey) -> Iterable[Run]:
        return self._executions([execution])[execution]

    def expect_executions(self, executions: Iterable[ExecutionKey]) -> None:
        self._executions(executions)

    def _executions(self, executions: Iterable[ExecutionKey]) -> dict[ExecutionKey, list[Run]]:
        def fetch(some: list[ExecutionKey]) -> dict[ExecutionKey, list[Run]]:
            found = self._grouped("fetch_runs_of_executions", some, execution_key)
            return {key: [packing.unpack_run(text) for text in texts] for key, texts in found.items()}

        return self._fetch("executions", executions, fetch)

    def runs_of_output(self, output: OutputKey) -> Iterable[Run]:
        return [packing.unpack_run(text) for (text,) in self.ask("fetch_runs_of_job", job=elements.job_key(output[0]))]

    def outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, Output]:
        return self._fetch(
            "outputs",
            keys,
            lambda some: self._entities("fetch_outputs", some, elements.output_key, packing.unpack_output),
        )

    def uses(self, keys: Iterable[UseKey]) -> dict[UseKey, Use]:
        return self._fetch(
            "uses",
            keys,
            lambda some: self._entities(
                "fetch_evidence",
                some,
                lambda key: elements.use_key(*key),
                lambda _, text: packing.unpack_use(text),
            ),
        )

    def reads(self, keys: Iterable[tuple[DatasetKey, JobKey]]) -> dict[tuple[DatasetKey, JobKey], Evidence]:
        def fetch(some: list[tuple[DatasetKey, JobKey]]) -> dict[tuple[DatasetKey, JobKey], Evidence]:
            by_text = {(elements.dataset_key(dataset), elements.job_key(job)): (dataset, job) for dataset, job in some}
            rows = [{"dataset": dataset, "job": job} for dataset, job in sorted(by_text)]
            found = {}
            for dataset, job, text in self.ask("fetch_reads", rows=rows):
                self.texts[f"{dataset} {job}"] = text
                found[by_text[dataset, job]] = packing.evidence_in(packing.unpack(text))
            return found

        return self._fetch("reads", keys, fetch)

    def schemas(self, keys: Iterable[tuple[DatasetKey, str]]) -> dict[tuple[DatasetKey, str], Evidence]:
        return self._fetch(
            "schemas",
            keys,
            lambda some: self._entities(
                "fetch_schemas",
                some,
                lambda key: key_of("schema", *key[0], key[1]),
                lambda _, text: packing.evidence_in(packing.unpack(text)),
            ),
        )

    def touched(self, changes: Changes, turned: set[str]) -> Touched:
        """What steps a merge may reach; ``turned`` are flows that became current or ceased to be."""
        flows = [*changes.flows.values(), *self.flows(turned - changes.flows.keys()).values()]
        near = {*changes.datasets, *(output[1] for output in changes.outputs)}
        near.update(source for flow in flows for source, _ in flow.sources)
        self._memory["datasets"] |= changes.datasets
        return Touched(near, {output[0] for output in changes.outputs}, standing_of(self, changes.datasets))

    # -- what a cut asks for beyond that

    def expect(self, keys: Iterable[DatasetKey], downstream: bool) -> None:
        """Find all that lies that way, aliases crossed, and fetch it a kind at a time instead of a level at a time."""
        reached: set[DatasetKey] = set()
        level = set(keys)
        while level:
            reached |= level
            name = "cut_downstream" if downstream else "cut_upstream"
            texts = sorted(map(elements.dataset_key, level))
            found = {(record[0], record[1]) for record in self.ask(name, keys=texts)}
            level = self._alias_closure(found | level) - reached
            reached |= found
            level -= found
        self.datasets(reached)
        if downstream:
            flows = {flow for flows in self.fed_by(reached).values() for flow in flows}
            outputs = {output for outputs in self.outputs_of_flows(flows).values() for output in outputs}
        else:
            outputs = {(job, key) for key, jobs in self.writers(reached).items() for job in jobs}
        self.outputs(outputs | {(job, ("", "")) for job, _ in outputs})
        uses = self.uses_of_outputs(outputs)
        self.flows({digest for held in uses.values() for digest in held})

    def _alias_closure(self, keys: set[DatasetKey]) -> set[DatasetKey]:
        reached, level = set(keys), set(keys)
        while level:
            level = self.alias_claims(level) - reached
            reached |= level
        return reached

    def _grouped(self, name: str, keys: list[K], text: Callable[[K], str]) -> dict[K, list[Any]]:
        """Lists by key, of the rows ``(key text, value)`` that a query gives; an empty list where it gives none."""
        by_text = {text(key): key for key in keys}
        found: dict[K, list[Any]] = {key: [] for key in keys}
        for key, value in self.ask(name, keys=sorted(by_text)):
            found[by_text[key]].append(value)
        return found

    def alias_claims(self, keys: Iterable[DatasetKey]) -> set[DatasetKey]:
        held = self._fetch("aliases", keys, lambda some: self._grouped("fetch_aliases", some, elements.dataset_key))
        return {(namespace, name) for parts in held.values() for namespace, name in parts}

    def fed_by(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        return self._fetch("fed", keys, lambda some: self._grouped("fetch_fed", some, elements.dataset_key))

    def flows(self, digests: Iterable[str]) -> dict[str, Flow]:
        def fetch(some: list[str]) -> dict[str, Flow]:
            rows = self.ask("fetch_flows", keys=sorted(map(elements.flow_key, some)))
            return {digest: packing.unpack_flow(content) for digest, content in rows}

        return self._fetch("flows", digests, fetch)

    def outputs_of_flows(self, digests: Iterable[str]) -> dict[str, list[OutputKey]]:
        def fetch(some: list[str]) -> dict[str, list[OutputKey]]:
            found: dict[str, list[OutputKey]] = {digest: [] for digest in some}
            for digest, parts in self.ask("fetch_outputs_of_flows", digests=sorted(some)):
                found[digest].append(_output(parts))
            return found

        return self._fetch("outputs of flows", digests, fetch)

    def writers(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[JobKey]]:
        def fetch(some: list[DatasetKey]) -> dict[DatasetKey, list[JobKey]]:
            found = self._grouped("fetch_writers", some, elements.dataset_key)
            return {key: [_output(parts)[0] for parts in held] for key, held in found.items()}

        return self._fetch("writers", keys, fetch)

    def uses_of_outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, dict[str, Use]]:
        def fetch(some: list[OutputKey]) -> dict[OutputKey, dict[str, Use]]:
            by_text = {elements.output_key(key): key for key in some}
            found: dict[OutputKey, dict[str, Use]] = {key: {} for key in some}
            for output, digest, text in self.ask("fetch_evidence_of_outputs", keys=sorted(by_text)):
                found[by_text[output]][digest] = packing.unpack_use(text)
            return found

        return self._fetch("uses of outputs", keys, fetch)

    def outputs_of_jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, list[OutputKey]]:
        def fetch(some: list[JobKey]) -> dict[JobKey, list[OutputKey]]:
            found = self._grouped("fetch_outputs_of_jobs", some, elements.job_key)
            return {key: [_output(parts) for parts in held] for key, held in found.items()}

        return self._fetch("outputs of jobs", keys, fetch)

    def mappings(self, digests: Iterable[str]) -> dict[str, ColumnMapping]:
        def fetch(some: list[str]) -> dict[str, ColumnMapping]:
            rows = self.ask("fetch_mappings", keys=sorted(some))
            return {digest: packing.unpack_mapping(content) for digest, content in rows}

        return self._fetch("mappings", digests, fetch)

    def known_columns(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        def fetch(some: list[DatasetKey]) -> dict[DatasetKey, list[str]]:
            found = self._grouped("fetch_columns", some, elements.dataset_key)
            return {key: sorted(names) for key, names in found.items() if names}

        return self._fetch("columns", keys, fetch)


class Neo4jStore:
    """The :class:`~lineage_graph.store.Store` on a Neo4j server. ``journal`` names the journal that is merged here."""

    def __init__(self, uri: str, journal: str, user: str | None = None, password: str | None = None) -> None:
        self.uri = uri
        self._journal = journal
        auth = (user or "neo4j", password) if password else None
        self._driver = neo4j.GraphDatabase.driver(
            uri,
            auth=auth,
            connection_timeout=5,
            max_transaction_retry_time=5,
            notifications_min_severity="OFF",
        )
        self._steps = StepMemory()
        self._others: dict[str, int] = {}
        """How far other journals are in the database, as last seen."""
        self._applied: int | None = None
        self._newest: int | None = None
        self._prepared = False

    @property
    def applied(self) -> int:
        if self._applied is None:
            with self._answering():
                self._prepare()
            with self._answering(), self._driver.session() as session:
                record = session.run(query("read_ledger").text, {"journal": self._journal}).single(strict=True)
            self._applied, self._newest = record["applied"] or 0, record["newest"]
        return self._applied

    @property
    def newest_event(self) -> int | None:
        assert self.applied >= 0
        return self._newest

    def merge(self, upserts: Upserts, offset: int) -> None:
        with self._answering():
            self._prepare()
            try:
                with self._driver.session() as session:
                    touched = session.execute_write(self._merge, upserts, offset)
            except BaseException:
                # It may have been written though the answer got lost.
                self._steps.forget_all()
                raise
        self._steps.touched(touched)
        self._applied = max(self.applied, offset)
        self._newest = later(self._newest, upserts.newest)

    def _merge(self, transaction: neo4j.ManagedTransaction, upserts: Upserts, offset: int) -> Touched:
        graph = _Graph(transaction, self._steps.look())
        graph.lock(upserts.datasets, upserts.jobs)
        changes = fold(upserts, graph)
        writer = Writer(graph.ask, graph.texts)
        writer.write(changes)
        graph.ask("advance_ledger", journal=self._journal, applied=offset, newest=upserts.newest)
        return graph.touched(changes, writer.turned)

    def _prepare(self) -> None:
        """Constraints must stand before the first event is merged."""
        if not self._prepared:
            with self._driver.session() as session:
                for statement in query("schema").statements:
                    session.run(statement).consume()
                session.run("CALL db.awaitIndexes(60)").consume()
                if neo4j_whole.is_dropping(session):
                    neo4j_whole.drop(session, self._journal)
            self._prepared = True

    @contextmanager
    def look(self) -> Iterator[Neighbourhood]:
        """A read transaction; what one look fetched stays as it was for the whole look."""
        with (
            self._answering(),
            self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session,
            session.begin_transaction() as transaction,
        ):
            yield _Graph(transaction, self._remembered(transaction))

    def _remembered(self, transaction: neo4j.Transaction) -> StepView:
        """What is remembered, unless others have merged since, or somebody emptied the database."""
        view = self._steps.look()
        ledgers = dict(map(tuple, _Graph(transaction, view).ask("read_ledgers")))
        own = ledgers.pop(self._journal, 0)
        if ledgers != self._others or own < (self._applied or 0):
            self._others = ledgers
            self._steps.forget_all()
            view = self._steps.look()
        return view

    def ping(self) -> None:
        with self._answering():
            self._driver.verify_connectivity()

    def run_keys(self, run_id: str) -> list[RunKey]:
        with self._answering(), self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            found = session.run(query("find_runs").text, {"id": run_id})
            return sorted(packing.unpack_run(record["record"]).key for record in found)

    def search(self, text: str, kinds: Iterable[str], namespace: str | None) -> list[Found]:
        parameters = {"text": elements.searched(text), "namespace": namespace}
        with self._answering(), self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            datasets = {
                (namespace_, name): packing.unpack_dataset((namespace_, name), record, facets)
                for namespace_, name, record, facets in session.run(query("find_datasets").text, parameters)
            }
            jobs = {
                (namespace_, name): packing.unpack_job((namespace_, name), record, facets)
                for namespace_, name, record, facets in session.run(query("find_jobs").text, parameters)
            }
        return found_in(datasets, jobs, text, kinds, namespace)

    def elements(self) -> Iterator[Element]:
        yield from neo4j_whole.shown(self.held())

    def held(self) -> Iterator[Element]:
        with self._answering(), self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            yield from neo4j_whole.held(session)

    def expected(self, changes: Changes) -> Iterator[Element]:
        return neo4j_whole.expected(changes)

    def drop(self) -> None:
        with self._answering():
            self._prepare()
            with self._driver.session() as session:
                neo4j_whole.drop(session, self._journal)
        self._steps.forget_all()
        self._applied, self._newest = 0, None

    def other_journals(self) -> dict[str, int]:
        with self._answering(), self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            ledgers = dict(session.run(query("read_ledgers").text).values())
        return {journal: applied for journal, applied in ledgers.items() if journal != self._journal}

    def close(self) -> None:
        self._driver.close()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn the driver's errors into one that says nothing of addresses or passwords."""
        try:
            yield
        except AuthError as error:
            raise StoreUnavailable("Neo4j", "it refuses the user or password it was given") from error
        except (DriverError, Neo4jError, OSError) as error:
            raise StoreUnavailable("Neo4j", getattr(error, "code", None) or type(error).__name__) from error
