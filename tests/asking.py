"""Short names for asking, and for what an answer says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lineage_graph import Answer, Asked, Bounds, GraphAnswer, Scope
from tests.events_builder import NAMESPACE

Question = Callable[[Asked, Scope, Bounds], Answer]
NOW, EVER = Scope(), Scope("all")


def table(name: str, namespace: str = NAMESPACE) -> Asked:
    return Asked(namespace=namespace, name=name)


def column(text: str, namespace: str = NAMESPACE) -> Asked:
    """``"orders.amount"``."""
    name, _, field = text.rpartition(".")
    return Asked(namespace=namespace, name=name, field=field)


def job(name: str, namespace: str = NAMESPACE) -> Asked:
    return Asked(namespace=namespace, name=name, type="job")


def tables(answer: Answer | Iterable[object]) -> dict[str, int]:
    """Name -> depth of the datasets of an answer."""
    return {item.name: item.depth for item in answer if item.type == "dataset"}  # type: ignore[attr-defined]


def jobs(answer: Answer) -> dict[str, int]:
    return {item.name: item.depth for item in answer if item.type == "job"}


def columns(answer: Answer) -> dict[str, str]:
    """``name.field`` -> certainty of the columns of an answer, and of datasets without known columns."""
    return {
        f"{item.name}.{item.field}" if item.field else item.name: item.certainty
        for item in answer
        if item.type != "job"
    }


def short(node_id: str) -> str:
    """``dataset:shop:orders`` -> ``orders``; ``datasetField:shop:orders:id`` -> ``orders.id``."""
    return ".".join(node_id.split(":")[2:])


def edges(answer: GraphAnswer, *types: str) -> set[tuple[str, str, str]]:
    """(type, source, target) of a drawn graph."""
    return {(e.type, short(e.source), short(e.target)) for e in answer.edges if not types or e.type in types}


def pages(question: Question, asked: Asked, limit: int, scope: Scope = NOW) -> Iterator[Answer]:
    """All pages of an answer."""
    cursor = None
    while True:
        page = question(asked, scope, Bounds(limit=limit, cursor=cursor))
        yield page
        if page.next is None:
            return
        cursor = page.next
