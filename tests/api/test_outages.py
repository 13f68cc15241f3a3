"""What is acknowledged while a part is away, and that none of it is lost."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from lineage_graph import LineageGraph
from lineage_graph.api import answering, writer
from tests.api.conftest import send, serving, settle
from tests.api.test_ingest import body, is_problem, names, post
from tests.events_builder import run
from tests.stores import database, empty_graph


def report(number: int) -> bytes:
    return json.dumps(run(f"copy {number}", ["orders"], [f"report {number}"], at=number)).encode()


@contextmanager
def forwarding(listening: socket.socket, uri: str) -> Iterator[threading.Event]:
    """Pass every connection on to a database, as a network does that works again.

    While the event given is cleared, connections stay open and nothing passes.
    """
    far = urlsplit(uri)
    open_ends: list[socket.socket] = []
    flowing = threading.Event()
    flowing.set()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                flowing.wait()
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                other = socket.create_connection((far.hostname or "", far.port or 7687))
                open_ends.extend((near, other))
                for ends in ((near, other), (other, near)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    listening.listen()
    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield flowing
    finally:
        flowing.set()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        for end in (*open_ends, listening):
            end.close()


def test_events_are_taken_while_the_store_is_away_and_merged_when_it_is_back(neo4j_uri: str) -> None:
    empty_graph(neo4j_uri).close()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    with (
        LineageGraph.open(None, f"bolt://127.0.0.1:{listening.getsockname()[1]}") as graph,
        serving(graph) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        for minute in range(3):
            answer = post(
                client, json.dumps(run(f"copy {minute}", ["orders"], [f"report {minute}"], at=minute)).encode()
            )
            assert (answer.status_code, answer.json()) == (202, {"status": "accepted"})
        assert graph.journal.count == 3
        for question in ("impact?namespace=shop&name=orders", "search?q=orders", "jobs/runs/x"):
            refused = client.get(f"/api/v1/{question}")
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert is_problem(refused)["type"].endswith(":store-unavailable")
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["journal"] == "ok"
        assert "unavailable" in ready.json()["store"]
        assert client.get("/healthz").status_code == 200
        with forwarding(listening, neo4j_uri):
            settle(client)
            assert names(client, "impact", "orders") == {"report 0", "report 1", "report 2"}


def test_a_question_about_what_is_being_merged_waits_for_it(neo4j_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = threading.Event()
    wait_for_it = writer.Writer.settle

    async def settle_and_tell(of: writer.Writer) -> None:
        waits.set()
        await wait_for_it(of)

    monkeypatch.setattr(writer.Writer, "settle", settle_and_tell)
    with (
        empty_graph(neo4j_uri) as graph,
        serving(graph) as url,
        httpx.Client(base_url=url, timeout=30) as client,
        database(neo4j_uri) as driver,
        ThreadPoolExecutor(1) as pool,
    ):
        send(client, report(0))
        with driver.session() as session, session.begin_transaction() as holding:
            holding.run("MATCH (n:Dataset {name: 'orders'}) SET n.held = true").consume()
            assert post(client, report(1)).status_code == 202
            asked = pool.submit(client.get, "/api/v1/upstream?namespace=shop&name=report 1")
            assert waits.wait(20)
            holding.rollback()
        assert asked.result(30).status_code == 200
        unknown = client.get("/api/v1/upstream?namespace=shop&name=nothing")
        assert unknown.status_code == 404


def test_a_store_that_hangs_delays_nobody_for_long(neo4j_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_ANSWER_WITHIN", 1.0)
    monkeypatch.setattr(answering, "_READY_WITHIN", 0.5)
    empty_graph(neo4j_uri).close()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    with (
        forwarding(listening, neo4j_uri) as flowing,
        LineageGraph.open(None, f"bolt://127.0.0.1:{listening.getsockname()[1]}") as graph,
        serving(graph) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        post(client, report(0))
        settle(client)
        flowing.clear()
        assert post(client, report(1)).status_code == 202
        with ThreadPoolExecutor(20) as pool:
            asked = pool.map(lambda _: client.get("/api/v1/impact?namespace=shop&name=orders"), range(20))
        for refused in asked:
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "no answer within 1 s" in is_problem(refused)["detail"]
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["journal"] == "ok"
        assert "no answer within" in ready.json()["store"]
        assert client.get("/healthz").status_code == 200
        flowing.set()
        settle(client)
        assert names(client, "impact", "orders") == {"report 0", "report 1"}


def test_a_server_begins_though_its_store_hangs(neo4j_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_END_WITHIN", 1.0)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    with forwarding(listening, neo4j_uri) as flowing:
        flowing.clear()
        began = time.monotonic()
        with (
            LineageGraph.open(None, f"bolt://127.0.0.1:{listening.getsockname()[1]}", catch_up=False) as graph,
            serving(graph) as url,
            httpx.Client(base_url=url, timeout=30) as client,
        ):
            assert client.get("/healthz").status_code == 200
            assert time.monotonic() - began < 10
            assert post(client, report(1)).status_code == 202


def test_a_server_ends_though_its_store_hangs(neo4j_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_END_WITHIN", 1.0)
    empty_graph(neo4j_uri).close()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    with forwarding(listening, neo4j_uri) as flowing:
        with (
            LineageGraph.open(None, f"bolt://127.0.0.1:{listening.getsockname()[1]}") as graph,
            serving(graph) as url,
            httpx.Client(base_url=url, timeout=30) as client,
        ):
            flowing.clear()
            assert post(client, report(1)).status_code == 202
            events = list(graph.events())
        assert events == [report(1)]


def test_a_journal_that_fails_turns_events_away_for_a_moment() -> None:
    with LineageGraph.open(None) as graph, serving(graph) as url, httpx.Client(base_url=url, timeout=30) as client:
        graph.journal.close()
        for path, sent in (("/api/v1/lineage", body()), ("/api/v1/lineage/batch", b"[" + body() + b"]")):
            answer = client.post(path, content=sent)
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert is_problem(answer)["type"].endswith(":journal-unavailable")
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["store"] == "ok"
        assert ready.json()["journal"] != "ok"


def test_what_is_too_much_to_hold_is_merged_from_the_journal(
    new_graph: Callable[[], LineageGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_UNMERGED", 0)
    with serving(new_graph()) as url, httpx.Client(base_url=url, timeout=30) as client:
        for minute in range(5):
            answer = post(
                client, json.dumps(run(f"copy {minute}", ["orders"], [f"report {minute}"], at=minute)).encode()
            )
            assert answer.status_code == 202
        settle(client)
        assert names(client, "impact", "orders") == {f"report {minute}" for minute in range(5)}


@pytest.mark.parametrize("waiting", [writer._WAITING, 0])
def test_a_journal_that_hangs_is_answered_within_the_time_a_client_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    """Whatever waits is turned away after a while, and at once what is more than may wait."""
    monkeypatch.setattr(writer, "_WAITING", waiting)
    with (
        LineageGraph.open(tmp_path) as graph,
        serving(graph) as url,
        httpx.Client(base_url=url, timeout=30) as client,
        closing(sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda number: post(client, report(number)), range(10)))
        other.execute("ROLLBACK")
        for answer in answers:
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert is_problem(answer)["type"].endswith(":busy")
        seconds = sorted(answer.elapsed.total_seconds() for answer in answers)
        assert seconds[-1] < 5
        assert (seconds[0] < writer._ANSWER_WITHIN) is (waiting == 0)
        for number in range(10):
            deadline = time.monotonic() + 30
            while post(client, report(number)).status_code == 503:
                assert time.monotonic() < deadline
        settle(client)
        assert names(client, "impact", "orders") == {f"report {number}" for number in range(10)}


def test_nothing_that_was_acknowledged_is_lost_when_the_server_ends(tmp_path: Path) -> None:
    acknowledged: list[bytes] = []
    ended = threading.Event()

    def keep_sending(client: httpx.Client, first: int) -> None:
        for minute in range(first, 100_000, 8):
            sent = body(at=minute)
            try:
                answer = post(client, sent)
            except httpx.TransportError:
                return
            if answer.status_code in (201, 202):
                acknowledged.append(sent)
            if ended.is_set():
                return

    with ThreadPoolExecutor(8) as pool, httpx.Client(timeout=30) as client:
        with LineageGraph.open(tmp_path) as graph:
            with serving(graph) as url:
                client.base_url = httpx.URL(url)
                sending = [pool.submit(keep_sending, client, first) for first in range(8)]
                while len(acknowledged) < 100:
                    assert not all(future.done() for future in sending)
            ended.set()
        for future in sending:
            future.result(30)
    with LineageGraph.open(tmp_path) as graph:
        assert set(acknowledged) <= set(graph.events())
        assert graph.lag == 0
