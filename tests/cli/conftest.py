"""The real command, run in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.events_builder import run

REPORTS = Path(__file__).resolve().parents[3] / "shared" / "reports"
COMMAND = str(Path(sys.executable).with_name("lineage-graph"))


def command(*words: object, folder: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in ``folder``, where its data folder is then."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_")}
    result = subprocess.run(
        [COMMAND, *map(str, words)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=clean | environment,
        timeout=120,
        check=False,
    )
    return subprocess.CompletedProcess(result.args, result.returncode, result.stdout.decode(), result.stderr.decode())


def report(number: str) -> Path:
    (folder,) = REPORTS.glob(f"{number}-*")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder whose data folder holds a chain of three tables."""
    events = [run("first", ["orders"], ["clean"], at=0), run("second", ["clean"], ["report"], at=1)]
    (tmp_path / "events.ndjson").write_text("\n".join(json.dumps(event) for event in events))
    assert command("load", "events.ndjson", folder=tmp_path).returncode == 0
    return tmp_path


@pytest.fixture
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server as people start it, with the address that it prints."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = re.search(r"http://\S+", process.stdout.readline())
    assert address is not None
    yield process, address[0]
    process.kill()
    process.communicate(timeout=20)
