"""Two threads behind many requests: one makes events durable, the other merges them.

What waits together is one durable write and one merge (group commit). Keeping never waits for the graph: while the
store is away events are durable all the same, and the graph is brought up to the journal when it comes back.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from lineage_graph.errors import JournalError, LineageError, StoreUnavailable
from lineage_graph.events import Event
from lineage_graph.graph import Kept, LineageGraph

log = logging.getLogger("lineage_graph.api")

_EVENTS, _BYTES = 500, 16 << 20
"""The most that one write takes."""
_WAITING = 256 << 20
"""Bytes that may wait to be durable before requests are turned away."""
_UNMERGED = 32 << 20
"""Bytes of events that are held for merging; beyond it they are merged from the journal, when the graph gets there."""
_ANSWER_WITHIN = 3.0
"""Seconds. Clients send again after 5; what is durable by then is answered with 202."""
_TRY_AGAIN, _TRY_AGAIN_AT_MOST = 1.0, 5.0
"""Seconds from one attempt to bring the graph up to the journal to the next, twice as long after each that failed."""

_END_WITHIN = 5.0
"""Seconds that the end waits for a merge under way."""


class Full(Exception):
    """More waits than the writer may hold; the client should come again."""


@dataclass(slots=True, eq=False)
class _Waiting:
    pairs: list[tuple[Event, bytes]]
    size: int
    new: list[bool] | None = None
    """Whether each event was new, once it is kept."""
    merged: Future[bool] = field(default_factory=Future)
    """True once it is in the graph; False when it is kept and the graph is known to be behind. What failed to be kept
    raises its error."""


def _waiting(pairs: list[tuple[Event, bytes]]) -> _Waiting:
    return _Waiting(pairs, sum(len(body) for _, body in pairs))


class Writer:
    """Takes events from any number of requests."""

    def __init__(self, graph: LineageGraph) -> None:
        self._graph = graph
        self._to_keep: deque[_Waiting] = deque()
        self._to_merge: deque[tuple[Kept, list[_Waiting]]] = deque()
        self._newest: _Waiting | None = None
        self._size = self._unmerged = 0
        self._news = threading.Condition()
        self._stopping = self._kept_all = False
        self._due: float | None = None
        """While the graph is known to be behind the journal: when to try to bring it up again."""
        self._threads = [
            threading.Thread(target=self._keep_all, name="lineage-journal", daemon=True),
            threading.Thread(target=self._merge_all, name="lineage-merge", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Keep and merge what waits, then end; what a store that is away lacks stays in the journal."""
        with self._news:
            self._stopping = True
            self._news.notify_all()
        keeping, merging = self._threads
        keeping.join()
        merging.join(_END_WITHIN)
        if merging.is_alive():
            log.warning("the store does not answer; what it lacks is merged from the journal at the next start")

    async def take(self, pairs: list[tuple[Event, bytes]]) -> tuple[list[bool], bool]:
        """Have events written: whether each was new, and whether they are in the graph already.

        Raises :class:`Full` when they can't be made durable within the time a client waits, and
        :class:`~lineage_graph.errors.JournalError`.
        """
        entries = [_waiting(pairs[first : first + _EVENTS]) for first in range(0, len(pairs), _EVENTS)]
        size = sum(entry.size for entry in entries)
        with self._news:
            if self._stopping or (self._size + size > _WAITING and self._to_keep):
                raise Full
            self._to_keep += entries
            self._newest = entries[-1] if entries else self._newest
            self._size += size
            self._news.notify_all()
        waiting = [asyncio.wrap_future(entry.merged) for entry in entries]
        done, late = await asyncio.wait(waiting, timeout=_ANSWER_WITHIN)
        merged = [future.result() for future in waiting if future in done]
        for future in late:
            # Nobody waits for it any more; an error that it ends with is in the log.
            future.add_done_callback(lambda ended: ended.exception())
        taken = [entry.new for entry in entries]
        new = [is_new for held in taken if held is not None for is_new in held]
        if late and None in taken:
            raise Full
        return new, not late and all(merged)

    async def settle(self) -> None:
        """Wait until what was taken up to now is merged, or known to come later; as long as a client waits."""
        if self._newest is not None:
            await asyncio.wait([asyncio.wrap_future(self._newest.merged)], timeout=_ANSWER_WITHIN)

    # -- the journal's thread

    def _keep_all(self) -> None:
        while batch := self._next():
            try:
                kept = self._graph.keep([pair for entry in batch for pair in entry.pairs])
            except Exception as error:
                if not isinstance(error, LineageError):
                    log.exception("events could not be kept")
                for entry in batch:
                    entry.merged.set_exception(error)
                continue
            at = 0
            for entry in batch:
                entry.new = [appended.is_new for appended in kept.appended[at : at + len(entry.pairs)]]
                at += len(entry.pairs)
            self._hand_on(kept, batch)
        with self._news:
            self._kept_all = True
            self._news.notify_all()

    def _hand_on(self, kept: Kept, batch: list[_Waiting]) -> None:
        """To be merged from memory, as long as that holds what waits; else later, from the journal."""
        with self._news:
            fits = self._unmerged < _UNMERGED
            if fits:
                self._to_merge.append((kept, batch))
                self._unmerged += sum(entry.size for entry in batch)
            elif self._due is None:
                self._due = 0.0
            self._news.notify_all()
        if not fits:
            self._merged(batch, False)

    def _next(self) -> list[_Waiting]:
        """What waits, up to one write's measure; empty when it is time to end."""
        with self._news:
            self._news.wait_for(lambda: self._to_keep or self._stopping)
            batch: list[_Waiting] = []
            events = size = 0
            while self._to_keep and (not batch or (events < _EVENTS and size < _BYTES)):
                entry = self._to_keep.popleft()
                batch.append(entry)
                events, size = events + len(entry.pairs), size + entry.size
                self._size -= entry.size
            return batch

    # -- the graph's thread

    def _merge_all(self) -> None:
        pause = _TRY_AGAIN
        if self._is_behind():
            self._due = 0.0
        while True:
            with self._news:
                left = None if self._due is None else max(0.0, self._due - time.monotonic())
                self._news.wait_for(lambda: self._to_merge or self._kept_all or self._is_due(), left)
                if not self._to_merge and self._kept_all:
                    return
                work, self._to_merge = self._to_merge, deque()
                self._unmerged = 0
            for kept, batch in work:
                if self._due is None and not self._apply(kept):
                    self._due = time.monotonic() + pause
                self._merged(batch, self._due is None)
            if self._is_due():
                # Taken back before the attempt: what the journal's thread says meanwhile must not be lost.
                self._due = None
                if self._caught_up():
                    pause = _TRY_AGAIN
                else:
                    self._due = time.monotonic() + pause
                    pause = min(2 * pause, _TRY_AGAIN_AT_MOST)

    def _is_due(self) -> bool:
        return self._due is not None and self._due <= time.monotonic()

    @staticmethod
    def _merged(batch: list[_Waiting], merged: bool) -> None:
        for entry in batch:
            entry.merged.set_result(merged)

    def _is_behind(self) -> bool:
        try:
            return self._graph.lag > 0
        except LineageError:
            return True

    def _apply(self, kept: Kept) -> bool:
        try:
            self._graph.apply(kept)
        except StoreUnavailable as error:
            log.warning("%s; events wait in the journal", error)
            return False
        except Exception:
            log.exception("events could not be merged; they wait in the journal")
            return False
        return True

    def _caught_up(self) -> bool:
        try:
            merged = self._graph.catch_up()
        except StoreUnavailable as error:
            log.debug("%s", error)
            return False
        except JournalError as error:
            log.error("%s", error)
            return False
        except Exception:
            log.exception("the graph could not be brought up to the journal")
            return False
        log.info("the graph is up to the journal again, %d events merged", merged)
        return True
