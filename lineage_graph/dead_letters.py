"""What came and was no event: pages of it, and trying it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lineage_graph.errors import NotFound
from lineage_graph.events import format_time
from lineage_graph.graph import LineageGraph
from lineage_graph.journal import DeadLetter, Journal

_AT_ONCE = 100
"""Read at once, as a body may have a MiB."""


def page_of(journal: Journal, after: int = 0, limit: int = 100) -> dict[str, Any]:
    """Up to ``limit`` dead letters with an id greater than ``after``, without their bodies; ``next`` is where to go
    on, ``total`` counts all there are."""
    items: list[dict[str, Any]] = []
    for letter in _letters(journal, after):
        if len(items) == limit:
            return {"total": journal.dead_letter_count, "items": items, "next": items[-1]["id"]}
        shown = letter._asdict() | {"received": format_time(letter.received), "size": len(letter.body)}
        del shown["body"]
        items.append(shown)
    return {"total": journal.dead_letter_count, "items": items, "next": None}


def letter_of(journal: Journal, id: int) -> DeadLetter:
    """The dead letter of an id. Raises :class:`NotFound`."""
    found = journal.dead_letters(id - 1, 1)
    if not found or found[0].id != id:
        raise NotFound(f"dead letter {id}")
    return found[0]


def retry(graph: LineageGraph, ids: Iterable[int] | None) -> tuple[int, int]:
    """Try the dead letters of these ids again, or all: how many were taken as events, and how many stay.

    Raises :class:`NotFound` for an id that is none, before anything is tried.
    """
    taken = stay = 0
    letters = _letters(graph.journal) if ids is None else iter([letter_of(graph.journal, id) for id in ids])
    while some := list(islice(letters, _AT_ONCE)):
        left = len(graph.retry(some))
        taken, stay = taken + len(some) - left, stay + left
    return taken, stay


def _letters(journal: Journal, after: int = 0) -> Iterator[DeadLetter]:
    while some := journal.dead_letters(after, _AT_ONCE):
        yield from some
        after = some[-1].id
