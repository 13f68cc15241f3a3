"""What single commands print of their answers: items as CSV, the edges of a graph, the hits of a search."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import IO

from rich.table import Table

from lineage_graph.tables import Record, counted, escaped, named, standing, table

_COLUMNS = ("type", "namespace", "name", "field", "depth", "certainty", "owners", "tags", "last_run", "id")
_OF_HITS = ("type", "namespace", "name", "last_seen", "id")


def write_items(items: list[Record], file: IO[str]) -> None:
    """The items of an answer as CSV, lists joined by ``;``."""
    flat = (
        item
        | {
            "owners": ";".join(item["owners"]),
            "tags": ";".join(item["tags"]),
            "last_run": item["last_run"]["state"] if item["last_run"] else "",
        }
        for item in items
    )
    _write(_COLUMNS, flat, file)


def write_hits(hits: list[Record], file: IO[str]) -> None:
    """The hits of a search as CSV."""
    _write(_OF_HITS, hits, file)


def _write(columns: tuple[str, ...], rows: Iterable[Record], file: IO[str]) -> None:
    """One line a row. A cell that a spreadsheet would run as a formula begins with an apostrophe, and control
    characters are escaped as in tables, since a list is also read on terminals."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_cell("" if row[name] is None else str(row[name])) for name in columns)


def _cell(text: str) -> str:
    shown = escaped(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


def graph_parts(answer: Record) -> Iterator[Table | str]:
    """The edges of a graph answer, how many nodes and edges it has, and where it was cut."""
    by_id = {node["id"]: named(node) for node in answer["nodes"]}
    if answer["edges"]:
        yield table(
            ("from", "", "to", "last seen"),
            (
                (
                    by_id.get(edge["source"], edge["source"]),
                    edge["type"],
                    by_id.get(edge["target"], edge["target"]),
                    edge["last_seen"] or "",
                )
                for edge in answer["edges"]
            ),
        )
    yield f"{counted(answer['total'], 'node')}, {counted(len(answer['edges']), 'edge')}"
    if not answer["complete"]:
        reasons = " and ".join(answer["truncated_by"])
        yield f"not complete: cut by {reasons} at {counted(len(answer['frontier']), 'node')}"
    yield from standing(answer)


def search_parts(answer: Record, text: str) -> Iterator[Table | str]:
    """The hits of a search for ``text`` and their number, or that there is none."""
    if answer["items"]:
        rows = ((hit["type"], hit["namespace"], hit["name"], hit["last_seen"]) for hit in answer["items"])
        yield table(("", "namespace", "name", "last seen"), rows)
    yield f"{answer['total']} found" if answer["total"] else f"no name holds {escaped(text)}"
    yield from standing(answer)
