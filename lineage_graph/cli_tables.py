"""What single commands print of their answers: items as CSV, the edges of a graph, the hits of a search."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO

from rich.table import Table

from lineage_graph.tables import Record, escaped, named, table

_COLUMNS = ("type", "namespace", "name", "field", "depth", "certainty", "owners", "tags", "last_run", "id")


def write_csv(items: list[Record], file: IO[str]) -> None:
    """One line an item, lists joined by ``;``. A cell that a spreadsheet would run as a formula begins with an
    apostrophe, and control characters are escaped as in tables, since a list is also read on terminals."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for item in items:
        cells = item | {
            "owners": ";".join(item["owners"]),
            "tags": ";".join(item["tags"]),
            "last_run": item["last_run"]["state"] if item["last_run"] else "",
        }
        writer.writerow(_cell("" if cells[name] is None else str(cells[name])) for name in _COLUMNS)


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
    yield f"{answer['total']} nodes, {len(answer['edges'])} edges"
    if not answer["complete"]:
        yield f"not complete: cut by {' and '.join(answer['truncated_by'])} at {len(answer['frontier'])} nodes"


def search_parts(answer: Record, text: str) -> Iterator[Table | str]:
    """The hits of a search for ``text`` and their number, or that there is none."""
    if answer["items"]:
        rows = ((hit["type"], hit["namespace"], hit["name"], hit["last_seen"]) for hit in answer["items"])
        yield table(("", "namespace", "name", "last seen"), rows)
    yield f"{answer['total']} found" if answer["total"] else f"no name holds {escaped(text)}"
