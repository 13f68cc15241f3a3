"""Empty graphs on each store. A store joins the conformance suite by its name in :data:`STORES`."""

from __future__ import annotations

import os

import neo4j

from lineage_graph import LineageGraph

STORES = ("networkx", "neo4j")


def access() -> dict[str, str]:
    """What the tests' database asks who comes, as :meth:`LineageGraph.open` takes it."""
    user, password = os.environ.get("LINEAGE_NEO4J_USER", "neo4j"), os.environ.get("LINEAGE_NEO4J_PASSWORD")
    return {"user": user, "password": password} if password else {}


def access_settings(uri: str) -> dict[str, str]:
    """The same for the command, as its environment."""
    return {"LINEAGE_STORE": uri} | {f"LINEAGE_NEO4J_{name.upper()}": value for name, value in access().items()}


def database(uri: str) -> neo4j.Driver:
    """The tests' database itself, as a context manager."""
    held = access()
    return neo4j.GraphDatabase.driver(uri, auth=(held["user"], held["password"]) if held else None)


def empty(uri: str) -> None:
    with database(uri) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")


def empty_graph(uri: str | None) -> LineageGraph:
    """A graph without events; the database behind ``uri`` is emptied first."""
    if uri is None:
        return LineageGraph.open(None)
    empty(uri)
    return LineageGraph.open(None, uri, **access())
