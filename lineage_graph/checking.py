"""Whether a graph is what its journal says: all of it folded anew in memory, and compared element by element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from lineage_graph.elements import Element
from lineage_graph.graph import LineageGraph
from lineage_graph.networkx_store import NetworkXStore
from lineage_graph.nodes import text_id
from lineage_graph.packing import pack

_TOLD = 20
"""Differences told one by one."""
_LONGEST = 200
"""Characters shown of a value."""

_Place: TypeAlias = tuple[str, str, str, str]
"""Type, key, start and end. Several relationships may have the same."""


class Difference(NamedTuple):
    """``what`` is a node or relationship by the names of its tables and jobs, ``how`` what is wrong with it."""

    what: str
    how: str


@dataclass
class Report:
    """What a check found. The graph is what the journal says when ``different`` is 0."""

    events: int
    nodes: int = 0
    relationships: int = 0
    different: int = 0
    """Nodes and relationships that are missing, too many, or other than they should be."""
    first: list[Difference] = field(default_factory=list)
    """The first of them, nodes before relationships."""


def check(graph: LineageGraph, tell: Callable[[int], None] = lambda offset: None) -> Report:
    """Compare a graph, which must be up to its journal, with what a fold of the journal gives.

    Takes the memory of the embedded graph and a digest of each element. ``tell`` is called with the offset that the
    fold has reached. Raises :class:`~lineage_graph.errors.JournalError` and
    :class:`~lineage_graph.errors.StoreUnavailable`.
    """
    fresh = NetworkXStore()
    report = Report(LineageGraph(graph.journal, fresh).catch_up(tell))
    changes = fresh.changes()
    balance: Counter[tuple[_Place, bytes]] = Counter()
    for element in graph.store.expected(changes):
        balance[_place(element), _digest(element)] += 1
        if element.start:
            report.relationships += 1
        else:
            report.nodes += 1
    for element in graph.store.held():
        known = _place(element), _digest(element)
        balance[known] -= 1
        if not balance[known]:
            del balance[known]
    missing, extra = _by_place(+balance), _by_place(-balance)
    places = missing | extra
    report.different = places.total()
    first = sorted(places, key=lambda place: (bool(place[2]), place))[:_TOLD]
    if first:
        report.first = _differences(first, graph.store.held, lambda: graph.store.expected(changes))[:_TOLD]
    return report


def _place(element: Element) -> _Place:
    return element.type, element.key, element.start, element.end


def _digest(element: Element) -> bytes:
    return blake2b(pack(element.properties).encode(), digest_size=16).digest()


def _by_place(balance: Counter[tuple[_Place, bytes]]) -> Counter[_Place]:
    found: Counter[_Place] = Counter()
    for (place, _), count in balance.items():
        found[place] += count
    return found


_Elements: TypeAlias = Callable[[], Iterable[Element]]


def _differences(places: list[_Place], held: _Elements, expected: _Elements) -> list[Difference]:
    """What is wrong at some places. Only what stands there is kept of what is read."""
    wanted, found = _at(places, expected()), _at(places, held())
    ends = {key for place in places for key in place[1:] if key}
    nodes = _nodes(ends, held, expected)
    nodes |= _nodes({node.properties.get(name) for node in nodes.values() for name in _ABOUT}, held, expected)
    return [
        Difference(_called(place, nodes), how)
        for place in places
        for how in _compared(wanted.get(place, []), found.get(place, []))
    ]


def _at(places: list[_Place], elements: Iterable[Element]) -> dict[_Place, list[Element]]:
    wanted = set(places)
    found: dict[_Place, list[Element]] = {}
    for element in elements:
        if _place(element) in wanted:
            found.setdefault(_place(element), []).append(element)
    return found


def _nodes(keys: Iterable[object], *sources: _Elements) -> dict[str, Element]:
    wanted = set(keys)
    return {element.key: element for source in sources for element in source() if element.key in wanted}


def _compared(wanted: list[Element], found: list[Element]) -> Iterator[str]:
    missing = [one for one in wanted if one not in found]
    extra = [one for one in found if one not in wanted]
    for should, is_ in zip(missing, extra, strict=False):
        for name in sorted(should.properties.keys() | is_.properties.keys()):
            expected, held = should.properties.get(name), is_.properties.get(name)
            if expected != held:
                yield f"{name} is {_shown(held, expected)}, should be {_shown(expected, held)}"
    more = len(found) - len(wanted)
    yield from ("should not be there" for _ in range(more))
    yield from ("is missing" for _ in range(-more))


def _shown(value: object, other: object) -> str:
    """A value; of a long text, the part where it begins to differ from the other one."""
    if value is None:
        return "missing"
    text = repr(value)
    if len(text) <= _LONGEST:
        return text
    pairs = enumerate(zip(text, repr(other), strict=False))
    differs_at = next((at for at, (mine, others) in pairs if mine != others), len(text))
    begin = max(0, differs_at - _LONGEST // 4)
    return f"{'…' if begin else ''}{text[begin : begin + _LONGEST]}…"


_ABOUT = ("job", "dataset")
"""Properties that hold the key of a node by which people know one that has no name."""


def _called(place: _Place, nodes: Mapping[str, Element]) -> str:
    """A node or relationship by names; by its key where nothing is known of it."""
    kind, key, start, end = place
    return f"{kind} from {_name(start, nodes)} to {_name(end, nodes)}" if start else _name(key, nodes)


def _name(key: str, nodes: Mapping[str, Element]) -> str:
    if key not in nodes:
        return key
    node = nodes[key]
    held = {name: str(value) for name, value in node.properties.items()}
    get = held.get
    if node.type in ("Dataset", "Job"):
        return text_id((node.type.lower(), get("namespace", ""), get("name", "")))
    if node.type == "Column":
        return text_id(("column", get("namespace", ""), get("dataset_name", ""), get("name", "")))
    if node.type == "Run":
        return f"run:{get('run_id')}"
    about = [_name(held[name], nodes) for name in _ABOUT if get(name, key) != key]
    return " ".join([node.type, get("name") or (f"of {' and '.join(about)}" if about else key)])
