"""The HTTP API over one lineage graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from lineage_graph.api import dead_letters, health, ingest, problems, questions
from lineage_graph.api.answering import Workers
from lineage_graph.api.writer import Writer
from lineage_graph.graph import LineageGraph

_DESCRIPTION = "Lineage from OpenLineage events: impact, upstream and the graph around any dataset, column, job or run."


def create_app(graph: LineageGraph) -> FastAPI:
    """An app that takes events into ``graph`` and answers from it. The graph is the caller's to close."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.writer = Writer(graph)
        app.state.writer.start()
        app.state.workers = Workers(graph)
        try:
            yield
        finally:
            app.state.workers.stop()
            app.state.writer.stop()

    app = FastAPI(
        title="lineage-graph",
        version=version("lineage-graph"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.graph = graph
    problems.install(app)
    for group in (ingest, questions, dead_letters, health):
        app.include_router(group.router)

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    def docs() -> str:
        return _DOCS

    return app


_DOCS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>lineage-graph API</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{border-bottom:1px solid #ccc;font:600 16px monospace}table{border-collapse:collapse}
td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}code{background:#eee}
</style><h1>lineage-graph API</h1><p>Made from <a href="openapi.json">openapi.json</a>.</p><main></main>
<script>
const add = (to, tag, text) => {
  const e = document.createElement(tag)
  if (text) e.textContent = text
  to.append(e)
  return e
}
fetch('openapi.json').then(r => r.json()).then(api => {
  const main = document.querySelector('main')
  for (const [path, methods] of Object.entries(api.paths)) for (const [method, route] of Object.entries(methods)) {
    add(main, 'h2', method.toUpperCase() + ' ' + path)
    add(main, 'p', route.description || route.summary)
    if (!route.parameters) continue
    const table = add(main, 'table')
    for (const p of route.parameters) {
      const row = add(table, 'tr')
      add(add(row, 'td'), 'code', p.name + (p.required ? ' *' : ''))
      const s = p.schema
      const kinds = (s.anyOf || [s]).map(x => x.enum ? x.enum.join(' | ') : x.type)
      const kind = kinds.filter(x => x !== 'null').join(' or ')
      add(row, 'td', kind + (s.default !== undefined ? ', ' + s.default + ' unless given' : ''))
      add(row, 'td', p.description || '')
    }
  }
})
</script></html>"""
