"""Empty graphs on each store. A store joins the conformance suite by its name in :data:`STORES`."""

from __future__ import annotations

import os

import neo4j

from lineage_graph import LineageGraph

STORES = ("networkx", "neo4j")


def empty_graph(uri: str | None) -> LineageGraph:
    """A graph without events; the database behind ``uri`` is emptied first."""
    if uri is None:
        return LineageGraph.open(None)
    user, password = os.environ.get("LINEAGE_NEO4J_USER", "neo4j"), os.environ.get("LINEAGE_NEO4J_PASSWORD")
    with neo4j.GraphDatabase.driver(uri, auth=(user, password) if password else None) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
    return LineageGraph.open(None, uri, **({"user": user, "password": password} if password else {}))
