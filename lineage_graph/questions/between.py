"""What lies between two ends: the tables, found from both sides at once, and the columns of these tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import networkx as nx

from lineage_graph.cut import Cutter, NodeId
from lineage_graph.model import DatasetKey, OutputKey
from lineage_graph.questions.reach import CERTAINTIES, OutputColumns
from lineage_graph.steps import Step

START: NodeId = ("start",)
END: NodeId = ("end",)
"""Before the first and behind the last nodes of all paths."""

Check: TypeAlias = Callable[[], None]
Network: TypeAlias = "nx.DiGraph[NodeId]"
"""Edges are in the direction of the data."""

_CHUNK = 256
"""Tables expanded between two looks at the clock."""
_DEEP = 6
"""Levels of one side after which all that lies that way is fetched at once."""
_DIRECT, _INDIRECT, _POSSIBLE = range(len(CERTAINTIES))


class Made(NamedTuple):
    """What a step makes of one node for another, and how surely, as a place in ``CERTAINTIES``."""

    step: Step
    certainty: int


class Ends(NamedTuple):
    """The tables where paths begin and end, by the names that stand for them, and the column where an end is one."""

    begin: frozenset[DatasetKey]
    end: frozenset[DatasetKey]
    first: NodeId | None = None
    last: NodeId | None = None

    @property
    def are_columns(self) -> bool:
        return self.first is not None or self.last is not None


@dataclass
class _Side:
    downstream: bool
    level: set[DatasetKey]
    seen: set[DatasetKey]
    depth: int = 0


class Tables:
    """The tables that lie between two ends.

    It expands the side that is the narrower at the time, so a table with very many readers is left alone where few
    sources of the target will do. A path between tables leaves its first one and ends at its last one for good; one
    between columns may come back to their tables.
    """

    def __init__(self, cutter: Cutter, ends: Ends, check: Check) -> None:
        self._cutter = cutter
        self._ends = ends
        self._check = check
        self.links: dict[DatasetKey, dict[DatasetKey, list[Step]]] = {}
        """The steps known, by the tables that they lead from and to."""
        self.size = 0
        """How many pairs of tables ``links`` holds."""
        beyond = set() if ends.are_columns else ends.begin & ends.end
        self._up = _Side(False, set(ends.end - beyond), set(ends.end))
        self._down = _Side(True, set(ends.begin - beyond), set(ends.begin))
        self.have_met = bool(ends.begin & ends.end)

    def grow(self) -> Iterator[int | None]:
        """Look at one more level at a time, as it is asked for. Gives up to how many steps all paths are known; at last
        ``None``: all are."""
        while self._up.level and self._down.level:
            yield self._up.depth + self._down.depth
            self._expand(min(self._up, self._down, key=lambda side: len(side.level)))
        yield None

    def made(self, near: NodeId, far: NodeId) -> list[Made]:
        """What the step between two tables that follow each other on a path is."""
        return [Made(step, _DIRECT) for step in self.links[_table(near)][_table(far)]]

    def _expand(self, side: _Side) -> None:
        if side.depth >= _DEEP:
            self._cutter.expect(side.level, side.downstream)
        found: set[DatasetKey] = set()
        left = sorted(side.level)
        while left:
            self._check()
            chunk, left = left[:_CHUNK], left[_CHUNK:]
            for near, steps in self._cutter.steps(chunk, side.downstream).items():
                found.update(steps.fars)
                self._link(near, steps.all, side.downstream)
        other = self._up if side.downstream else self._down
        self.have_met = self.have_met or not found.isdisjoint(other.seen)
        side.level = found - side.seen
        if not self._ends.are_columns:
            side.level -= self._ends.end if side.downstream else self._ends.begin
        side.seen |= found
        side.depth += 1

    def _link(self, near: DatasetKey, steps: list[Step], downstream: bool) -> None:
        by_far: dict[DatasetKey, list[Step]] = {}
        for step in steps:
            if step.far is not None:
                by_far.setdefault(step.far, []).append(step)
        for far, made in by_far.items():
            start, end = (near, far) if downstream else (far, near)
            held = self.links.setdefault(start, {})
            self.size += end not in held
            held[end] = made

    def network(self, check: Check) -> Network:
        """The tables on the ways known from one end to the other, between ``START`` and ``END``."""
        nowhere = frozenset[DatasetKey]()
        begin, end = (nowhere, nowhere) if self._ends.are_columns else self._ends[:2]
        onward: dict[DatasetKey, list[DatasetKey]] = {}
        back: dict[DatasetKey, list[DatasetKey]] = {}
        for near, fars in self.links.items():
            check()
            if near not in end:
                onward[near] = [far for far in fars if far not in begin]
                for far in onward[near]:
                    back.setdefault(far, []).append(near)
        kept = _reached(self._ends.begin, onward) & _reached(self._ends.end, back)
        graph: Network = nx.DiGraph()
        for near in kept:
            check()
            start: NodeId = ("dataset", *near)
            graph.add_edges_from((start, ("dataset", *far)) for far in onward.get(near, ()) if far in kept)
        graph.add_edges_from((START, ("dataset", *key)) for key in self._ends.begin & kept)
        graph.add_edges_from((("dataset", *key), END) for key in self._ends.end & kept)
        return graph


def _reached(start: Iterable[DatasetKey], onward: dict[DatasetKey, list[DatasetKey]]) -> set[DatasetKey]:
    reached = set(start)
    left = [*reached]
    while left:
        for far in onward.get(left.pop(), ()):
            if far not in reached:
                reached.add(far)
                left.append(far)
    return reached


class Columns:
    """The columns that lie between two ends, within the tables between them.

    A job that said nothing of the columns of an input, and an input that touches every column of an output, would make
    a path of each column. Here a table stands in their place, in two ways: as ``("dataset", …)`` for some column of it
    that nobody named, as ``("rows", …)`` for all of its columns. Columns from which a path goes on are nodes of their
    own beside the latter, so from there it goes on only where a job said nothing.
    """

    def __init__(self, cutter: Cutter, tables: Tables, ends: Ends, check: Check) -> None:
        self._cutter = cutter
        self._ends = ends
        self._links: dict[DatasetKey, list[tuple[DatasetKey, list[Step]]]] = {}
        for near, far in tables.network(check).edges:
            if near != START and far != END:
                steps = tables.links[_table(near)][_table(far)]
                self._links.setdefault(_table(near), []).append((_table(far), steps))
        self._made: dict[tuple[NodeId, NodeId], list[Made]] = {}
        self._outputs: dict[OutputKey, OutputColumns] = {}
        self._passed: dict[DatasetKey, set[str]] = {}
        """Columns of each table that a path may go on from, or end at."""
        self._load([step for links in self._links.values() for _, steps in links for step in steps], check)

    def _load(self, steps: list[Step], check: Check) -> None:
        near, names = self._cutter.near, self._cutter.names
        outputs = [*{step.output: step for step in steps}.values()]
        for first in range(0, len(outputs), _CHUNK):
            check()
            chunk = outputs[first : first + _CHUNK]
            mappings = near.mappings({digest for step in chunk for digest in step.mappings})
            names.learn({source for mapping in mappings.values() for source in mapping.sources})
            for step in chunk:
                held = [mappings[digest] for digest in step.mappings if digest in mappings]
                columns = self._outputs[step.output] = OutputColumns(held, names.canonical)
                for column in (*columns.targets, *columns.every_field, *columns.whole_dataset):
                    self._passed.setdefault(_table(column), set()).add(column[3])
        if self._ends.last is not None:
            self._passed.setdefault(_table(self._ends.last), set()).add(self._ends.last[3])

    def network(self, check: Check) -> Network:
        """The columns on the ways from one end to the other, between ``START`` and ``END``."""
        graph: Network = nx.DiGraph()
        level = self._first()
        graph.add_edges_from((START, node) for node in level)
        seen = set(level)
        while level:
            found: dict[NodeId, None] = {}
            for near in level:
                check()
                if self._is_last(near):
                    graph.add_edge(near, END)
                    continue
                for far, made in self._onward(near).items():
                    if self._ends.first is not None or _table(far) not in self._ends.begin:
                        graph.add_edge(near, far)
                        self._made[near, far] = made
                        found[far] = None
            level = [node for node in found if node not in seen]
            seen.update(level)
        kept = nx.ancestors(graph, END) if END in graph else set()
        # A copy, since a view asks at each step whether a node is kept.
        return graph.subgraph(kept | {END}).copy()

    def made(self, near: NodeId, far: NodeId) -> list[Made]:
        """What the step between two nodes that follow each other on a path is."""
        return self._made[near, far]

    def _first(self) -> list[NodeId]:
        if self._ends.first is not None:
            return [self._ends.first]
        return [
            node
            for key in sorted(self._ends.begin)
            for node in (("rows", *key), *(("column", *key, name) for name in sorted(self._passed.get(key, ()))))
        ]

    def _is_last(self, node: NodeId) -> bool:
        return node == self._ends.last if self._ends.last is not None else _table(node) in self._ends.end

    @cached_property
    def _last_is_known(self) -> bool:
        """Whether the last column is one of those that its table has now, which an unknown step may reach."""
        assert self._ends.last is not None
        table = _table(self._ends.last)
        return self._ends.last[3] in self._cutter.columns_of([table])[table]

    def _onward(self, near: NodeId) -> dict[NodeId, list[Made]]:
        """Where a column, or a table that stands for columns, leads to."""
        onward: dict[NodeId, list[Made]] = {}
        for far, steps in self._links.get(_table(near), ()):
            unsaid: list[Made] = []
            rows: list[Made] = []
            for step in steps:
                columns = self._outputs[step.output]
                if _table(near) not in columns.covered:
                    unsaid.append(Made(step, _POSSIBLE))
                elif near[0] != "rows":
                    fed, every, whole = _said(columns, near)
                    for name, certainty in fed.items():
                        onward.setdefault(("column", *far, name), []).append(Made(step, certainty))
                    if every or whole:
                        made = Made(step, _INDIRECT if near[0] == "column" else _POSSIBLE)
                        rows.append(made)
                        for name in self._touched(far, columns, whole):
                            onward.setdefault(("column", *far, name), []).append(made)
            if self._ends.last is not None and far == _table(self._ends.last):
                if unsaid and self._last_is_known:
                    onward.setdefault(self._ends.last, []).extend(unsaid)
            elif unsaid:
                onward["dataset", *far] = unsaid + rows
            elif rows:
                onward["rows", *far] = rows
        return onward

    def _touched(self, far: DatasetKey, columns: OutputColumns, whole: bool) -> Iterable[str]:
        """Columns of an output that an input touches which touches all of them, as far as a path can go on there."""
        passed = self._passed.get(far, set())
        touched = passed if whole else passed & columns.mapped.keys()
        last = self._ends.last
        if last is not None and far == _table(last) and last[3] not in columns.mapped and not self._last_is_known:
            touched = touched - {last[3]}
        return touched


def _said(columns: OutputColumns, near: NodeId) -> tuple[dict[str, int], bool, bool]:
    """What column lineage says of a column, or of some column of a table: the fields made from it, whether it touches
    every mapped field, and whether it touches the whole output."""
    if near[0] == "column":
        return columns.targets.get(near, {}), near in columns.every_field, near in columns.whole_dataset
    own = (_table(near),)
    fed = {name: _POSSIBLE for column, names in columns.targets.items() if _table(column) in own for name in names}
    every, whole = (
        any(_table(column) in own for column in some) for some in (columns.every_field, columns.whole_dataset)
    )
    return fed, every, whole


def _table(node: NodeId) -> DatasetKey:
    return node[1], node[2]
