"""Small pipelines with their story: each folder tells the SQL, its events, and the answers to some questions.

``expected.json`` is a list of questions: ``ask`` (impact or upstream), ``name``, maybe ``field``, ``type`` and ``all``,
and what is right: ``datasets`` and ``jobs`` with their depth, ``columns`` with their certainty.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lineage_graph import Asked, LineageGraph, Scope
from tests.asking import columns, jobs, tables
from tests.events_builder import NAMESPACE

SCENARIOS = sorted(path.parent for path in Path(__file__).parent.glob("*/story.md"))


@pytest.mark.parametrize("folder", SCENARIOS, ids=lambda folder: folder.name)
def test_a_scenario_gives_the_answers_that_its_story_tells(graph: LineageGraph, folder: Path) -> None:
    graph.ingest((folder / "events.ndjson").read_bytes().splitlines())
    for question in json.loads((folder / "expected.json").read_text()):
        asked = Asked(None, NAMESPACE, question["name"], question.get("field"), question.get("type", "dataset"))
        answer = getattr(graph, question["ask"])(asked, Scope.parse(everything=question.get("all", False)))
        found: dict[str, Any] = {"datasets": tables(answer), "jobs": jobs(answer), "columns": columns(answer)}
        right = {kind: question[kind] for kind in found if kind in question}
        assert {kind: found[kind] for kind in right} == right, question


@pytest.mark.parametrize("folder", SCENARIOS, ids=lambda folder: folder.name)
def test_a_story_fits_on_a_screen_with_its_picture(folder: Path) -> None:
    story = (folder / "story.md").read_text()
    assert len(story.splitlines()) <= 40
    assert re.search(r"^```mermaid\ngraph ", story, re.MULTILINE)
