"""The questions: impact, upstream, graph, paths, search, and one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from lineage_graph.api.answering import Workers
from lineage_graph.api.writer import Writer
from lineage_graph.errors import BadRequest, NotFound
from lineage_graph.events import canonical, format_time
from lineage_graph.graph import LineageGraph
from lineage_graph.model import Run, contents_of, facet_content
from lineage_graph.nodes import Asked
from lineage_graph.questions.answers import Answer, GraphAnswer, PathsAnswer, SearchAnswer
from lineage_graph.questions.lineage import Bounds
from lineage_graph.questions.paths import MOST_PATHS, MOST_SECONDS, Search
from lineage_graph.scope import Scope

router = APIRouter(prefix="/api/v1", tags=["questions"])
T = TypeVar("T")

_LATER = {"as_of", "between", "known_at"}
_REPEATED = {"only"}


def only_known_parameters(request: Request) -> None:
    """A misspelt or doubled parameter must not silently give another answer."""
    known = {field.alias for field in _query_fields(request)}
    for name in request.query_params:
        if name in _LATER:
            raise BadRequest(name, "is not answered yet; questions are about now, window= and all=true")
        if name not in known:
            raise BadRequest(name, f"is no parameter of this question; it takes {', '.join(sorted(known))}")
        if len(request.query_params.getlist(name)) > 1 and name not in _REPEATED:
            raise BadRequest(name, "is given more than once")


def _query_fields(request: Request) -> list[Any]:
    def fields(dependant: Any) -> list[Any]:
        return [*dependant.query_params, *(field for inner in dependant.dependencies for field in fields(inner))]

    return fields(request.scope["route"].dependant)


class Question(NamedTuple):
    asked: Asked
    scope: Scope
    bounds: Bounds


Everything = Annotated[bool, Query(description="Everything ever seen, not only what holds now.")]
Window = Annotated[
    str | None,
    Query(description="Also what successful runs reported this long before the latest.", examples=["P7D"]),
]


def drawing(
    node: Annotated[
        str | None,
        Query(
            description="dataset:<namespace>:<name>, job:…, run:<id>, or datasetField:<namespace>:<dataset>:<field>.",
            examples=["dataset:postgres://db:5432:shop.public.orders"],
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        Query(description="With name, in place of node; never ambiguous.", examples=["postgres://db:5432"]),
    ] = None,
    name: Annotated[
        str | None, Query(description="Name of the dataset or job.", examples=["shop.public.orders"])
    ] = None,
    field: Annotated[
        str | None, Query(description="A column of the dataset; nested ones with dots.", examples=["customer.id"])
    ] = None,
    type: Annotated[Literal["dataset", "job"], Query(description="What namespace and name stand for.")] = "dataset",
    depth: Annotated[
        int | None, Query(ge=0, description="Steps from dataset to dataset; to the end when absent.")
    ] = None,
    nodes: Annotated[
        int, Query(ge=1, le=1_000_000, description="Nodes reached before the answer is cut, and says so.")
    ] = 10_000,
    all: Everything = False,
    window: Window = None,
) -> Question:
    """Parameters that all questions about a node share."""
    return Question(
        Asked(node, namespace, name, field, type), Scope.parse(everything=all, window=window), Bounds(depth, nodes)
    )


Drawing = Annotated[Question, Depends(drawing)]


def listing(
    asking: Drawing,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Items of one page.")] = 1_000,
    cursor: Annotated[str | None, Query(description="The next of the page before.")] = None,
    only: Annotated[
        list[Literal["dataset", "job", "column"]] | None, Query(description="Kinds of items to list; all when absent.")
    ] = None,
    column_only: Annotated[bool, Query(description="List datasets that only column lineage names.")] = True,
) -> Question:
    """Those of the questions whose answer is a list."""
    bounds = asking.bounds._replace(limit=limit, cursor=cursor, only=tuple(only or ()), column_only=column_only)
    return asking._replace(bounds=bounds)


Listing = Annotated[Question, Depends(listing)]
Known = [Depends(only_known_parameters)]


async def _asked(request: Request, work: Callable[[LineageGraph], T], longer: float = 0) -> T:
    """What is worked out beside the event loop. A node that is not known may be in events that are being merged: they
    are waited for before that is said."""
    workers: Workers = request.app.state.workers
    try:
        return await workers.question(work, longer)
    except NotFound as error:
        if not error.lag:
            raise
        writer: Writer = request.app.state.writer
        await writer.settle()
        return await workers.question(work, longer)


async def _answer(request: Request, question: Callable[[LineageGraph], BaseModel], longer: float = 0) -> Response:
    answer = await _asked(request, lambda graph: question(graph).model_dump_json(), longer)
    return Response(answer, media_type="application/json")


@router.get("/impact", response_model=Answer, dependencies=Known)
async def impact(request: Request, asking: Listing) -> Response:
    """What depends on a node: every dataset, column and job downstream."""
    return await _answer(request, lambda graph: graph.impact(*asking))


@router.get("/upstream", response_model=Answer, dependencies=Known)
async def upstream(request: Request, asking: Listing) -> Response:
    """Where a node comes from: every dataset, column and job upstream."""
    return await _answer(request, lambda graph: graph.upstream(*asking))


@router.get("/graph", response_model=GraphAnswer, dependencies=Known)
async def graph(
    request: Request,
    asking: Drawing,
    level: Annotated[Literal["dataset", "column"], Query(description="How fine to draw.")] = "dataset",
) -> Response:
    """Nodes and edges around a node, both ways, for drawing."""
    return await _answer(request, lambda graph: graph.graph(*asking, level))


def _end(end: str) -> Callable[..., Asked]:
    """The parameters of one end of a path."""

    def asked(
        node: str | None = Query(None, alias=end, description=f"The {end}: an id, as node of other questions."),
        namespace: str | None = Query(
            None, alias=f"{end}_namespace", description=f"With {end}_name, in place of {end}; never ambiguous."
        ),
        name: str | None = Query(None, alias=f"{end}_name", description="Name of the dataset or job."),
        field: str | None = Query(None, alias=f"{end}_field", description="A column of the dataset."),
        type: Literal["dataset", "job"] = Query(
            "dataset", alias=f"{end}_type", description="What namespace and name stand for."
        ),
    ) -> Asked:
        return Asked(node, namespace, name, field, type)

    return asked


@router.get("/paths", response_model=PathsAnswer, dependencies=Known)
async def paths(
    request: Request,
    source: Annotated[Asked, Depends(_end("source"))],
    target: Annotated[Asked, Depends(_end("target"))],
    k: Annotated[int, Query(ge=1, le=MOST_PATHS, description="How many of the shortest paths.")] = Search().k,
    seconds: Annotated[
        float, Query(gt=0, le=MOST_SECONDS, description="How long to look before answering with what was found.")
    ] = Search().seconds,
    all: Everything = False,
    window: Window = None,
) -> Response:
    """The shortest paths of the data from one node to another."""
    scope = Scope.parse(everything=all, window=window)
    return await _answer(request, lambda graph: graph.paths(source, target, scope, k, seconds), seconds)


@router.get("/search", response_model=SearchAnswer, dependencies=Known)
async def search(
    request: Request,
    q: Annotated[str, Query(description="A part of a name; case is ignored, _ and % stand for themselves.")],
    type: Annotated[Literal["dataset", "job"] | None, Query(description="Only datasets, or only jobs.")] = None,
    namespace: Annotated[str | None, Query(description="Only in this namespace.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Hits of one page.")] = 100,
    cursor: Annotated[str | None, Query(description="The next of the page before.")] = None,
) -> Response:
    """Datasets and jobs by a part of their name."""
    kinds = ("dataset", "job") if type is None else (type,)
    return await _answer(request, lambda graph: graph.search(q, kinds, namespace, limit, cursor))


@router.get("/jobs/runs/{id:path}", tags=["Marquez"], dependencies=Known)
async def run(
    request: Request,
    id: Annotated[str, Path(description="The run id, in any spelling that was sent.")],
    namespace: Annotated[str | None, Query(description="Namespace of its job, where two jobs sent the id.")] = None,
    name: Annotated[str | None, Query(description="Name of its job, where two jobs sent the id.")] = None,
) -> Response:
    """One run, in Marquez's shape and with its words for states."""
    job = None
    if namespace is not None and name is not None:
        job = namespace, name
    elif namespace is not None or name is not None:
        raise BadRequest("name" if name is None else "namespace", "is missing: a job is its namespace and its name")
    shown = await _asked(request, lambda graph: canonical(_shown(graph.run(id, job))))
    return Response(shown, media_type="application/json")


def _shown(run: Run) -> dict[str, Any]:
    def shown(time: int | None) -> str | None:
        return None if time is None else format_time(time)

    state = run.state
    nominal = facet_content(run.facets, "nominalTime")
    lasted = None if state.started is None or state.ended is None else (state.ended - state.started) // 1_000_000
    return {
        "id": run.key[2],
        "createdAt": format_time(run.first[0]),
        "updatedAt": format_time(run.last[0]),
        "nominalStartTime": nominal.get("nominalStartTime"),
        "nominalEndTime": nominal.get("nominalEndTime"),
        "state": state.state,
        "startedAt": shown(state.started),
        "endedAt": shown(state.ended),
        "durationMs": lasted,
        "args": {},
        "job": {"namespace": run.key[0], "name": run.key[1]},
        "parent": {"id": run.parent[2], "namespace": run.parent[0], "name": run.parent[1]} if run.parent else None,
        "facets": contents_of(run.facets),
    }
