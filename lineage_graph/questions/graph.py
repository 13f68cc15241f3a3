"""The neighbourhood of a node both ways, as nodes and edges for drawing (design 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from lineage_graph.cut import CutGraph, Cutter, NodeId, mapping_digests
from lineage_graph.elements import evidence_properties
from lineage_graph.model import NO_JOB, ColumnMapping, ColumnSource, Evidence, JobKey, Transformation
from lineage_graph.nodes import text_id
from lineage_graph.questions.answers import GraphAnswer, GraphEdge, GraphNode, Standing
from lineage_graph.questions.lineage import Bounds, Details, walk
from lineage_graph.questions.reach import Reach
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood


def graph(
    near: Neighbourhood, node: NodeId, scope: Scope, bounds: Bounds, standing: Standing, level: str
) -> GraphAnswer:
    """Nodes up to ``bounds.depth`` steps away each way, and the edges between them.

    At dataset level READ_BY and WRITES connect datasets and jobs; where a job's outputs come from different inputs,
    FEEDS edges tell which from which. At column level DERIVES and INFLUENCES join them.
    """
    cutter = Cutter(near, scope)
    down, up = (walk(cutter, node, downstream, bounds) for downstream in (True, False))
    depths = _depths(up, -1) | _depths(down, 1)
    whole = _together(cutter.cut(down.expanded, True), cutter.cut(up.expanded, False))
    if node[0] in ("job", "run"):
        whole = _together(whole, cutter.around((node[1], node[2])))
        depths["job", node[1], node[2]] = 0
    else:
        depths[node[0], *cutter.names.canonical((node[1], node[2])), *node[3:]] = 0
    drawing = _Drawing(cutter, near, whole, depths)
    edges = list(drawing.table_edges())
    if level == "column" or node[0] == "column":
        level = "column"
        edges += drawing.column_edges(None if node[0] != "column" else depths.keys())
    details = Details(near, cutter)
    return GraphAnswer(
        node=details.node(node),
        scope=str(scope),
        level=level,
        complete=not (up.frontier or down.frontier),
        truncated_by=sorted({*up.truncated_by, *down.truncated_by}),
        frontier=sorted({text_id(name) for name in (*up.frontier, *down.frontier)}),
        column_coverage=down.coverage
        if up.coverage is None
        else up.coverage
        if down.coverage is None
        else min(up.coverage, down.coverage),
        **standing.shown(),
        total=len(drawing.depths),
        nodes=drawing.nodes(details),
        edges=sorted(edges, key=lambda edge: (edge.type, edge.source, edge.target, edge.job or "")),
    )


def _together(one: CutGraph, other: CutGraph) -> CutGraph:
    whole = one.copy()
    whole.add_nodes_from(other.nodes(data=True))
    for start, end, key, data in other.edges(keys=True, data=True):
        whole.add_edge(start, end, key=key, **data)
    return whole


def _depths(reach: Reach, sign: int) -> dict[NodeId, int]:
    return {
        (kind, *key): sign * depth
        for depth, kinds in reach.by_depth.items()
        for kind, keys in kinds.items()
        for key in keys
    }


class _Drawing:
    def __init__(self, cutter: Cutter, near: Neighbourhood, cut: CutGraph, depths: dict[NodeId, int]) -> None:
        self.names = cutter.names
        self.cut = cut
        self.depths = depths
        self.mappings = near.mappings(mapping_digests(cut))
        cutter.names.learn({source for mapping in self.mappings.values() for source in mapping.sources})
        digests = [name[1] for name in cut if name[0] == "flow"]
        self.flows = near.flows(digests)
        self.reads = near.reads({(source, flow.job) for flow in self.flows.values() for source, _ in flow.sources})

    def nodes(self, details: Details) -> list[GraphNode]:
        details.load(self.depths)
        return [
            GraphNode(
                depth=depth,
                **{k: v for k, v in details.described(name).items() if k in GraphNode.model_fields},
            )
            for name, depth in sorted(self.depths.items(), key=lambda item: (item[1], item[0]))
        ]

    @property
    def _datasets(self) -> set[NodeId]:
        """Datasets that are drawn themselves, or by one of their columns."""
        return {("dataset", *name[1:3]) for name in self.depths if name[0] != "job"}

    def table_edges(self) -> Iterator[GraphEdge]:
        datasets = self._datasets
        reads: dict[tuple[NodeId, NodeId], _Said] = {}
        writes: dict[tuple[NodeId, NodeId], _Said] = {}
        feeds: dict[tuple[NodeId, NodeId, JobKey], _Said] = {}
        flows_of_job: dict[JobKey, set[str]] = {}
        for digest, flow in sorted(self.flows.items()):
            name, job = ("flow", digest), ("job", *flow.job)
            sources = [(near, data) for near, _, data in self.cut.in_edges(name, data=True) if near in datasets]
            targets = [(far, data) for _, far, data in self.cut.out_edges(name, data=True) if far in datasets]
            if targets:
                flows_of_job.setdefault(flow.job, set()).add(digest)
            if job in self.depths:
                for near, data in sources:
                    read = self.reads.get((data["member"], flow.job))
                    # What only the lineage of outputs names is read by the word of that.
                    for evidence in [read] if read else [edge["use"].evidence() for _, edge in targets]:
                        reads.setdefault((near, job), _Said()).add(evidence, data["rule"], True)
                for far, data in targets:
                    latest = data["counted"].in_latest_execution
                    writes.setdefault((job, far), _Said()).add(data["written"], None, latest)
            for far, data in targets:
                for near, source in sources:
                    latest = data["counted"].in_latest_execution
                    feeds.setdefault((near, far, flow.job), _Said()).add(data["use"].evidence(), source["rule"], latest)
        for writer in [name for name in self.cut if name[0] == "job" and name in self.depths]:
            for _, far, data in self.cut.out_edges(writer, data=True):
                if far in datasets:
                    writes.setdefault((writer, far), _Said()).add(data["written"], None, True)
        yield from (said.edge("READ_BY", near, job) for (near, job), said in reads.items())
        yield from (said.edge("WRITES", job, far) for (job, far), said in writes.items())
        for (near, far, made_by), said in feeds.items():
            if made_by == NO_JOB or len(flows_of_job[made_by]) > 1:
                yield said.edge("FEEDS", near, far, made_by)

    def column_edges(self, only: Any) -> Iterator[GraphEdge]:
        """DERIVES and INFLUENCES of all outputs drawn; with ``only`` just those between these columns."""
        said: dict[tuple[str, NodeId, NodeId, JobKey], _Said] = {}
        for _, far, data in self.cut.edges(data=True):
            if far[0] != "dataset" or far not in self._datasets:
                continue
            for digest, counted in data.get("mappings", {}).items():
                if digest not in self.mappings:
                    continue
                evidence = data["uses"][digest].evidence()
                for kind, source, target in _column_pairs(self.mappings[digest], far):
                    start = self._column(source)
                    if only is None:
                        self._draw(start, target)
                    elif start not in only or (target[0] == "column" and target not in only):
                        continue
                    edge = said.setdefault((kind, start, target, data["output"][0]), _Said())
                    edge.add(evidence, None, counted.in_latest_execution)
                    edge.transformations.update(source.transformations)
        for (kind, start, target, job), edge in said.items():
            yield edge.edge(kind, start, target, job)

    def _column(self, source: ColumnSource) -> NodeId:
        return ("column", *self.names.canonical(source.dataset), source.field)

    def _draw(self, *columns: NodeId) -> None:
        for column in columns:
            dataset = ("dataset", *column[1:3])
            if column[0] == "column" and dataset in self.depths:
                self.depths.setdefault(column, self.depths[dataset])


def _column_pairs(mapping: ColumnMapping, far: NodeId) -> Iterator[tuple[str, ColumnSource, NodeId]]:
    for name, sources in mapping.fields:
        for source in sources:
            yield "DERIVES", source, ("column", *far[1:], name)
    for source in mapping.every_field + mapping.whole_dataset:
        yield "INFLUENCES", source, far


_RULES = ("product", "column", "explicit")


class _Said:
    """What all flows behind one drawn edge say of it."""

    def __init__(self) -> None:
        self.evidence: Evidence | None = None
        self.rule: Literal["explicit", "column", "product"] | None = None
        self.latest = False
        self.transformations: set[Transformation] = set()

    def add(self, evidence: Evidence | None, rule: Any, latest: bool) -> None:
        if evidence is not None:
            self.evidence = evidence if self.evidence is None else self.evidence.join(evidence)
        if rule is not None and (self.rule is None or _RULES.index(rule) > _RULES.index(self.rule)):
            self.rule = rule
        self.latest |= latest

    def edge(self, kind: Any, start: NodeId, end: NodeId, job: JobKey | None = None) -> GraphEdge:
        return GraphEdge(
            type=kind,
            source=text_id(start),
            target=text_id(end),
            job=text_id(("job", *job)) if job and job != NO_JOB else None,
            rule=self.rule,
            in_latest_execution=self.latest,
            transformations=[transformation._asdict() for transformation in sorted(self.transformations)],
            **(evidence_properties(self.evidence) if self.evidence else {}),
        )
