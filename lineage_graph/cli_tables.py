"""What single commands print of their answers: items as CSV, the edges of a graph, paths, the hits of a
search."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import IO

from rich.table import Table

from lineage_graph.tables import Record, counted, escaped, named, standing, table

_COLUMNS = ("type", "namespace", "name", "field", "depth", "certainty", "owners", "tags", "last_run", "id")
_OF_HITS = ("type", "namespace", "name", "last_seen", "id")
_OF_STEPS = ("path", "depth", "source", "target", "certainty", "via")
_PATH_END = 50
"""Steps shown of each end of a long path."""


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


def write_steps(paths: list[Record], file: IO[str]) -> None:
    """The steps of paths as CSV, the paths numbered, jobs joined by ``;``."""
    rows = (
        step | {"path": number, "via": ";".join(step["via"])}
        for number, path in enumerate(paths, 1)
        for step in path["steps"]
    )
    _write(_OF_STEPS, rows, file)


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


def paths_parts(answer: Record) -> Iterator[Table | str]:
    """The paths of an answer, a row each node, or that there is none; and what is not known of them."""
    if answer["items"]:
        rows = (row for number, path in enumerate(answer["items"], 1) for row in _path_rows(number, path))
        yield table(("path", "depth", "node", "certainty", "by"), rows)
    source, target = (escaped(answer[end]["id"]) for end in ("source", "target"))
    more = " the shortest; there are more" if answer["more"] else ""
    yield (
        f"{counted(answer['total'], 'path')}{more}"
        if answer["items"]
        else f"no path from {source} to {target}" + ("" if answer["complete"] else " was found")
    )
    if answer["reverse"]:
        yield f"there is one the other way: from {target} to {source}"
    elif answer["complete"] and not answer["items"]:
        yield "nor the other way" if answer["reverse"] is False else "there was no time to look the other way"
    if answer["column_coverage"] is not None:
        yield f"column lineage was reported for {answer['column_coverage']:.0%} of the outputs crossed"
    if not answer["complete"]:
        yield f"not complete: cut by {' and '.join(answer['truncated_by'])}"
    yield from standing(answer)


def _path_rows(number: int, path: Record) -> Iterator[tuple[str, str, str, str, str]]:
    """The nodes of a path, with the jobs that made the step to each; the middle of a long one is left out."""
    yield str(number), "0", path["nodes"][0], "", ""
    for step in path["steps"]:
        if _PATH_END < step["depth"] <= path["depth"] - _PATH_END:
            if step["depth"] == _PATH_END + 1:
                yield (
                    "",
                    "…",
                    f"… {counted(path['depth'] - 2 * _PATH_END, 'step')} more; --csv and --json show all",
                    "",
                    "",
                )
            continue
        by = ", ".join(job.removeprefix("job:") for job in step["via"])
        yield "", str(step["depth"]), step["target"], step["certainty"], by


def search_parts(answer: Record, text: str) -> Iterator[Table | str]:
    """The hits of a search for ``text`` and their number, or that there is none."""
    if answer["items"]:
        rows = ((hit["type"], hit["namespace"], hit["name"], hit["last_seen"]) for hit in answer["items"])
        yield table(("", "namespace", "name", "last seen"), rows)
    yield f"{answer['total']} found" if answer["total"] else f"no name holds {escaped(text)}"
    yield from standing(answer)
