"""Lineage from OpenLineage events: kept whole, merged into a graph, asked from Python, HTTP or the command line."""

from lineage_graph.errors import (
    Ambiguous,
    BadRequest,
    InvalidEvent,
    JournalError,
    LineageError,
    NotFound,
    StoreUnavailable,
)
from lineage_graph.graph import LineageGraph, open
from lineage_graph.nodes import Asked
from lineage_graph.questions.answers import Answer, FoundPath, GraphAnswer, Item, PathsAnswer, SearchAnswer
from lineage_graph.questions.lineage import Bounds
from lineage_graph.scope import Scope

__all__ = [
    "Ambiguous",
    "Answer",
    "Asked",
    "BadRequest",
    "Bounds",
    "FoundPath",
    "GraphAnswer",
    "InvalidEvent",
    "Item",
    "JournalError",
    "LineageError",
    "LineageGraph",
    "NotFound",
    "PathsAnswer",
    "Scope",
    "SearchAnswer",
    "StoreUnavailable",
    "open",
]
