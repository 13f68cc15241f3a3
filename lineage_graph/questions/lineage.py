"""What impact and upstream have in common: from a resolved node to one page of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from lineage_graph.cut import Cutter, NodeId
from lineage_graph.elements import column_tags_of, owners_of, tags_of
from lineage_graph.errors import BadRequest
from lineage_graph.events import format_time
from lineage_graph.model import NO_JOB, NOTHING, Dataset, DatasetKey, Job, JobKey, Life, Run
from lineage_graph.nodes import text_id
from lineage_graph.questions.answers import (
    Answer,
    Item,
    LastRun,
    LeftOut,
    Name,
    Node,
    Standing,
    cursor_after,
    key_of_cursor,
)
from lineage_graph.questions.reach import ColumnWalk, DatasetWalk, Reach, Reached
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood


class Bounds(NamedTuple):
    """How far to go, and what to show of it."""

    depth: int | None = None
    """Steps from dataset to dataset; ``None`` goes to the end."""
    nodes: int = 10_000
    limit: int = 1_000
    """Items of one page."""
    cursor: str | None = None
    only: tuple[str, ...] = ()
    """Kinds of items to list; empty for all."""
    column_only: bool = True
    """Whether to list datasets that only column lineage names."""

    def check(self) -> None:
        """Raises :class:`BadRequest` for a bound that can't be kept."""
        for name, least, most in (("depth", 0, None), ("nodes", 1, 1_000_000), ("limit", 1, 10_000)):
            value = getattr(self, name)
            if value is None and name == "depth":
                continue
            if not isinstance(value, int) or value < least or (most is not None and value > most):
                shown = f"at least {least}" if most is None else f"from {least} to {most}"
                raise BadRequest(name, f"is {value!r}; give a whole number, {shown}")
        for kind in self.only:
            if kind not in ("dataset", "job", "column"):
                raise BadRequest("only", f"holds {kind!r}; give dataset, job or column")


def start_of(node: NodeId, near: Neighbourhood, downstream: bool, scope: Scope) -> tuple[list[DatasetKey], int]:
    """The datasets where a walk begins, and how many steps they are away: 1 for those of a job or run."""
    if node[0] in ("dataset", "column"):
        return [(node[1], node[2])], 0
    if node[0] == "job":
        job: JobKey = (node[1], node[2])
        outputs = near.outputs(near.outputs_of_jobs([job])[job])
        if downstream:
            return [key[1] for key in outputs if key[1] != NOTHING], 1
        uses = near.uses_of_outputs(outputs)
        flows = {
            digest for key, output in outputs.items() for digest in scope.flows(output, None, uses.get(key, {}), None)
        }
        return [source for flow in near.flows(flows).values() for source, _ in flow.sources], 1
    run = near.runs([(node[1], node[2], node[3])])[node[1], node[2], node[3]]
    return list(run.outputs if downstream else run.inputs), 1


def lineage(
    near: Neighbourhood, node: NodeId, downstream: bool, scope: Scope, bounds: Bounds, standing: Standing
) -> Answer:
    """One page of everything downstream or upstream of a node that exists."""
    cutter = Cutter(near, scope)
    reach = walk(cutter, node, downstream, bounds)
    listed, left_out = _listed(reach, scope, bounds)
    question = repr((node, downstream, scope, bounds._replace(limit=1, cursor=None)))
    page, is_last = _page(listed, bounds.limit, _after(bounds.cursor, question))
    details = Details(near, cutter)
    counts = Counter[str]()
    for kinds in listed.values():
        counts.update({kind: len(keys) for kind, keys in kinds.items() if keys})
    return Answer(
        node=details.node(node),
        scope=str(scope),
        complete=not reach.frontier,
        truncated_by=reach.truncated_by,
        frontier=[text_id(name) for name in reach.frontier],
        column_coverage=reach.coverage,
        **standing.shown(),
        total=counts.total(),
        counts=dict(sorted(counts.items())),
        left_out=left_out,
        items=details.items(reach.explained(page)),
        next=None if is_last else cursor_after([page[-1][0], *page[-1][1]], question),
    )


def walk(cutter: Cutter, node: NodeId, downstream: bool, bounds: Bounds) -> Reach:
    """Everything that a node reaches, or is reached from, within bounds."""
    if node[0] == "column":
        cutter.names.learn([(node[1], node[2])])
        start = ("column", *cutter.names.canonical((node[1], node[2])), node[3])
        return ColumnWalk(cutter, start, downstream, bounds.depth, bounds.nodes)
    begin, steps = start_of(node, cutter.near, downstream, cutter.scope)
    return DatasetWalk(cutter, begin, downstream, bounds.depth, bounds.nodes, node if steps else None)


def _listed(reach: Reach, scope: Scope, bounds: Bounds) -> tuple[dict[int, dict[str, set[Any]]], LeftOut]:
    """Leave out what a current answer does not list, and say so: dropped datasets, and column-only ones on request."""
    hidden = {"dropped": reach.dropped if scope.kind == "current" else set()}
    hidden["only_in_column_lineage"] = set() if bounds.column_only else reach.only_in_columns - hidden["dropped"]
    left_out: dict[str, list[str]] = {reason: [] for reason in hidden}
    listed: dict[int, dict[str, set[Any]]] = {}
    for depth, kinds in sorted(reach.by_depth.items()):
        listed[depth] = {kind: keys for kind, keys in kinds.items() if not bounds.only or kind in bounds.only}
        for reason, datasets in hidden.items():
            for kind in listed[depth].keys() - {"job"} if datasets else ():
                out = {key for key in listed[depth][kind] if key[:2] in datasets}
                listed[depth][kind] = listed[depth][kind] - out
                left_out[reason] += [text_id((kind, *key)) for key in sorted(out)]
    return listed, LeftOut(**left_out)


def _page(
    listed: dict[int, dict[str, set[Any]]], limit: int, after: tuple[int, NodeId] | None
) -> tuple[list[tuple[int, NodeId]], bool]:
    """The items of one page in order, depth before id, and whether it is the last one. Only what it shows is sorted."""
    page: list[tuple[int, NodeId]] = []
    for depth, kinds in listed.items():
        if after is not None and depth < after[0]:
            continue
        items = sorted((kind, *key) for kind, keys in kinds.items() for key in keys)
        page += [(depth, node) for node in items if after is None or (depth, node) > after]
        if len(page) > limit:
            return page[:limit], False
    return page, True


def _after(cursor: str | None, question: str) -> tuple[int, NodeId] | None:
    if cursor is None:
        return None
    key = key_of_cursor(cursor, question)
    try:
        return int(key[0]), tuple(str(part) for part in key[1:])
    except (TypeError, ValueError) as error:
        raise BadRequest("cursor", "is none that an answer gave; take the value of 'next' as it stands") from error


class Details:
    """What is told of nodes beside where they are: names, owners, tags, last runs."""

    def __init__(self, near: Neighbourhood, cutter: Cutter) -> None:
        self.near = near
        self.names = cutter.names

    def node(self, node: NodeId) -> Node:
        if node[0] == "run":
            return Node(id=text_id(node), type="run", namespace=node[1], name=node[2])
        aliases, dropped = [], False
        if node[0] != "job":
            self.names.learn([(node[1], node[2])])
            members = self.names.members[self.names.canonical((node[1], node[2]))]
            aliases = [Name(namespace=m.key[0], name=m.key[1]) for m in members if m.key != node[1:3]]
            dropped = Life.of(members).is_dropped
        return Node(
            id=text_id(node),
            type=node[0],
            namespace=node[1],
            name=node[2],
            field=node[3] if node[0] == "column" else None,
            aliases=aliases,
            dropped=dropped,
        )

    def items(self, page: list[Reached]) -> list[Item]:
        self.load({item.node for item in page})
        shown = []
        for item in page:
            shown.append(
                Item(
                    depth=item.depth,
                    certainty=item.certainty,
                    path=[text_id(node) for node in item.path.nodes],
                    via=[text_id(("job", *job)) for job in item.path.jobs if job != NO_JOB],
                    path_left_out=item.path.left_out,
                    in_latest_execution=item.in_latest_execution,
                    **self.described(item.node),
                )
            )
        return shown

    def load(self, nodes: Iterable[NodeId]) -> None:
        """Fetch what :meth:`described` tells of these nodes, all at once."""
        nodes = list(nodes)
        self.names.learn({(node[1], node[2]) for node in nodes if node[0] != "job"})
        datasets = {member.key for node in nodes if node[0] != "job" for member in self.names.members[node[1], node[2]]}
        self.writers = self.near.writers(datasets)
        jobs = {(node[1], node[2]) for node in nodes if node[0] == "job"}
        jobs |= {job for written_by in self.writers.values() for job in written_by if job != NO_JOB}
        self.jobs = self.near.jobs(jobs)
        self.runs = self.near.runs({(*key, job.last_run[1]) for key, job in self.jobs.items() if job.last_run})

    def described(self, node: NodeId) -> dict[str, Any]:
        """Fields that items and drawn nodes share. ``load`` must have been called with the node."""
        common = {"id": text_id(node), "type": node[0], "namespace": node[1], "name": node[2]}
        if node[0] == "job":
            job = self.jobs[node[1], node[2]]
            return common | {
                "owners": owners_of(job),
                "tags": tags_of(job),
                "last_run": self._last_run([job]),
                "first_seen": format_time(job.first_seen),
                "last_seen": format_time(job.last_seen),
            }
        members = self.names.members[node[1], node[2]]
        writers = {job for member in members for job in self.writers.get(member.key, ()) if job != NO_JOB}
        return common | {
            "field": node[3] if node[0] == "column" else None,
            "aliases": [Name(namespace=m.key[0], name=m.key[1]) for m in members if m.key != node[1:3]],
            "owners": sorted({owner for member in members for owner in owners_of(member)}),
            "tags": sorted({tag for member in members for tag in _tags(member, node)}),
            "last_run": self._last_run([self.jobs[key] for key in writers if key in self.jobs]),
            "first_seen": format_time(min(member.first_seen for member in members)),
            "last_seen": format_time(max(member.last_seen for member in members)),
            "dropped": Life.of(members).is_dropped,
            "only_in_column_lineage": all(member.only_named_in_columns for member in members),
        }

    def _last_run(self, jobs: list[Job]) -> LastRun | None:
        newest = max(((job.last_run, job.key) for job in jobs if job.last_run), default=None)
        run = newest and newest[0] and self.runs.get((*newest[1], newest[0][1]))
        return last_run(run) if run else None


def last_run(run: Run) -> LastRun:
    state = run.state
    return LastRun(
        id=run.key[2],
        state=state.state,
        ended_at=format_time(state.ended) if state.ended is not None else None,
    )


def _tags(dataset: Dataset, node: NodeId) -> list[str]:
    return column_tags_of(dataset).get(node[3], []) if node[0] == "column" else tags_of(dataset)
