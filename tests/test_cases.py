"""The cases and reports of the shared folder, each asked without HTTP on both stores.

The checking is that of ``../shared/cases/run.py``; only its calls are answered here, by a graph in this process. Each
case has namespaces of its own, so all of them share one graph of each store.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lineage_graph import Asked, Bounds, InvalidEvent, LineageError, LineageGraph, NotFound, Scope
from lineage_graph.events import format_time
from tests.stores import empty_graph

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
CASES = sorted((SHARED / "cases").glob("*.json"))
REPORTS = sorted(path.parent for path in (SHARED / "reports").glob("*/expect.json"))
ASKED = ("downstream_datasets", "upstream_datasets", "downstream_columns", "upstream_columns", "run_state", "run_times")
"""Checks that a question or a run answers; the others read routes of Marquez."""
BATCH = 100


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    """``run.py`` as a module."""
    spec = importlib.util.spec_from_file_location("shared_cases_run", SHARED / "cases" / "run.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


@pytest.fixture(scope="module")
def shared_graph(store_uri: str | None) -> Iterator[LineageGraph]:
    with empty_graph(store_uri) as graph:
        yield graph


def caller(graph: LineageGraph) -> Callable[..., tuple[int, str]]:
    """What ``run.py`` calls in place of a request: (status, body)."""

    def call(base: str, method: str, path: str, body: bytes = b"", ctype: str = "") -> tuple[int, str]:
        try:
            if method == "POST":
                graph.ingest(json.loads(body) if path.endswith("/batch") else [body])
                return 201, "{}"
            return 200, json.dumps(answer(graph, path))
        except NotFound as error:
            return 404, str(error)
        except LineageError as error:
            return 400, str(error)

    return call


def take(graph: LineageGraph, bodies: list[bytes]) -> None:
    """All events at once; one by one where a report has some that are none, which a server refuses one by one too."""
    try:
        graph.ingest(bodies)
    except InvalidEvent:
        for body in bodies:
            with contextlib.suppress(InvalidEvent):
                graph.ingest([body])


def answer(graph: LineageGraph, path: str) -> Any:
    """The body of a GET of a question or of a run."""
    url = urllib.parse.urlsplit(path)
    asked = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    name = url.path.rpartition("/")[2]
    if "/jobs/runs/" in url.path:
        state, started, ended = graph.run(urllib.parse.unquote(name)).state
        times = {"startedAt": started, "endedAt": ended}
        return {"state": state} | {key: None if at is None else format_time(at) for key, at in times.items()}
    assert name in ("impact", "upstream"), f"no case asks {path} without HTTP"
    depth = asked.get("depth")
    return getattr(graph, name)(
        Asked(asked.get("node"), asked.get("namespace"), asked.get("name"), asked.get("field")),
        Scope.parse(everything=asked.get("all") == "true"),
        Bounds(depth=int(depth) if depth else None, cursor=asked.get("cursor")),
    ).model_dump(mode="json")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gives_its_stated_answer(
    shared_graph: LineageGraph, runner: ModuleType, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr(runner, "call", caller(shared_graph))
    case = json.loads(path.read_text())
    shared_graph.ingest(case["events"])
    checks = [check for check in case["ask"] if {"ask", "run", "post"} & check.keys()]
    assert [wrong for check in checks if (wrong := runner.check("", check))] == []


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name)
def test_a_report_gives_its_stated_answer(
    shared_graph: LineageGraph, runner: ModuleType, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr(runner, "call", caller(shared_graph))
    tag = path.name[:2] + "~"
    lines = [line for line in (path / "events.ndjson").read_text().split("\n") if line.strip()]
    bodies = [json.dumps(runner.prefixed(json.loads(line), tag)).encode() for line in lines]
    for first in range(0, len(bodies), BATCH):
        take(shared_graph, bodies[first : first + BATCH])
    checks = [check for check in json.loads((path / "expect.json").read_text())["checks"] if check["query"] in ASKED]
    assert [wrong for check in checks if (wrong := runner.check_report("", check, tag))] == []


def test_all_cases_and_reports_are_there() -> None:
    assert (len(CASES), len(REPORTS)) == (28, 81)
