"""What can go wrong, as one small tree.

    LineageError
    ├── InvalidEvent        a body or document that is no OpenLineage event
    ├── NotFound            a question about a node that the graph does not hold
    ├── Ambiguous           a node id that can be read in more than one way
    ├── BadRequest          a question with a parameter that cannot be used
    ├── JournalError        the journal cannot be opened, read or written
    └── StoreUnavailable    the graph store does not answer

Each leaf carries its parts as attributes, so that HTTP problem details and exit codes can be made of them in
one table. The text of an error is a sentence for the person who has to mend something.
"""

from __future__ import annotations

from collections.abc import Sequence


class LineageError(Exception):
    """Root of every error this package raises on purpose."""


class InvalidEvent(LineageError):
    """Raised when something received cannot be taken as an event; nothing of it is stored.

    ``path`` is the JSON path of the part to mend, such as ``$.inputs[2].namespace``; ``$`` is the whole body.
    ``reason`` continues the path to a sentence: "must be a string, but is null".
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class NotFound(LineageError):
    """Raised when a question names a node that no event in the graph has spoken of. ``node`` is the id as asked;
    ``lag`` counts the events that are durable and not in the graph yet, one of which may speak of it. ``end`` is source
    or target where the question was about two nodes. ``nearest`` are ids of nodes that may have been meant."""

    def __init__(self, node: str, lag: int = 0, end: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(node, lag, end, nearest)
        self.node = node
        self.lag = lag
        self.end = end
        self.nearest = tuple(nearest)

    def __str__(self) -> str:
        text = f"{self.end} {self.node} is not known".lstrip()
        if self.lag:
            text += f"; events not in the graph yet: {self.lag}"
        return f"{text}; did you mean {' or '.join(self.nearest)}?" if self.nearest else text


class Ambiguous(LineageError):
    """Raised when a node id fits several nodes (design 2). ``readings`` describe each of them."""

    def __init__(self, node: str, readings: Sequence[str]) -> None:
        super().__init__(node, readings)
        self.node = node
        self.readings = tuple(readings)

    def __str__(self) -> str:
        return f"{self.node} can be read as {' or as '.join(self.readings)}"


class BadRequest(LineageError):
    """Raised when ``parameter`` of a question is missing, unknown or out of range.

    ``reason`` continues the parameter's name to a sentence that says what is expected.
    """

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(parameter, reason)
        self.parameter = parameter
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.parameter} {self.reason}"


class JournalError(LineageError):
    """Raised when the journal at ``place`` cannot be used; ``reason`` says why and how to mend it."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"the journal in {self.place} {self.reason}"


class StoreUnavailable(LineageError):
    """Raised when the graph ``store`` cannot be reached or does not answer in time; trying again may help."""

    def __init__(self, store: str, reason: str) -> None:
        super().__init__(store, reason)
        self.store = store
        self.reason = reason

    def __str__(self) -> str:
        return f"the store {self.store} is unavailable: {self.reason}"
