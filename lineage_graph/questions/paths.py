"""Which ways the data takes from one node to another: the shortest paths, within a time (design 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from time import monotonic
from typing import NamedTuple, TypeAlias

from lineage_graph.cut import Cutter, NodeId
from lineage_graph.errors import BadRequest
from lineage_graph.model import NO_JOB, DatasetKey
from lineage_graph.nodes import text_id
from lineage_graph.questions.answers import FoundPath, PathsAnswer, PathStep, Standing
from lineage_graph.questions.between import END, START, Columns, Ends, Made, Tables
from lineage_graph.questions.lineage import Details, start_of
from lineage_graph.questions.reach import CERTAINTIES, coverage
from lineage_graph.questions.shortest import shortest_paths
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood

MadeOf: TypeAlias = Callable[[NodeId, NodeId], list[Made]]
"""What the step between two nodes that follow each other on a path is."""

MOST_PATHS = 100
MOST_SECONDS = 60
_MOST_NODES = 100_000
"""Nodes told of in all paths of an answer, after which no more paths are listed."""


class Search(NamedTuple):
    """How many paths to list, and how long to look for them."""

    k: int = 5
    seconds: float = 5.0


def paths(
    near: Neighbourhood, source: NodeId, target: NodeId, scope: Scope, search: Search, standing: Standing
) -> PathsAnswer:
    """The ``search.k`` shortest paths from one node that exists to another, along the data: by length, then by text.

    Between tables, jobs and runs they are paths of tables; where an end is a column, of columns. Raises
    :class:`BadRequest` when both ends are the same, or one lies in the other, and for a ``search`` out of range.
    """
    if not 1 <= search.k <= MOST_PATHS:
        raise BadRequest("k", f"is {search.k}; give a number of paths from 1 to {MOST_PATHS}")
    if not 0 < search.seconds <= MOST_SECONDS:
        raise BadRequest("seconds", f"is {search.seconds:g}; give more than 0 and at most {MOST_SECONDS}")
    clock = _Clock(search.seconds)
    cutter = Cutter(near, scope)
    _check_ends(cutter, source, target)
    found = _Finding(cutter, source, target, search.k, clock)
    reverse = None
    if found.is_whole and not found.paths:
        back = _Finding(cutter, target, source, 1, clock)
        reverse = True if back.paths else False if back.is_whole else None
    details = Details(near, cutter)
    return PathsAnswer(
        source=details.node(source),
        target=details.node(target),
        scope=str(scope),
        level="column" if "column" in (source[0], target[0]) else "dataset",
        complete=found.is_complete,
        truncated_by=[] if found.is_complete else ["nodes" if found.is_full else "time"],
        column_coverage=_column_coverage(found.paths, found.made),
        **standing.shown(),
        total=len(found.paths),
        more=found.more,
        reverse=reverse,
        items=[_shown(path, found.made, source, target) for path in found.paths],
    )


class _OutOfTime(Exception):
    """The time that was given is over."""


class _Clock:
    def __init__(self, seconds: float) -> None:
        self._begun, self._seconds = monotonic(), seconds

    def check(self, share: float = 1) -> None:
        """Raises :class:`_OutOfTime` once a share of the time is over."""
        if monotonic() - self._begun > share * self._seconds:
            raise _OutOfTime

    def leave(self, share: float) -> None:
        """Have at least a share of the time left, from now on: a store is not interrupted, so it may be over."""
        self._seconds = max(self._seconds, monotonic() - self._begun + share * self._seconds)


def _check_ends(cutter: Cutter, source: NodeId, target: NodeId) -> None:
    one, other = (_canonical(cutter, node) for node in (source, target))
    if one == other:
        also = "" if source == target else f", which {text_id(source)} is another name of"
        raise BadRequest("target", f"is the source, {text_id(target)}{also}; give two different nodes")
    if {one[0], other[0]} == {"dataset", "column"} and one[1:3] == other[1:3]:
        raise BadRequest("target", "and source are a column and its own table; give nodes of two tables")


def _canonical(cutter: Cutter, node: NodeId) -> NodeId:
    if node[0] not in ("dataset", "column"):
        return node
    (key,) = _known(cutter, [(node[1], node[2])])
    return node[0], *key, *node[3:]


def _known(cutter: Cutter, keys: Iterable[DatasetKey]) -> frozenset[DatasetKey]:
    keys = [*keys]
    cutter.names.learn(keys)
    return frozenset(cutter.names.canonical(key) for key in keys if cutter.names.knows(key))


class _Finding:
    """The ``k`` shortest paths from one node to another, as far as the clock allows."""

    def __init__(self, cutter: Cutter, source: NodeId, target: NodeId, k: int, clock: _Clock) -> None:
        self._cutter = cutter
        self._k = k
        self._clock = clock
        self._ends = Ends(
            _known(cutter, start_of(source, cutter.near, True, cutter.scope)[0]),
            _known(cutter, start_of(target, cutter.near, False, cutter.scope)[0]),
            *(_canonical(cutter, node) if node[0] == "column" else None for node in (source, target)),
        )
        self._found: list[list[NodeId]] = []
        self._sure: int | None = 0
        """Up to how many steps all paths are known; ``None`` for any number."""
        # Once there may be paths, some of the time is left to find them.
        self._tables = Tables(cutter, self._ends, lambda: clock.check(0.7 if self._tables.have_met else 1))
        self.made: MadeOf = self._tables.made
        self._ended = False
        """Whether there was no further path among those known."""
        self.is_full = False
        self._find()
        self.paths = self._found[:k]
        self.is_whole = self._ended and self._sure is None
        self.is_complete = self.is_whole or self._are_sure(k)
        self.more = True if len(self._found) > k else False if self.is_whole else None

    def _find(self) -> None:
        tables, tried = self._tables, 0
        try:
            for self._sure in tables.grow():
                # Paths are looked for whenever twice as much is known, in all not more than twice for what is known.
                if self._sure is not None and (not tables.have_met or tables.size < 2 * tried):
                    continue
                tried = tables.size
                self._list()
                if self._are_sure(self._k + 1):
                    return
        except _OutOfTime:
            if tables.have_met and tried < tables.size:
                self._list()

    def _are_sure(self, count: int) -> bool:
        """Whether the first so many paths can't be preceded by one that is not known."""
        if len(self._found) < count:
            return False
        return self._sure is None or _steps(self._found[count - 1]) <= self._sure

    def _list(self) -> None:
        """Find one path more than asked for, to know whether there are more, among what is known of the tables."""
        self._found, self._ended = [], False
        self._clock.leave(0.4)
        check = self._clock.check
        told = 0
        try:
            between: Tables | Columns = self._tables
            if self._ends.are_columns:
                between = Columns(self._cutter, self._tables, self._ends, check)
            self.made = between.made
            network = between.network(check)
            if START in network:
                for path in shortest_paths(network, START, END, _text, check):
                    told += len(path)
                    self.is_full = bool(self._found) and told > _MOST_NODES
                    if self.is_full:
                        return
                    self._found.append(path)
                    if len(self._found) > self._k:
                        return
            self._ended = True
        except _OutOfTime:
            return


def _steps(path: list[NodeId]) -> int:
    """From table to table, or column to column."""
    return len(path) - 3


def _text(node: NodeId) -> str:
    return text_id(("dataset", *node[1:]) if node[0] == "rows" else node)


def _shown(path: list[NodeId], made_of: MadeOf, source: NodeId, target: NodeId) -> FoundPath:
    """A path as an answer tells it, with the jobs or runs that it begins or ends at."""
    made = [made_of(near, far) for near, far in pairwise(path[1:-1])]
    ways = [({step.job for step, _ in some}, min(c for _, c in some), any(s.latest for s, _ in some)) for some in made]
    nodes = path[1:-1]
    if source[0] in ("job", "run"):
        nodes = [source, *nodes]
        ways = [({(source[1], source[2])}, 0, True), *ways]
    if target[0] in ("job", "run"):
        nodes = [*nodes, target]
        ways = [*ways, ({(target[1], target[2])}, 0, True)]
    texts = [_text(node) for node in nodes]
    steps = [
        PathStep(
            source=texts[at],
            target=texts[at + 1],
            via=[text_id(("job", *job)) for job in sorted(jobs - {NO_JOB})],
            certainty=CERTAINTIES[certainty],
            depth=at + 1,
            in_latest_execution=latest,
        )
        for at, (jobs, certainty, latest) in enumerate(ways)
    ]
    worst = max((certainty for _, certainty, _ in ways), default=0)
    return FoundPath(depth=len(steps), certainty=CERTAINTIES[worst], nodes=texts, steps=steps)


def _column_coverage(paths: list[list[NodeId]], made_of: MadeOf) -> float | None:
    """Share of the outputs that the paths cross which reported column lineage."""
    crossed = {
        step.output: bool(step.mappings)
        for path in paths
        for near, far in pairwise(path[1:-1])
        for step, _ in made_of(near, far)
    }
    return coverage(sum(crossed.values()), len(crossed))
