"""What the questions return, used unchanged by HTTP, command line and Python (design 6)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from hashlib import blake2b
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field

from lineage_graph.cut import TruncatedBy
from lineage_graph.errors import BadRequest
from lineage_graph.events import format_time


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Standing(NamedTuple):
    """How far the graph is: its newest event time, and how many events of the journal are not in it yet."""

    newest: int | None
    lag: int

    def shown(self) -> dict[str, Any]:
        return {"newest_event": None if self.newest is None else format_time(self.newest), "lag": self.lag}


class Name(_Part):
    """One name of a dataset."""

    namespace: str
    name: str


class LastRun(_Part):
    """The newest run of a job, or of the jobs that write a dataset."""

    id: str
    state: str
    ended_at: str | None = None


class Node(_Part):
    """The node that a question was resolved to."""

    id: str
    type: Literal["dataset", "job", "column", "run"]
    namespace: str
    name: str
    field: str | None = None
    aliases: list[Name] = []
    dropped: bool = False


class Item(_Part):
    """One node of an impact or upstream answer."""

    id: str
    type: Literal["dataset", "job", "column"]
    namespace: str
    name: str
    field: str | None = None
    aliases: Annotated[list[Name], Field(description="Other names of the same dataset.")] = []
    depth: Annotated[int, Field(description="Steps from dataset to dataset; a job has the depth of its step.")]
    certainty: Annotated[
        Literal["direct", "indirect", "possible"],
        Field(
            description="direct: its value derives from the start; indirect: rows may change (filter, join, sort, "
            "group); possible: a job on the way reported no column lineage for its input."
        ),
    ]
    path: Annotated[list[str], Field(description="A shortest explanation, ids from the start to this node.")]
    via: Annotated[list[str], Field(description="Ids of the jobs that make the steps of the path, in order.")]
    path_left_out: Annotated[
        int, Field(description="Nodes left out of the middle of a path of more than a hundred; 0 for a whole one.")
    ] = 0
    owners: list[str] = []
    tags: list[str] = []
    last_run: LastRun | None = None
    first_seen: str
    last_seen: str
    in_latest_execution: Annotated[
        bool, Field(description="Whether the last step was seen in its job's latest successful execution.")
    ]
    dropped: bool = False
    only_in_column_lineage: Annotated[
        bool,
        Field(description="No event reads or writes it: only column lineage names it, maybe a CTE alias."),
    ] = False


class LeftOut(_Part):
    """Ids of nodes that are crossed but not listed, by the reason."""

    dropped: list[str] = []
    only_in_column_lineage: list[str] = []


class Answer(_Part):
    """An impact or upstream answer, one page of it."""

    node: Node
    scope: str
    complete: Annotated[bool, Field(description="False when something was cut off; then truncated_by says why.")]
    truncated_by: list[TruncatedBy] = []
    frontier: Annotated[
        list[str],
        Field(description="Nodes left unexpanded: this answer and the same question from each of them are the whole."),
    ] = []
    column_coverage: Annotated[
        float | None, Field(description="Share of the outputs crossed that reported column lineage.")
    ] = None
    newest_event: Annotated[str | None, Field(description="The newest event time in the graph.")] = None
    lag: Annotated[int, Field(description="Events taken that are not in the graph yet.")] = 0
    total: Annotated[int, Field(description="Items of all pages.")]
    counts: Annotated[dict[str, int], Field(description="Items of all pages by type.")] = {}
    left_out: LeftOut = LeftOut()
    items: list[Item]
    next: Annotated[str | None, Field(description="The cursor of the next page.")] = None

    def __iter__(self) -> Iterator[Item]:  # type: ignore[override]
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class GraphNode(_Part):
    id: str
    type: Literal["dataset", "job", "column"]
    namespace: str
    name: str
    field: str | None = None
    aliases: list[Name] = []
    depth: Annotated[int, Field(description="Steps from the start; negative upstream.")]
    owners: list[str] = []
    tags: list[str] = []
    last_run: LastRun | None = None
    dropped: bool = False
    only_in_column_lineage: bool = False


class GraphEdge(_Part):
    """An edge in the direction of the data, with who said so (design 3)."""

    type: Literal["READ_BY", "WRITES", "FEEDS", "DERIVES", "INFLUENCES"]
    source: str
    target: str
    job: str | None = None
    rule: Literal["explicit", "column", "product"] | None = None
    transformations: list[dict[str, Any]] = []
    declared: bool = False
    observed: bool = False
    first_seen: str | None = None
    last_seen: str | None = None
    first_event: str | None = None
    last_event: str | None = None
    producer: str | None = None
    in_latest_execution: bool = True


class GraphAnswer(_Part):
    """Nodes and edges around a node, both ways, for drawing."""

    node: Node
    scope: str
    level: Literal["dataset", "column"]
    complete: bool
    truncated_by: list[TruncatedBy] = []
    frontier: list[str] = []
    column_coverage: float | None = None
    newest_event: str | None = None
    lag: int = 0
    total: int
    nodes: list[GraphNode]
    edges: list[GraphEdge]


class PathStep(_Part):
    """One step of a path, from one node to the next."""

    source: str
    target: str
    via: Annotated[list[str], Field(description="Ids of all jobs that make this step.")]
    certainty: Annotated[
        Literal["direct", "indirect", "possible"], Field(description="The best of what these jobs say.")
    ]
    depth: Annotated[int, Field(description="Steps from the source, this one included.")]
    in_latest_execution: Annotated[
        bool, Field(description="Whether one of the jobs made it in its latest successful execution.")
    ]


class FoundPath(_Part):
    """One way of the data from the source to the target."""

    depth: Annotated[int, Field(description="How many steps it has.")]
    certainty: Annotated[
        Literal["direct", "indirect", "possible"], Field(description="That of its least certain step.")
    ]
    nodes: Annotated[list[str], Field(description="Ids from the source to the target.")]
    steps: list[PathStep]


class PathsAnswer(_Part):
    """The shortest paths from one node to another."""

    source: Node
    target: Node
    scope: str
    level: Literal["dataset", "column"]
    complete: Annotated[
        bool,
        Field(
            description="False when there may be shorter paths, or other ones where fewer "
            "than k are listed; then truncated_by says why."
        ),
    ]
    truncated_by: list[TruncatedBy] = []
    column_coverage: Annotated[
        float | None, Field(description="Share of the outputs crossed that reported column lineage.")
    ] = None
    newest_event: str | None = None
    lag: int = 0
    total: Annotated[int, Field(description="Paths listed.")]
    more: Annotated[bool | None, Field(description="Whether there are more than listed; null when not known.")] = None
    reverse: Annotated[
        bool | None,
        Field(description="Where there is no path: whether there is one from target to source; else null."),
    ] = None
    items: list[FoundPath]

    def __iter__(self) -> Iterator[FoundPath]:  # type: ignore[override]
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class SearchHit(_Part):
    id: str
    type: Literal["dataset", "job"]
    namespace: str
    name: str
    last_seen: str


class SearchAnswer(_Part):
    total: int
    items: list[SearchHit]
    next: str | None = None
    newest_event: str | None = None
    lag: int = 0


def cursor_after(key: list[Any], question: str) -> str:
    """An opaque cursor: the sort key of the last item, so that a page goes on after it though the graph grew, and what
    tells the question."""
    return base64.urlsafe_b64encode(orjson.dumps([_mark(question), *key])).decode().rstrip("=")


def _mark(question: str) -> str:
    return blake2b(question.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def key_of_cursor(cursor: str, question: str) -> list[Any]:
    """Raises :class:`BadRequest` for a text that no answer gave out, or the answer to another question."""
    try:
        key = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError) as error:
        raise BadRequest("cursor", "is none that an answer gave; take the value of 'next' as it stands") from error
    if not isinstance(key, list) or len(key) < 2:
        raise BadRequest("cursor", "is none that an answer gave; take the value of 'next' as it stands")
    if key[0] != _mark(question):
        raise BadRequest("cursor", "is of another question; only limit may differ from page to page")
    return key[1:]
