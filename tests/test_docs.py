"""The documentation keeps up with the code, and what it shows works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lineage_graph import LineageGraph, cypher, settings
from lineage_graph.api.app import create_app
from lineage_graph.cli import EXIT_CODES, main
from lineage_graph.elements import Element
from lineage_graph.sample import events

ROOT = Path(__file__).resolve().parent.parent
HTTP = (ROOT / "docs" / "http.md").read_text()
CLI = (ROOT / "docs" / "cli.md").read_text()
QUESTIONS = (ROOT / "docs" / "questions.md").read_text()
MODEL = (ROOT / "docs" / "graph-model.md").read_text()


def words(text: str) -> set[str]:
    """What stands in back quotes, a word each."""
    return {word for quoted in re.findall(r"`([^`]+)`", text) for word in quoted.split()}


def test_every_route_is_documented_and_no_other() -> None:
    with LineageGraph.open(None) as graph:
        paths = create_app(graph).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert routes == set(re.findall(r"`((?:GET|POST) /[^`]+)`", HTTP))


def test_every_parameter_of_a_question_is_documented() -> None:
    with LineageGraph.open(None) as graph:
        paths = create_app(graph).openapi()["paths"]
    for route in ("impact", "upstream", "graph"):
        parameters = {parameter["name"] for parameter in paths[f"/api/v1/{route}"]["get"]["parameters"]}
        documented = words(QUESTIONS) | {word.partition("=")[0] for word in words(QUESTIONS)}
        assert parameters - {"node", "namespace", "name", "field"} <= documented


def test_every_command_exit_code_and_setting_is_documented() -> None:
    table = CLI.partition("| exit code")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(main.commands) == words("\n".join(first_cells))
    codes = {int(code) for code in re.findall(r"^\| (\d) \|", CLI, re.M)}
    assert codes == {0, *EXIT_CODES.values()}
    for key in settings.KEYS:
        assert f"`{key}`" in CLI
        assert f"`LINEAGE_{key.upper()}`" in CLI


def test_every_label_relationship_and_property_is_documented() -> None:
    with LineageGraph.open(None) as graph:
        graph.ingest(list(events(days=8)))
        elements: list[Element] = list(graph.store.elements())
    for name in {element.type for element in elements}:
        assert f"`{name}`" in MODEL
    documented = words(MODEL) | {word.strip(",") for word in words(MODEL)} | {"key"}
    for element in elements:
        assert element.properties.keys() <= documented, element


def test_every_query_has_a_title() -> None:
    for name in cypher.names():
        assert cypher.query(name).title[0].isupper()


@pytest.mark.parametrize("page", ["README.md"])
def test_python_in_the_pages_runs(page: str) -> None:
    blocks = re.findall(r"```python\n(.+?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True)
        assert "direct dataset:shop:report" in done.stdout


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "first_look.py"], capture_output=True, text=True, check=True
    )
    assert "3 direct dataset:shop:daily_report" in done.stdout


def test_cypher_in_the_pages_finds_something(neo4j_uri: str) -> None:
    from tests.stores import empty_graph

    with empty_graph(neo4j_uri) as graph:
        graph.ingest(list(events()))
    import neo4j

    blocks = re.findall(r"```cypher\n(.+?)```", MODEL, re.S)
    assert len(blocks) == 3
    with neo4j.GraphDatabase.driver(neo4j_uri) as driver:
        for block in blocks:
            assert driver.execute_query(block).records, block
