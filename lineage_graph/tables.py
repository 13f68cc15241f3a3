"""Answers as tables for people. What unknown producers named can't take over a terminal: control characters and
bidirectional overrides are shown escaped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

Record = dict[str, Any]

_WIDE, _ENOUGH = 120, 100
_SHORT = 12
"""Columns no wider than this are never folded."""


def escaped(text: str) -> str:
    """The text with everything that a terminal would obey, or hide, written out as ``\\x1b`` or ``\\u202e``."""
    return "".join(_escaped(character) if _is_unsafe(character) else character for character in text)


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """A table without the columns that are empty throughout."""
    names, cells = list(columns), [[escaped(cell) for cell in row] for row in rows]
    kept = [at for at in range(len(names)) if any(row[at] for row in cells)]
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for at in kept:
        made.add_column(names[at], no_wrap=max(len(row[at]) for row in cells) <= _SHORT)
    for row in cells:
        made.add_row(*(Text(row[at], overflow="fold") for at in kept))
    return made


def items_table(items: list[Record], width: int) -> Table:
    """One row an item: what it is, how far, how sure, how its last run ended; with ``width`` characters enough for it,
    by which job, who owns it and how it is tagged."""
    wide = width >= _WIDE
    jobs = {item["id"].removeprefix("job:"): item["name"] for item in items if item["type"] == "job"}
    return table(
        ("", "name", "namespace", "depth", "certainty", "by", "owners", "tags", "last run"),
        (
            (
                item["type"],
                named(item),
                item["namespace"],
                str(item["depth"]),
                item["certainty"],
                jobs.get(made_by, made_by) if item["type"] != "job" and width >= _ENOUGH else "",
                ", ".join(item["owners"]) if wide else "",
                ", ".join(item["tags"]) if wide else "",
                item["last_run"]["state"] if item["last_run"] else "",
            )
            for item in items
            for made_by in [item["via"][-1].removeprefix("job:") if item["via"] else ""]
        ),
    )


def named(item: Record) -> str:
    name: str = item["name"] + (f" . {item['field']}" if item.get("field") else "")
    other = [alias["name"] for alias in item.get("aliases", ())]
    return name + (f" (also {', '.join(other)})" if other else "") + (" [dropped]" if item.get("dropped") else "")


def counted(number: int, noun: str) -> str:
    """Such as ``1 node`` and ``2 nodes``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def footer(answer: Record, nothing: str) -> list[str]:
    """What a table does not show: totals, and everything that was cut or left out."""
    counts = ", ".join(counted(count, kind) for kind, count in answer["counts"].items())
    lines = [counts if answer["total"] else nothing]
    if answer["column_coverage"] is not None:
        lines.append(f"column lineage was reported for {answer['column_coverage']:.0%} of the outputs crossed")
    if not answer["complete"]:
        lines.append(
            f"not complete: cut by {' and '.join(answer['truncated_by'])}; there is more behind "
            f"{counted(len(answer['frontier']), 'node')}, the first is {answer['frontier'][0]}"
        )
    for reason, ids in answer["left_out"].items():
        if ids:
            lines.append(f"left out, {reason.replace('_', ' ')}: {', '.join(ids[:3])}{' …' if len(ids) > 3 else ''}")
    return [escaped(line) for line in (*lines, *standing(answer))]


def standing(answer: Record) -> list[str]:
    """What goes on beyond an answer: its next page, and events that are not in the graph yet."""
    lines = []
    if answer.get("next"):
        lines.append(f"{len(answer['items'])} of {answer['total']} shown; the next page: --cursor {answer['next']}")
    if answer["lag"]:
        lines.append(f"events not in the graph yet: {answer['lag']}")
    return lines


def show(console: Console, *parts: Table | str) -> None:
    for part in parts:
        if isinstance(part, str):
            console.print(part, markup=False, highlight=False, emoji=False, soft_wrap=True)
        else:
            console.print(part)
