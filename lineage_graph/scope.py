"""Which flows and column mappings count (design 5): ``current``, ``current`` with a window, and ``all``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from lineage_graph.errors import BadRequest
from lineage_graph.projection import Output, Use

_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SECONDS = (604_800, 86_400, 3_600, 60, 1)


class Counted(NamedTuple):
    """Why a flow or mapping is in scope."""

    how: str
    """successful; running; failed (the job never succeeded for this output); earlier (by window or ``all``)."""
    in_latest_execution: bool


@dataclass(frozen=True, slots=True)
class Scope:
    kind: str = "current"
    window: int | None = None
    """Nanoseconds; also takes what successful runs reported that long before the latest."""

    @classmethod
    def parse(cls, *, everything: bool = False, window: str | None = None) -> Scope:
        """From the parameters ``all`` and ``window``. Raises :class:`BadRequest` for a window that is no duration."""
        if everything:
            if window is not None:
                raise BadRequest("window", "can't be combined with all=true, which already takes everything")
            return cls("all")
        if window is None:
            return cls()
        match = _DURATION.fullmatch(window) if isinstance(window, str) else None
        if match is None or not any(match.groups()):
            raise BadRequest(
                "window", f"{window!r} is no ISO 8601 duration of weeks, days and time, such as P7D or PT12H"
            )
        parts = [int(part or 0) * factor for part, factor in zip(match.groups(), _SECONDS, strict=True)]
        return cls("current", sum(parts) * 1_000_000_000)

    def __str__(self) -> str:
        return self.kind

    def flows(
        self, output: Output, reads: Output | None, uses: dict[str, Use], life_start: int | None
    ) -> dict[str, Counted]:
        """The flows that count for an output, by digest.

        ``reads`` is what the same job reads; its choice names the job's latest execution. A write up to
        ``life_start`` belongs to a life of the dataset that ended, and is left out of ``current``.
        """
        latest = self._latest(output, reads)
        decided = output.flows.current()
        counted = {
            digest: Counted(how, latest and digest in decided)
            for digest, (how, at) in output.current_flows().items()
            if self._alive(at, life_start)
        }
        return counted | self._more(output, uses, counted, life_start)

    def mappings(self, output: Output, uses: dict[str, Use], life_start: int | None) -> dict[str, Counted]:
        """The column mappings that count for an output, by digest; '' stands for a facet that was deleted."""
        counted = {
            value.partition("/")[0]: Counted(how, True)
            for value, (how, at) in output.current_columns().items()
            if self._alive(at, life_start)
        }
        counted.pop("", None)
        return counted | self._more(output, uses, counted, life_start)

    def _latest(self, output: Output, reads: Output | None) -> bool:
        if reads is None or reads.flows.best is None or output.flows.best is None:
            return True
        return output.flows.best[1] == reads.flows.best[1]

    def _alive(self, wrote_at: int, life_start: int | None) -> bool:
        return self.kind == "all" or life_start is None or wrote_at > life_start

    def _more(
        self, output: Output, uses: dict[str, Use], counted: dict[str, Counted], life_start: int | None
    ) -> dict[str, Counted]:
        if self.kind == "all":
            return {digest: Counted("earlier", False) for digest in uses if digest not in counted}
        if self.window is None or output.flows.best is None or not output.flows.best[0][0]:
            return {}
        since = output.flows.best[0][1] - self.window
        return {
            digest: Counted("earlier", False)
            for digest, use in uses.items()
            if digest not in counted
            and use.succeeded is not None
            and use.succeeded >= since
            and use.last is not None
            and self._alive(use.last[0], life_start)
        }
