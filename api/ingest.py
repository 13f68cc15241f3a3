"""Events in: one at a time, and in batches as OpenLineage's HTTP API has them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response

from lineage_graph.api.bodies import body_of
from lineage_graph.api.problems import Kind, of_error, problem
from lineage_graph.api.writer import Full, Writer
from lineage_graph.errors import InvalidEvent
from lineage_graph.events import Event, canonical, decode, parse
from lineage_graph.graph import LineageGraph

log = logging.getLogger("lineage_graph.api")
router = APIRouter(tags=["ingest"])

_LARGE = 256 << 10
"""Bytes from which a body is parsed beside the event loop."""
_FULL = Kind(503, "busy", "More events wait than can be held")
_DOUBLED = "/api/v1/lineage/api/v1/lineage"
_EVENT = {
    "content": {"application/json": {"schema": {"type": "object", "title": "RunEvent, JobEvent or DatasetEvent"}}},
    "required": True,
}
_EVENTS = {
    "content": {
        "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
        "application/x-ndjson": {"schema": {"type": "string"}},
    },
    "required": True,
}


@router.post("/api/v1/lineage", status_code=201, openapi_extra={"requestBody": _EVENT})
@router.post("/api/v1/lineage/", status_code=201, include_in_schema=False)
@router.post(_DOUBLED, status_code=201, include_in_schema=False)
async def lineage(request: Request) -> Response:
    """Take one RunEvent, JobEvent or DatasetEvent. 201 once it is durable and in the graph, 202 once it is durable
    while the graph lags."""
    _note_doubled(request)
    body = await body_of(request)
    graph: LineageGraph = request.app.state.graph
    try:
        event = await _beside(len(body), _read, body)
    except InvalidEvent as error:
        await asyncio.to_thread(graph.refuse, [("POST /api/v1/lineage", error, body)])
        return of_error(error)
    writer: Writer = request.app.state.writer
    try:
        new, merged = await writer.take([(event, body)])
    except Full:
        return problem(_FULL, "the journal is behind; send the event again in a second")
    if not merged:
        return Response(b'{"status":"accepted"}', 202, media_type="application/json")
    return Response(orjson.dumps({"status": "created", "duplicate": not new[0]}), 201, media_type="application/json")


@router.post("/api/v1/lineage/batch", openapi_extra={"requestBody": _EVENTS})
async def batch(request: Request) -> Response:
    """Take many events: a JSON array, or one event a line. A bad one is told by its index, the others are taken."""
    body = await body_of(request)
    graph: LineageGraph = request.app.state.graph
    try:
        parts = await _beside(len(body), lambda: list(_parts(request, body)))
    except InvalidEvent as error:
        await asyncio.to_thread(graph.refuse, [("POST /api/v1/lineage/batch", error, body)])
        return of_error(error)
    taken: list[tuple[Event, bytes]] = []
    failed: list[tuple[int, InvalidEvent, bytes]] = []
    for index, (part, event) in enumerate(parts):
        if isinstance(event, InvalidEvent):
            failed.append((index, event, part))
        else:
            taken.append((event, part))
    writer: Writer = request.app.state.writer
    new: list[bool] = []
    try:
        if taken:
            new, _ = await writer.take(taken)
    except Full:
        return problem(_FULL, "the journal is behind; send the batch again in a second")
    if failed:
        source = "POST /api/v1/lineage/batch"
        bad = [(f"{source}[{index}]", error, part) for index, error, part in failed]
        await asyncio.to_thread(graph.refuse, bad)
    summary = {
        "received": len(parts),
        "successful": len(taken),
        "duplicates": new.count(False),
        "failed": len(failed),
    }
    answer: dict[str, Any] = {"status": "partial_success" if failed else "success", "summary": summary}
    if failed:
        answer["failed_events"] = [
            {"index": index, "reason": str(error), "retriable": False} for index, error, _ in failed
        ]
    return Response(canonical(answer), 200, media_type="application/json")


def _read(body: bytes) -> Event:
    return parse(decode(body))


async def _beside(size: int, work: Any, *arguments: Any) -> Any:
    return await asyncio.to_thread(work, *arguments) if size > _LARGE else work(*arguments)


def _parts(request: Request, body: bytes) -> Iterator[tuple[bytes, Event | InvalidEvent]]:
    """The events of a batch, or what is wrong with each, with the bytes they came as."""
    if "ndjson" in request.headers.get("content-type", "") or "jsonl" in request.headers.get("content-type", ""):
        for line in body.split(b"\n"):
            if line.strip():
                yield line, _event_or_error(line)
        return
    documents = decode(body)
    if not isinstance(documents, list):
        raise InvalidEvent("$", "must be an array of events, or one event a line as application/x-ndjson")
    for document in documents:
        try:
            yield canonical(document), parse(document)
        except InvalidEvent as error:
            yield canonical(document), error


def _event_or_error(line: bytes) -> Event | InvalidEvent:
    try:
        return _read(line)
    except InvalidEvent as error:
        return error


def _note_doubled(request: Request) -> None:
    if request.url.path == _DOUBLED and not getattr(request.app.state, "noted_doubled", False):
        request.app.state.noted_doubled = True
        log.warning(
            "a client posts to %s: its base URL should end before /api/v1/lineage; its events are taken all the same",
            _DOUBLED,
        )
