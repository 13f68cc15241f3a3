"""``LineageGraph``: journal, store and questions together; what ``lineage_graph.open`` gives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self

import networkx as nx

from lineage_graph.cut import NodeId
from lineage_graph.errors import BadRequest, InvalidEvent, JournalError, NotFound, StoreUnavailable
from lineage_graph.events import Event, canonical, format_time, read
from lineage_graph.journal import Appended, DeadLetter, Entry, Journal, Refused
from lineage_graph.model import Run
from lineage_graph.nodes import Asked, nearest, resolve, run_id_of, text_id
from lineage_graph.questions.answers import (
    Answer,
    GraphAnswer,
    PathsAnswer,
    SearchAnswer,
    SearchHit,
    Standing,
    cursor_after,
    key_of_cursor,
)
from lineage_graph.questions.graph import graph
from lineage_graph.questions.impact import impact
from lineage_graph.questions.lineage import Bounds
from lineage_graph.questions.paths import Search, paths
from lineage_graph.questions.upstream import upstream
from lineage_graph.scope import Scope
from lineage_graph.store import Neighbourhood, Store, closeness, open_store
from lineage_graph.upserts import Upserts, upserts_of

log = logging.getLogger("lineage_graph")

_BATCH = 500
"""Events joined before one merge."""
_LARGEST_DEAD_LETTER = 1 << 20
_NOW, _ALL, _FEW = Scope(), Bounds(), Search()


class Taken(NamedTuple):
    """What became of one event that was durably stored."""

    offset: int
    is_new: bool
    applied: bool
    """Whether it is in the graph already; if not it will be, once the store answers."""


class Kept(NamedTuple):
    """Events that are durable and not merged yet: those new after offset ``before``, the last of them at ``upto``."""

    before: int
    upto: int
    events: list[tuple[int, Event]]
    """Each with its offset."""
    appended: list[Appended]


class LineageGraph:
    """A lineage graph that keeps every event in a journal and answers from a store.

    Safe to use from several threads: one writes at a time, questions see whole merges only.
    """

    def __init__(self, journal: Journal, store: Store) -> None:
        self.journal = journal
        self.store = store
        self._writing = threading.Lock()
        self._aside: set[int] = set()
        """Offsets of events that can't be merged."""
        self._began_at = journal.last_offset
        self._is_own = False
        """Whether the graph is known to hold nothing that the journal did not when it was opened."""

    @classmethod
    def open(cls, data: Path | None, store: str | None = None, catch_up: bool = True, **options: str) -> Self:
        """Open a data folder (``None`` keeps everything in memory) with a store, and bring the graph up to the journal,
        unless that is left to who writes (``catch_up=False``).

        ``options`` are the store's own (``user``, ``password``). Raises :class:`JournalError` when the folder can't
        be used and :class:`BadRequest` for a store URI of an unknown kind. A store that is away is waited for later.
        """
        with ExitStack() as stack:
            journal = stack.enter_context(Journal.open(data))
            graph = cls(journal, open_store(store, journal, data, **options))
            stack.callback(graph.close)
            try:
                if catch_up:
                    graph.catch_up()
            except StoreUnavailable as error:
                log.warning("%s; events are kept in the journal until it answers", error)
            stack.pop_all()
        return graph

    def close(self) -> None:
        self.store.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the way of an event

    def ingest(self, events: Iterable[dict[str, object] | bytes]) -> list[Taken]:
        """Take events: journal first, then the graph. All of them, or none when one is no event.

        Raises :class:`InvalidEvent` for the first that is none. An event taken before is not stored twice.
        """
        pairs = []
        for event in events:
            body = event if isinstance(event, bytes) else canonical(event)
            pairs.append((read(body), body))
        return self.append(pairs)

    def append(self, pairs: Sequence[tuple[Event, bytes]]) -> list[Taken]:
        """Take parsed events with the bytes they came as: one durable write, then one merge."""
        with self._writing:
            kept = self.keep(pairs)
            try:
                self._apply(kept)
            except StoreUnavailable as error:
                log.warning("%s; %d events wait in the journal", error, len(pairs))
                return [Taken(at.offset, at.is_new, False) for at in kept.appended]
        return [Taken(at.offset, at.is_new, True) for at in kept.appended]

    def keep(self, pairs: Sequence[tuple[Event, bytes]]) -> Kept:
        """Make events durable without merging them; :meth:`apply` is to follow, in the order of the keeping.

        Raises :class:`JournalError` when the journal takes none of them.
        """
        before = self.journal.last_offset
        appended = self.journal.append(pairs)
        events = [(at.offset, event) for (event, _), at in zip(pairs, appended, strict=True) if at.is_new]
        return Kept(before, self.journal.last_offset, events, appended)

    def apply(self, kept: Kept) -> None:
        """Merge what was kept, and before it whatever else the graph lacks. Raises :class:`StoreUnavailable`."""
        with self._writing:
            self._apply(kept)

    def _apply(self, kept: Kept) -> None:
        if self._applied < kept.before:
            self._replay()
        elif kept.upto > self._applied:
            self._merge(kept.events, kept.upto)

    def refuse(self, bad: Iterable[tuple[str, InvalidEvent, bytes]]) -> None:
        """Keep what could not be taken as events among the dead letters, in one durable write.

        Each comes with its source, such as ``dump.ndjson:17``, and what is wrong; up to 1 MiB of each body is kept.
        """
        self.journal.refuse(
            Refused(source, error.reason, error.path, body[:_LARGEST_DEAD_LETTER]) for source, error, body in bad
        )

    def retry(self, letters: Sequence[DeadLetter]) -> list[tuple[DeadLetter, str]]:
        """Take dead letters that are events by now; they leave the list. Those that stay, each with the reason.

        One that is in the journal already is merged again, which changes nothing where it had been merged. Raises
        :class:`StoreUnavailable` and :class:`JournalError`; all letters are then in the list as before.
        """
        stay: list[tuple[DeadLetter, str]] = []
        pairs: list[tuple[DeadLetter, Event]] = []
        for letter in letters:
            try:
                pairs.append((letter, read(letter.body)))
            except InvalidEvent as error:
                stay.append((letter, str(error)))
        taken = self.append([(event, letter.body) for letter, event in pairs])
        done = []
        with self._writing:
            self._replay()
            for (letter, event), at in zip(pairs, taken, strict=True):
                if not at.is_new:
                    self._aside.discard(at.offset)
                    self._merge([(at.offset, event)], at.offset)
                    # A store that lost what it held is filled again.
                    self._replay()
                if at.offset in self._aside:
                    stay.append((letter, "is an event, but still can't be merged into the graph"))
                else:
                    done.append(letter.id)
        self.journal.discard(done)
        return stay

    def catch_up(self, tell: Callable[[int], None] = lambda offset: None) -> int:
        """Merge what the journal holds and the store lacks; the number of events. ``tell`` is called as it goes on,
        with the offset reached. Raises :class:`StoreUnavailable`, and :class:`JournalError` where the graph is of a
        later day than the journal."""
        with self._writing:
            return self._replay(tell=tell)

    def rebuild(self, tell: Callable[[int], None] = lambda offset: None) -> int:
        """Drop the graph and make it again from the journal; the number of events. Killed half-way, it goes on at the
        next start. ``tell`` as for :meth:`catch_up`.

        Raises :class:`StoreUnavailable`, and :class:`JournalError` for a damaged journal, of which the graph may hold
        more. What other journals have merged into the same database is dropped too.
        """
        with self._writing:
            damage = self.journal.damage()
            if damage:
                raise JournalError(self.journal.place, f"is damaged, so the graph was not dropped: {damage[0]}")
            self._aside.clear()
            self.store.drop()
            self._is_own = True
            return self._replay(tell=tell)

    @property
    def lag(self) -> int:
        """Events in the journal that are not in the graph yet. Raises :class:`StoreUnavailable`."""
        return max(0, self.journal.last_offset - self._applied)

    @property
    def _applied(self) -> int:
        """The offset up to which the store has merged the journal.

        Raises :class:`JournalError` where that is beyond what the journal held when it was opened: it was put back to
        an earlier day, and events would get the offsets of others that the graph holds.
        """
        applied = self.store.applied
        if not self._is_own and applied > self._began_at:
            raise JournalError(
                self.journal.place,
                f"ends at offset {self._began_at}, but the graph holds its events up to {applied}: it is an older "
                "copy; `lineage-graph rebuild` makes the graph of it",
            )
        self._is_own = True
        return applied

    def _replay(self, upto: int | None = None, tell: Callable[[int], None] = lambda offset: None) -> int:
        """Merge what the journal holds and the store lacks, up to an offset; the number of events."""
        merged = 0
        for entries in self.journal.replay(self._applied, _BATCH):
            events = [(entry.offset, self._read(entry)) for entry in entries if upto is None or entry.offset <= upto]
            if events:
                self._merge(events, events[-1][0])
                merged += len(events)
                tell(events[-1][0])
            if len(events) < len(entries):
                break
        return merged

    def _read(self, entry: Entry) -> Event:
        """An event of the journal. Raises :class:`JournalError` for one that is not what was kept."""
        try:
            event = read(entry.body)
        except InvalidEvent as error:
            raise self.journal.damaged(entry.offset, str(error)) from error
        if event.digest != entry.digest:
            raise self.journal.damaged(entry.offset, "its digest is wrong")
        return event

    def _merge(self, events: Sequence[tuple[int, Event]], upto: int) -> None:
        """Merge events, given with their offsets. One that can't be merged is set aside, for the others' sake."""
        try:
            upserts = Upserts()
            for offset, event in events:
                if offset not in self._aside:
                    upserts.join(upserts_of(event))
            self.store.merge(upserts, upto)
        except StoreUnavailable:
            raise
        except Exception as error:
            log.exception("events %d to %d could not be merged; looking for the one that can't be", events[0][0], upto)
            self._merge_apart(events, upto, error)

    def _merge_apart(self, events: Sequence[tuple[int, Event]], upto: int, error: Exception) -> None:
        """Halve until it is found out which event can't be merged. A store that lost what it held is filled again."""
        if len(events) == 1:
            self._set_aside(events[0][0], error)
            self._replay(events[0][0] - 1)
            self.store.merge(Upserts(), upto)
            return
        is_lost = self._applied < events[0][0] - 1
        size = 1 if is_lost else (len(events) + 1) // 2
        for first in range(0, len(events), size):
            part = events[first : first + size]
            self._replay(part[0][0] - 1)
            self._merge(part, part[-1][0])

    def _set_aside(self, offset: int, error: Exception) -> None:
        """Keep an event out of the graph. It stays in the journal, and among the dead letters it tells why."""
        self._aside.add(offset)
        (entry,) = next(self.journal.replay(offset - 1, 1))
        reason = f"is an event, but could not be merged into the graph: {type(error).__name__}: {error}"
        self.refuse([(f"offset {offset} of the journal", InvalidEvent("$", reason), entry.body)])

    # -- the way of a question

    def impact(self, asked: Asked | str, scope: Scope = _NOW, bounds: Bounds = _ALL) -> Answer:
        """What depends on a node. Raises :class:`NotFound`, :class:`Ambiguous`, :class:`BadRequest`."""
        with self.store.look() as near:
            bounds.check()
            return impact(near, self._resolve(near, asked), scope, bounds, self._standing())

    def upstream(self, asked: Asked | str, scope: Scope = _NOW, bounds: Bounds = _ALL) -> Answer:
        """Where a node comes from. Raises as :meth:`impact` does."""
        with self.store.look() as near:
            bounds.check()
            return upstream(near, self._resolve(near, asked), scope, bounds, self._standing())

    def graph(
        self, asked: Asked | str, scope: Scope = _NOW, bounds: Bounds = _ALL, level: str = "dataset"
    ) -> GraphAnswer:
        """Nodes and edges around a node, both ways, at ``dataset`` or ``column`` level. Raises as :meth:`impact`."""
        if level not in ("dataset", "column"):
            raise BadRequest("level", f"is {level!r}; give dataset or column")
        with self.store.look() as near:
            bounds.check()
            return graph(near, self._resolve(near, asked), scope, bounds, self._standing(), level)

    def paths(
        self,
        source: Asked | str,
        target: Asked | str,
        scope: Scope = _NOW,
        k: int = _FEW.k,
        seconds: float = _FEW.seconds,
    ) -> PathsAnswer:
        """The ``k`` shortest paths of the data from one node to another, as far as they are found within ``seconds``.

        Raises as :meth:`impact` does, and :class:`BadRequest` when both are one node, or a column and its own table.
        """
        ends = [
            (Asked(node) if isinstance(node, str) else node)._replace(end=end)
            for node, end in ((source, "source"), (target, "target"))
        ]
        with self.store.look() as near:
            start, end = (self._resolve(near, asked) for asked in ends)
            return paths(near, start, end, scope, Search(k, seconds), self._standing())

    def search(
        self,
        text: str,
        types: Sequence[str] = ("dataset", "job"),
        namespace: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> SearchAnswer:
        """Datasets and jobs whose name holds ``text``, case ignored; ``_`` and ``%`` stand for themselves.

        Exact names come first, then those that begin with the text. Raises :class:`BadRequest` for an empty text.
        """
        if not text:
            raise BadRequest("q", "is empty; give a part of a name")
        if limit < 1:
            raise BadRequest("limit", f"is {limit!r}; give a whole number, at least 1")
        question = repr((text, tuple(types), namespace))
        found = self.store.search(text, types, namespace)
        rest = found if cursor is None else [hit for hit in found if closeness(hit, text) > _place(cursor, question)]
        page = rest[:limit]
        items = [
            SearchHit(
                id=text_id((hit.type, hit.namespace, hit.name)),
                type=hit.type,
                namespace=hit.namespace,
                name=hit.name,
                last_seen=format_time(hit.last_seen),
            )
            for hit in page
        ]
        more = len(rest) > len(page)
        return SearchAnswer(
            total=len(found),
            items=items,
            next=cursor_after([*closeness(page[-1], text)], question) if more else None,
            **self._standing().shown(),
        )

    def run(self, run_id: str, job: tuple[str, str] | None = None) -> Run:
        """One run by its id, in any spelling that was sent. ``job`` tells which, where two jobs sent the same id.

        Raises :class:`NotFound` and :class:`Ambiguous`.
        """
        namespace, name = job or (None, None)
        with self.store.look() as near:
            node = self._resolve(near, Asked(f"run:{run_id}", namespace, name))
            key = (node[1], node[2], node[3])
            return near.runs([key])[key]

    def networkx(self) -> nx.MultiDiGraph[str]:
        """The whole property graph: nodes keyed by their ``key``, with ``label``; edges with ``relationship``."""
        whole: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        for element in self.store.elements():
            if element.start:
                whole.add_edge(element.start, element.end, relationship=element.type, **element.properties)
            else:
                whole.add_node(element.key, label=element.type, **element.properties)
        return whole

    def events(self) -> Iterator[bytes]:
        """Every event as it was received, in the order received."""
        for entries in self.journal.replay():
            yield from (entry.body for entry in entries)

    def _resolve(self, near: Neighbourhood, asked: Asked | str) -> NodeId:
        asked = Asked(asked) if isinstance(asked, str) else asked
        if not isinstance(asked, Asked):
            raise BadRequest("node", f"is {asked!r}; give an id or Asked(namespace=…, name=…)")
        run_id = run_id_of(asked)
        try:
            return resolve(asked, near, self.store.run_keys(run_id) if run_id else [])
        except NotFound as error:
            alike = nearest(asked, lambda text, kind: self.store.search(text, (kind,), None))
            raise NotFound(error.node, self.lag, error.end, alike) from error

    def _standing(self) -> Standing:
        return Standing(self.store.newest_event, self.lag)


def _place(cursor: str, question: str) -> tuple[int, str, str, str]:
    key = key_of_cursor(cursor, question)
    if len(key) != 4 or not isinstance(key[0], int) or not all(isinstance(part, str) for part in key[1:]):
        raise BadRequest("cursor", "is none that an answer gave; take the value of 'next' as it stands")
    return key[0], key[1], key[2], key[3]


def open(place: str | Path, **options: str) -> LineageGraph:
    """Open a lineage graph: a data folder, ``:memory:``, or Neo4j by its URI (``bolt://…``, ``neo4j://…``).

    With a Neo4j URI the journal is in the folder ``data`` of the options (``./lineage-data`` unless given); ``user``
    and ``password`` are the database's. Raises as :meth:`LineageGraph.open` does.

    >>> with open(":memory:") as g:
    ...     g.store.applied
    0
    """
    if "://" in str(place):
        return LineageGraph.open(Path(options.pop("data", "lineage-data")), str(place), True, **options)
    return LineageGraph.open(None if str(place) == ":memory:" else Path(place))
