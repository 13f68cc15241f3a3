"""What is kept of the events: entities, how they are named, and how two reports of one entity join.

Every ``join`` here is commutative, associative and idempotent (design 1.3), so the order, the batching and the
repetition of events can't be seen in the result. The rules are five:

========  ============================================================================
earliest  the smaller time (``first_seen``)
latest    the greater time (``last_seen``, ``written``, ``dropped``)
union     sets and maps of sets (``roles``, ``marks``, ``inputs``)
newest    last writer wins by ``(eventTime, digest)`` (facets, column lineage of a run)
run       state of a run as a function of the set of its marks (design 4)
========  ============================================================================

Times are nanoseconds since the epoch, UTC. A *stamp* is ``(time, digest of the event)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from sys import intern
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import orjson

from lineage_graph.events import decode

DatasetKey: TypeAlias = tuple[str, str]
"""(namespace, name), text exactly as sent."""
JobKey: TypeAlias = tuple[str, str]
"""(namespace, name); ``NO_JOB`` where a DatasetEvent declares lineage by itself."""
RunKey: TypeAlias = tuple[str, str, str]
"""(job namespace, job name, run id): one run id sent by two jobs is two runs (design 2)."""
OutputKey: TypeAlias = tuple[JobKey, DatasetKey]
"""What a job makes of one dataset; ``NOTHING`` in place of the dataset stands for what the job reads."""
ExecutionKey: TypeAlias = tuple[JobKey, str]
"""All runs of a job under one parent run, or one run without parent (design 5)."""
Stamp: TypeAlias = tuple[int, str]
Facets: TypeAlias = dict[str, tuple[int, str, bytes | None]]
"""Facet name -> (time, event digest, content as canonical JSON); content ``None`` is a facet that was deleted.

Content is looked at seldom and held for ever, so it is held as text: a tenth of the memory, nothing for a garbage
collector to follow, and ready to be stored.
"""

NO_JOB: JobKey = ("", "")
NOTHING: DatasetKey = ("", "")

TERMINAL = ("ABORT", "COMPLETE", "FAIL")


def key_of(kind: str, *parts: str) -> str:
    """A fixed-size name for any sequence of texts: 32 hex digits, so that a name of any length can be indexed."""
    text = "".join(f"{len(part)}:{part}" for part in (kind, *parts))
    return blake2b(text.encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=200_000)
def shared_key(namespace: str, name: str) -> tuple[str, str]:
    """The key of a dataset or job: one object for all that hold it, since a graph in memory holds each many times."""
    return namespace, name


@dataclass(slots=True)
class Evidence:
    """Who said so, first and last: the explanation that every edge carries (design 3)."""

    first: Stamp
    last: tuple[int, str, str]
    """(time, digest, producer) of the newest event."""
    declared: bool = False
    observed: bool = False

    def join(self, other: Evidence) -> Evidence:
        return Evidence(
            min(self.first, other.first),
            max(self.last, other.last),
            self.declared or other.declared,
            self.observed or other.observed,
        )


def join_facets(into: Facets, other: Facets) -> None:
    """Newest wins, per name and whole (design 4)."""
    for name, facet in other.items():
        old = into.get(name)
        if old is None or facet[:2] > old[:2]:
            into[name] = facet


class Joins(Protocol):
    def join(self: V, other: V) -> V: ...


K = TypeVar("K")
V = TypeVar("V", bound=Joins)


def join_maps(into: dict[K, V], other: Mapping[K, V]) -> None:
    """Union of two maps whose values join."""
    for key, value in other.items():
        old = into.get(key)
        into[key] = value if old is None else old.join(value)


def later(a: int | None, b: int | None) -> int | None:
    """The later of two times, either of which may be unknown."""
    return b if a is None else a if b is None else max(a, b)


@dataclass(slots=True)
class Dataset:
    key: DatasetKey
    first_seen: int
    last_seen: int
    roles: frozenset[str] = frozenset()
    """How it was named: input, output, event (a DatasetEvent), lineage (explicit facet), column, symlink, renamed."""
    facets: Facets = field(default_factory=dict)
    written: int | None = None
    """Newest time of a write, drops left out."""
    dropped: int | None = None
    renamed_from: dict[DatasetKey, int] = field(default_factory=dict)
    """Previous identifier -> newest time of that RENAME."""

    def join(self, other: Dataset) -> Dataset:
        self.first_seen = min(self.first_seen, other.first_seen)
        self.last_seen = max(self.last_seen, other.last_seen)
        self.roles |= other.roles
        join_facets(self.facets, other.facets)
        self.written = later(self.written, other.written)
        self.dropped = later(self.dropped, other.dropped)
        for previous, time in other.renamed_from.items():
            self.renamed_from[previous] = max(time, self.renamed_from.get(previous, time))
        return self

    @property
    def only_named_in_columns(self) -> bool:
        """Known from column lineage alone: a dbt seed, or a CTE alias taken for a table (design 2)."""
        return self.roles == {"column"}

    def symlinks(self) -> list[DatasetKey]:
        """Other names by the symlinks facet as it holds now: a newer facet without a name undoes the join."""
        identifiers = self.facet("symlinks").get("identifiers")
        names = []
        for entry in identifiers if isinstance(identifiers, list) else ():
            namespace, name = (entry.get("namespace"), entry.get("name")) if isinstance(entry, dict) else (None, None)
            if isinstance(namespace, str) and isinstance(name, str) and namespace and name:
                names.append((namespace, name))
        return [name for name in names if name != self.key]

    def other_names(self) -> set[DatasetKey]:
        """All names that its symlinks and renames give; a rename joins only until the old name is written again."""
        return {*self.symlinks(), *self.renamed_from}

    def facet(self, name: str) -> dict[str, Any]:
        return facet_content(self.facets, name)


def joined_to(dataset: Dataset, known: Mapping[DatasetKey, Dataset], until: int | None = None) -> Iterator[DatasetKey]:
    """The names among ``known`` that a dataset's own facets make one with it (design 2), by the renames ``until`` then.

    A rename joins until the old name is written again.
    """
    yield from (name for name in dataset.symlinks() if name in known)
    for previous, renamed in dataset.renamed_from.items():
        old = known.get(previous)
        if old is not None and (old.written is None or old.written <= renamed) and (until is None or renamed <= until):
            yield previous


class Life(NamedTuple):
    """How a dataset stands, by whichever of its names it was written and dropped (design 2)."""

    is_dropped: bool
    """A DROP ended its life and no later write began a new one."""
    ended: dict[DatasetKey, int]
    """For its names: writes up to this time belong to a life that has ended. Empty where there is no later one."""

    @classmethod
    def of(cls, members: Iterable[Dataset]) -> Life:
        """Of all names of one dataset. A DROP ends what its name stood for then: not a table renamed to it later."""
        by_name = {member.key: member for member in members}
        ended: dict[DatasetKey, int] = {}
        for member in by_name.values():
            if member.dropped is not None:
                for name in _one_with(member.key, by_name, member.dropped):
                    ended[name] = max(member.dropped, ended.get(name, member.dropped))
        if not ended:
            return cls(False, {})
        written = {m.key: m.written for m in by_name.values() if m.written is not None}
        lives = any(name not in ended or time > ended[name] for name, time in written.items())
        return cls(False, ended) if lives else cls(True, {})


def _one_with(name: DatasetKey, known: Mapping[DatasetKey, Dataset], until: int) -> set[DatasetKey]:
    """The names that were one dataset with this one at a time."""
    pairs = [(dataset.key, other) for dataset in known.values() for other in joined_to(dataset, known, until)]
    reached: set[DatasetKey] = set()
    level = {name}
    while level:
        reached |= level
        level = {b if a in level else a for a, b in pairs if (a in level) != (b in level)} - reached
    return reached


def contents_of(facets: Facets) -> dict[str, Any]:
    """All facets as they hold now, by name; deleted ones left out."""
    return {name: decode(content) for name, (_, _, content) in facets.items() if content is not None}


def facet_content(facets: Facets, name: str) -> dict[str, Any]:
    """The facet as it holds now; an empty dict when it is absent, deleted or no object."""
    held = facets.get(name)
    if held is None or held[2] is None or not held[2].startswith(b"{"):
        return {}
    content: dict[str, Any] = decode(held[2])
    return content


@dataclass(slots=True)
class Job:
    key: JobKey
    first_seen: int
    last_seen: int
    roles: frozenset[str] = frozenset()
    """reported (an event was its own), parent, root, dependency (named by another job's facet)."""
    facets: Facets = field(default_factory=dict)
    parents: dict[JobKey, Evidence] = field(default_factory=dict)
    after: dict[JobKey, Evidence] = field(default_factory=dict)
    """Control flow (jobDependencies), no data flow."""
    last_run: tuple[int, str] | None = None
    """(time of its newest START, RUNNING or terminal event, run id) of the run that was active last."""

    def join(self, other: Job) -> Job:
        self.first_seen = min(self.first_seen, other.first_seen)
        self.last_seen = max(self.last_seen, other.last_seen)
        self.roles |= other.roles
        join_facets(self.facets, other.facets)
        join_maps(self.parents, other.parents)
        join_maps(self.after, other.after)
        if other.last_run is not None and (self.last_run is None or other.last_run > self.last_run):
            self.last_run = other.last_run
        return self

    def facet(self, name: str) -> dict[str, Any]:
        return facet_content(self.facets, name)


class RunState(NamedTuple):
    """State in Marquez's words (NEW, RUNNING, COMPLETED, FAILED, ABORTED), start and end."""

    state: str
    started: int | None
    ended: int | None


_WORD = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}


def run_state(marks: Iterable[tuple[int, str]], first_seen: int | None) -> RunState:
    """The state that a set of marks ``(time, START | RUNNING | COMPLETE | FAIL | ABORT)`` means (design 4).

    Terminal beats non-terminal. An attempt begins at a START; the latest attempt that holds a terminal event
    decides, and in it FAIL or ABORT beats COMPLETE. A START alone never reopens a finished run.
    """
    marks = sorted(marks)
    starts = [time for time, kind in marks if kind == "START"]
    ends = [mark for mark in marks if mark[1] in _WORD]
    started = starts[0] if starts else first_seen
    if not ends:
        return RunState("RUNNING" if marks else "NEW", started, None)
    attempt = max((time for time in starts if time <= ends[-1][0]), default=ends[0][0])
    deciding = [mark for mark in ends if mark[0] >= attempt]
    bad = [mark for mark in deciding if mark[1] != "COMPLETE"]
    ended, kind = (bad or deciding)[-1]
    return RunState(_WORD[kind], started, ended)


@dataclass(slots=True)
class RunInput:
    first: Stamp
    last: tuple[int, str, str]
    """(time, digest, producer) of the newest event that said so."""
    facets: Facets = field(default_factory=dict)
    """Input facets of this run, and the dataset's version facet."""

    def join(self, other: RunInput) -> RunInput:
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        join_facets(self.facets, other.facets)
        return self


class Lineage(NamedTuple):
    """What one event said of the sources of one output; newest wins (design 3, precedence)."""

    time: int
    digest: str
    mapping: str
    """Digest of the column mapping, '' for none."""
    sources: tuple[DatasetKey, ...] | None
    """Datasets named as sources; ``None`` where the facet said nothing at this level."""


@dataclass(slots=True)
class RunOutput:
    first: Stamp
    last: tuple[int, str, str]
    """(time, digest, producer) of the newest event that said so."""
    facets: Facets = field(default_factory=dict)
    """Output facets of this run, the dataset's version facet, and its lifecycle change."""
    columns: Lineage | None = None
    """From the columnLineage facet."""
    explicit: Lineage | None = None
    """From a lineage facet."""

    def join(self, other: RunOutput) -> RunOutput:
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        join_facets(self.facets, other.facets)
        self.columns = _newest(self.columns, other.columns)
        self.explicit = _newest(self.explicit, other.explicit)
        return self

    @property
    def lifecycle(self) -> str:
        return str(facet_content(self.facets, "lifecycleStateChange").get("lifecycleStateChange") or "")


def _newest(a: Lineage | None, b: Lineage | None) -> Lineage | None:
    return b if a is None else a if b is None else max(a, b, key=lambda x: x[:2])


class Claim(NamedTuple):
    """What one run says of one output (or, for ``NOTHING``, of what it read)."""

    sources: tuple[tuple[DatasetKey, str], ...]
    """Source datasets, sorted, each with the rule it came from: explicit, column or product."""
    mapping: str | None
    """Digest of its column mapping; '' when it said that there is none; ``None`` when it said nothing."""
    unlisted: tuple[DatasetKey, ...]
    """Sources that only column lineage names, not the inputs."""


@dataclass(slots=True)
class Run:
    """All that the events of one run said, or what one JobEvent or DatasetEvent declared."""

    key: RunKey
    first: Stamp
    last: tuple[int, str, str]
    """(time, digest, producer) of the newest event."""
    declared: bool = False
    given_ids: frozenset[str] = frozenset()
    """Run ids as sent, where they are no UUID."""
    roles: frozenset[str] = frozenset()
    """reported, parent, root, dependency."""
    marks: frozenset[tuple[int, str]] = frozenset()
    alive: int | None = None
    """Newest RUNNING."""
    contained_in: tuple[int, str, RunKey] | None = None
    """(time, digest, parent run) of the newest parent facet."""
    facets: Facets = field(default_factory=dict)
    inputs: dict[DatasetKey, RunInput] = field(default_factory=dict)
    outputs: dict[DatasetKey, RunOutput] = field(default_factory=dict)

    def join(self, other: Run) -> Run:
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        self.given_ids |= other.given_ids
        self.roles |= other.roles
        self.marks |= other.marks
        self.alive = later(self.alive, other.alive)
        if other.contained_in and (self.contained_in is None or other.contained_in > self.contained_in):
            self.contained_in = other.contained_in
        join_facets(self.facets, other.facets)
        join_maps(self.inputs, other.inputs)
        join_maps(self.outputs, other.outputs)
        return self

    @property
    def job(self) -> JobKey:
        return self.key[:2]

    @property
    def parent(self) -> RunKey | None:
        """The run that contains it."""
        return self.contained_in[2] if self.contained_in else None

    @property
    def execution(self) -> ExecutionKey:
        parent = self.parent
        return self.job, f"{parent[2]} {key_of('job', *parent[:2])}" if parent else self.key[2]

    @property
    def state(self) -> RunState:
        if self.declared:
            return RunState("COMPLETED", self.first[0], self.last[0])
        marks = self.marks if self.alive is None else self.marks | {(self.alive, "RUNNING")}
        return run_state(marks, self.first[0] if "reported" in self.roles else None)

    def claims(self) -> dict[DatasetKey, Claim]:
        """What this run says of each of its outputs, and under ``NOTHING`` of what it read (design 3).

        An explicit facet decides alone. Column lineage refines the product of inputs and outputs: an output with
        column lineage comes from the datasets it names, and from those inputs that no output's column lineage
        names (such as a table that is only joined), since nothing says where else they went. A DROP is no write,
        and a declaration that names no source says nothing about them.
        """
        outputs = {
            key: out
            for key, out in self.outputs.items()
            if out.lifecycle != "DROP" and (self.inputs or out.columns or out.explicit or not self.declared)
        }
        refined = {source for out in outputs.values() if out.columns for source in out.columns.sources or ()}
        read = tuple(sorted((key, "product") for key in self.inputs))
        claims = {key: self._claim(out, refined, read) for key, out in outputs.items()}
        claims[NOTHING] = Claim(read, None, ())
        return claims

    def _claim(self, out: RunOutput, refined: set[DatasetKey], read: tuple[tuple[DatasetKey, str], ...]) -> Claim:
        explicit = out.explicit is not None and out.explicit.sources is not None
        mapping = out.columns.mapping if out.columns else None
        if out.explicit is not None and out.explicit.mapping:
            mapping = out.explicit.mapping
        if not explicit and (out.columns is None or not out.columns.mapping):
            return Claim(read, mapping, ())
        if explicit:
            assert out.explicit is not None
            named = dict.fromkeys(out.explicit.sources or (), "explicit")
        else:
            assert out.columns is not None
            named = {source: "product" for source in self.inputs if source not in refined}
            named |= dict.fromkeys(out.columns.sources or (), "column")
        unlisted = tuple(sorted(source for source in named if source not in self.inputs))
        return Claim(tuple(sorted(named.items())), mapping, unlisted)


class Transformation(NamedTuple):
    type: str
    subtype: str
    description: str
    masking: bool


class ColumnSource(NamedTuple):
    dataset: DatasetKey
    field: str
    transformations: tuple[Transformation, ...]

    @property
    def is_indirect(self) -> bool:
        return bool(self.transformations) and all(t.type == "INDIRECT" for t in self.transformations)


@dataclass(frozen=True)
class ColumnMapping:
    """The column lineage of one output, as content: equal facets of a thousand runs are one mapping.

    ``fields`` maps each output field to its sources; ``every_field`` holds indirect sources that all mapped fields
    repeat; ``whole_dataset`` those of the facet's ``dataset`` list, which touch every column of the output.
    """

    fields: tuple[tuple[str, tuple[ColumnSource, ...]], ...]
    every_field: tuple[ColumnSource, ...] = ()
    whole_dataset: tuple[ColumnSource, ...] = ()

    @cached_property
    def content(self) -> bytes:
        """All of it as JSON, datasets and transformations listed once; equal mappings have equal content."""
        held = [source for _, sources in self.fields for source in sources]
        held += self.every_field + self.whole_dataset
        datasets = sorted({source.dataset for source in held})
        transformations = sorted({t for source in held for t in source.transformations})
        place_of = {key: at for at, key in enumerate(datasets)}
        number_of = {t: at for at, t in enumerate(transformations)}

        def packed(sources: tuple[ColumnSource, ...]) -> list[Any]:
            return [(place_of[dataset], field, [number_of[t] for t in ts]) for dataset, field, ts in sources]

        fields = [(name, packed(sources)) for name, sources in self.fields]
        parts = [datasets, transformations, fields, packed(self.every_field), packed(self.whole_dataset)]
        return orjson.dumps(parts, default=tuple)

    @cached_property
    def digest(self) -> str:
        return blake2b(self.content, digest_size=16).hexdigest()

    @cached_property
    def sources(self) -> tuple[DatasetKey, ...]:
        used = {s.dataset for _, sources in self.fields for s in sources}
        used.update(s.dataset for s in self.every_field + self.whole_dataset)
        return tuple(sorted(used))

    def columns(self, output: DatasetKey) -> Iterator[tuple[DatasetKey, str]]:
        """Every column that it names, given the dataset that it is the lineage of."""
        for name, sources in self.fields:
            yield output, name
            yield from ((source.dataset, source.field) for source in sources)
        for source in self.every_field + self.whole_dataset:
            yield source.dataset, source.field

    @classmethod
    def of_content(cls, content: bytes | str) -> ColumnMapping:
        names, described, fields, every_field, whole = orjson.loads(content)
        datasets: list[DatasetKey] = [(namespace, name) for namespace, name in names]
        transformations = [Transformation(*t) for t in described]

        def unpacked(packed: list[Any]) -> tuple[ColumnSource, ...]:
            return tuple(
                ColumnSource(datasets[at], field, tuple([transformations[number] for number in numbers]))
                for at, field, numbers in packed
            )

        return cls(tuple((name, unpacked(sources)) for name, sources in fields), unpacked(every_field), unpacked(whole))


class Flow(NamedTuple):
    """One distinct set of sources from which a job made outputs, as content (design 3: pairs count only together).

    A thousand runs with equal inputs share one; a job with 200 inputs and 200 outputs has one with 400 edges.
    """

    job: JobKey
    sources: tuple[tuple[DatasetKey, str], ...]

    @property
    def digest(self) -> str:
        return blake2b(orjson.dumps(self, default=tuple), digest_size=16).hexdigest()


class Schema(NamedTuple):
    """One distinct set of fields a dataset was seen with: ``(path, type, description)`` in order."""

    fields: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, facets: Facets) -> Schema:
        """From the schema facet, nested fields with dotted paths; empty where there is none, or one without fields."""
        held = facets.get("schema")
        return _schema_of(held[2]) if held is not None and held[2] is not None else cls(())

    @property
    def digest(self) -> str:
        return blake2b(orjson.dumps(self, default=tuple), digest_size=16).hexdigest()


@lru_cache(maxsize=4_096)
def _schema_of(content: bytes) -> Schema:
    """Read once: the readers of a table and its next runs report the same schema again and again."""
    facet = decode(content)
    return Schema(tuple(_schema_fields(facet.get("fields") if isinstance(facet, dict) else None, "")))


def _schema_fields(fields: Any, prefix: str) -> Iterator[tuple[str, str, str]]:
    for entry in fields if isinstance(fields, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and name:
            kind, description = entry.get("type"), entry.get("description")
            yield (
                intern(prefix + name),
                kind if isinstance(kind, str) else "",
                description if isinstance(description, str) else "",
            )
            yield from _schema_fields(entry.get("fields"), f"{prefix}{name}.")
