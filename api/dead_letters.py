"""What came and was no event."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from lineage_graph.dead_letters import letter_of, page_of

router = APIRouter(tags=["dead letters"])
_GREATEST = 2**63 - 1


@router.get("/api/v1/dead-letters")
def dead_letters(
    request: Request,
    after: Annotated[int, Query(ge=0, le=_GREATEST, description="Only those with a greater id.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> dict[str, Any]:
    """Dead letters by id, oldest first, each with its source, and what is to mend at which JSON path."""
    return page_of(request.app.state.graph.journal, after, limit)


@router.get("/api/v1/dead-letters/{id}", response_class=Response)
def dead_letter(request: Request, id: Annotated[int, Path(ge=1, le=_GREATEST)]) -> Response:
    """The body of a dead letter, byte for byte as it came, up to 1 MiB of it."""
    body = letter_of(request.app.state.graph.journal, id).body
    return Response(body, media_type="application/octet-stream", headers={"X-Content-Type-Options": "nosniff"})
