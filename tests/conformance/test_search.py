"""Datasets and jobs by a part of their name."""

from __future__ import annotations

import pytest

from lineage_graph import BadRequest, LineageGraph
from tests.events_builder import dataset, describe, run


@pytest.fixture
def named(graph: LineageGraph) -> LineageGraph:
    names = ["orders", "raw_orders", "ORDERS_old", "rawXorders", "100%", "order items", "orders/2026", "größe"]
    graph.ingest([describe(name, at=1) for name in names])
    graph.ingest([run("load_orders", at=2), describe(dataset("orders", namespace="other"), at=3)])
    return graph


def hits(graph: LineageGraph, text: str) -> list[tuple[str, str]]:
    return [(hit.type, hit.name) for hit in graph.search(text).items]


def test_exact_names_come_first_then_those_that_begin_with_the_text(named: LineageGraph) -> None:
    answer = named.search("orders")
    assert [(hit.namespace, hit.name) for hit in answer.items] == [
        ("other", "orders"),
        ("shop", "orders"),
        ("shop", "ORDERS_old"),
        ("shop", "orders/2026"),
        ("shop", "load_orders"),
        ("shop", "rawXorders"),
        ("shop", "raw_orders"),
    ]
    assert answer.total == 7


def test_case_is_ignored(named: LineageGraph) -> None:
    assert hits(named, "ORDERS") == hits(named, "orders")
    assert hits(named, "GRÖSSE") == hits(named, "größe") == [("dataset", "größe")]


@pytest.mark.parametrize(
    ("text", "names"), [("w_o", ["raw_orders"]), ("%", ["100%"]), ("0%", ["100%"]), ("r i", ["order items"])]
)
def test_wildcards_stand_for_themselves(named: LineageGraph, text: str, names: list[str]) -> None:
    assert [name for _, name in hits(named, text)] == names


@pytest.mark.parametrize("text", ["nothing", ".*", "\\", "'", "orders' OR 1=1", "*"])
def test_what_no_name_holds_is_an_empty_answer(named: LineageGraph, text: str) -> None:
    answer = named.search(text)
    assert (answer.items, answer.total, answer.next) == ([], 0, None)


def test_type_and_namespace_narrow_it(named: LineageGraph) -> None:
    assert [hit.name for hit in named.search("orders", types=("job",)).items] == ["load_orders"]
    assert [hit.id for hit in named.search("orders", namespace="other").items] == ["dataset:other:orders"]


def test_pages_together_are_the_whole(named: LineageGraph) -> None:
    whole = named.search("orders").items
    seen, cursor = [], None
    while True:
        page = named.search("orders", limit=2, cursor=cursor)
        seen += page.items
        assert page.total == len(whole)
        cursor = page.next
        if cursor is None:
            break
    assert seen == whole


def test_pages_do_not_repeat_or_skip_when_the_graph_grows(named: LineageGraph) -> None:
    first = named.search("orders", limit=3)
    named.ingest([describe("orders", at=5), describe(dataset("orders", namespace="a"), at=5)])
    second = named.search("orders", limit=100, cursor=first.next)
    ids = [hit.id for hit in (*first.items, *second.items)]
    assert len(ids) == len(set(ids))


def test_an_empty_text_and_a_made_up_cursor_are_refused(named: LineageGraph) -> None:
    with pytest.raises(BadRequest):
        named.search("")
    with pytest.raises(BadRequest):
        named.search("orders", cursor="zzz")


def test_a_name_longer_than_an_index_takes_is_found(named: LineageGraph) -> None:
    named.ingest([describe("L" * 9000 + "end", at=1)])
    assert [name[-3:] for _, name in hits(named, "llll")] == ["end"]
