"""A data folder that can't be used: what is wrong, where and what to do are said, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from lineage_graph.cli import main
from tests.cli.conftest import COMMAND, command
from tests.events_builder import run
from tests.faults.conftest import is_right, kept, running
from tests.test_journal import no_superuser

PAGE = 4_096


@pytest.fixture
def loaded(dump: Path) -> Path:
    """A working folder whose journal has many pages, and no saved graph to answer from without it."""
    assert command("load", "events.ndjson", folder=dump).returncode == 0
    (dump / "lineage-data" / "graph.snapshot").unlink()
    return dump


def journal(folder: Path) -> Path:
    return folder / "lineage-data" / "journal.sqlite"


def test_a_folder_that_another_process_uses_is_left_alone(dump: Path) -> None:
    with running("serve", "--port", "0", folder=dump) as server:
        assert server.stdout is not None
        assert server.stdout.readline()
        for words in (["load", "events.ndjson"], ["check"], ["rebuild"], ["dead-letters", "list"], ["serve"]):
            refused = command(*words, folder=dump)
            assert refused.returncode == 5
            assert (
                f"the journal in lineage-data is in use by another process (pid {server.pid}): stop" in refused.stderr
            )
        assert command("restore", "none", folder=dump).returncode == 2
        (dump / "backup").write_text("x")
        assert command("restore", "backup", folder=dump).returncode == 5
    assert is_right(dump, 0)


@pytest.mark.parametrize("page", [0, 1, 2, 40, 200, -1])
@pytest.mark.parametrize("content", ["zeros", "noise"])
def test_a_torn_page_is_found(loaded: Path, page: int, content: str) -> None:
    pages = journal(loaded).stat().st_size // PAGE
    assert pages > 200
    with journal(loaded).open("r+b") as file:
        file.seek(page % pages * PAGE)
        file.write(bytes(PAGE) if content == "zeros" else random.Random(page).randbytes(PAGE))
    torn = journal(loaded).read_bytes()
    found = command("check", folder=loaded)
    assert found.returncode in (1, 5)
    assert "the journal in lineage-data " in found.stdout + found.stderr
    assert "restore a backup" in found.stdout + found.stderr
    asked = command("impact", "dataset:shop:table 0", folder=loaded)
    refused = command("backup", "copy.sqlite", folder=loaded)
    assert refused.returncode == 5
    for said in (found, asked, refused):
        assert "Traceback" not in said.stderr
    if asked.returncode:
        assert asked.returncode == 5
        assert "the journal in lineage-data " in asked.stderr
    assert len(journal(loaded).read_bytes()) == len(torn)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.99])
def test_a_file_that_was_cut_off_is_found_and_never_taken_for_a_new_one(loaded: Path, share: float) -> None:
    size = int(journal(loaded).stat().st_size * share)
    os.truncate(journal(loaded), size)
    for words in (["check"], ["impact", "dataset:shop:table 0"], ["load", "events.ndjson"]):
        said = command(*words, folder=loaded)
        assert said.returncode == 5 or (words == ["check"] and said.returncode == 1)
        assert "the journal in lineage-data " in said.stdout + said.stderr
        assert "restore a backup" in said.stdout + said.stderr
        assert "Traceback" not in said.stderr


def test_a_journal_that_is_missing_is_not_begun_anew_without_a_word(loaded: Path) -> None:
    assert command("backup", "copy.sqlite", folder=loaded).returncode == 0
    journal(loaded).unlink()
    gone = command("load", "events.ndjson", folder=loaded)
    assert gone.returncode == 5
    assert "the journal in lineage-data is gone: journal.sqlite is missing or empty" in gone.stderr
    assert "restore a backup into it, or remove journal.lock to begin anew" in gone.stderr
    assert command("restore", "copy.sqlite", folder=loaded).returncode == 0
    assert is_right(loaded)


def test_a_folder_that_may_not_be_written_is_named(open_folder: Path) -> None:
    (open_folder / "events.ndjson").write_text(json.dumps(run("first", ["orders"], ["clean"], at=0)))
    assert command("load", "events.ndjson", folder=open_folder).returncode == 0
    data = open_folder / "lineage-data"
    data.chmod(0o555)
    for file in data.iterdir():
        file.chmod(0o444)
    for words in (["load", str(open_folder / "events.ndjson")], ["check"], ["rebuild"], ["impact", "dataset:a:b"]):
        # In this process, since another user may not be able to run the command of this one.
        with no_superuser():
            refused = CliRunner().invoke(main.commands[words[0]], [*words[1:], "--data", str(data)])
        assert refused.exit_code == 5
        assert f"the journal in {data} cannot be opened: Permission denied" in refused.stderr
        assert "name a folder that this user may write" in refused.stderr
    assert is_right(open_folder, 1)


def limited(*words: str, blocks: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that may write no file larger than so many blocks of 512 bytes, as on a disk that is nearly full."""
    return subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks}; exec "$0" "$@"', COMMAND, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_load_onto_a_full_disk_is_told_and_can_be_made_again(dump: Path) -> None:
    full = limited("load", "events.ndjson", blocks=1_500, folder=dump)
    assert full.returncode == 5
    assert "the journal in lineage-data could not be written: " in full.stderr
    assert "make room on the disk" in full.stderr
    assert "what was acknowledged is kept" in full.stderr
    assert "Traceback" not in full.stderr
    before = kept(dump)
    assert 0 < before < 3_000
    assert is_right(dump, before)
    assert command("load", "events.ndjson", folder=dump).returncode == 0
    assert is_right(dump)


def test_a_backup_and_a_restore_onto_a_full_disk_leave_nothing_behind(loaded: Path) -> None:
    full = limited("backup", "copy.sqlite", blocks=100, folder=loaded)
    assert full.returncode == 5
    assert "make room on the disk" in full.stderr
    assert list(loaded.glob("copy*")) == []
    assert command("backup", "copy.sqlite", folder=loaded).returncode == 0
    full = limited("restore", "copy.sqlite", "--data", "new", blocks=100, folder=loaded)
    assert full.returncode == 5
    assert "make room on the disk" in full.stderr
    assert not (loaded / "new").exists()
