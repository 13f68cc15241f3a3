"""Bodies as clients send them: compressed, in chunks, damaged, and far too large."""

from __future__ import annotations

import gzip
import json
import re
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import zstandard

from tests.api.test_ingest import body, is_problem, names, post
from tests.events_builder import run

COMMAND = str(Path(sys.executable).with_name("lineage-graph"))
LIMIT = 64 << 20
ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "deflate": zlib.compress,
}


@pytest.mark.parametrize("encoding", [*ENCODE, "identity"])
def test_a_compressed_event_is_taken(embedded: httpx.Client, encoding: str) -> None:
    sent = ENCODE.get(encoding, bytes)(body())
    answer = post(embedded, sent, **{"Content-Encoding": encoding})
    assert answer.status_code == 201, answer.text
    assert names(embedded, "impact", "orders") == {"report"}


def test_gzip_in_chunks_without_a_length_is_taken_as_the_java_client_sends_it(embedded: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        packed = gzip.compress(body())
        yield from (packed[at : at + 7] for at in range(0, len(packed), 7))

    answer = embedded.post("/api/v1/lineage", content=chunks(), headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 201


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_may_be_several_members_or_frames(embedded: httpx.Client, encoding: str) -> None:
    whole = body()
    parts = b"".join(ENCODE[encoding](whole[at : at + 100]) for at in range(0, len(whole), 100))
    assert post(embedded, parts, **{"Content-Encoding": encoding}).status_code == 201
    assert names(embedded, "impact", "orders") == {"report"}


@pytest.mark.parametrize("encoding", ENCODE)
def test_a_damaged_stream_is_told(embedded: httpx.Client, encoding: str) -> None:
    whole = ENCODE[encoding](body())
    for broken in (whole[:-5], b"\x00" + whole, whole + b"\x01"):
        answer = post(embedded, broken, **{"Content-Encoding": encoding})
        assert answer.status_code == 400
        is_problem(answer)


def test_an_unknown_encoding_or_type_is_refused(embedded: httpx.Client) -> None:
    assert post(embedded, body(), **{"Content-Encoding": "br"}).status_code == 415
    for kind in ("text/csv", "multipart/form-data; boundary=x", "image/png"):
        assert post(embedded, body(), **{"Content-Type": kind}).status_code == 415


@pytest.mark.parametrize("kind", ["application/json; charset=UTF-8", "text/plain", "application/vnd.openlineage+json"])
def test_a_type_that_may_hold_json_is_taken(embedded: httpx.Client, kind: str) -> None:
    assert post(embedded, body(), **{"Content-Type": kind}).status_code == 201


def test_an_event_of_20_megabytes_is_taken(client: httpx.Client) -> None:
    event = run("copy", ["orders"], ["report"], at=0)
    event["run"]["facets"] = {"big": {"text": "x" * (20 << 20)}}
    assert post(client, json.dumps(event).encode()).status_code in (201, 202)


def test_a_body_at_the_limit_is_read_and_one_beyond_is_not(embedded: httpx.Client) -> None:
    event = body()
    for size, status in ((LIMIT, 201), (LIMIT + 1, 413)):
        for encoding in ("identity", "gzip"):
            sent = event + b" " * (size - len(event))
            answer = post(embedded, ENCODE.get(encoding, bytes)(sent), **{"Content-Encoding": encoding})
            assert answer.status_code == status, answer.text


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_length_beyond_the_limit_is_refused_before_anything_is_sent(embedded: httpx.Client, encoding: str) -> None:
    head = f"Host: x\r\nContent-Encoding: {encoding}\r\nContent-Length: {200 << 20}\r\n\r\n"
    with connected(embedded, head) as server:
        assert server.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_a_length_is_refused_once_it_is_beyond_the_limit(embedded: httpx.Client) -> None:
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    with connected(embedded, "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n") as server:
        for _ in range(65):
            server.sendall(chunk)
        assert server.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert post(embedded, body()).status_code == 201


def connected(client: httpx.Client, head: str) -> socket.socket:
    """A connection on which the head of a POST was sent, and no body."""
    server = socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=30)
    server.sendall(b"POST /api/v1/lineage HTTP/1.1\r\n" + head.encode())
    return server


def test_a_client_that_leaves_in_the_middle_is_no_fault(
    embedded: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(embedded, "Host: x\r\nContent-Length: 1000\r\n\r\n") as server:
        server.sendall(b'{"eventType"')
    assert post(embedded, body()).status_code == 201
    assert not caplog.records


@pytest.mark.parametrize(("encoding", "status"), [("zstd", 400), ("gzip", 413)])
def test_a_flood_of_empty_frames_costs_no_more_than_its_length(
    embedded: httpx.Client, encoding: str, status: int
) -> None:
    empty = ENCODE[encoding](b"")
    length = {"zstd": 8 << 20, "gzip": LIMIT + len(empty)}[encoding]
    answer = post(embedded, empty * (length // len(empty)), **{"Content-Encoding": encoding})
    assert answer.status_code == status


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[int, httpx.Client]]:
    """A server in a process of its own, with its id."""
    command = [COMMAND, "serve", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        address = re.search(r"http://[\w.:]+", started.stdout.readline())
        assert address is not None
        with httpx.Client(base_url=address[0], timeout=60) as client:
            yield started.pid, client
        started.kill()


def peak(pid: int) -> int:
    """The most memory that a process ever held, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_in_bounded_memory(process: tuple[int, httpx.Client], encoding: str) -> None:
    pid, client = process
    packer = zlib.compressobj(9, wbits=31) if encoding == "gzip" else zstandard.ZstdCompressor(level=3).compressobj()
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()
    assert post(client, body()).status_code == 201
    before = peak(pid)
    for _ in range(3):
        answer = post(client, bomb, **{"Content-Encoding": encoding})
        assert answer.status_code == 413
        is_problem(answer)
    assert peak(pid) - before < 300
    assert post(client, body()).json() == {"status": "created", "duplicate": True}
