"""Small OpenLineage events for tests, written the way a person would tell them.

A dataset is its name (in the namespace ``shop``) or what :func:`dataset` returns. ``columns`` maps an output's name to
its column lineage: field -> sources such as ``"orders.amount"`` or, with a subtype, ``"orders.status FILTER"``; a
source with a subtype of :data:`INDIRECT` is an indirect one. The key ``*`` is the facet's list for the whole dataset.
``at`` counts minutes from the first of January 2026.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

NAMESPACE = "shop"
PRODUCER = "https://example.org/etl"
INDIRECT = ("JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL")
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

Ref: TypeAlias = str | dict[str, Any]
Columns: TypeAlias = Mapping[str, Mapping[str, Iterable[str]]]
Event: TypeAlias = dict[str, Any]


def clock(minute: float) -> str:
    """The event time that ``at=minute`` gives."""
    return (_BEGIN + timedelta(minutes=minute)).isoformat().replace("+00:00", "Z")


def run_id(name: str) -> str:
    """The UUID that a run of this short name has."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def dataset(
    name: str,
    *,
    namespace: str = NAMESPACE,
    schema: Iterable[str] = (),
    symlinks: Iterable[str | tuple[str, str]] | None = None,
    change: str = "",
    previous: str = "",
    facets: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A dataset with facets: its columns, other names, and ``change`` (DROP, RENAME from ``previous``, …)."""
    made: dict[str, Any] = dict(facets or {})
    if schema:
        made["schema"] = {"fields": [{"name": field, "type": "text"} for field in schema]}
    if symlinks is not None:
        named = [(namespace, other) if isinstance(other, str) else other for other in symlinks]
        made["symlinks"] = {"identifiers": [{"namespace": ns, "name": other, "type": "TABLE"} for ns, other in named]}
    if change:
        made["lifecycleStateChange"] = {"lifecycleStateChange": change}
    if previous:
        made["lifecycleStateChange"]["previousIdentifier"] = {"namespace": namespace, "name": previous}
    return {"namespace": namespace, "name": name, "facets": made}


def run(
    job: str,
    inputs: Iterable[Ref] = (),
    outputs: Iterable[Ref] = (),
    *,
    at: float,
    type: str | None = "COMPLETE",
    run: str | None = None,
    parent: str | None = None,
    columns: Columns | None = None,
    namespace: str = NAMESPACE,
    facets: Mapping[str, Any] | None = None,
    job_facets: Mapping[str, Any] | None = None,
) -> Event:
    """A RunEvent. Without ``run`` each minute of a job is a run of its own; ``parent`` names the parent's run."""
    run_facets = dict(facets or {})
    if parent is not None:
        run_facets["parent"] = {
            "run": {"runId": run_id(parent)},
            "job": {"namespace": namespace, "name": "schedule"},
        }
    event: Event = {
        "eventTime": clock(at),
        "producer": PRODUCER,
        "schemaURL": _SPEC + "RunEvent",
        "run": {"runId": run_id(run if run is not None else f"{job}@{at}"), "facets": run_facets},
        "job": {"namespace": namespace, "name": job, "facets": dict(job_facets or {})},
        "inputs": [_ref(ref) for ref in inputs],
        "outputs": [_with_columns(_ref(ref), columns or {}) for ref in outputs],
    }
    if type is not None:
        event["eventType"] = type
    return event


def declare(
    job: str,
    inputs: Iterable[Ref] | None = None,
    outputs: Iterable[Ref] | None = None,
    *,
    at: float,
    columns: Columns | None = None,
    namespace: str = NAMESPACE,
    job_facets: Mapping[str, Any] | None = None,
) -> Event:
    """A JobEvent."""
    event: Event = {
        "eventTime": clock(at),
        "producer": PRODUCER,
        "schemaURL": _SPEC + "JobEvent",
        "job": {"namespace": namespace, "name": job, "facets": dict(job_facets or {})},
    }
    if inputs is not None:
        event["inputs"] = [_ref(ref) for ref in inputs]
    if outputs is not None:
        event["outputs"] = [_with_columns(_ref(ref), columns or {}) for ref in outputs]
    return event


def describe(ref: Ref, *, at: float, columns: Columns | None = None) -> Event:
    """A DatasetEvent."""
    return {
        "eventTime": clock(at),
        "producer": PRODUCER,
        "schemaURL": _SPEC + "DatasetEvent",
        "dataset": _with_columns(_ref(ref), columns or {}),
    }


def column_lineage(fields: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """A columnLineage facet, as ``columns`` of an output says it."""
    facet: dict[str, Any] = {
        "fields": {
            name: {"inputFields": [_source(source) for source in sources]}
            for name, sources in fields.items()
            if name != "*"
        }
    }
    if "*" in fields:
        facet["dataset"] = [_source(source) for source in fields["*"]]
    return facet


def _source(text: str) -> dict[str, Any]:
    column, _, subtype = text.rpartition(" ")
    if not subtype.isupper():
        column, subtype = text, ""
    name, _, field = column.rpartition(".")
    source: dict[str, Any] = {"namespace": NAMESPACE, "name": name, "field": field}
    if subtype:
        kind = "INDIRECT" if subtype in INDIRECT else "DIRECT"
        source["transformations"] = [{"type": kind, "subtype": subtype}]
    return source


def _ref(ref: Ref) -> dict[str, Any]:
    return {"namespace": NAMESPACE, "name": ref, "facets": {}} if isinstance(ref, str) else ref


def _with_columns(ref: dict[str, Any], columns: Columns) -> dict[str, Any]:
    if ref["name"] not in columns:
        return ref
    return {**ref, "facets": {**ref["facets"], "columnLineage": column_lineage(columns[ref["name"]])}}
