"""The documentation keeps up with the code, and what it shows is what comes out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx
import neo4j
import pytest

import lineage_graph
from lineage_graph import LineageGraph, cypher, settings
from lineage_graph.api.app import create_app
from lineage_graph.cli import EXIT_CODES, main
from lineage_graph.cli_operations import DIFFERENT
from lineage_graph.questions.answers import Answer, FoundPath, GraphAnswer, GraphEdge, Item, PathsAnswer, PathStep
from lineage_graph.sample import events
from tests.api.conftest import serving
from tests.stores import empty_graph

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
COMMAND = str(Path(sys.executable).with_name("lineage-graph"))
SERVER = "http://127.0.0.1:5000"
"""The address in the pages; the tests put that of their own server in its place."""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    language: str
    text: str


def prose(page: str) -> str:
    return FENCE.sub("", (ROOT / page).read_text())


def words(text: str) -> set[str]:
    """What stands in back quotes, a word each."""
    return {word.strip(",") for quoted in re.findall(r"`([^`]+)`", text) for word in quoted.split()}


def first_cells(text: str) -> str:
    return "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(page.read_text())]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def lines(text: str) -> list[str]:
    """Of an output, without the blanks around it."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").splitlines()


# -- everything is documented, and nothing that does not exist


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    """Of the OpenAPI document."""
    with LineageGraph.open(None) as graph:
        found: dict[str, Any] = create_app(graph).openapi()["paths"]
    return found


def test_every_route_is_documented_and_no_other(paths: dict[str, Any]) -> None:
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert routes == set(re.findall(r"`((?:GET|POST) /[^`]+)`", prose("docs/http.md")))


def test_every_kind_of_problem_is_documented_and_no_other() -> None:
    sources = "\n".join(path.read_text() for path in ROOT.glob("api/*.py"))
    kinds = set(re.findall(r'(?:Kind|Refusal)\(\s*[\w.]+,\s*"([a-z-]+)"', sources))
    assert kinds == words(first_cells(prose("docs/http.md").partition("| `type`")[2]))


def test_every_parameter_of_a_question_is_documented_and_no_other(paths: dict[str, Any]) -> None:
    text = prose("docs/questions.md").partition("## Parameters")[2].partition("\n## ")[0]
    asked = {
        parameter["name"]
        for question in ("impact", "upstream", "graph")
        for parameter in paths[f"/api/v1/{question}"]["get"]["parameters"]
    }
    assert asked == words(first_cells(text))
    assert {parameter["name"] for parameter in paths["/api/v1/search"]["get"]["parameters"]} <= words(text)
    text = prose("docs/questions.md").partition("## Paths")[2].partition("\n## ")[0].partition("| ends |")[0]
    assert {parameter["name"] for parameter in paths["/api/v1/paths"]["get"]["parameters"]} == words(first_cells(text))


def test_every_field_of_an_answer_is_documented_and_no_other() -> None:
    text = prose("docs/questions.md").partition("## What an answer carries")[2].partition("\n## ")[0]
    assert words(first_cells(text)) == {*Answer.model_fields, *Item.model_fields}
    drawn = {*GraphAnswer.model_fields, *GraphEdge.model_fields} - {"source", "target", "job"}
    assert drawn <= words(text)
    text = prose("docs/questions.md").partition("## Paths")[2].partition("\n## ")[0].partition("| ends |")[2]
    assert {*PathsAnswer.model_fields} - {"truncated_by"} == words(first_cells(text))
    assert {*FoundPath.model_fields, *PathStep.model_fields, "truncated_by"} <= words(text)


def test_every_command_option_and_exit_code_is_documented_and_no_other() -> None:
    text = prose("docs/cli.md")
    assert set(main.commands) == words(first_cells(text.partition("\n## ")[0]))
    commands = [*main.commands.values(), *main.commands["dead-letters"].commands.values()]  # type: ignore[attr-defined]
    options = {
        name
        for command in commands
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
    }
    assert options | {"--help"} == {word for word in words(text) if word.startswith("--")}
    assert {0, DIFFERENT, *EXIT_CODES.values()} == {int(code) for code in re.findall(r"^\| (\d) \|", text, re.M)}


def test_every_setting_is_documented_and_no_other() -> None:
    text = prose("docs/cli.md").partition("## Settings")[2]
    assert set(settings.KEYS) == words(first_cells(text))
    for key in settings.KEYS:
        assert f"`LINEAGE_{key.upper()}`" in text


def test_every_public_name_is_documented() -> None:
    text = prose("docs/python.md")
    assert set(lineage_graph.__all__) <= words(text)
    methods = {name for name in vars(LineageGraph) if not name.startswith("_")} - {"open"}
    assert methods <= {word.partition("(")[0] for word in words(text)}


def test_every_label_relationship_and_property_is_documented_and_no_other() -> None:
    text = prose("docs/graph-model.md")
    evidence = words(text.partition("**Evidence**")[2].partition("\n\n")[0])
    documented: dict[str, set[str]] = {}
    for row in re.findall(r"^\| (`.+) \|$", text, re.M):
        cells = row.split(" | ")
        for name in words(cells[0]):
            held = documented.setdefault(name, set())
            held |= words(cells[-1]) | (evidence if "evidence" in re.sub("`[^`]*`", "", cells[-1]) else set())
    shown: dict[str, set[str]] = {}
    with LineageGraph.open(None) as graph:
        graph.ingest(list(events()))
        graph.ingest(
            [{"eventTime": "2026-01-01T06:00:00Z", "run": {"runId": "1"}, "job": {"namespace": "n", "name": "j"}}]
        )
        for element in graph.store.elements():
            shown.setdefault(element.type, set()).update(element.properties)
    assert {name: held - {"key"} for name, held in shown.items()} == documented


def test_every_query_has_a_title() -> None:
    for name in cypher.names():
        assert cypher.query(name).title[0].isupper()


# -- what the pages show is what comes out


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that the demo has filled."""
    folder = tmp_path_factory.mktemp("demo") / "lineage-data"
    subprocess.run([COMMAND, "demo", "--no-serve", "--data", folder], check=True, capture_output=True)
    return folder


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown for it."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        given, *shown = part.splitlines(keepends=True)
        while given.count("'") % 2:
            given += shown.pop(0)
        yield given, "".join(shown)


def curl(words: list[str]) -> str:
    """What curl prints for these of its options; not every machine has it."""
    taken: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word in ("-H", "-d"):
            taken.setdefault(word, []).append(next(rest))
        elif word != "-s":
            taken.setdefault("url", []).append(word)
    headers = dict(header.split(": ", 1) for header in taken.get("-H", ()))
    (url,), body = taken["url"], "".join(taken.get("-d", ())) or None
    return httpx.request("POST" if body else "GET", url, headers=headers, content=body).text


def is_part_of(shown: Any, real: Any) -> bool:
    """Whether a shortened answer holds nothing that the real one does not."""
    if isinstance(shown, dict):
        return all(name in real and is_part_of(value, real[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return all(any(is_part_of(value, other) for other in real) for value in shown)
    return bool(shown == real)


@pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
def test_commands_of_a_page_print_what_it_shows(page: Path, demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo, tmp_path / "lineage-data")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_")}
    environment["COLUMNS"] = "110"

    def run(given: str) -> str:
        words = shlex.split(given)
        if words[0] == "lineage-graph":
            done = subprocess.run(
                [COMMAND, *words[1:]], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
            )
            return done.stdout
        if words[0] == "export":
            environment.update([words[1].split("=", 1)])
            return ""
        if words[0] == "curl":
            return curl(words[1:])
        assert words[:2] == [".", ".venv/bin/activate"] or f"\n{words[1]}:" in (ROOT / "Makefile").read_text(), given
        return ""

    with contextlib.ExitStack() as stack:
        url = SERVER
        if any(SERVER in block.text for block in blocks(page) if block.language == "console"):
            url = stack.enter_context(serving(stack.enter_context(LineageGraph.open(tmp_path / "lineage-data"))))
        for block, after in pairwise([*blocks(page), Block("", "")]):
            if block.language != "console":
                continue
            printed = ""
            for given, shown in commands(block):
                printed = run(given.replace(SERVER, url))
                assert not shown or lines(printed) == lines(shown), given
            if after.language == "json":
                assert is_part_of(json.loads(after.text), json.loads(printed))


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_of_a_page_prints_what_it_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block, after in pairwise([*blocks(page), Block("", "")]):
        if block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, page.name, "exec"), names)
            assert lines(printed.getvalue()) == (lines(after.text) if after.language == "text" else [])


def test_cypher_of_the_pages_finds_what_they_show(neo4j_uri: str) -> None:
    with empty_graph(neo4j_uri) as graph:
        graph.ingest(list(events()))
    user, password = os.environ.get("LINEAGE_NEO4J_USER", "neo4j"), os.environ.get("LINEAGE_NEO4J_PASSWORD")
    with neo4j.GraphDatabase.driver(neo4j_uri, auth=(user, password) if password else None) as driver:
        tried = 0
        for block, after in pairwise([*blocks(ROOT / "docs" / "graph-model.md"), Block("", "")]):
            if block.language == "cypher":
                rows = [" | ".join(map(str, record.values())) for record in driver.execute_query(block.text).records]
                assert rows == lines(after.text), block.text
                tried += 1
    assert tried


def test_the_example_prints_what_its_page_shows() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "first_look.py"], capture_output=True, text=True, check=True
    )
    (shown,) = [block.text for block in blocks(ROOT / "examples" / "README.md") if block.language == "text"]
    assert lines(done.stdout) == lines(shown)
