"""Answers that must agree with each other, over random histories (design 6)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from hypothesis import given, note, settings
from hypothesis import strategies as st

from lineage_graph import Answer, Asked, Bounds, LineageGraph, NotFound, Scope
from tests.asking import pages
from tests.events_builder import NAMESPACE, Event, dataset, describe
from tests.properties.histories import DATASETS, EXAMPLES, FIELDS, JOBS, histories, told
from tests.stores import empty_graph

scopes = st.sampled_from((Scope(), Scope("all"), Scope.parse(window="PT3M")))
DIRECTIONS = ("impact", "upstream")


def graph_of(history: list[Event]) -> LineageGraph:
    graph = empty_graph(None)
    graph.ingest(history)
    return graph


def known(graph: LineageGraph, nodes: list[Asked]) -> Iterator[Asked]:
    """Those of the nodes that the history named, one name of each dataset."""
    seen = set()
    for node in nodes:
        try:
            found = graph.impact(node, Scope(), Bounds(depth=0)).node
        except NotFound:
            continue
        names = frozenset({found.name, *(alias.name for alias in found.aliases)})
        if (names, node.field, node.type) not in seen:
            seen.add((names, node.field, node.type))
            yield node


TABLES = [Asked(namespace=NAMESPACE, name=name) for name in DATASETS]
COLUMNS = [Asked(namespace=NAMESPACE, name=name, field=field) for name in DATASETS for field in FIELDS]
JOB_NODES = [Asked(namespace=NAMESPACE, name=name, type="job") for name in JOBS]
NODES = [*TABLES, *COLUMNS, *JOB_NODES]


def reached(
    graph: LineageGraph, direction: str, node: Asked | str, scope: Scope, kind: str
) -> set[tuple[str, str | None]]:
    """(a name, field) of the items, and of all their aliases."""
    found = set()
    for item in getattr(graph, direction)(node, scope):
        if item.type == kind:
            found |= {(name, item.field) for name in (item.name, *(alias.name for alias in item.aliases))}
    return found


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories, scopes)
def test_a_table_is_downstream_of_another_when_that_is_upstream_of_it(history: list[Event], scope: Scope) -> None:
    note(told(history))
    with closing(graph_of(history)) as graph:
        nodes = [node for node in known(graph, TABLES) if not graph.impact(node).node.dropped]
        pairs = {
            direction: {
                (node.name, other.name)
                for node in nodes
                for found in [reached(graph, direction, node, scope, "dataset")]
                for other in nodes
                if (other.name, None) in found
            }
            for direction in DIRECTIONS
        }
        assert pairs["impact"] == {(start, end) for end, start in pairs["upstream"]}


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories, scopes)
def test_a_column_is_downstream_of_another_when_that_is_upstream_of_it(history: list[Event], scope: Scope) -> None:
    history = [*history, *(describe(dataset(name, schema=FIELDS), at=10) for name in DATASETS)]
    note(told(history))
    with closing(graph_of(history)) as graph:
        nodes = [node for node in known(graph, COLUMNS) if not graph.impact(node).node.dropped]
        pairs = {
            direction: {
                (node[1:4], other[1:4])
                for node in nodes
                for found in [reached(graph, direction, node, scope, "column")]
                for other in nodes
                if (other.name, other.field) in found
            }
            for direction in DIRECTIONS
        }
        assert pairs["impact"] == {(start, end) for end, start in pairs["upstream"]}


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories, scopes, st.sampled_from(DIRECTIONS))
def test_an_answer_to_some_depth_is_the_beginning_of_a_deeper_one(
    history: list[Event], scope: Scope, direction: str
) -> None:
    note(told(history))
    with closing(graph_of(history)) as graph:
        for node in known(graph, NODES):
            whole = getattr(graph, direction)(node, scope)
            assert whole.complete
            at = {item.id: item.depth for item in whole}
            for depth in range(1, max(at.values(), default=0) + 2):
                cut = getattr(graph, direction)(node, scope, Bounds(depth=depth))
                assert {item.id: item.depth for item in cut} == {name: far for name, far in at.items() if far <= depth}
                assert cut.complete == (not cut.frontier) == (not cut.truncated_by)


def bounded(limit: str, most: int) -> Bounds:
    return Bounds(depth=most) if limit == "depth" else Bounds(nodes=most)


limits = st.tuples(st.sampled_from(("depth", "nodes")), st.integers(1, 4))


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories, scopes, st.sampled_from(DIRECTIONS), limits)
def test_an_answer_and_the_expansion_of_its_frontier_are_the_unlimited_answer(
    history: list[Event], scope: Scope, direction: str, limit: tuple[str, int]
) -> None:
    note(told(history))
    with closing(graph_of(history)) as graph:
        for node in known(graph, [*TABLES, *JOB_NODES]):
            question = getattr(graph, direction)
            whole, cut = question(node, scope), question(node, scope, bounded(*limit))
            found = {item.id for item in cut} | {item.id for name in cut.frontier for item in question(name, scope)}
            assert found - own_ids(whole) == {item.id for item in whole} - own_ids(whole)
            check_limits(whole, cut, limit[0])


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories, scopes, st.sampled_from(DIRECTIONS), limits)
def test_an_answer_about_a_column_and_the_expansion_of_its_frontier_are_the_unlimited_answer(
    history: list[Event], scope: Scope, direction: str, limit: tuple[str, int]
) -> None:
    """A frontier node that stands for the unknown columns of a table is expanded as a table, so tables are compared."""
    note(told(history))
    with closing(graph_of(history)) as graph:
        for node in known(graph, COLUMNS):
            question = getattr(graph, direction)
            whole, cut = question(node, scope), question(node, scope, bounded(*limit))
            more = [item for name in cut.frontier for item in question(name, scope)]
            exact = all(name.startswith("datasetField:") for name in cut.frontier)
            found, wanted = ({item.id if exact else item.name for item in items} for items in ([*cut, *more], whole))
            start = own_ids(whole) if exact else {node.name}
            assert wanted - found - start == set()
            check_limits(whole, cut, limit[0])


def check_limits(whole: Answer, cut: Answer, limit: str) -> None:
    """No limit is silent, and none is claimed that left nothing out."""
    assert whole.complete
    assert cut.complete == (not cut.frontier)
    assert cut.truncated_by == ([] if cut.complete else [limit])
    if cut.complete:
        assert [item.id for item in cut] == [item.id for item in whole]


def own_ids(answer: Answer) -> set[str]:
    """Ids of the start by all of its names: an expansion may come back to it."""
    node = answer.node
    kind = {"column": "datasetField"}.get(node.type, node.type)
    names = [(node.namespace, node.name), *((alias.namespace, alias.name) for alias in node.aliases)]
    return {":".join((kind, *name, *([node.field] if node.field else []))) for name in names}


@settings(max_examples=EXAMPLES or 50, deadline=None)
@given(histories, scopes, st.sampled_from(DIRECTIONS), st.integers(1, 5))
def test_all_pages_together_are_the_answer(history: list[Event], scope: Scope, direction: str, limit: int) -> None:
    note(told(history))
    with closing(graph_of(history)) as graph:
        for node in known(graph, NODES):
            question = getattr(graph, direction)
            whole = question(node, scope).items
            assert [item for page in pages(question, node, limit, scope) for item in page] == whole


@settings(max_examples=EXAMPLES or 100, deadline=None)
@given(histories, scopes)
def test_every_path_is_walked_by_its_own_steps(history: list[Event], scope: Scope) -> None:
    """Each step of a path is a one-step answer itself, and the job of the step is among them."""
    note(told(history))
    with closing(graph_of(history)) as graph:
        for node in known(graph, TABLES):
            for item in graph.impact(node, scope):
                if item.type != "dataset":
                    continue
                assert len(item.path) == item.depth + 1
                assert item.path[-1] == item.id
                for start, end in zip(item.path, item.path[1:], strict=False):
                    step = graph.impact(start, scope, Bounds(depth=1))
                    assert end in {other.id for other in step} | set(step.left_out.dropped)
