"""What a store is: it merges upserts and hands out what is near to a node. It holds no rule and no question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from lineage_graph.elements import Element
from lineage_graph.errors import BadRequest
from lineage_graph.journal import Journal
from lineage_graph.model import (
    ColumnMapping,
    Dataset,
    DatasetKey,
    Evidence,
    Flow,
    Job,
    JobKey,
    OutputKey,
    Run,
    RunKey,
)
from lineage_graph.names import Named
from lineage_graph.projection import Changes, Output, Use
from lineage_graph.steps import StepView
from lineage_graph.upserts import Upserts


class Neighbourhood(Named, Protocol):
    """One consistent view of a store, asked level by level while a cut is made.

    Each method takes all keys of a level at once, so that a level costs a store one round trip per method.
    """

    @property
    def memory(self) -> StepView:
        """Steps found before that still hold."""
        ...

    def expect(self, keys: Iterable[DatasetKey], downstream: bool) -> None:
        """Told before a deep cut from these datasets, so that a store may fetch at once what it will ask for."""
        ...

    def jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, Job]: ...

    def runs(self, keys: Iterable[RunKey]) -> dict[RunKey, Run]: ...

    def reads(self, keys: Iterable[tuple[DatasetKey, JobKey]]) -> dict[tuple[DatasetKey, JobKey], Evidence]: ...

    def fed_by(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        """Digests of the flows that each of these datasets feeds."""
        ...

    def flows(self, digests: Iterable[str]) -> dict[str, Flow]: ...

    def outputs_of_flows(self, digests: Iterable[str]) -> dict[str, list[OutputKey]]:
        """Outputs that were ever made from each flow, ``NOTHING`` included."""
        ...

    def writers(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[JobKey]]:
        """Jobs that ever wrote, or declared to write, each of these datasets."""
        ...

    def outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, Output]: ...

    def uses_of_outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, dict[str, Use]]: ...

    def outputs_of_jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, list[OutputKey]]:
        """Outputs that each job ever had, ``NOTHING`` included."""
        ...

    def mappings(self, digests: Iterable[str]) -> dict[str, ColumnMapping]: ...

    def known_columns(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        """Names of all columns that any event ever named, sorted."""
        ...


class Store(Protocol):
    """Merges, and opens views to cut from. Two implementations: in memory, and on Neo4j."""

    @property
    def applied(self) -> int:
        """The journal offset up to which every event is in the graph; 0 for an empty one."""
        ...

    @property
    def newest_event(self) -> int | None:
        """The newest event time in the graph; ``None`` for an empty one."""
        ...

    def merge(self, upserts: Upserts, offset: int) -> None:
        """Join upserts into the graph; ``offset`` is the newest journal offset they come from.

        Raises :class:`~lineage_graph.errors.StoreUnavailable` when nothing was written because the store does not
        answer. Any other error says that these upserts can't be merged: the store is then as before, or empty.
        """
        ...

    def look(self) -> AbstractContextManager[Neighbourhood]:
        """A view that no merge changes meanwhile."""
        ...

    def ping(self) -> None:
        """Return if the store answers; raises :class:`~lineage_graph.errors.StoreUnavailable` if not."""
        ...

    def run_keys(self, run_id: str) -> list[RunKey]:
        """All runs with this id, sorted; one per job that sent it."""
        ...

    def search(self, text: str, kinds: Iterable[str], namespace: str | None) -> list[Found]:
        """Datasets and jobs whose name holds the text, any case, in the order of :func:`found_in`."""
        ...

    def elements(self) -> Iterator[Element]:
        """The whole graph, nodes before relationships, in a fixed order."""
        ...

    def held(self) -> Iterator[Element]:
        """All that the store has written down, in any order: :meth:`elements`, and what only serves the store."""
        ...

    def expected(self, changes: Changes) -> Iterator[Element]:
        """What :meth:`held` gives for a graph that is given whole."""
        ...

    def drop(self) -> None:
        """Forget all that was ever merged, by any journal. Cut short, it is ended before anything else is done."""
        ...

    def other_journals(self) -> dict[str, int]:
        """Journals but this one that have merged into the same database: up to which offset, by id."""
        ...

    def close(self) -> None: ...


class Found(NamedTuple):
    """A hit of a search."""

    type: str
    namespace: str
    name: str
    last_seen: int


def found_in(
    datasets: Mapping[DatasetKey, Dataset],
    jobs: Mapping[JobKey, Job],
    text: str,
    kinds: Iterable[str],
    namespace: str | None,
) -> list[Found]:
    """Names that hold the text, case ignored, ``_`` and ``%`` standing for themselves.

    Exact names first, then those that begin with the text, then by name.
    """
    wanted = text.casefold()
    found = []
    for kind, held in (("dataset", datasets), ("job", jobs)):
        if kind in kinds:
            for key, entity in held.items():
                if wanted in key[1].casefold() and namespace in (None, key[0]):
                    found.append(Found(kind, *key, entity.last_seen))
    return sorted(found, key=lambda hit: closeness(hit, text))


def closeness(hit: Found, text: str) -> tuple[int, str, str, str]:
    """The place of a hit among others."""
    name, wanted = hit.name.casefold(), text.casefold()
    kind = 0 if name == wanted else 1 if name.startswith(wanted) else 2
    return kind, hit.name, hit.namespace, hit.type


def open_store(uri: str | None, journal: Journal, folder: Path | None, **options: str) -> Store:
    """The store that a URI names: ``None`` for the embedded one, ``bolt://…`` or ``neo4j://…`` for Neo4j.

    ``journal`` is what is merged into it; the embedded one saves itself in ``folder``. Raises
    :class:`~lineage_graph.errors.BadRequest` for another scheme.
    """
    if uri is None:
        from lineage_graph.networkx_store import NetworkXStore
        from lineage_graph.snapshot import Snapshots

        return NetworkXStore(Snapshots(folder, journal) if folder is not None else None)
    if uri.split("://")[0] in ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"):
        if "@" in uri.split("://", 1)[1]:
            raise BadRequest("store", "holds a user or password; give them as neo4j_user and neo4j_password instead")
        from lineage_graph.neo4j_store import Neo4jStore

        return Neo4jStore(uri, journal.id, **options)
    raise BadRequest(
        "store",
        f"{uri!r} is no store; give bolt://host:port or neo4j://host:port, or none for the embedded one",
    )
