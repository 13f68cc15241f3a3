"""The demo: a sample pipeline in an empty data folder, and an answer of each kind."""

from __future__ import annotations

from rich.console import Console

from lineage_graph.errors import BadRequest
from lineage_graph.events import digest_of
from lineage_graph.graph import LineageGraph
from lineage_graph.questions.lineage import Bounds
from lineage_graph.sample import EXAMPLES, events
from lineage_graph.tables import counted, escaped, footer, items_table, show, table


def fill(graph: LineageGraph) -> bool:
    """Load the sample; False where it was held already and is left as it is.

    Raises :class:`BadRequest` when the folder holds other events.
    """
    sample = list(events())
    if graph.journal.count:
        if not all(graph.journal.event(digest_of(event)) for event in (sample[0], sample[-1])):
            raise BadRequest("--data", f"names {graph.journal.place}, which holds other events; give an empty folder")
        return False
    for first in range(0, len(sample), 500):
        graph.ingest(sample[first : first + 500])
    return True


def tell(graph: LineageGraph, console: Console, where: str) -> None:
    """Print an answer of each kind, and the command that gives it; ``where`` are the options that say where it is."""
    for question, key, why in (
        ("impact", "impact", "What breaks if this table changes?"),
        ("impact", "column", "Where does this personal column go, and how sure is that?"),
        ("upstream", "upstream", "Where does this mart come from?"),
    ):
        node = EXAMPLES[key]
        ask = graph.impact if question == "impact" else graph.upstream
        answer = ask(node, bounds=Bounds(limit=8)).model_dump(mode="json")
        console.rule(why, align="left")
        show(
            console, f"$ lineage-graph {question} '{escaped(node)}'{where}", items_table(answer["items"], console.width)
        )
        more = answer["total"] - len(answer["items"])
        show(
            console,
            *footer(answer | {"next": None}, "nothing"),
            *([f"… the first {len(answer['items'])} of {answer['total']}"] if more else []),
        )
    console.rule("Which tables are about orders?", align="left")
    found = graph.search("orders", ("dataset",), limit=5)
    rows = ((hit.type, hit.namespace, hit.name, hit.last_seen) for hit in found.items)
    show(console, f"$ lineage-graph search orders{where}", table(("", "namespace", "name", "last seen"), rows))
    around = graph.graph(EXAMPLES["upstream"], bounds=Bounds(depth=1))
    console.rule("What lies right around the mart?", align="left")
    show(console, f"$ lineage-graph graph '{EXAMPLES['upstream']}' --depth 1{where}")
    show(console, f"{counted(len(around.nodes), 'node')}, {counted(len(around.edges), 'edge')}")
    edges = ((edge.source, edge.type, edge.target) for edge in around.edges)
    show(console, table(("from", "", "to"), edges))
