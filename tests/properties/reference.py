"""What is current, worked out again from all events with no thought of speed (design 2 to 5).

It shares nothing with the product but the digest that orders events of one time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lineage_graph.events import digest_of, parse_time
from tests.events_builder import Event

Name: TypeAlias = str
Pair: TypeAlias = tuple[frozenset[Name], str, frozenset[Name]]
"""(all names of the source, job or '' for none, all names of the output)."""
ColumnEdge: TypeAlias = tuple[Name, str, Name, str]
"""(source, its field, output, its field or '*')."""

MATTERS = ("earlier", "failed", "running", "successful")
"""How a pair counts, the strongest last."""


@dataclass
class Write:
    """What one run said of one output; ``events`` hold (time, digest, facets)."""

    events: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)

    def newest(self, name: str) -> Any:
        """The facet's newest content; ``None`` when no event carried it."""
        said = [(time, digest, facets[name]) for time, digest, facets in self.events if name in facets]
        return max(said, key=lambda entry: entry[:2])[2] if said else None

    @property
    def at(self) -> int:
        return max(time for time, _, _ in self.events)

    @property
    def is_drop(self) -> bool:
        return _changes({"lifecycleStateChange": self.newest("lifecycleStateChange") or {}}) == "DROP"


@dataclass
class Run:
    job: str
    id: str
    declared: bool = False
    times: list[int] = field(default_factory=list)
    marks: set[tuple[int, str]] = field(default_factory=set)
    parents: list[tuple[int, str, tuple[str, str]]] = field(default_factory=list)
    inputs: set[Name] = field(default_factory=set)
    writes: dict[Name, Write] = field(default_factory=dict)

    @property
    def execution(self) -> tuple[str, ...]:
        """All runs of the job under one parent run, else the single run; the later id decides between equal times."""
        return max(self.parents)[2] if self.parents else (self.id, "")

    @property
    def end(self) -> tuple[str, int] | None:
        """How and when it ended (design 4)."""
        if self.declared:
            return "COMPLETE", self.times[0]
        ends = sorted((time, kind) for time, kind in self.marks if kind in ("COMPLETE", "FAIL", "ABORT"))
        if not ends:
            return None
        attempts: list[list[tuple[int, str]]] = [[]]
        # An attempt begins at a START and takes the terminal events from there on.
        for time, kind in sorted(self.marks, key=lambda mark: (mark[0], mark[1] != "START")):
            if kind == "START":
                attempts.append([])
            elif (time, kind) in ends:
                attempts[-1].append((time, kind))
        last = [attempt for attempt in attempts if attempt][-1]
        bad = [mark for mark in last if mark[1] != "COMPLETE"]
        time, kind = max(bad or last)
        return kind, time

    @property
    def succeeded(self) -> int | None:
        return self.end[1] if self.end and self.end[0] == "COMPLETE" else None

    @property
    def begun(self) -> int:
        return min((time for time, kind in self.marks if kind == "START"), default=min(self.times))

    @property
    def alive(self) -> int:
        return max((time for time, kind in self.marks if kind == "RUNNING"), default=self.begun)

    def sources(self, output: Name) -> set[Name]:
        """Datasets that an output came from: explicit lineage, else column lineage, else all inputs (design 3)."""
        write = self.writes[output]
        explicit = [
            facets["lineage"]
            for _, _, facets in sorted(write.events, key=lambda e: e[:2])
            if _says(facets.get("lineage"))
        ]
        if explicit:
            return explicit_sources(explicit[-1])
        named = {source for source, _, _ in mapped(write.newest("columnLineage"))}
        if not mapped_at_all(write.newest("columnLineage")):
            return set(self.inputs)
        elsewhere = {
            source
            for other in self.writes.values()
            if not other.is_drop
            for source, _, _ in mapped(other.newest("columnLineage"))
        }
        return named | (self.inputs - elsewhere)

    def columns(self, output: Name) -> set[tuple[Name, str, str]] | None:
        """Column lineage of an output; ``None`` when this run sent none."""
        write = self.writes[output]
        explicit = [
            facets["lineage"]
            for _, _, facets in sorted(write.events, key=lambda e: e[:2])
            if _says(facets.get("lineage"))
        ]
        if explicit and explicit[-1].get("fields"):
            return {
                (source["name"], source["field"], out)
                for out, entry in explicit[-1]["fields"].items()
                for source in entry["inputs"]
            }
        facet = write.newest("columnLineage")
        return None if facet is None else set(mapped(facet))


def _changes(facets: dict[str, Any]) -> str:
    return str(facets.get("lifecycleStateChange", {}).get("lifecycleStateChange", ""))


def _says(facet: Any) -> bool:
    return isinstance(facet, dict) and (isinstance(facet.get("inputs"), list) or bool(facet.get("fields")))


def explicit_sources(facet: dict[str, Any]) -> set[Name]:
    named = {source["name"] for source in facet.get("inputs", ())}
    return named | {source["name"] for entry in facet.get("fields", {}).values() for source in entry["inputs"]}


def mapped(facet: Any) -> Iterable[tuple[Name, str, str]]:
    """(source, its field, output field or '*') of a columnLineage facet."""
    for out, entry in (facet or {}).get("fields", {}).items():
        yield from ((source["name"], source["field"], out) for source in entry["inputFields"])
    yield from ((source["name"], source["field"], "*") for source in (facet or {}).get("dataset", ()))


def mapped_at_all(facet: Any) -> bool:
    return bool((facet or {}).get("fields")) or bool((facet or {}).get("dataset"))


class Reference:
    """The answer to what is current, from the whole list of events."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.runs: dict[tuple[str, str], Run] = {}
        self.known: set[Name] = set()
        self.facets: dict[Name, list[tuple[int, str, int, dict[str, Any]]]] = {}
        self.written: dict[Name, int] = {}
        self.dropped: dict[Name, int] = {}
        self.renamed: dict[tuple[Name, Name], int] = {}
        for event in {digest_of(event): event for event in events}.values():
            self._take(event, parse_time(event["eventTime"])[0], digest_of(event))
        self.group = self._groups()

    def _take(self, event: Event, time: int, digest: str) -> None:
        if "dataset" in event:
            ref = event["dataset"]
            self._dataset(ref, time, digest)
            if _changes(ref["facets"]) == "DROP":
                self.dropped[ref["name"]] = max(time, self.dropped.get(ref["name"], time))
            if "columnLineage" in ref["facets"] or "lineage" in ref["facets"]:
                run = self.runs["", digest] = Run("", digest, True, [time])
                run.writes[ref["name"]] = Write([(time, digest, ref["facets"])])
            return
        job = event["job"]["name"]
        declared = "run" not in event
        name = digest if declared else event["run"]["runId"]
        run = self.runs.setdefault((job, name), Run(job, name, declared))
        run.times.append(time)
        if not declared:
            run.marks |= {(time, event["eventType"])} if event.get("eventType") else set()
            parent = event["run"]["facets"].get("parent")
            if parent:
                run.parents.append((time, digest, (parent["run"]["runId"], parent["job"]["name"])))
        for ref in event.get("inputs", ()):
            self._dataset(ref, time, digest)
            run.inputs.add(ref["name"])
        for ref in event.get("outputs", ()):
            self._dataset(ref, time, digest)
            run.writes.setdefault(ref["name"], Write()).events.append((time, digest, ref["facets"]))
            if _changes(ref["facets"]) == "DROP":
                self.dropped[ref["name"]] = max(time, self.dropped.get(ref["name"], time))
            elif not declared:
                self.written[ref["name"]] = max(time, self.written.get(ref["name"], time))

    def _dataset(self, ref: dict[str, Any], time: int, digest: str) -> None:
        facets = ref["facets"]
        said = self.facets.setdefault(ref["name"], [])
        said.append((time, digest, len(said), facets))
        self.known.add(ref["name"])
        self.known |= {other["name"] for other in facets.get("symlinks", {}).get("identifiers", ())}
        self.known |= {source for source, _, _ in mapped(facets.get("columnLineage"))}
        self.known |= explicit_sources(facets.get("lineage", {}))
        if _changes(facets) == "RENAME":
            previous = facets["lifecycleStateChange"]["previousIdentifier"]["name"]
            self.known.add(previous)
            if previous != ref["name"]:
                pair = (ref["name"], previous)
                self.renamed[pair] = max(time, self.renamed.get(pair, time))

    def _groups(self, until: int | None = None) -> dict[Name, frozenset[Name]]:
        """Names that are one dataset (design 2), by the renames ``until`` then."""
        joined = {name: {name} for name in self.known}
        for name, said in self.facets.items():
            newest = max((entry for entry in said if "symlinks" in entry[3]), key=lambda e: e[:3], default=None)
            for other in newest[3]["symlinks"].get("identifiers", ()) if newest else ():
                joined[name].add(other["name"])
                joined[other["name"]].add(name)
        for (name, previous), at in self.renamed.items():
            if self.written.get(previous, at) <= at and (until is None or at <= until):
                joined[name].add(previous)
                joined[previous].add(name)
        while True:
            wider = {name: set().union(*(joined[other] for other in others)) for name, others in joined.items()}
            if wider == joined:
                return {name: frozenset(others) for name, others in joined.items()}
            joined = wider

    def ends_of(self, name: Name) -> int | None:
        """When the newest DROP came of the dataset that had this name.

        It may have come by another name; but a table that took the name of a dropped one later was not dropped.
        """
        ends = [
            at
            for other, at in self.dropped.items()
            if other in self.group.get(name, ()) and other in self._groups(until=at)[name]
        ]
        return max(ends, default=None)

    def lives(self, name: Name, wrote_at: int) -> bool:
        """Whether a write belongs to the life that a dataset has now, or to the last one of a dataset that has none."""

        def is_living(name: Name, wrote_at: int | None) -> bool:
            end = self.ends_of(name)
            return wrote_at is not None and (end is None or wrote_at > end)

        return is_living(name, wrote_at) or not any(
            is_living(other, self.written.get(other)) for other in self.group[name]
        )

    def counting(self, runs: list[Run], columns_of: Name | None = None) -> list[tuple[Run, str]]:
        """Of the runs that wrote an output, those that decide it, and how (design 5, ``current``).

        With ``columns_of`` the latest that sent column lineage for it; whether the job ever succeeded is still asked
        of all of them.
        """

        def among(run: Run) -> bool:
            return columns_of is None or run.columns(columns_of) is not None

        good = [run for run in runs if run.succeeded is not None and among(run)]
        running = [(run, "running") for run in runs if run.end is None and among(run)]
        if not good:
            if any(run.succeeded is not None for run in runs):
                return running
            bad = [run for run in runs if run.end is not None and among(run)]
            latest = max(((run.end[1], run.execution) for run in bad if run.end), default=(0, ()))[1]
            return running + [(run, "failed") for run in bad if run.execution == latest]
        since, latest = max((run.succeeded or 0, run.execution) for run in good)
        still = [
            (run, how) for run, how in running if run.execution == latest or run.begun >= since or run.alive > since
        ]
        return still + [(run, "successful") for run in good if run.execution == latest]

    def outputs(self) -> dict[tuple[str, Name], list[Run]]:
        """The runs that wrote each output of each job."""
        found: dict[tuple[str, Name], list[Run]] = {}
        for run in self.runs.values():
            for output, write in run.writes.items():
                says = run.inputs or write.newest("columnLineage") is not None or _any_explicit(write)
                if not write.is_drop and (says or not run.declared):
                    found.setdefault((run.job, output), []).append(run)
        return found

    def pairs(self) -> dict[Pair, str]:
        """Every pair that is current, with how it counts."""
        found: dict[Pair, str] = {}

        def add(source: Name, job: str, output: Name, how: str) -> None:
            pair = (self.group[source], job, self.group[output])
            found[pair] = max(how, found.get(pair, how), key=MATTERS.index)

        for (job, output), runs in self.outputs().items():
            for run, how in self.counting(runs):
                if self.lives(output, run.writes[output].at):
                    for source in run.sources(output):
                        add(source, job, output, how)
            for run, how in self.counting(runs, columns_of=output):
                # What only column lineage names has no other evidence, so it stays as long as that counts.
                if self.lives(output, run.writes[output].at) and run.columns(output):
                    for source in run.sources(output) - run.inputs:
                        add(source, job, output, how)
        return found

    def ever(self) -> set[Pair]:
        """Every pair ever seen (scope ``all``)."""
        return {
            (self.group[source], job, self.group[output])
            for (job, output), runs in self.outputs().items()
            for run in runs
            for source in run.sources(output)
        }

    def column_edges(self) -> set[ColumnEdge]:
        """Every column edge of an output with current lineage, by the names that events used."""
        found: set[ColumnEdge] = set()
        for (_, output), runs in self.outputs().items():
            with_columns = [
                run for run, _ in self.counting(runs, columns_of=output) if self.lives(output, run.writes[output].at)
            ]
            decided = any(self.lives(output, run.writes[output].at) for run, _ in self.counting(runs))
            if decided or any(run.sources(output) - run.inputs for run in with_columns if run.columns(output)):
                found |= {
                    (source, column, output, out)
                    for run in with_columns
                    for source, column, out in run.columns(output) or ()
                }
        return found


def _any_explicit(write: Write) -> bool:
    return any(_says(facets.get("lineage")) for _, _, facets in write.events)
