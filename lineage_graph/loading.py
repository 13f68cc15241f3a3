"""Loading dumps into a graph or a running server, with progress and an account of what was refused."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lineage_graph.asking import Server
from lineage_graph.errors import InvalidEvent
from lineage_graph.events import Event, decode, parse
from lineage_graph.graph import LineageGraph
from lineage_graph.loaders import dumps
from lineage_graph.tables import table

_EVENTS, _BYTES = 500, 16 << 20
_SHOWN = 10
"""Refused records named one by one."""
_TRIES = 30


class Ready(NamedTuple):
    """A record that is an event."""

    source: str
    body: bytes
    event: Event


class Bad(NamedTuple):
    """A record that is none, and why."""

    source: str
    body: bytes
    error: InvalidEvent


@dataclass
class Result:
    """What became of a load."""

    progress: dumps.Progress = field(default_factory=dumps.Progress)
    new: int = 0
    known: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    """(place, reason) of the first ones."""
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return 3 if self.reasons or not self.progress.files else 0

    def report(self) -> Iterator[Table | str]:
        taken, refused = self.new + self.known, sum(self.reasons.values())
        yield table(
            ("read", "stored new", "known before", "refused", "files", "seconds"),
            [
                [str(n) for n in (taken + refused, self.new, self.known, refused, self.progress.files)]
                + [f"{self.seconds:.1f}"]
            ],
        )
        if refused:
            yield table(("refused", "why"), self.refused)
            if refused > len(self.refused):
                yield f"and {refused - len(self.refused)} more; all of them are kept among the dead letters"
            yield table(("count", "reason"), ((str(count), reason) for reason, count in self.reasons.most_common()))
        if not self.progress.files:
            yield "0 events: there is no dump in what was given"
        elif not taken and not refused:
            yield "0 events: what was given is empty"
        if self.progress.ignored:
            yield f"{len(self.progress.ignored)} files of other kinds were passed over"


Sink = Callable[[list[Ready], list[Bad]], tuple[int, int]]
"""Takes events and keeps refused ones; gives how many events were new and how many known."""


def load_dumps(paths: Iterable[str], sink: Sink, strict: bool = False) -> Result:
    """Load every dump among ``paths``. With ``strict`` the first record that is no event raises
    :class:`InvalidEvent`; what came before it is loaded."""
    result = Result()
    started = time.monotonic()
    paths = list(paths)
    records = dumps.read_dumps(paths, progress=result.progress)
    ready: list[Ready] = []
    bad: list[Bad] = []
    size = 0
    with _bar(result.progress) as update:
        for record in records:
            size += len(record.body)
            checked = _check(record)
            if isinstance(checked, Ready):
                ready.append(checked)
            else:
                bad.append(checked)
                _note(result, checked)
            if len(ready) + len(bad) >= _EVENTS or size >= _BYTES or (strict and bad):
                _send(sink, ready, bad, result)
                ready, bad, size = [], [], 0
                update()
            if strict and isinstance(checked, Bad):
                raise InvalidEvent(f"{checked.source}: {checked.error.path}", checked.error.reason)
        _send(sink, ready, bad, result)
    result.seconds = time.monotonic() - started
    return result


def _check(record: dumps.Record | dumps.Broken) -> Ready | Bad:
    if isinstance(record, dumps.Broken):
        return Bad(record.source, record.body, InvalidEvent("$", record.reason))
    try:
        return Ready(record.source, record.body, parse(decode(record.body)))
    except InvalidEvent as error:
        return Bad(record.source, record.body, error)


def _note(result: Result, bad: Bad) -> None:
    if len(result.refused) < _SHOWN:
        result.refused.append((bad.source, str(bad.error)))
    result.reasons[f"{bad.error.path} {bad.error.reason.partition(',')[0]}"[:100]] += 1


def _send(sink: Sink, ready: list[Ready], bad: list[Bad], result: Result) -> None:
    if ready or bad:
        new, known = sink(ready, bad)
        result.new += new
        result.known += known


def into_graph(graph: LineageGraph) -> Sink:
    """Events go into a graph opened here."""

    def sink(ready: list[Ready], bad: list[Bad]) -> tuple[int, int]:
        taken = graph.append([(one.event, one.body) for one in ready])
        graph.refuse((one.source, one.error, one.body) for one in bad)
        new = sum(one.is_new for one in taken)
        return new, len(taken) - new

    return sink


def into_server(url: str) -> Sink:
    """Events are posted in batches to a running server, which also says what it refuses."""
    server = Server(url)

    def sink(ready: list[Ready], bad: list[Bad]) -> tuple[int, int]:
        bodies = [one.body for one in ready] + [one.body for one in bad]
        lines = b"\n".join(body.replace(b"\n", b" ").replace(b"\r", b" ") for body in bodies if body.strip())
        headers = {"Content-Type": "application/x-ndjson"}
        answer = server.request("POST", "/api/v1/lineage/batch", _TRIES, content=lines, headers=headers)
        summary = answer["summary"]
        known = int(summary.get("duplicates", 0))
        return int(summary["successful"]) - known, known

    return sink


class _bar:
    """A progress bar on a terminal, nothing elsewhere; entering gives the function that moves it."""

    def __init__(self, progress: dumps.Progress) -> None:
        self.progress = progress
        console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.fields[events]} events"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[rate]:.0f}/s"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Callable[[], None]:
        self.bar.start()
        self.task = self.bar.add_task("", total=self.progress.bytes_total, events=0, rate=0.0)
        self.started = time.monotonic()
        return self.update

    def update(self) -> None:
        seconds = time.monotonic() - self.started
        self.bar.update(
            self.task,
            completed=self.progress.bytes_read,
            total=self.progress.bytes_total,
            events=self.progress.records,
            rate=self.progress.records / seconds if seconds else 0.0,
        )

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
