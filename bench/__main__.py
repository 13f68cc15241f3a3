"""``python -m bench [--neo4j]``: load and impact, each beside the least that the same work can cost here."""

from __future__ import annotations

import argparse
import platform
import sqlite3
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from bench.estate import events, table
from lineage_graph import Asked, Bounds, LineageGraph
from tests.neo4j_server import running

_BATCH = 500


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """The median of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def parse_and_append(bodies: list[bytes], folder: Path) -> float:
    """The least that a durable load can do: parse the JSON, append the bytes, one commit with fsync a batch."""
    database = sqlite3.connect(folder / "limit.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE events (body BLOB)")
    start = time.perf_counter()
    for first in range(0, len(bodies), _BATCH):
        database.execute("BEGIN")
        for body in bodies[first : first + _BATCH]:
            orjson.loads(body)
            database.execute("INSERT INTO events VALUES (?)", (body,))
        database.execute("COMMIT")
    taken = time.perf_counter() - start
    database.close()
    return taken


def load(graph: LineageGraph, bodies: list[bytes]) -> float:
    start = time.perf_counter()
    for first in range(0, len(bodies), _BATCH):
        graph.ingest(bodies[first : first + _BATCH])
    return time.perf_counter() - start


def breadth_first(adjacency: dict[str, list[str]], start: str, depth: int) -> int:
    """Plain reachability over adjacency lists: the limit for a question in memory."""
    seen, queue = {start}, deque([(start, 0)])
    while queue:
        node, at = queue.popleft()
        if at < depth:
            for other in adjacency.get(node, ()):
                if other not in seen:
                    seen.add(other)
                    queue.append((other, at + 1))
    return len(seen)


def adjacency_of(documents: list[dict[str, Any]]) -> dict[str, list[str]]:
    adjacency: dict[str, list[str]] = {}
    for document in documents:
        for read in document["inputs"]:
            adjacency.setdefault(read["name"], []).extend(made["name"] for made in document["outputs"])
    return adjacency


def measure(name: str, graph: LineageGraph, bodies: list[bytes], again: list[bytes], limit: float) -> None:
    new, repeated, known = load(graph, bodies), load(graph, again), load(graph, bodies)
    report(f"{name}: load, all new", len(bodies), new, limit)
    report(f"{name}: load, same jobs again", len(again), repeated, limit)
    report(f"{name}: load, same events again", len(bodies), known, limit)
    start = Asked(namespace="warehouse://bench:5432", name=table(0, 0))
    documents = [orjson.loads(body) for body in bodies]
    adjacency = adjacency_of(documents)
    bare = seconds(lambda: breadth_first(adjacency, table(0, 0), 20))
    for limit_ in (100, 1_000):
        bounds = Bounds(depth=20, limit=limit_)
        answer = graph.impact(start, bounds=bounds)
        taken = seconds(lambda bounds=bounds: graph.impact(start, bounds=bounds))
        print(
            f"{name}: impact to depth 20, {answer.total} items, page of {limit_}: "
            f"{taken * 1000:.1f} ms, {taken / bare:.0f} x a bare breadth-first search ({bare * 1000:.2f} ms)"
        )


def report(what: str, count: int, taken: float, limit: float) -> None:
    print(f"{what}: {count / taken:,.0f} events/s, {taken / limit:.2f} x the time of parsing and appending only")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=25)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--neo4j", action="store_true", help="measure the Neo4j store too")
    options = parser.parse_args()
    print(
        f"{platform.machine()}, Python {platform.python_version()}, {options.layers} layers of {options.width} tables"
    )
    bodies = [orjson.dumps(event) for event in events(options.layers, options.width)]
    again = [orjson.dumps(event) for event in events(options.layers, options.width, runs=2)][len(bodies) :]
    print(f"{len(bodies)} events of {sum(map(len, bodies)) // len(bodies)} bytes")
    with tempfile.TemporaryDirectory() as folder:
        limit = parse_and_append(bodies, Path(folder))
        print(f"parsing and appending only: {len(bodies) / limit:,.0f} events/s")
        with LineageGraph.open(Path(folder) / "embedded") as graph:
            measure("embedded", graph, bodies, again, limit)
        if options.neo4j:
            with running() as uri, LineageGraph.open(Path(folder) / "neo4j", uri) as graph:
                measure("Neo4j", graph, bodies, again, limit)


if __name__ == "__main__":
    main()
