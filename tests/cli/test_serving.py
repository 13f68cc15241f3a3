"""A server as people start and end it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import command
from tests.events_builder import run


def test_a_folder_that_is_served_is_asked_by_its_address(
    served: tuple[subprocess.Popen[str], str], folder: Path
) -> None:
    process, url = served
    assert "2 datasets, 2 jobs" in command("impact", "dataset:shop:orders", "--url", url, folder=folder).stdout
    locked = command("impact", "dataset:shop:orders", folder=folder)
    assert locked.returncode == 5
    assert str(process.pid) in locked.stderr
    port = url.rpartition(":")[2]
    taken = command("serve", "--port", port, "--data", "other", folder=folder)
    assert taken.returncode == 2
    assert port in taken.stderr
    assert not (folder / "other").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_ends_in_order(
    served: tuple[subprocess.Popen[str], str], folder: Path, number: signal.Signals
) -> None:
    process, url = served
    event = run("third", ["report"], ["board"], at=2)
    assert httpx.post(f"{url}/api/v1/lineage", json=event).status_code == 201
    process.send_signal(number)
    _, complaints = process.communicate(timeout=20)
    assert process.returncode == 0
    assert complaints == ""
    assert "3 datasets, 3 jobs" in command("impact", "dataset:shop:orders", folder=folder).stdout


def test_serving_to_the_world_needs_a_word(folder: Path) -> None:
    result = command("serve", "--host", "0.0.0.0", folder=folder)
    assert result.returncode == 2
    assert "--unsafe-no-auth" in result.stderr
    other = command("serve", "--host", "0.0.0.0", "--data", "other", folder=folder)
    assert other.returncode == 2
    assert not (folder / "other").exists()


def test_the_address_is_told_once_it_answers(served: tuple[subprocess.Popen[str], str]) -> None:
    assert httpx.get(f"{served[1]}/healthz").status_code == 200


def test_a_port_that_is_no_number_is_told(folder: Path) -> None:
    for port in ("many", "-1", "65536", "\u00b2"):
        result = command("serve", folder=folder, LINEAGE_PORT=port)
        assert result.returncode == 2
        assert "port" in result.stderr
