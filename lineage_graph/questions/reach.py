"""How far a change travels over a cut: every dataset, column and job reached, with depth, certainty and a path.

Certainty of a column (design 6): ``direct`` (a value derived from it), ``indirect`` (a filter, join, sort or group:
rows may change), ``possible`` (a job on the way said nothing of the columns of this input, so all columns of its
output may be affected). A node's certainty is the best over all ways to it, its depth the least.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from lineage_graph.cut import Cut, NodeId
from lineage_graph.model import (
    NO_JOB,
    NOTHING,
    ColumnMapping,
    ColumnSource,
    DatasetKey,
    JobKey,
    OutputKey,
)

CERTAINTIES = ("direct", "indirect", "possible")
_DIRECT, _INDIRECT, _POSSIBLE = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """The way to a node, as a list linked backwards: ten thousand nodes of a chain share one, not a copy each."""

    node: NodeId
    job: JobKey | None = None
    """The job that makes the last step; ``None`` at the start."""
    before: Trail | None = None

    def path(self) -> tuple[list[NodeId], list[JobKey]]:
        """Nodes from the start to the node, and the jobs of the steps between them."""
        nodes, jobs = [], []
        trail: Trail | None = self
        while trail is not None:
            nodes.append(trail.node)
            if trail.job is not None:
                jobs.append(trail.job)
            trail = trail.before
        return nodes[::-1], jobs[::-1]


class Reached(NamedTuple):
    node: NodeId
    depth: int
    certainty: str
    trail: Trail
    """Over datasets or columns; a job comes last, after what it reads or writes."""
    in_latest_execution: bool


class Reach(NamedTuple):
    reached: list[Reached]
    """Sorted by depth, then id; the start is none of them."""
    frontier: list[NodeId]
    coverage: float | None
    """Share of the outputs crossed that reported column lineage; ``None`` when none was crossed."""


class Step(NamedTuple):
    """One step in the direction of the walk: what one job makes of ``near`` for ``far``."""

    job: JobKey
    far: NodeId | None
    """``None`` where the job only reads."""
    output: OutputKey
    latest: bool
    mappings: tuple[str, ...]


def steps_of(cut: Cut) -> dict[NodeId, list[Step]]:
    """For each dataset of a cut the steps that lead on from it, in a fixed order, each job and output once."""
    graph = cut.graph
    steps: dict[NodeId, dict[tuple[OutputKey, NodeId | None], Step]] = {}
    for flow, data in graph.nodes(data=True):
        if flow[0] != "flow":
            continue
        outgoing = [(far, edge) for _, far, edge in graph.out_edges(flow, data=True)]
        for near in graph.predecessors(flow):
            for far, edge in outgoing:
                here, there = (near, far) if cut.downstream else (far, near)
                step = Step(
                    data["job"],
                    there,
                    edge["output"],
                    edge["counted"].in_latest_execution,
                    tuple(sorted(edge["mappings"])),
                )
                held = steps.setdefault(here, {})
                known = held.get((step.output, there))
                held[step.output, there] = step if known is None or step.latest else known
            if not outgoing and cut.downstream:
                output = (data["job"], NOTHING)
                steps.setdefault(near, {})[output, None] = Step(data["job"], None, output, True, ())
        if not cut.downstream and not graph.in_degree(flow):
            for far, edge in outgoing:
                output = edge["output"]
                steps.setdefault(far, {})[output, None] = Step(
                    data["job"],
                    None,
                    output,
                    edge["counted"].in_latest_execution,
                    tuple(sorted(edge["mappings"])),
                )
    for node in [node for node in graph if node[0] == "job"]:
        job = (node[1], node[2])
        for _, far in graph.out_edges(node):
            made = (job, (far[1], far[2]))
            steps.setdefault(far, {})[made, None] = Step(job, None, made, True, ())
    return {node: [held[key] for key in sorted(held, key=str)] for node, held in steps.items()}


def reach_datasets(cut: Cut, origin: NodeId | None = None) -> Reach:
    """Walk datasets. ``origin`` is the job or run that the cut starts behind, the first node of every path."""
    steps = steps_of(cut)
    behind = None if origin is None else Trail(origin)
    trails = {node: Trail(node, None, behind) for node in cut.start}
    latest = dict.fromkeys(trails, True)
    jobs: dict[JobKey, Reached] = {}
    crossed: dict[OutputKey, bool] = {}
    level = sorted(cut.start)
    while level:
        found: list[NodeId] = []
        for node in level:
            for step in steps.get(node, ()):
                if step.output[1] != NOTHING:
                    crossed[step.output] = bool(step.mappings) or crossed.get(step.output, False)
                depth = cut.depth[node] + 1
                if step.job != NO_JOB and step.job not in jobs:
                    name = ("job", *step.job)
                    jobs[step.job] = Reached(name, depth, "direct", Trail(name, step.job, trails[node]), step.latest)
                if step.far is None:
                    continue
                if step.far not in trails:
                    trails[step.far] = Trail(step.far, step.job, trails[node])
                    latest[step.far] = step.latest
                    found.append(step.far)
                elif cut.depth[step.far] == depth:
                    latest[step.far] |= step.latest
        level = sorted(found)
    own_job = origin[1:] if origin is not None and origin[0] == "job" else None
    reached = [
        Reached(node, cut.depth[node], "direct", trail, latest[node])
        for node, trail in trails.items()
        if origin is not None or node not in cut.start
    ]
    reached += [job for key, job in jobs.items() if key != own_job]
    return Reach(_sorted(reached), sorted(cut.frontier), _coverage(crossed))


def _coverage(crossed: dict[OutputKey, bool]) -> float | None:
    return round(sum(crossed.values()) / len(crossed), 4) if crossed else None


def _sorted(reached: Iterable[Reached]) -> list[Reached]:
    return sorted(reached, key=lambda item: (item.depth, item.node))


@dataclass
class _OutputColumns:
    """The column mappings of one output, ready to be asked from either side."""

    mappings: list[ColumnMapping]
    canonical: Callable[[DatasetKey], DatasetKey]

    def _column(self, source: ColumnSource) -> NodeId:
        return ("column", *self.canonical(source.dataset), source.field)

    @cached_property
    def covered(self) -> set[NodeId]:
        """Datasets whose columns the mappings speak of."""
        return {("dataset", *self.canonical(key)) for mapping in self.mappings for key in mapping.sources}

    @cached_property
    def targets(self) -> dict[NodeId, dict[str, int]]:
        """Source column -> the output fields made from it, with their certainty."""
        targets: dict[NodeId, dict[str, int]] = {}
        for mapping in self.mappings:
            for name, sources in mapping.fields:
                for source in sources:
                    held = targets.setdefault(self._column(source), {})
                    certainty = _INDIRECT if source.is_indirect else _DIRECT
                    held[name] = min(certainty, held.get(name, certainty))
        return targets

    @cached_property
    def sources(self) -> dict[str, dict[NodeId, int]]:
        sources: dict[str, dict[NodeId, int]] = {}
        for column, names in self.targets.items():
            for name, certainty in names.items():
                sources.setdefault(name, {})[column] = certainty
        return sources

    @cached_property
    def mapped(self) -> dict[str, None]:
        return dict.fromkeys(name for mapping in self.mappings for name, _ in mapping.fields)

    @cached_property
    def every_field(self) -> set[NodeId]:
        return {self._column(source) for mapping in self.mappings for source in mapping.every_field}

    @cached_property
    def whole_dataset(self) -> set[NodeId]:
        return {self._column(source) for mapping in self.mappings for source in mapping.whole_dataset}


class _State(NamedTuple):
    node: NodeId
    """A column; or a dataset whose columns nobody named, standing for any of them."""
    certainty: int


class ColumnWalk:
    """One walk over the columns of a cut made one step deeper than asked, so that the frontier is exact."""

    def __init__(
        self,
        cut: Cut,
        mappings: dict[str, ColumnMapping],
        canonical: Callable[[DatasetKey], DatasetKey],
        columns_of: Callable[[Iterable[NodeId]], dict[NodeId, list[str]]],
    ) -> None:
        self.cut = cut
        self.steps = steps_of(cut)
        self.canonical = canonical
        self.mappings = mappings
        self.outputs: dict[OutputKey, _OutputColumns] = {}
        self.crossed: dict[OutputKey, bool] = {}
        self.named = columns_of(self._asked_whole())

    def reach(self, start: list[NodeId], depth: int | None, limit: int) -> Reach:
        """All columns that ``start`` columns reach in ``depth`` steps; stops beyond ``limit`` columns."""
        before: dict[_State, tuple[_State, Step] | None] = {_State(node, _DIRECT): None for node in start}
        depths: dict[_State, int] = dict.fromkeys(before, 0)
        best: dict[NodeId, int] = dict.fromkeys(start, _DIRECT)
        jobs: dict[JobKey, tuple[int, int, _State, Step]] = {}
        level, at, frontier = list(before), 0, []
        self._done: dict[tuple[object, ...], int] = {}
        while level:
            if (depth is not None and at >= depth) or len(best) > limit:
                frontier = [state for state in level if self._has_more(state, best, jobs)]
                break
            at += 1
            found: dict[_State, None] = {}
            for state in level:
                for step, other in self._expand(state):
                    self._meet(jobs, step, at, other.certainty if other else _POSSIBLE, state)
                    if other is None or best.get(other.node, 3) <= other.certainty:
                        continue
                    best[other.node] = other.certainty
                    before[other] = (state, step)
                    depths[other] = at
                    found[other] = None
            level = sorted(found)
        return self._result(start, before, depths, best, jobs, frontier)

    @staticmethod
    def _meet(
        jobs: dict[JobKey, tuple[int, int, _State, Step]], step: Step, at: int, certainty: int, state: _State
    ) -> None:
        known = jobs.get(step.job)
        if step.job != NO_JOB and (known is None or known[1] > certainty):
            jobs[step.job] = (at if known is None else known[0], certainty, state, step)

    def _result(
        self,
        start: list[NodeId],
        before: dict[_State, tuple[_State, Step] | None],
        depths: dict[_State, int],
        best: dict[NodeId, int],
        jobs: dict[JobKey, tuple[int, int, _State, Step]],
        frontier: list[_State],
    ) -> Reach:
        trails: dict[_State, Trail] = {}
        for state, step in before.items():  # each state comes after the one that it was reached from
            trails[state] = Trail(state.node) if step is None else Trail(state.node, step[1].job, trails[step[0]])
        least: dict[NodeId, int] = {}
        for state, at in depths.items():
            least[state.node] = min(at, least.get(state.node, at))
        reached = []
        for node, certainty in best.items():
            if node in start:
                continue
            state = _State(node, certainty)
            made_by = before[state]
            assert made_by is not None
            reached.append(Reached(node, least[node], CERTAINTIES[certainty], trails[state], made_by[1].latest))
        for job, (at, certainty, state, step_to) in jobs.items():
            name = ("job", *job)
            trail = Trail(name, job, trails[state])
            reached.append(Reached(name, at, CERTAINTIES[certainty], trail, step_to.latest))
        return Reach(_sorted(reached), sorted({state.node for state in frontier}), _coverage(self.crossed))

    def _has_more(self, state: _State, best: dict[NodeId, int], jobs: Container[JobKey]) -> bool:
        """Whether another step would reach something new; done with the walk's memory put aside."""
        self._done, crossed = {}, dict(self.crossed)
        more = any(
            (step.job != NO_JOB and step.job not in jobs)
            or (other is not None and best.get(other.node, 3) > other.certainty)
            for step, other in self._expand(state)
        )
        self.crossed = crossed
        return more

    def _expand(self, state: _State) -> Iterator[tuple[Step, _State | None]]:
        dataset = ("dataset", *state.node[1:3])
        for step in self.steps.get(dataset, ()):
            columns = self._columns_of(step)
            if step.output[1] != NOTHING:
                self.crossed[step.output] = bool(columns.mappings)
            side = dataset if self.cut.downstream else step.far
            if step.far is None:
                yield step, None
            elif side not in columns.covered:
                yield from self._possible(step)
            elif self.cut.downstream:
                yield from self._downstream(state, step, columns)
            else:
                yield from self._upstream(state, step, columns)

    def _columns_of(self, step: Step) -> _OutputColumns:
        if step.output not in self.outputs:
            held = [self.mappings[digest] for digest in step.mappings if digest in self.mappings]
            self.outputs[step.output] = _OutputColumns(held, self.canonical)
        return self.outputs[step.output]

    def _first(self, certainty: int, *what: object) -> bool:
        """Whether a whole group of columns is met for the first time at this certainty or a better one."""
        if self._done.get(what, 3) <= certainty:
            return False
        self._done[what] = certainty
        return True

    def _possible(self, step: Step) -> Iterator[tuple[Step, _State | None]]:
        assert step.far is not None
        if self._first(_POSSIBLE, "possible", step.output, step.far):
            yield from ((step, _State(node, _POSSIBLE)) for node in self.all_columns(step.far))

    def all_columns(self, dataset: NodeId) -> list[NodeId]:
        """The columns known of a dataset; the dataset itself where nobody named any."""
        return [("column", *dataset[1:], name) for name in self.named[dataset]] or [dataset]

    def _asked_whole(self) -> set[NodeId]:
        """Datasets all of whose columns a step may reach."""
        whole = set()
        for near, steps in self.steps.items():
            for step in steps:
                columns = self._columns_of(step)
                side = near if self.cut.downstream else step.far
                if step.far is not None and (side not in columns.covered or columns.whole_dataset):
                    whole.add(step.far)
        return whole

    def _downstream(self, state: _State, step: Step, columns: _OutputColumns) -> Iterator[tuple[Step, _State]]:
        assert step.far is not None
        far = step.far

        def made(names: Iterable[str], certainty: int) -> Iterator[tuple[Step, _State]]:
            certainty = max(certainty, state.certainty)
            yield from ((step, _State(("column", *far[1:], name), certainty)) for name in names)

        if state.node[0] == "dataset":
            if self._first(_POSSIBLE, "any", step.output, state.node):
                fed = {
                    name
                    for column, names in columns.targets.items()
                    if column[1:3] == state.node[1:3]
                    for name in names
                }
                yield from made(sorted(fed), _POSSIBLE)
            return
        for name, certainty in columns.targets.get(state.node, {}).items():
            yield from made((name,), certainty)
        certainty = max(_INDIRECT, state.certainty)
        if state.node in columns.every_field and self._first(certainty, "every", step.output):
            yield from made(columns.mapped, _INDIRECT)
        if state.node in columns.whole_dataset and self._first(certainty, "whole", step.output):
            names = [node[3] for node in self.all_columns(far) if node[0] == "column"]
            yield from made(dict.fromkeys([*names, *columns.mapped]), _INDIRECT)

    def _upstream(self, state: _State, step: Step, columns: _OutputColumns) -> Iterator[tuple[Step, _State]]:
        def of_far(found: Iterable[NodeId], certainty: int) -> Iterator[tuple[Step, _State]]:
            certainty = max(certainty, state.certainty)
            for column in found:
                if step.far is not None and column[1:3] == step.far[1:3]:
                    yield step, _State(column, certainty)

        if state.node[0] == "dataset":
            if self._first(_POSSIBLE, "any", step.output, step.far):
                yield from of_far(
                    sorted(columns.targets.keys() | columns.every_field | columns.whole_dataset), _POSSIBLE
                )
            return
        name = state.node[3]
        for column, certainty in columns.sources.get(name, {}).items():
            yield from of_far((column,), certainty)
        certainty = max(_INDIRECT, state.certainty)
        if name in columns.mapped and self._first(certainty, "every", step.output, step.far):
            yield from of_far(sorted(columns.every_field), _INDIRECT)
        if self._first(certainty, "whole", step.output, step.far):
            yield from of_far(sorted(columns.whole_dataset), _INDIRECT)
