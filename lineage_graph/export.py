"""The graph as files that other tools read: GraphML, node-link JSON, a Cypher script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

import orjson

from lineage_graph.elements import Element

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def node_link(elements: Iterator[Element]) -> Iterator[str]:
    """Node-link JSON as :func:`networkx.node_link_graph` reads it, a line an element."""
    yield '{"directed": true, "multigraph": true, "graph": {}, "nodes": [\n'
    links: list[Element] = []
    comma = ""
    for element in elements:
        if element.start:
            links.append(element)
            continue
        yield comma + _json({"id": element.key, "label": element.type} | element.properties)
        comma = ",\n"
    yield '\n], "edges": [\n'
    comma = ""
    for number, link in enumerate(links):
        ends = {"source": link.start, "target": link.end, "key": number, "relationship": link.type}
        yield comma + _json(ends | link.properties)
        comma = ",\n"
    yield "\n]}\n"


def _json(content: dict[str, Any]) -> str:
    return orjson.dumps(content).decode()


def graphml(elements: Iterator[Element]) -> Iterator[str]:
    """GraphML; lists become text, characters that XML has no place for are written out."""
    held = list(elements)
    nodes = {name for element in held if not element.start for name in ("label", *element.properties)}
    edges = {name for element in held if element.start for name in ("relationship", *element.properties)}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for kind, names in (("node", nodes), ("edge", edges)):
        for name in sorted(names):
            yield f'<key id="{kind}_{name}" for="{kind}" attr.name="{name}" attr.type="string"/>\n'
    yield '<graph edgedefault="directed">\n'
    for element in held:
        if element.start:
            data = _data("edge", {"relationship": element.type} | element.properties)
            yield f'<edge source="{element.start}" target="{element.end}">{data}</edge>\n'
        else:
            yield f'<node id="{element.key}">{_data("node", {"label": element.type} | element.properties)}</node>\n'
    yield "</graph>\n</graphml>\n"


def _data(kind: str, properties: dict[str, Any]) -> str:
    return "".join(f'<data key="{kind}_{name}">{_xml(value)}</data>' for name, value in properties.items())


def _xml(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = _NOT_IN_XML.sub(_written_out, text)
    return quoteattr(text)[1:-1].replace("&quot;", '"')


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def cypher(elements: Iterator[Element]) -> Iterator[str]:
    """A script of one statement a line that makes the graph in an empty Neo4j."""
    yield "CREATE CONSTRAINT exported IF NOT EXISTS FOR (n:Exported) REQUIRE n.key IS UNIQUE;\n"
    for element in elements:
        properties = _map(element.properties)
        if element.start:
            start, end = _literal(element.start), _literal(element.end)
            yield (
                f"MATCH (a:Exported {{key: {start}}}) MATCH (b:Exported {{key: {end}}}) "
                f"CREATE (a)-[:{element.type} {properties}]->(b);\n"
            )
        else:
            yield f"CREATE (:{element.type}:Exported {properties});\n"
    yield "MATCH (n:Exported) REMOVE n:Exported;\nDROP CONSTRAINT exported;\n"


def _map(properties: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {_literal(value)}" for name, value in properties.items()) + "}"


def _literal(value: Any) -> str:
    """A Cypher literal; every character beyond printable ASCII as an escape."""
    if isinstance(value, str):
        return "'" + "".join(_character(character) for character in value) + "'"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _character(character: str) -> str:
    if character in "'\\":
        return "\\" + character
    if " " <= character <= "~":
        return character
    code = ord(character)
    units = [code] if code < 0x10000 else [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)]
    return "".join(f"\\u{unit:04X}" for unit in units)
