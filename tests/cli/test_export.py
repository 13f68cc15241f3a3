"""The graph and the events as files that other tools read."""

from __future__ import annotations

import json
from pathlib import Path

import neo4j
import networkx as nx

from lineage_graph import LineageGraph
from tests.cli.conftest import command
from tests.events_builder import run

HOSTILE = (
    'it\'s \\ \\u0027 \\\\u0041 "quoted" `ticked` ${x} {y} // /* --',
    "'}); MATCH (n) DETACH DELETE n; //",
    "]]> <&amp; \U0001f600 \u2028 \u202e",
    "a\x00\x07\x1b\r\n\t\x85\ufffe\uffff",
)


def test_exports_hold_the_whole_graph(folder: Path) -> None:
    with LineageGraph.open(folder / "lineage-data") as graph:
        whole = graph.networkx()
    linked = json.loads(command("export", "--format", "json", folder=folder).stdout)
    as_json = nx.node_link_graph(linked, edges="edges")
    command("export", "--format", "graphml", "--output", "graph.graphml", folder=folder)
    as_graphml = nx.read_graphml(folder / "graph.graphml")
    for other in (as_json, as_graphml):
        assert set(other) == set(whole)
        assert other.number_of_edges() == whole.number_of_edges()
    assert command("export", "--format", "openlineage", folder=folder).stdout.count("\n") == 2


def test_exports_survive_any_name(tmp_path: Path) -> None:
    event = json.dumps(run("copy", list(HOSTILE), ["out"], columns={"out": {"c": [f"{HOSTILE[1]}.x"]}}, at=0)).encode()
    command("load", "-", folder=tmp_path, stdin=event)
    with LineageGraph.open(tmp_path / "lineage-data") as graph:
        whole = graph.networkx()
    linked = json.loads(command("export", "--format", "json", folder=tmp_path).stdout)
    assert nx.node_link_graph(linked, edges="edges").nodes(data=True) == whole.nodes(data=True)
    command("export", "--format", "graphml", "--output", "graph.graphml", folder=tmp_path)
    shown = nx.read_graphml(tmp_path / "graph.graphml")
    names = {name for _, name in shown.nodes(data="name")}
    assert set(HOSTILE[:3]) <= names
    assert "a\\x00\\x07\\x1b\r\n\t\x85\\ufffe\\uffff" in names


def test_the_cypher_script_makes_the_same_graph_in_an_empty_neo4j(tmp_path: Path, neo4j_uri: str) -> None:
    event = json.dumps(run("copy", list(HOSTILE), ["out"], columns={"out": {"c": [f"{HOSTILE[1]}.x"]}}, at=0)).encode()
    command("load", "-", folder=tmp_path, stdin=event)
    script = command("export", "--format", "cypher", folder=tmp_path).stdout
    with LineageGraph.open(tmp_path / "lineage-data") as graph:
        whole = graph.networkx()
    with neo4j.GraphDatabase.driver(neo4j_uri) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        for statement in script.removesuffix(";\n").split(";\n"):
            driver.execute_query(statement)
        nodes = driver.execute_query("MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties").records
        links = driver.execute_query(
            "MATCH (a)-[r]->(b) RETURN a.key AS start, type(r) AS type, b.key AS end, properties(r) AS properties"
        ).records
        driver.execute_query("MATCH (n) DETACH DELETE n")
    assert {node["properties"]["key"]: (node["labels"], node["properties"]) for node in nodes} == {
        key: ([held["label"]], {name: value for name, value in held.items() if name != "label"})
        for key, held in whole.nodes(data=True)
    }
    assert sorted((link["start"], link["end"], link["type"], _sorted(link["properties"])) for link in links) == sorted(
        (start, end, held["relationship"], _sorted({name: held[name] for name in held if name != "relationship"}))
        for start, end, held in whole.edges(data=True)
    )


def _sorted(properties: dict[str, object]) -> str:
    return json.dumps(properties, sort_keys=True)


def test_an_export_of_a_folder_that_is_not_there_makes_none(tmp_path: Path) -> None:
    result = command("export", "--format", "json", folder=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "does not exist" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_told(folder: Path) -> None:
    result = command("export", "--format", "json", "--output", "nowhere/graph.json", folder=folder)
    assert result.returncode == 2
    assert "nowhere/graph.json can't be written" in result.stderr
