"""Small inputs after public bug reports, with the right answers, on each store.

They are read from the folder ``shared`` beside the repository, and asked by its own runner, whose calls are answered
here without a server.
"""

from __future__ import annotations

import importlib.util
import json
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lineage_graph import Asked, Bounds, LineageError, LineageGraph, NotFound, Scope
from lineage_graph.events import format_time

SHARED = Path(__file__).resolve().parents[2] / "shared"
CASES = sorted((SHARED / "cases").glob("*.json"))
REPORTS = sorted(path.parent for path in (SHARED / "reports").glob("*/expect.json"))


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cases_runner", SHARED / "cases" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answering(graph: LineageGraph) -> Callable[..., tuple[int, str]]:
    """The runner's ``call``, answered by a graph in this process."""

    def call(base: str, method: str, path: str, body: bytes | None = None, ctype: str = "") -> tuple[int, str]:
        url = urllib.parse.urlsplit(path)
        try:
            if method == "POST":
                assert body is not None
                batch = json.loads(body) if path.endswith("batch") else [body]
                graph.ingest(batch)
                return 201, ""
            return 200, json.dumps(answer(graph, url.path, dict(urllib.parse.parse_qsl(url.query))))
        except NotFound as error:
            return 404, str(error)
        except LineageError as error:
            return 422, str(error)

    return call


def answer(graph: LineageGraph, path: str, parameters: dict[str, str]) -> Any:
    name = urllib.parse.unquote(path.rpartition("/")[2])
    if "/jobs/runs/" in path:
        state = graph.run(name).state
        times = {
            key: None if time is None else format_time(time)
            for key, time in (("startedAt", state.started), ("endedAt", state.ended))
        }
        return {"state": state.state, **times}
    asked = Asked(*(parameters.get(part) for part in ("node", "namespace", "name", "field")))
    depth = parameters.get("depth")
    bounds = Bounds(int(depth) if depth else None, cursor=parameters.get("cursor"))
    scope = Scope.parse(everything=parameters.get("all") == "true")
    question = {"impact": graph.impact, "upstream": graph.upstream}[name]
    return question(asked, scope, bounds).model_dump(mode="json")


def test_there_are_cases_and_reports() -> None:
    assert len(CASES) >= 28
    assert len(REPORTS) >= 81


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_is_answered_as_stated(graph: LineageGraph, path: Path) -> None:
    case, run = json.loads(path.read_text()), runner()
    run.call = answering(graph)  # type: ignore[attr-defined]
    for event in case["events"]:
        graph.ingest([event])
    checked = [ask for ask in case["ask"] if "ask" in ask or "run" in ask or "post" in ask]
    wrong = [told for ask in checked if (told := run.check("", ask)) is not None]
    assert wrong == []


@pytest.mark.parametrize("folder", REPORTS, ids=lambda path: path.name)
def test_a_report_is_answered_as_stated(graph: LineageGraph, folder: Path) -> None:
    expected, run = json.loads((folder / "expect.json").read_text()), runner()
    run.call = answering(graph)  # type: ignore[attr-defined]
    tag = folder.name[:2] + "~"
    for line in (folder / "events.ndjson").read_text().split("\n"):
        if line.strip():
            run.call("", "POST", "/api/v1/lineage", json.dumps(run.prefixed(json.loads(line), tag)).encode())
    read_routes = ("run_history", "columns", "datasets_in_namespace")
    checked = [check for check in expected["checks"] if check["query"] not in read_routes]
    wrong = [told for check in checked if (told := run.check_report("", check, tag)) is not None]
    assert wrong == []
