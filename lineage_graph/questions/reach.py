"""How far a change travels: every dataset, column and job reached, with depth, certainty and a path.

Certainty of a column (design 6): ``direct`` (a value derived from it), ``indirect`` (a filter, join, sort or group:
rows may change), ``possible`` (a job on the way said nothing of the columns of this input, so all columns of its
output may be affected). A node's certainty is the best over all ways to it, its depth the least.

A walk goes level by level and only tells what is where. Which way leads to a node is found out afterwards, for the
nodes that an answer shows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from lineage_graph.cut import Cutter, NodeId, TruncatedBy
from lineage_graph.model import NO_JOB, NOTHING, ColumnMapping, ColumnSource, DatasetKey, JobKey, OutputKey
from lineage_graph.steps import Step, Steps

CERTAINTIES = ("direct", "indirect", "possible")
_DIRECT, _INDIRECT, _POSSIBLE = range(3)

_CHUNK = 256
"""Datasets expanded between two looks at the limit of nodes."""
_DEEP = 6
"""Levels after which a walk is called deep."""
_PATH_END = 50
"""Nodes told of each end of a long path: a chain of ten thousand would else be told ten thousand times."""

N = TypeVar("N", bound=Hashable)


class Path(NamedTuple):
    """A way from the start to a node, its middle left out where it is long."""

    nodes: list[NodeId]
    jobs: list[JobKey]
    """Those that make the steps, in order."""
    left_out: int
    """Nodes of the middle that are not told."""


class Reached(NamedTuple):
    node: NodeId
    depth: int
    certainty: str
    path: Path
    """Over datasets or columns; a job comes last, after what it reads or writes."""
    in_latest_execution: bool


class Reach(Protocol):
    """What a walk found."""

    by_depth: dict[int, dict[str, set[Any]]]
    """Depth -> kind of node -> keys: of datasets and jobs (namespace, name), of columns with the field. The start is
    none of them."""
    dropped: set[DatasetKey]
    only_in_columns: set[DatasetKey]
    """Datasets met that are dropped, or that only column lineage names."""
    expanded: list[DatasetKey]
    frontier: list[NodeId]
    truncated_by: list[TruncatedBy]
    coverage: float | None
    """Share of the outputs crossed that reported column lineage; ``None`` when none was crossed."""

    def explained(self, page: list[tuple[int, NodeId]]) -> list[Reached]:
        """How each of these nodes was reached."""
        ...


class _Ways(Generic[N]):
    """One way to each node, as steps back to the start. A long chain is gone through once, not once a node."""

    def __init__(self, node_of: Callable[[N], NodeId]) -> None:
        self._node_of = node_of
        self._back: dict[N, tuple[N, JobKey] | None] = {}
        self._length: dict[N, int] = {}
        self._begin: dict[N, tuple[tuple[NodeId, ...], tuple[JobKey, ...]]] = {}

    def __contains__(self, node: N) -> bool:
        return node in self._back

    def start(self, node: N) -> None:
        self._back[node] = None
        self._length[node] = 1

    def add(self, node: N, before: N, job: JobKey) -> None:
        """The first way told of a node is kept."""
        if node not in self._back:
            self._back[node] = before, job
            self._length[node] = self._length[before] + 1

    def to(self, node: N) -> Path:
        length = self._length[node]
        if length <= 2 * _PATH_END:
            nodes, jobs = self._until(node, length)
            return Path(nodes, jobs, 0)
        first, first_jobs = self._first(node)
        nodes, jobs = self._until(node, _PATH_END)
        return Path([*first, *nodes], [*first_jobs, *jobs], length - 2 * _PATH_END)

    def _until(self, node: N, count: int) -> tuple[list[NodeId], list[JobKey]]:
        """The last nodes of the way, and the jobs that lead to each of them."""
        nodes: list[NodeId] = []
        jobs: list[JobKey] = []
        at: N | None = node
        while at is not None and len(nodes) < count:
            nodes.append(self._node_of(at))
            back = self._back[at]
            if back is not None:
                jobs.append(back[1])
            at = back[0] if back is not None else None
        return nodes[::-1], jobs[::-1]

    def _first(self, node: N) -> tuple[tuple[NodeId, ...], tuple[JobKey, ...]]:
        passed = []
        at = node
        while at not in self._begin and self._length[at] > _PATH_END:
            passed.append(at)
            back = self._back[at]
            assert back is not None
            at = back[0]
        if at not in self._begin:
            nodes, jobs = self._until(at, _PATH_END)
            self._begin[at] = tuple(nodes), tuple(jobs)
        self._begin.update(dict.fromkeys(passed, self._begin[at]))
        return self._begin[at]


def coverage(covered: int, crossed: int) -> float | None:
    return round(covered / crossed, 4) if crossed else None


class DatasetWalk:
    """Everything that datasets reach, or are reached from.

    ``start`` are the datasets it begins with, ``origin`` the job or run that they are one step behind, if any. It
    stops after ``depth`` steps, and once ``limit`` datasets are reached. No dataset is ever expanded in part, so the
    answer and the expansion of its frontier are the whole.
    """

    def __init__(
        self,
        cutter: Cutter,
        start: Iterable[DatasetKey],
        downstream: bool,
        depth: int | None,
        limit: int,
        origin: NodeId | None = None,
    ) -> None:
        self._cutter = cutter
        self._downstream = downstream
        self._origin = origin
        self._steps: dict[DatasetKey, Steps] = {}
        self._beyond: dict[DatasetKey, Steps] = {}
        """Steps of the datasets that were not expanded."""
        begin = sorted(set(start))
        cutter.names.learn(begin)
        known = {cutter.names.canonical(key) for key in begin if cutter.names.knows(key)}
        self._first = 0 if origin is None else 1
        self._levels: dict[int, set[DatasetKey]] = {self._first: known}
        self._jobs: dict[int, set[JobKey]] = {}
        self.frontier: list[NodeId] = []
        self.truncated_by: list[TruncatedBy] = []
        self._walk(depth, limit)
        self.expanded = [*self._steps]
        held = self._steps | self._beyond
        self.dropped = {key for key, steps in held.items() if steps.dropped}
        self.only_in_columns = {key for key, steps in held.items() if steps.only_in_columns}
        covered = set(chain.from_iterable([steps.covered for steps in self._steps.values()]))
        bare = set(chain.from_iterable([steps.bare for steps in self._steps.values()]))
        self.coverage = coverage(len(covered), len(covered | bare))
        if origin is not None and origin[0] == "job":
            for met in self._jobs.values():
                met.discard((origin[1], origin[2]))
        self.by_depth = {
            depth: {"dataset": self._levels.get(depth, set()), "job": self._jobs.get(depth, set())}
            for depth in range(1, max(self._levels) + 1)
        }

    def _walk(self, depth: int | None, limit: int) -> None:
        at, level = self._first, self._levels[self._first]
        seen, jobs = set(level), set[JobKey]()
        while level:
            if depth is not None and at >= depth:
                self._stop(level, seen, jobs, "depth")
                return
            if at >= _DEEP:
                self._cutter.expect(level, self._downstream)
            found: set[DatasetKey] = set()
            met: set[JobKey] = set()
            # A level of one chunk is expanded whole, in whatever order.
            left = [*level] if len(level) <= _CHUNK else sorted(level)
            while left and len(seen) + len(found) < limit:
                chunk, left = left[:_CHUNK], left[_CHUNK:]
                steps = self._cutter.steps(chunk, self._downstream)
                self._steps |= steps
                found.update(chain.from_iterable([held.fars for held in steps.values()]))
                met.update(chain.from_iterable([held.jobs for held in steps.values()]))
                # Not `-=`, which goes through all that was seen.
                found = found - seen
            at += 1
            self._levels[at], self._jobs[at] = found, met - jobs
            seen |= found
            jobs |= met
            if left or (found and len(seen) >= limit):
                self._stop(found.union(left), seen, jobs, "nodes")
                return
            level = found

    def _stop(self, level: set[DatasetKey], seen: set[DatasetKey], jobs: set[JobKey], why: TruncatedBy) -> None:
        """Name the datasets behind which there is more."""
        self._beyond = self._cutter.steps(sorted(level), self._downstream)
        self.frontier = [
            ("dataset", *key)
            for key, steps in self._beyond.items()
            if not (jobs.issuperset(steps.jobs) and seen.issuperset(steps.fars))
        ]
        self.frontier.sort()
        if self.frontier:
            self.truncated_by = [why]

    def explained(self, page: list[tuple[int, NodeId]]) -> list[Reached]:
        ways = _Ways[NodeId](lambda node: node)
        begin: list[NodeId] = [("dataset", *key) for key in sorted(self._levels[self._first])]
        if self._origin is not None:
            ways.start(self._origin)
        for first in begin:
            if self._origin is None:
                ways.start(first)
            else:
                ways.add(first, self._origin, NO_JOB)
        latest: dict[NodeId, bool] = dict.fromkeys(begin, True)
        for depth in range(self._first, max((depth for depth, _ in page), default=0)):
            datasets, jobs = self._levels.get(depth + 1, set()), self._jobs.get(depth + 1, set())
            for key in sorted(self._levels.get(depth, ())):
                near: NodeId = ("dataset", *key)
                for step in self._steps[key].all if key in self._steps else ():
                    if step.far is not None and step.far in datasets:
                        node: NodeId = ("dataset", *step.far)
                        ways.add(node, near, step.job)
                        latest[node] = step.latest or latest.get(node, False)
                    if step.job in jobs:
                        node = ("job", *step.job)
                        ways.add(node, near, step.job)
                        latest[node] = step.latest or latest.get(node, False)
        return [Reached(node, depth, "direct", ways.to(node), latest[node]) for depth, node in page]


@dataclass
class OutputColumns:
    """The column mappings of one output, ready to be asked from either side."""

    mappings: list[ColumnMapping]
    canonical: Callable[[DatasetKey], DatasetKey]

    def _column(self, source: ColumnSource) -> NodeId:
        return ("column", *self.canonical(source.dataset), source.field)

    @cached_property
    def covered(self) -> set[DatasetKey]:
        """Datasets whose columns the mappings speak of."""
        return {self.canonical(key) for mapping in self.mappings for key in mapping.sources}

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
    """Everything that a column reaches, or is reached from; it stops after ``depth`` steps, and once ``limit``
    columns are reached. The column is given by the name that stands for its dataset."""

    def __init__(self, cutter: Cutter, start: NodeId, downstream: bool, depth: int | None, limit: int) -> None:
        self._cutter = cutter
        self._downstream = downstream
        self._start = start
        self._steps: dict[DatasetKey, Steps] = {}
        self._mappings: dict[str, ColumnMapping] = {}
        self._outputs: dict[OutputKey, OutputColumns] = {}
        self._named: dict[DatasetKey, list[str]] = {}
        self._crossed: dict[OutputKey, bool] = {}
        self._done: dict[tuple[object, ...], int] = {}
        first = _State(start, _DIRECT)
        self._before: dict[_State, tuple[_State, Step] | None] = {first: None}
        self._depths: dict[_State, int] = {first: 0}
        self._best: dict[NodeId, int] = {start: _DIRECT}
        self._jobs: dict[JobKey, tuple[int, int, _State, Step]] = {}
        """Depth, certainty, and the step that is the surest."""
        self.frontier: list[NodeId] = []
        self.truncated_by: list[TruncatedBy] = []
        self._walk(depth, limit)
        self.expanded = [*self._steps]
        self.dropped = {key for key, steps in self._steps.items() if steps.dropped}
        self.only_in_columns = {key for key, steps in self._steps.items() if steps.only_in_columns}
        self.coverage = coverage(sum(self._crossed.values()), len(self._crossed))
        self.by_depth: dict[int, dict[str, set[Any]]] = {}
        for node, at in self._least().items():
            self.by_depth.setdefault(at, {}).setdefault(node[0], set()).add(node[1:])

    def _least(self) -> dict[NodeId, int]:
        least: dict[NodeId, int] = {("job", *job): at for job, (at, *_) in self._jobs.items()}
        for state, at in self._depths.items():
            least[state.node] = min(at, least.get(state.node, at))
        del least[self._start]
        return least

    def _walk(self, depth: int | None, limit: int) -> None:
        level, at = list(self._before), 0
        while level:
            if at >= _DEEP:
                self._cutter.expect({_dataset_of(state) for state in level}, self._downstream)
            self._prepare(level)
            if (depth is not None and at >= depth) or len(self._best) >= limit:
                more = sorted({state.node for state in level if self._has_more(state)})
                self.frontier = more
                self.truncated_by = [] if not more else ["nodes" if len(self._best) >= limit else "depth"]
                return
            at += 1
            found: dict[_State, None] = {}
            for state in level:
                for step, other in self._expand(state):
                    self._meet(step, at, other.certainty if other else _POSSIBLE, state)
                    if other is None or self._best.get(other.node, 3) <= other.certainty:
                        continue
                    self._best[other.node] = other.certainty
                    self._before[other] = (state, step)
                    self._depths[other] = at
                    found[other] = None
            level = sorted(found)

    def _prepare(self, level: list[_State]) -> None:
        """Fetch, a kind at a time, what the expansion of a level looks at."""
        new = sorted(key for key in {_dataset_of(state) for state in level} if key not in self._steps)
        steps = self._cutter.steps(new, self._downstream)
        self._steps |= steps
        taken = [step for held in steps.values() for step in held.all]
        digests = {digest for step in taken for digest in step.mappings if digest not in self._mappings}
        mappings = self._cutter.near.mappings(digests)
        self._cutter.names.learn({source for mapping in mappings.values() for source in mapping.sources})
        self._mappings |= mappings
        whole = set()
        for near, held in steps.items():
            for step in held.all:
                columns = self._columns_of(step)
                side = near if self._downstream else step.far
                is_whole = side not in columns.covered or columns.whole_dataset
                if step.far is not None and step.far not in self._named and is_whole:
                    whole.add(step.far)
        self._named |= self._cutter.columns_of(whole)

    def _meet(self, step: Step, at: int, certainty: int, state: _State) -> None:
        known = self._jobs.get(step.job)
        if step.job != NO_JOB and (known is None or known[1] > certainty):
            self._jobs[step.job] = (at if known is None else known[0], certainty, state, step)

    def explained(self, page: list[tuple[int, NodeId]]) -> list[Reached]:
        ways = _Ways[_State](lambda state: state.node)
        for state, back in self._before.items():  # each state comes after the one that it was reached from
            if back is None:
                ways.start(state)
            else:
                ways.add(state, back[0], back[1].job)
        reached = []
        for depth, node in page:
            if node[0] == "job":
                _, certainty, near, step = self._jobs[node[1], node[2]]
                state = _State(node, certainty)
                ways.add(state, near, step.job)
            else:
                state = _State(node, self._best[node])
                back = self._before[state]
                assert back is not None
                step = back[1]
            reached.append(Reached(node, depth, CERTAINTIES[state.certainty], ways.to(state), step.latest))
        return reached

    def _has_more(self, state: _State) -> bool:
        """Whether another step would reach something new; done with the walk's memory put aside."""
        self._done, crossed = {}, dict(self._crossed)
        more = any(
            (step.job != NO_JOB and step.job not in self._jobs)
            or (other is not None and self._best.get(other.node, 3) > other.certainty)
            for step, other in self._expand(state)
        )
        self._crossed = crossed
        return more

    def _expand(self, state: _State) -> Iterator[tuple[Step, _State | None]]:
        dataset = _dataset_of(state)
        for step in self._steps[dataset].all:
            columns = self._columns_of(step)
            if step.output[1] != NOTHING:
                self._crossed[step.output] = bool(columns.mappings)
            side = dataset if self._downstream else step.far
            if step.far is None:
                yield step, None
            elif side not in columns.covered:
                yield from self._possible(step)
            elif self._downstream:
                yield from self._down(state, step, columns)
            else:
                yield from self._up(state, step, columns)

    def _columns_of(self, step: Step) -> OutputColumns:
        if step.output not in self._outputs:
            held = [self._mappings[digest] for digest in step.mappings if digest in self._mappings]
            self._outputs[step.output] = OutputColumns(held, self._cutter.names.canonical)
        return self._outputs[step.output]

    def _first(self, certainty: int, *what: object) -> bool:
        """Whether a whole group of columns is met for the first time at this certainty or a better one."""
        if self._done.get(what, 3) <= certainty:
            return False
        self._done[what] = certainty
        return True

    def _possible(self, step: Step) -> Iterator[tuple[Step, _State | None]]:
        assert step.far is not None
        if self._first(_POSSIBLE, "possible", step.output, step.far):
            yield from ((step, _State(node, _POSSIBLE)) for node in self._all_columns(step.far))

    def _all_columns(self, dataset: DatasetKey) -> list[NodeId]:
        """The columns known of a dataset; the dataset itself where nobody named any."""
        return [("column", *dataset, name) for name in self._named[dataset]] or [("dataset", *dataset)]

    def _down(self, state: _State, step: Step, columns: OutputColumns) -> Iterator[tuple[Step, _State]]:
        assert step.far is not None
        far = step.far

        def made(names: Iterable[str], certainty: int) -> Iterator[tuple[Step, _State]]:
            certainty = max(certainty, state.certainty)
            yield from ((step, _State(("column", *far, name), certainty)) for name in names)

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
            names = [node[3] for node in self._all_columns(far) if node[0] == "column"]
            yield from made(dict.fromkeys([*names, *columns.mapped]), _INDIRECT)

    def _up(self, state: _State, step: Step, columns: OutputColumns) -> Iterator[tuple[Step, _State]]:
        def of_far(found: Iterable[NodeId], certainty: int) -> Iterator[tuple[Step, _State]]:
            certainty = max(certainty, state.certainty)
            for column in found:
                if step.far is not None and column[1:3] == step.far:
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


def _dataset_of(state: _State) -> DatasetKey:
    return state.node[1], state.node[2]
