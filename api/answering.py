"""Questions are worked on beside the event loop, for a time that has an end.

A database that hangs keeps its connections open and never says so; who asks is told after a while all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lineage_graph.errors import StoreUnavailable
from lineage_graph.graph import LineageGraph

T = TypeVar("T")

_QUESTIONS = 16
"""Worked on at once; others wait their turn."""
_ANSWER_WITHIN = 60.0
_READY_WITHIN = 2.0
"""Seconds."""


class Workers:
    """The threads of one app. What is asked of the parts' health never waits behind questions."""

    def __init__(self, graph: LineageGraph) -> None:
        self._graph = graph
        self._questions = ThreadPoolExecutor(_QUESTIONS, "lineage-question")
        self._checks = {part: ThreadPoolExecutor(2, f"lineage-{part}") for part in ("journal", "store")}

    async def question(self, work: Callable[[LineageGraph], T], longer: float = 0) -> T:
        """What ``work`` gives. Raises :class:`StoreUnavailable` when that takes too long; ``longer`` are the seconds
        that it was asked to take."""
        return await self._within(self._questions, work, _ANSWER_WITHIN + longer)

    async def check(self, part: str, work: Callable[[LineageGraph], T]) -> T:
        """As :meth:`question`, in the short time that whoever asks for the health of a part gives it."""
        return await self._within(self._checks[part], work, _READY_WITHIN)

    async def _within(self, pool: ThreadPoolExecutor, work: Callable[[LineageGraph], T], seconds: float) -> T:
        answer = asyncio.get_running_loop().run_in_executor(pool, work, self._graph)
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise StoreUnavailable("of the graph", f"no answer within {seconds:g} s") from None

    def stop(self) -> None:
        """Take no more; what hangs is left to end when its connection is closed."""
        for pool in (self._questions, *self._checks.values()):
            pool.shutdown(wait=False, cancel_futures=True)
