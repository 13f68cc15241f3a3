"""Servers that are busy, are another thing, or are not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import command
from tests.events_builder import run

EVENT = json.dumps(run("copy", ["orders"], ["report"], at=0)).encode()
TAKEN = b'{"status":"success","summary":{"received":1,"successful":1,"failed":0}}'


@contextmanager
def answering(*answers: tuple[int, bytes]) -> Iterator[tuple[str, list[str]]]:
    """The address of a server that gives these answers in turn, the last one for ever, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = answers[min(len(asked), len(answers) - 1)]
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_busy_server_is_asked_again_when_it_says(tmp_path: Path) -> None:
    with answering((503, b""), (503, b""), (200, TAKEN)) as (url, asked):
        assert command("load", "-", "--url", url, folder=tmp_path, stdin=EVENT).returncode == 0
        assert len(asked) == 3


def test_a_server_without_the_route_is_told_at_once(tmp_path: Path) -> None:
    with answering((404, b"none")) as (url, asked):
        assert command("load", "-", "--url", url, folder=tmp_path, stdin=EVENT).returncode == 5
        assert len(asked) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]"])
def test_another_server_is_no_empty_answer(tmp_path: Path, body: bytes) -> None:
    with answering((200, body)) as (url, _):
        for words in (("search", "orders"), ("impact", "dataset:shop:orders")):
            result = command(*words, "--url", url, folder=tmp_path)
            assert result.returncode == 5
            assert result.stdout == ""
            assert result.stderr.startswith("Error: ")


@pytest.mark.parametrize("url", ["http://[::1", "ftp://host", "127.0.0.1:5000"])
def test_what_is_no_address_is_told(tmp_path: Path, url: str) -> None:
    result = command("search", "orders", "--url", url, folder=tmp_path)
    assert result.returncode == 2
    assert "--url" in result.stderr


def test_text_that_no_event_can_hold_is_told(tmp_path: Path) -> None:
    result = command("search", b"\xff".decode(errors="surrogateescape"), "--url", "http://127.0.0.1:9", folder=tmp_path)
    assert result.returncode == 2
    assert "no UTF-8" in result.stderr


def test_a_folder_without_dumps_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "table.csv").write_text("a,b\n1,2\n")
    result = command("load", "given", folder=tmp_path)
    assert result.returncode == 3
    assert "there is no dump" in result.stdout


def test_a_folder_that_holds_the_demo_is_told(tmp_path: Path) -> None:
    assert "holds the demo already" not in command("demo", "--no-serve", folder=tmp_path).stdout
    assert "holds the demo already" in command("demo", "--no-serve", folder=tmp_path).stdout
