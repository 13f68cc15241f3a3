"""The graph in Neo4j as a whole: all that is written down of it, what that should be, and dropping it.

Only nodes with this product's labels and a key are looked at or removed; what others keep in the same database stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import neo4j

from lineage_graph.cypher import query
from lineage_graph.elements import Element, Row, elements_of, in_order
from lineage_graph.events import format_time, parse_time
from lineage_graph.neo4j_write import Writer
from lineage_graph.projection import Changes

_INTERNAL = {"record", "facets", "content", "search", "digest", "output", "parts", "execution"}
"""Properties that serve the store, not its readers."""
_INTERNAL_LABELS = {"Output", "Mapping"}
_SERVING = {"Dataset", "Job", "Run", "Declaration", "Flow", "Evidence", "SchemaVersion", "READ_BY"}
"""What has internal properties. Relationships of other types may join the same nodes."""
_DROPPED_AT_ONCE = 10_000


def held(session: neo4j.Session) -> Iterator[Element]:
    """Every node and relationship with all of its properties, times as text; empty lists say nothing."""
    for label, properties in session.run(query("all_nodes").text):
        yield Element(label, properties["key"], "", "", _readable(properties))
    for kind, start, end, properties in session.run(query("all_relationships").text):
        yield Element(kind, "", start, end, _readable(properties))


def _readable(properties: Row) -> Row:
    return {
        name: format_time(parse_time(value.iso_format())[0]) if hasattr(value, "iso_format") else value
        for name, value in properties.items()
        if value != []
    }


def shown(elements: Iterable[Element]) -> Iterator[Element]:
    """Of what is held, that which serves readers, in the order of an export."""
    nodes: list[Element] = []
    relationships: list[Element] = []
    for element in elements:
        if element.type not in _INTERNAL_LABELS:
            properties = {name: value for name, value in element.properties.items() if name not in _INTERNAL}
            (relationships if element.start else nodes).append(element._replace(properties=properties))
    return in_order(nodes, relationships)


def expected(changes: Changes) -> Iterator[Element]:
    """What :func:`held` gives when ``changes``, a whole graph, were merged, with times as text."""
    internal: dict[tuple[str, str], Row] = {}

    def note(name: str, rows: Iterable[Row] = (), **_: Any) -> None:
        for row in rows:
            said = row | row.get("properties", {})
            serving = {key: value for key, value in said.items() if key in _INTERNAL and value not in (None, [])}
            if serving:
                internal[(row["key"], "") if "key" in row else (row["start"], row["end"])] = serving
            if name == "upsert_outputs":
                outputs.append({key: value for key, value in row.items() if value != []})
            elif name == "upsert_mappings":
                mappings.append(row)

    outputs: list[Row] = []
    mappings: list[Row] = []
    Writer(note, {}).write(changes)
    yield from (Element("Output", row["key"], "", "", row) for row in outputs)
    yield from (Element("Mapping", row["key"], "", "", row) for row in mappings)
    for element in elements_of(changes):
        place = (element.start, element.end) if element.start else (element.key, "")
        serving = internal.get(place, {}) if element.type in _SERVING else {}
        yield element._replace(properties=element.properties | serving)


def drop(session: neo4j.Session, journal: str) -> None:
    """Remove the graph and how far each journal is in it. It is noted that this goes on before the first node goes:
    a graph that lacks some nodes can't be mended by merging, so it must be ended when it was cut short."""
    session.run(query("begin_drop").text, {"journal": journal}).consume()
    for name in ("drop_details", "drop_names"):
        while session.run(query(name).text, {"most": _DROPPED_AT_ONCE}).single(strict=True)["removed"]:
            pass
    session.run(query("end_drop").text).consume()


def is_dropping(session: neo4j.Session) -> bool:
    """Whether a drop was begun and not ended."""
    return bool(session.run(query("read_drop").text).single(strict=True)["dropping"])
