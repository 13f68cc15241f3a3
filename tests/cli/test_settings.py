"""Where settings come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_graph.errors import BadRequest
from lineage_graph.settings import settings
from tests.cli.conftest import command


def test_settings_come_from_options_then_environment_then_file(folder: Path, tmp_path: Path) -> None:
    (folder / "lineage-graph.toml").write_text('data = "elsewhere"\n')
    assert command("search", "orders", folder=folder).returncode == 2
    assert command("search", "orders", folder=folder, LINEAGE_DATA="lineage-data").returncode == 0
    assert command("search", "orders", "--data", "lineage-data", folder=folder, LINEAGE_DATA="nowhere").returncode == 0
    (folder / "lineage-graph.toml").write_text('dta = "elsewhere"\n')
    wrong = command("search", "orders", folder=folder)
    assert wrong.returncode == 2
    assert "dta" in wrong.stderr


def test_a_variable_set_to_nothing_is_not_set(folder: Path) -> None:
    assert command("search", "orders", folder=folder, LINEAGE_DATA="", LINEAGE_URL="", LINEAGE_STORE="").returncode == 0
    (folder / "lineage-graph.toml").write_text("port = 5001\n")
    assert settings({"LINEAGE_PORT": "", "LINEAGE_NEO4J_PASSWORD_FILE": ""}, folder) == {"port": "5001"}


def test_a_password_comes_from_its_file_unless_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    named = {"LINEAGE_NEO4J_PASSWORD_FILE": str(tmp_path / "secret")}
    assert settings(named, tmp_path) == {"neo4j_password": "from a file"}
    assert settings(named | {"LINEAGE_NEO4J_PASSWORD": "given"}, tmp_path) == {"neo4j_password": "given"}
    with pytest.raises(BadRequest, match="LINEAGE_NEO4J_PASSWORD_FILE"):
        settings({"LINEAGE_NEO4J_PASSWORD_FILE": str(tmp_path / "nowhere")}, tmp_path)


@pytest.mark.parametrize("text", ["port = ", "port = true", "[data]\nfolder = 1"])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "lineage-graph.toml").write_text(text)
    with pytest.raises(BadRequest, match=r"lineage-graph\.toml"):
        settings({}, tmp_path)
