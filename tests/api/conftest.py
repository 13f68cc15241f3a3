"""A real server on a free port, over an empty graph on each store."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from lineage_graph import LineageGraph
from lineage_graph.api.app import create_app


@contextmanager
def serving(graph: LineageGraph) -> Iterator[str]:
    """The address of a server over ``graph``, ended in order."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(graph), log_level="warning"))
        started = threading.Event()
        startup = server.startup

        async def startup_and_tell(sockets: list[socket.socket] | None = None) -> None:
            await startup(sockets)
            started.set()

        server.startup = startup_and_tell  # type: ignore[method-assign]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        assert started.wait(20)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def settle(client: httpx.Client) -> None:
    """Ask until the graph is up to the journal: a database that is slow answers an event with 202 first."""
    deadline = time.monotonic() + 60
    while client.get("/readyz").json()["lag"] != 0:
        assert time.monotonic() < deadline


def send(client: httpx.Client, body: bytes) -> None:
    """Have an event taken and merged."""
    answer = client.post("/api/v1/lineage", content=body)
    assert answer.status_code in (201, 202), answer.text
    if answer.status_code == 202:
        settle(client)


@pytest.fixture
def client(new_graph: Callable[[], LineageGraph]) -> Iterator[httpx.Client]:
    """A client of a server over an empty graph, on each store."""
    with serving(new_graph()) as url, httpx.Client(base_url=url, timeout=30) as made:
        yield made


@pytest.fixture
def embedded() -> Iterator[httpx.Client]:
    """A client of a server over the embedded store, for what no store has a part in."""
    with LineageGraph.open(None) as graph, serving(graph) as url, httpx.Client(base_url=url, timeout=30) as made:
        yield made
