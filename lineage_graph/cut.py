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

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import networkx as nx

from lineage_graph.elements import schema_fields
from lineage_graph.model import (
    NO_JOB,
    NOTHING,
    Dataset,
    DatasetKey,
    Flow,
    JobKey,
    Life,
    OutputKey,
    joined_to,
)
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood

NodeId: TypeAlias = tuple[str, ...]
TruncatedBy: TypeAlias = Literal["depth", "nodes", "time", "permission"]
CutGraph: TypeAlias = "nx.MultiDiGraph[NodeId]"

_DEEP = 6
"""Steps from which one fetch of all that lies on the way beats a fetch a level."""
_CHUNK = 256
"""Datasets expanded between two looks at the limit of nodes."""


@dataclass(slots=True)
class Cut:
    """``graph`` as above; ``frontier``: datasets left unexpanded though something lies behind them; ``depth``: the
    steps each dataset is away from the start; ``truncated_by``: what stopped the cut."""

    graph: CutGraph
    start: list[NodeId]
    downstream: bool
    depth: dict[NodeId, int] = field(default_factory=dict)
    frontier: list[NodeId] = field(default_factory=list)
    truncated_by: list[TruncatedBy] = field(default_factory=list)
    ends: list[NodeId] = field(default_factory=list)
    """Datasets left unexpanded that have steps behind them at all; those may lead back into the cut."""


class Names:
    """Which names are one dataset (design 2), learned from the store as far as a cut needs it.

    Symlinks join both ways and in chains; a rename joins until the old name is written again.
    """

    def __init__(self, near: Neighbourhood) -> None:
        self._near = near
        self._entities: dict[DatasetKey, Dataset] = {}
        self._group: dict[DatasetKey, DatasetKey] = {}
        self.members: dict[DatasetKey, list[Dataset]] = {}

    def learn(self, keys: Iterable[DatasetKey]) -> None:
        """Find the groups of these names; those known already cost nothing."""
        fresh = {key for key in keys if key not in self._group}
        if not fresh:
            return
        reached, level = set(fresh), set(fresh)
        self._load(level)
        while level:
            level = self._near.alias_claims(level) - reached
            self._load(level)
            reached |= level
        joined: nx.Graph[DatasetKey] = nx.Graph()
        joined.add_nodes_from(key for key in reached if key in self._entities)
        for key in list(joined):
            joined.add_edges_from((key, other) for other in joined_to(self._entities[key], self._entities))
        for group in nx.connected_components(joined):
            members = sorted((self._entities[key] for key in group), key=_rank)
            self.members[members[0].key] = members
            self._group.update((key, members[0].key) for key in group)

    def knows(self, key: DatasetKey) -> bool:
        """Whether the dataset exists, once its name was learned."""
        return key in self._group

    def canonical(self, key: DatasetKey) -> DatasetKey:
        """The name that stands for all names of a dataset that exists."""
        return self._group[key]

    def life(self, key: DatasetKey) -> Life:
        """How the dataset stands that has this name."""
        return Life.of(self.members[self._group[key]])

    def _load(self, keys: set[DatasetKey]) -> None:
        """With the previous names of renames, whose later writes decide whether the rename still joins."""
        self._entities |= self._near.datasets(keys - self._entities.keys())


def _rank(dataset: Dataset) -> tuple[bool, bool, bool, DatasetKey]:
    """The name to show first: not a former one, the one that its writers use, one that events use at all, by text."""
    used = not dataset.roles.isdisjoint(("input", "event", "lineage"))
    return "renamed" in dataset.roles, "output" not in dataset.roles, not used, dataset.key


class Cutter:
    """Makes cuts in one scope from one view of a store."""

    def __init__(self, near: Neighbourhood, scope: Scope) -> None:
        self.near = near
        self.scope = scope
        self.names = Names(near)

    def cut(
        self,
        start: Iterable[DatasetKey],
        downstream: bool,
        depth: int | None = None,
        nodes: int = 10_000,
        steps: int = 0,
    ) -> Cut:
        """Follow the data from ``start``, which is ``steps`` steps away already (1 for the datasets of a job).

        Goes ``depth`` steps from dataset to dataset (to the end when ``None``), until ``nodes`` datasets are reached.
        No dataset is ever expanded in part, so the cut and the expansion of its frontier are the whole.
        """
        keys = sorted(set(start))
        if depth is None or depth > _DEEP:
            self.near.expect(keys, downstream)
        self.names.learn(keys)
        level = sorted({self.names.canonical(key) for key in keys if self.names.knows(key)})
        cut = Cut(nx.MultiDiGraph(), [], downstream)
        cut.start = [self._add_dataset(cut.graph, key) for key in level]
        cut.depth = dict.fromkeys(cut.start, steps)
        while level:
            if depth is not None and steps >= depth:
                self._stop(cut, level, "depth")
                break
            steps += 1
            found: set[DatasetKey] = set()
            left = level
            while left and len(cut.depth) < nodes:
                chunk, left = left[:_CHUNK], left[_CHUNK:]
                for key in self._expand(cut, chunk):
                    if cut.depth.setdefault(("dataset", *key), steps) == steps:
                        found.add(key)
            level = sorted(found)
            if left or (level and len(cut.depth) >= nodes):
                self._stop(cut, [*left, *level], "nodes")
                break
        self._add_jobs(cut.graph)
        return cut

    def _stop(self, cut: Cut, level: list[DatasetKey], why: TruncatedBy) -> None:
        """Name the datasets behind which there is more: found by one more step that is not kept."""
        jobs = _jobs_in(cut.graph)
        beyond = Cut(nx.MultiDiGraph(), [], cut.downstream)
        self._expand(beyond, level)
        ahead = beyond.graph if cut.downstream else beyond.graph.reverse(copy=False)
        for key in level:
            node = ("dataset", *key)
            if node in ahead and ahead.out_degree(node):
                cut.ends.append(node)
            for next_ in ahead.successors(node) if node in ahead else ():
                job = ahead.nodes[next_].get("job", next_[1:]) if next_[0] == "flow" else next_[1:]
                if (job != NO_JOB and job not in jobs) or any(far not in cut.depth for far in ahead.successors(next_)):
                    cut.frontier.append(node)
                    break
        if cut.frontier:
            cut.truncated_by.append(why)

    def _expand(self, cut: Cut, level: list[DatasetKey]) -> list[DatasetKey]:
        members = {member.key: key for key in level for member in self.names.members[key]}
        return self._downstream(cut.graph, members) if cut.downstream else self._upstream(cut.graph, members)

    def _downstream(self, graph: CutGraph, members: dict[DatasetKey, DatasetKey]) -> list[DatasetKey]:
        fed = self.near.fed_by(members)
        flows = self.near.flows({digest for digests in fed.values() for digest in digests})
        made = self.near.outputs_of_flows(flows)
        counted = self._counted({output for outputs in made.values() for output in outputs})
        found: list[DatasetKey] = []
        for member, source in members.items():
            for digest in fed.get(member, ()):
                if digest not in flows:
                    continue
                for output in made[digest]:
                    if digest in counted.get(output, ()):
                        found += self._add(graph, flows[digest], digest, output, counted[output][digest])
                if ("flow", digest) in graph:
                    self._add_source(graph, source, member, flows[digest], digest)
        return found

    def _upstream(self, graph: CutGraph, members: dict[DatasetKey, DatasetKey]) -> list[DatasetKey]:
        writers = self.near.writers(members)
        return self._add_outputs(graph, {(job, key) for key, names in writers.items() for job in names})

    def around(self, job: JobKey) -> CutGraph:
        """What one job reads and writes itself."""
        graph: CutGraph = nx.MultiDiGraph()
        self._add_outputs(graph, set(self.near.outputs_of_jobs([job])[job]))
        self._add_jobs(graph)
        return graph

    def _add_outputs(self, graph: CutGraph, outputs: set[OutputKey]) -> list[DatasetKey]:
        """Add the flows that count for these outputs; the datasets that they come from."""
        counted = self._counted(outputs)
        flows = self.near.flows({digest for found in counted.values() for digest in found})
        self.names.learn({source for flow in flows.values() for source, _ in flow.sources})
        found: list[DatasetKey] = []
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
                    found.append(source)
        return found

    def columns_of(self, nodes: Iterable[NodeId]) -> dict[NodeId, list[str]]:
        """The columns known of datasets of a cut: those of the schema, and those that column lineage in scope makes
        there or takes from there. A column absent from a schema is not dropped: some list only documented ones."""
        known = {node: {path: None for m in self._members(node) for path, _, _ in schema_fields(m)} for node in nodes}
        members = {member.key: node for node in known for member in self._members(node)}
        flows = {digest for digests in self.near.fed_by(members).values() for digest in digests}
        outputs = {output for made in self.near.outputs_of_flows(flows).values() for output in made}
        outputs |= {(job, key) for key, jobs in self.near.writers(members).items() for job in jobs}
        counted = self._counted(outputs)
        digests = {
            output: {d for edge in edges.values() for d in edge["mappings"]} for output, edges in counted.items()
        }
        mappings = self.near.mappings({digest for held in digests.values() for digest in held})
        self.names.learn({source for mapping in mappings.values() for source in mapping.sources})
        named: set[tuple[DatasetKey, str]] = set()
        for output, held in digests.items():
            for digest in held & mappings.keys():
                named.update(mappings[digest].columns(output[1]))
        for key, name in sorted(named):
            if key in members:
                known[members[key]].setdefault(name)
        return {node: list(names) for node, names in known.items()}

    def _members(self, node: NodeId) -> list[Dataset]:
        return self.names.members[node[1], node[2]]

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

    def _add(
        self, graph: CutGraph, flow: Flow, digest: str, output: OutputKey, edge: dict[str, Any]
    ) -> list[DatasetKey]:
        node = ("flow", digest)
        graph.add_node(node, job=flow.job)
        if output[1] == NOTHING:
            return []
        target = self.names.canonical(output[1])
        graph.add_edge(node, self._add_dataset(graph, target), key=output, output=output, **edge)
        return [target]

    def _add_writer(self, graph: CutGraph, output: OutputKey) -> None:
        """A job known to write a dataset though it never said from what."""
        if output[0] != NO_JOB:
            target = self._add_dataset(graph, self.names.canonical(output[1]))
            written = self.near.outputs([output])[output].evidence
            graph.add_edge(("job", *output[0]), target, key=output, written=written)

    def _add_jobs(self, graph: CutGraph) -> None:
        for key, job in self.near.jobs(_jobs_in(graph)).items():
            graph.add_node(("job", *key), job=job)


def _jobs_in(graph: CutGraph) -> set[JobKey]:
    jobs: set[JobKey] = {data["job"] for node, data in graph.nodes(data=True) if node[0] == "flow"}
    return (jobs | {(node[1], node[2]) for node in graph if node[0] == "job"}) - {NO_JOB}


def mapping_digests(graph: CutGraph) -> set[str]:
    """Digests of the column mappings that count for any output of a cut."""
    return {digest for _, _, data in graph.edges(data=True) for digest in data.get("mappings", ())}
