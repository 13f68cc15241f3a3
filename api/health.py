"""Whether the service lives, and whether it can take events and answer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from lineage_graph.api.answering import Workers
from lineage_graph.errors import LineageError
from lineage_graph.events import canonical
from lineage_graph.graph import LineageGraph

router = APIRouter(tags=["service"])

_HOME = """<!doctype html><html lang="en"><meta charset="utf-8"><title>lineage-graph</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto}code{background:#eee}</style>
<h1>lineage-graph</h1>
<p>OpenLineage events in, lineage answers out. Point a producer at this address:
<code>OPENLINEAGE_URL=%s</code></p>
<ul><li><a href="/docs">The API</a>, and its <a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/api/v1/search?q=orders">Search for a name</a></li>
<li><a href="/readyz">Is it ready?</a></li></ul></html>"""


def _kept(graph: LineageGraph) -> int:
    graph.journal.ping()
    return graph.journal.last_offset


def _merged(graph: LineageGraph) -> int:
    graph.store.ping()
    return graph.store.applied


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
def home(request: Request) -> str:
    scheme = request.url.scheme
    host = request.url.netloc.translate({ord(c): None for c in "<>&\"'"})
    return _HOME % f"{scheme}://{host}"


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Alive."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Ready to take events and to answer; 503 says which part is not. ``lag`` counts events not in the graph yet."""
    workers: Workers = request.app.state.workers
    parts: dict[str, str] = {}
    kept = merged = None
    try:
        kept = await workers.check("journal", _kept)
        parts["journal"] = "ok"
    except LineageError:
        parts["journal"] = "cannot be read"
    try:
        merged = await workers.check("store", _merged)
        parts["store"] = "ok"
    except LineageError as error:
        parts["store"] = str(error)
    lag = None if kept is None or merged is None else max(0, kept - merged)
    ready = all(part == "ok" for part in parts.values())
    body = canonical({"status": "ready" if ready else "not ready", **parts, "lag": lag})
    return Response(body, 200 if ready else 503, {} if ready else {"Retry-After": "1"}, "application/json")
