"""Random histories of few jobs, runs and datasets, so that everything that can collide does."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import strategies as st

from tests.events_builder import Event, clock, declare, describe, run, run_id

JOBS = ("load", "mix")
RUNS = ("r1", "r2", "r3")
PARENTS = ("p1", "p2", "r1")
DATASETS = ("a", "b", "c", "d")
FIELDS = ("x", "y")
TYPES = ("START", "RUNNING", "COMPLETE", "COMPLETE", "COMPLETE", "FAIL", "ABORT", "OTHER", None)
SUBTYPES = ("", " IDENTITY", " FILTER", " JOIN")
CHANGES = ("DROP", "DROP", "RENAME", "OVERWRITE")
DELETED = {"_deleted": True}
PRODUCERS = ("https://example.org/etl", "https://example.org/other")

EXAMPLES = int(os.environ.get("LINEAGE_EXAMPLES", "0"))
"""Examples of each property; 0 for the few that every run of the suite can afford."""

times = st.integers(0, 9)
names = st.sampled_from(DATASETS)


def few(of: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[list[Any]]:
    return st.lists(of, max_size=most, unique=True)


def rarely(what: st.SearchStrategy[Any], one_in: int) -> st.SearchStrategy[Any]:
    """Something, or mostly ``None``."""
    return st.integers(1, one_in).flatmap(lambda n: what if n == one_in else st.none())


sources = st.builds(
    lambda name, field, subtype: f"{name}.{field}{subtype}", names, st.sampled_from(FIELDS), st.sampled_from(SUBTYPES)
)
column_lineages = st.dictionaries(st.sampled_from((*FIELDS, "*")), few(sources, 3), max_size=3)
schemas = st.sampled_from(((), ("x",), ("x", "y")))


@st.composite
def explicit_lineages(draw: st.DrawFn) -> dict[str, Any]:
    """A lineage facet of a dataset; ``inputs: []`` is known to have no source."""
    facet: dict[str, Any] = {}
    if draw(st.booleans()):
        facet["inputs"] = [{"namespace": "shop", "name": name, "type": "DATASET"} for name in draw(few(names))]
    if draw(st.booleans()):
        source = {"namespace": "shop", "name": draw(names), "type": "DATASET", "field": draw(st.sampled_from(FIELDS))}
        facet["fields"] = {draw(st.sampled_from(FIELDS)): {"inputs": [source]}}
    return facet


@st.composite
def references(draw: st.DrawFn, output: bool) -> dict[str, Any]:
    """A dataset as an event names it."""
    name = draw(names)
    facets: dict[str, Any] = {}
    if schema := draw(schemas):
        facets["schema"] = {"fields": [{"name": field, "type": "text"} for field in schema]}
    if (linked := draw(rarely(few(names), 6))) is not None:
        identifiers = [{"namespace": "shop", "name": other, "type": "TABLE"} for other in linked]
        facets["symlinks"] = draw(st.sampled_from(({"identifiers": identifiers}, DELETED)))
    if output:
        if change := draw(rarely(st.sampled_from(CHANGES), 5)):
            facets["lifecycleStateChange"] = {"lifecycleStateChange": change}
            if change == "RENAME":
                facets["lifecycleStateChange"]["previousIdentifier"] = {"namespace": "shop", "name": draw(names)}
        if (explicit := draw(rarely(explicit_lineages(), 8))) is not None:
            facets["lineage"] = explicit
    return {"namespace": "shop", "name": name, "facets": facets}


@st.composite
def events(draw: st.DrawFn) -> Event:
    return draw(plain_events()) | {"producer": draw(st.sampled_from(PRODUCERS))}


@st.composite
def plain_events(draw: st.DrawFn) -> Event:
    kind = draw(st.sampled_from(("run",) * 8 + ("declare", "describe")))
    at = draw(times)
    if kind == "describe":
        return describe(draw(references(output=True)), at=at)
    job = draw(st.sampled_from(JOBS))
    inputs = draw(few_refs(output=False))
    outputs = draw(few_refs(output=True))
    columns = draw(columns_of(outputs))
    if kind == "declare":
        event = declare(job, draw(st.sampled_from((None, inputs))), outputs, at=at, columns=columns)
    else:
        event = run(
            job,
            inputs,
            outputs,
            at=at,
            type=draw(st.sampled_from(TYPES)),
            run=draw(st.sampled_from(RUNS)),
            parent=draw(rarely(st.sampled_from(PARENTS), 3)),
            columns=columns,
        )
    for output in event.get("outputs", ()):
        if draw(rarely(st.just(True), 15)):
            output["facets"]["columnLineage"] = DELETED
    return event


def few_refs(output: bool) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(references(output), max_size=2, unique_by=lambda ref: ref["name"])


@st.composite
def columns_of(draw: st.DrawFn, outputs: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    return {ref["name"]: draw(column_lineages) for ref in outputs if draw(st.booleans())}


histories = st.lists(events(), min_size=1, max_size=10)


def told(history: list[Event]) -> str:
    """A history for people, one event a line, so that a failure can be read."""
    return "\n".join(_told(event) for event in history)


def _told(event: Event) -> str:
    minute = next(at for at in range(11) if clock(at) == event["eventTime"])
    if "dataset" in event:
        return f"{minute}: describe {_ref(event['dataset'])}"
    who = event["job"]["name"]
    if "run" in event:
        known = {run_id(name): name for name in (*RUNS, *PARENTS)}
        parent = event["run"]["facets"].get("parent", {}).get("run", {}).get("runId")
        who = f"{event.get('eventType')} {who}/{known[event['run']['runId']]}" + (
            f" in {known[parent]}" if parent else ""
        )
    else:
        who = f"declare {who}"
    inputs, outputs = ([_ref(ref) for ref in event.get(side, ())] for side in ("inputs", "outputs"))
    return f"{minute}: {who}: {inputs} -> {outputs}"


def _ref(ref: dict[str, Any]) -> str:
    return str(ref["name"]) + (f" {ref['facets']}" if ref["facets"] else "")
