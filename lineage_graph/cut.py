"""The part of the graph that a question is about, as a plain ``networkx`` graph (design 1.4).

A cut starts at datasets and follows data flow one way, level by level. Names that are one dataset are one node here,
so an alias costs no step. Nodes are tuples:

- ``("dataset", namespace, name)`` with ``dataset`` (the entity), ``members`` (all entities of that dataset),
- ``("job", namespace, name)`` with ``job``,
- ``("flow", digest)`` with ``job`` (its key): the sources that one job's outputs came from together.

Edges, in the direction of the data: dataset → flow (``rule``, ``member``: the name that was read), flow → dataset
(``output``, ``use``, ``counted``, ``mappings``, ``written``), and job → dataset (``written``) for a job that never said
from what it writes. A flow without outgoing edge is what a job only reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import networkx as nx

from lineage_graph.elements import schema_fields
from lineage_graph.model import (
    NO_JOB,
    NOTHING,
    DatasetKey,
    Flow,
    JobKey,
    Life,
    OutputKey,
)
from lineage_graph.names import Names
from lineage_graph.scope import Scope
from lineage_graph.steps import Step, Steps
from lineage_graph.store import Neighbourhood

NodeId: TypeAlias = tuple[str, ...]
TruncatedBy: TypeAlias = Literal["depth", "nodes", "time", "permission"]
CutGraph: TypeAlias = "nx.MultiDiGraph[NodeId]"


class Cutter:
    """Makes cuts in one scope from one view of a store."""

    def __init__(self, near: Neighbourhood, scope: Scope) -> None:
        self.near = near
        self.scope = scope
        self.names = Names(near)
        self._expected: set[bool] = set()

    def cut(self, keys: Iterable[DatasetKey], downstream: bool) -> CutGraph:
        """The graph of what lies one step away from these datasets."""
        graph: CutGraph = nx.MultiDiGraph()
        keys = [*keys]
        self.names.learn(keys)
        known = {self.names.canonical(key) for key in keys if self.names.knows(key)}
        members = {member.key: key for key in sorted(known) for member in self.names.members[key]}
        for key in members.values():
            self._add_dataset(graph, key)
        if downstream:
            self._add_downstream(graph, members)
        else:
            writers = self.near.writers(members)
            self._add_outputs(graph, {(job, key) for key, names in writers.items() for job in names})
        self._add_jobs(graph)
        return graph

    def expect(self, keys: Iterable[DatasetKey], downstream: bool) -> None:
        """Told from where a walk goes deep. Unless steps from there are remembered, all that lies on the way is fetched
        at once, which beats a fetch a level."""
        if downstream not in self._expected and not self._held(downstream).keys() >= {*keys}:
            self._expected.add(downstream)
            self.near.expect(keys, downstream)

    def _held(self, downstream: bool) -> dict[DatasetKey, Steps]:
        return self.near.memory.held(downstream) if self.scope == Scope() else {}

    def steps(self, keys: Iterable[DatasetKey], downstream: bool) -> dict[DatasetKey, Steps]:
        """The steps from each of these datasets, given by the names that stand for them."""
        held = self._held(downstream)
        found = {key: steps for key in keys if (steps := held.get(key)) is not None}
        missing = [key for key in keys if key not in found]
        if missing:
            self.names.learn(missing)
            new = self._new_steps(missing, downstream)
            found |= new
            if self.scope == Scope():
                self.near.memory.keep(downstream, new, {m.key: key for key in missing for m in self.names.members[key]})
        return found

    def _new_steps(self, keys: list[DatasetKey], downstream: bool) -> dict[DatasetKey, Steps]:
        members = {member.key: key for key in keys for member in self.names.members[key]}
        steps: dict[DatasetKey, dict[tuple[OutputKey, DatasetKey | None], Step]] = {key: {} for key in keys}
        for near, step in self._steps_down(members) if downstream else self._steps_up(members):
            known = steps[near].get((step.output, step.far))
            if known is None or step.latest:
                steps[near][step.output, step.far] = step
        made = {}
        for key in keys:
            named = self.names.members[key]
            only_in_columns = all(member.only_named_in_columns for member in named)
            made[key] = Steps(steps[key].values(), Life.of(named).is_dropped, only_in_columns)
        return made

    def _steps_down(self, members: dict[DatasetKey, DatasetKey]) -> Iterator[tuple[DatasetKey, Step]]:
        fed = self.near.fed_by(members)
        flows = self.near.flows({digest for digests in fed.values() for digest in digests})
        made = self.near.outputs_of_flows(flows)
        counted = self._counted({output for outputs in made.values() for output in outputs})
        for member, digests in fed.items():
            for digest in digests:
                for output in made.get(digest, ()):
                    edge = counted.get(output, {}).get(digest)
                    if edge is not None:
                        far = None if output[1] == NOTHING else self.names.canonical(output[1])
                        yield members[member], _step(flows[digest].job, far, output, edge)

    def _steps_up(self, members: dict[DatasetKey, DatasetKey]) -> Iterator[tuple[DatasetKey, Step]]:
        outputs = {(job, key) for key, jobs in self.near.writers(members).items() for job in jobs}
        counted = self._counted(outputs)
        flows = self.near.flows({digest for found in counted.values() for digest in found})
        self.names.learn({source for flow in flows.values() for source, _ in flow.sources})
        for output in outputs:
            near = members[output[1]]
            found = {digest: edge for digest, edge in counted.get(output, {}).items() if digest in flows}
            if not found and output[0] != NO_JOB:
                # A job known to write a dataset though it never said from what.
                yield near, Step(output[0], None, output, True, ())
            for digest, edge in found.items():
                flow = flows[digest]
                if not flow.sources:
                    yield near, _step(flow.job, None, output, edge)
                for source, _ in flow.sources:
                    yield near, _step(flow.job, self.names.canonical(source), output, edge)

    def _add_downstream(self, graph: CutGraph, members: dict[DatasetKey, DatasetKey]) -> None:
        fed = self.near.fed_by(members)
        flows = self.near.flows({digest for digests in fed.values() for digest in digests})
        made = self.near.outputs_of_flows(flows)
        counted = self._counted({output for outputs in made.values() for output in outputs})
        for member, source in members.items():
            for digest in fed.get(member, ()):
                if digest not in flows:
                    continue
                for output in made[digest]:
                    if digest in counted.get(output, ()):
                        self._add(graph, flows[digest], digest, output, counted[output][digest])
                if ("flow", digest) in graph:
                    self._add_source(graph, source, member, flows[digest], digest)

    def around(self, job: JobKey) -> CutGraph:
        """What one job reads and writes itself."""
        graph: CutGraph = nx.MultiDiGraph()
        self._add_outputs(graph, set(self.near.outputs_of_jobs([job])[job]))
        self._add_jobs(graph)
        return graph

    def _add_outputs(self, graph: CutGraph, outputs: set[OutputKey]) -> None:
        """Add the flows that count for these outputs, and the datasets that they come from."""
        counted = self._counted(outputs)
        flows = self.near.flows({digest for found in counted.values() for digest in found})
        self.names.learn({source for flow in flows.values() for source, _ in flow.sources})
        for output in sorted(outputs):
            if not counted.get(output) and output[1] != NOTHING:
                self._add_writer(graph, output)
            for digest, edge in counted.get(output, {}).items():
                if digest not in flows:
                    continue
                self._add(graph, flows[digest], digest, output, edge)
                for member, _ in flows[digest].sources:
                    source = self.names.canonical(member)
                    self._add_dataset(graph, source)
                    self._add_source(graph, source, member, flows[digest], digest)

    def columns_of(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, list[str]]:
        """The columns known of datasets: those of the schema, and those that column lineage in scope makes there or
        takes from there. A column absent from a schema is not dropped: some list only documented ones."""
        keys = sorted(keys)
        near = [
            (key, step) for way in (True, False) for key, steps in self.steps(keys, way).items() for step in steps.all
        ]
        mappings = self.near.mappings({digest for _, step in near for digest in step.mappings})
        self.names.learn(keys)
        members = {member.key: key for key in keys for member in self.names.members[key]}
        known = {key: {path: None for m in self.names.members[key] for path, _, _ in schema_fields(m)} for key in keys}
        named: dict[DatasetKey, set[str]] = {key: set() for key in keys}
        for key, step in near:
            for digest in step.mappings:
                for dataset, name in mappings[digest].columns(step.output[1]) if digest in mappings else ():
                    if members.get(dataset) == key:
                        named[key].add(name)
        return {key: [*known[key], *sorted(named[key] - known[key].keys())] for key in keys}

    def _counted(self, keys: set[OutputKey]) -> dict[OutputKey, dict[str, dict[str, Any]]]:
        """For each output the flows that count in this scope, each with what its edge has to say."""
        outputs = self.near.outputs(keys | {(job, NOTHING) for job, _ in keys})
        uses = self.near.uses_of_outputs(keys)
        written = {key[1] for key in keys if key[1] != NOTHING}
        self.names.learn(written)
        result: dict[OutputKey, dict[str, dict[str, Any]]] = {}
        for key in keys:
            output = outputs.get(key)
            if output is None:
                continue
            life_start = None if key[1] == NOTHING else self.names.life(key[1]).ended.get(key[1])
            reads = outputs.get((key[0], NOTHING))
            held = uses.get(key, {})
            flows = self.scope.flows(output, reads, held, life_start)
            mappings = self.scope.mappings(output, held, life_start)
            result[key] = {
                digest: {
                    "counted": counted,
                    "use": held[digest],
                    "mappings": mappings,
                    "uses": held,
                    "written": output.evidence,
                }
                for digest, counted in flows.items()
                if digest in held
            }
        return result

    def _add_dataset(self, graph: CutGraph, key: DatasetKey) -> NodeId:
        node = ("dataset", *key)
        if node not in graph:
            members = self.names.members[key]
            graph.add_node(node, dataset=members[0], members=members)
        return node

    def _add_source(self, graph: CutGraph, source: DatasetKey, member: DatasetKey, flow: Flow, digest: str) -> None:
        rule = dict(flow.sources)[member]
        graph.add_edge(("dataset", *source), ("flow", digest), key=member, rule=rule, member=member)

    def _add(self, graph: CutGraph, flow: Flow, digest: str, output: OutputKey, edge: dict[str, Any]) -> None:
        node = ("flow", digest)
        graph.add_node(node, job=flow.job)
        if output[1] != NOTHING:
            target = self._add_dataset(graph, self.names.canonical(output[1]))
            graph.add_edge(node, target, key=output, output=output, **edge)

    def _add_writer(self, graph: CutGraph, output: OutputKey) -> None:
        """A job known to write a dataset though it never said from what."""
        if output[0] != NO_JOB:
            target = self._add_dataset(graph, self.names.canonical(output[1]))
            written = self.near.outputs([output])[output].evidence
            graph.add_edge(("job", *output[0]), target, key=output, written=written)

    def _add_jobs(self, graph: CutGraph) -> None:
        for key, job in self.near.jobs(_jobs_in(graph)).items():
            graph.add_node(("job", *key), job=job)


def _step(job: JobKey, far: DatasetKey | None, output: OutputKey, edge: dict[str, Any]) -> Step:
    return Step(job, far, output, edge["counted"].in_latest_execution, tuple(sorted(edge["mappings"])))


def _jobs_in(graph: CutGraph) -> set[JobKey]:
    jobs: set[JobKey] = {data["job"] for node, data in graph.nodes(data=True) if node[0] == "flow"}
    return (jobs | {(node[1], node[2]) for node in graph if node[0] == "job"}) - {NO_JOB}


def mapping_digests(graph: CutGraph) -> set[str]:
    """Digests of the column mappings that count for any output of a cut."""
    return {digest for _, _, data in graph.edges(data=True) for digest in data.get("mappings", ())}
