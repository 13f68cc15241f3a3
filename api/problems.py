"""Errors as RFC 9457 problem details: one table from exception to status."""

from __future__ import annotations

import logging
import uuid
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from lineage_graph.errors import (
    Ambiguous,
    BadRequest,
    InvalidEvent,
    JournalError,
    LineageError,
    NotFound,
    StoreUnavailable,
)
from lineage_graph.events import canonical

log = logging.getLogger("lineage_graph.api")

RETRY_AFTER = "1"
"""Seconds. 503 with a short wait is the one answer that every OpenLineage client tries again after."""


class Kind(NamedTuple):
    status: int
    slug: str
    title: str


TABLE: dict[type[LineageError], Kind] = {
    InvalidEvent: Kind(422, "invalid-event", "This is no OpenLineage event"),
    NotFound: Kind(404, "not-found", "No event has spoken of this node"),
    Ambiguous: Kind(400, "ambiguous", "This id can be read in more than one way"),
    BadRequest: Kind(400, "bad-request", "A parameter cannot be used"),
    JournalError: Kind(503, "journal-unavailable", "Events cannot be taken now"),
    StoreUnavailable: Kind(503, "store-unavailable", "The graph does not answer now"),
}


class Refusal(Exception):
    """A request refused before it is read as events: too large, of another type, not decodable."""

    def __init__(self, status: int, slug: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = Kind(status, slug, title)
        self.detail = detail


def problem(kind: Kind, detail: str, **more: Any) -> Response:
    body = {"type": f"urn:lineage-graph:{kind.slug}", "title": kind.title, "status": kind.status, "detail": detail}
    headers = {"Retry-After": RETRY_AFTER} if kind.status == 503 else {}
    return Response(canonical(body | more), kind.status, headers, "application/problem+json")


def of_error(error: LineageError) -> Response:
    """The answer for an error of the product. What a journal or store says of places stays in the log."""
    kind = TABLE[type(error)]
    if isinstance(error, InvalidEvent):
        status = 400 if error.path == "$" else kind.status
        return problem(kind._replace(status=status), str(error), field=error.path)
    if isinstance(error, BadRequest):
        return problem(kind, str(error), field=error.parameter)
    if isinstance(error, NotFound):
        more = {"lag": error.lag, "field": error.end, "nearest": list(error.nearest)}
        return problem(kind, str(error), **{name: value for name, value in more.items() if value})
    if isinstance(error, Ambiguous):
        return problem(kind, str(error), readings=list(error.readings))
    if isinstance(error, JournalError):
        log.error("%s", error)
        return problem(kind, "the journal cannot take events; the server's log says why")
    return problem(kind, str(error))


def install(app: FastAPI) -> None:
    """Make every error of an app a problem document."""

    @app.exception_handler(LineageError)
    async def product(request: Request, error: LineageError) -> Response:
        return of_error(error)

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        return problem(error.kind, error.detail)

    @app.exception_handler(RequestValidationError)
    async def parameter(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name = str(first["loc"][min(1, len(first["loc"]) - 1)])
        given = f", but is {first['input']!r}" if isinstance(first.get("input"), (str, int, float, bool)) else ""
        detail = f"{name}: {first['msg'][0].lower()}{first['msg'][1:]}{given}"
        return problem(Kind(422, "bad-request", "A parameter cannot be used"), detail, field=name)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        kind = Kind(error.status_code, "http", str(error.detail))
        answer = problem(kind, f"{request.method} {request.url.path}: {error.detail}")
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(ClientDisconnect)
    async def left(request: Request, error: ClientDisconnect) -> Response:
        """Nobody is there to read it, and nothing went wrong on this side."""
        return Response(status_code=400)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        number = uuid.uuid4().hex[:12]
        log.exception("error %s in %s %s", number, request.method, request.url.path)
        kind = Kind(500, "internal", "Something went wrong on this side")
        return problem(kind, f"the server's log has it as error {number}", error=number)
