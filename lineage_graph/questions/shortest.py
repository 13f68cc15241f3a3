"""The shortest simple paths between two nodes of a graph, one after another: by length, and then by text.

``networkx.shortest_simple_paths`` gives paths of one length in the order of a search from both ends, so the first five
by text of a billion equally long ones can't be had from it without all of them, and it searches anew at every node of
every path. Here a path only grows where the length of what remains is known to be exact, so it never runs into a dead
end. Between strongly connected components that is the distance to the target; within one it is worked out around what
the path has taken already, and only where the path did not come straight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

import networkx as nx

from lineage_graph.cut import NodeId


def shortest_paths(
    graph: nx.DiGraph[NodeId],
    source: NodeId,
    target: NodeId,
    text: Callable[[NodeId], str],
    check: Callable[[], None],
) -> Iterator[list[NodeId]]:
    """All simple paths from ``source`` to another node, as they are asked for.

    Paths of one length come in the order of the texts of their nodes. ``check`` is called at each step; what it raises
    ends the search.

    >>> graph = nx.DiGraph([("a", "c"), ("c", "d"), ("a", "b"), ("b", "d"), ("a", "d")])
    >>> list(shortest_paths(graph, "a", "d", str, lambda: None))
    [['a', 'd'], ['a', 'b', 'd'], ['a', 'c', 'd']]
    """
    distances = _Distances(graph, target, text)
    length = distances.to_target.get(source)
    while length is not None:
        # Paths of this length, along the same ways as the shorter ones found before.
        longer: int | None = None
        path, taken = [source], {source}
        least = [distances.to_target[source]]
        ways = [iter(distances.ways(source, taken, least[0]))]
        while path:
            check()
            way = next(ways[-1], None)
            if way is None:
                ways.pop()
                least.pop()
                taken.discard(path.pop())
                continue
            node, rest = way
            total = len(path) + rest
            if total > length:
                longer = total if longer is None else min(longer, total)
            elif node != target:
                least.append(distances.least(path[-1], node, least[-1]))
                path.append(node)
                taken.add(node)
                ways.append(iter(distances.ways(node, taken, least[-1])))
            elif total == length:
                yield [*path, node]
        length = longer


class _Distances:
    """How far it is to the target from wherever a path has come to."""

    def __init__(self, graph: nx.DiGraph[NodeId], target: NodeId, text: Callable[[NodeId], str]) -> None:
        self._graph = graph
        self._text = text
        self.to_target: dict[NodeId, int] = dict(nx.single_target_shortest_path_length(graph, target))
        found = (nodes for nodes in nx.strongly_connected_components(graph) if len(nodes) > 1)
        self._components = {node: nodes for nodes in found for node in nodes}
        self._exits: dict[NodeId, int] = {target: 0}
        """For nodes of a component that need none of its other nodes to come to the target: the distance then."""
        for node, component in self._components.items():
            out = [self.to_target[far] + 1 for far in graph[node] if far in self.to_target and far not in component]
            if out:
                self._exits[node] = min(out)
        self._onward: dict[NodeId, list[tuple[NodeId, int]]] = {}

    def least(self, node: NodeId, onward: NodeId, least: int) -> int:
        """The least distance to the target that a path had within the component that it is in, after one more step."""
        component = self._components.get(onward, ())
        return min(least, self.to_target[onward]) if node in component else self.to_target[onward]

    def ways(self, node: NodeId, taken: set[NodeId], least: int) -> list[tuple[NodeId, int]]:
        """Where a path may go on, by text, each with the length of the shortest simple way from there.

        ``taken`` are the nodes of the path, ``least`` is as :meth:`least` gives it.
        """
        if node not in self._onward:
            far = sorted((far for far in self._graph[node] if far in self.to_target and far != node), key=self._text)
            self._onward[node] = [(onward, self.to_target[onward]) for onward in far]
        component = self._components.get(node)
        if component is None:
            return self._onward[node]
        ways = []
        around: dict[NodeId, int] | None = None
        for onward, rest in self._onward[node]:
            if onward in taken:
                continue
            # Nearer to the target than the path ever was in this component, nothing of it can be in the way.
            if onward in component and rest >= least:
                if around is None:
                    around = self._around(component, taken)
                if onward not in around:
                    continue
                rest = around[onward]
            ways.append((onward, rest))
        return ways

    def _around(self, component: set[NodeId], taken: set[NodeId]) -> dict[NodeId, int]:
        """The distances to the target within a component without the nodes taken."""
        heap = [(self._exits[node], node) for node in component if node in self._exits and node not in taken]
        heapify(heap)
        found: dict[NodeId, int] = {}
        while heap:
            length, node = heappop(heap)
            if node not in found:
                found[node] = length
                for before in self._graph.pred[node]:
                    if before in component and before not in taken and before not in found:
                        heappush(heap, (length + 1, before))
        return found
