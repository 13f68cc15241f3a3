"""The real command on real data folders."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from lineage_graph import LineageGraph
from tests.api.conftest import serving
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


def test_impact_is_a_table_with_totals(folder: Path) -> None:
    result = command("impact", "dataset:shop:orders", folder=folder)
    assert result.returncode == 0
    assert re.search(r"clean .* 1 ", result.stdout)
    assert "2 datasets, 2 jobs" in result.stdout


def test_json_is_the_answer_whole(folder: Path) -> None:
    result = command("impact", "--namespace", "shop", "--name", "orders", "--limit", 1, "--json", folder=folder)
    answer = json.loads(result.stdout)
    assert [item["name"] for item in answer["items"]] == ["clean", "first", "report", "second"]
    assert answer["total"] == 4
    assert answer["next"] is None


def test_csv_is_a_list_that_no_spreadsheet_runs(tmp_path: Path) -> None:
    event = json.dumps(run("copy", ["orders"], ["=cmd()"], at=0)).encode()
    command("load", "-", folder=tmp_path, stdin=event)
    rows = list(csv.DictReader(io.StringIO(command("impact", "dataset:shop:orders", "--csv", folder=tmp_path).stdout)))
    assert rows[0]["name"] == "'=cmd()"


def test_nothing_is_said_and_unknown_is_another_thing(folder: Path) -> None:
    nothing = command("impact", "dataset:shop:report", folder=folder)
    assert nothing.returncode == 0
    assert "nothing depends on it" in nothing.stdout
    unknown = command("impact", "dataset:shop:reprot", folder=folder)
    assert unknown.returncode == 4
    assert "reprot is not known" in unknown.stderr
    assert unknown.stdout == ""


def test_a_server_that_is_away_is_no_empty_answer(folder: Path) -> None:
    result = command("impact", "dataset:shop:orders", "--json", "--url", "http://127.0.0.1:9", folder=folder)
    assert result.returncode == 5
    assert result.stdout == ""
    assert "unavailable" in result.stderr


def test_a_data_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = command("impact", "dataset:shop:orders", folder=tmp_path)
    assert result.returncode == 2
    assert "does not exist" in result.stderr
    assert not (tmp_path / "lineage-data").exists()


def test_names_cannot_take_over_the_terminal(tmp_path: Path) -> None:
    command("load", report("68") / "events.ndjson", folder=tmp_path)
    event = json.loads((report("68") / "events.ndjson").read_text())
    name = event["inputs"][0]
    words = ("impact", "--namespace", name["namespace"], "--name", name["name"])
    shown = command(*words, folder=tmp_path, COLUMNS="200").stdout
    assert not re.search("[\x1b\x07\r\u202e]", shown)
    assert len([line for line in shown.splitlines() if line.split()[:1] == ["dataset"]]) == 2
    exact = json.loads(command(*words, "--json", folder=tmp_path).stdout)
    assert {item["name"] for item in exact["items"] if item["type"] == "dataset"} == {
        o["name"] for o in event["outputs"]
    }


@pytest.mark.parametrize(
    ("number", "file", "exit_code", "stored", "refused"),
    [
        ("91", "dump.ndjson", 3, 3, 2),
        ("92", "dump-bom-crlf.ndjson", 0, 3, 0),
        ("94", "events.ndjson", 0, 1, 0),
        ("97", "dump-array.json", 0, 3, 0),
        ("97", "dump-marquez.json", 0, 3, 0),
        ("97", "dump-pretty.json", 0, 3, 0),
    ],
)
def test_dumps_of_every_shape_are_loaded_and_what_is_refused_is_named(
    tmp_path: Path, number: str, file: str, exit_code: int, stored: int, refused: int
) -> None:
    result = command("load", report(number) / file, folder=tmp_path)
    assert result.returncode == exit_code
    counts = next(line.split() for line in result.stdout.splitlines() if re.match(r" *\d", line))
    assert counts[0] == str(stored + refused)
    assert counts[1] == str(stored)
    if number == "91":
        assert f"{file}:2" in result.stdout
        assert f"{file}:4" in result.stdout


def test_a_second_load_of_the_same_dump_changes_nothing(tmp_path: Path) -> None:
    dump = report("95") / "events.ndjson"
    command("load", dump, folder=tmp_path)
    before = command("export", "--format", "json", folder=tmp_path).stdout
    again = command("load", dump, folder=tmp_path)
    assert again.returncode == 0
    assert command("export", "--format", "json", folder=tmp_path).stdout == before
    assert command("export", "--format", "openlineage", folder=tmp_path).stdout.count("\n") == 4


def test_a_file_without_events_is_no_success_and_an_empty_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert command("load", "table.csv", folder=tmp_path).returncode == 3
    (tmp_path / "empty.ndjson").touch()
    empty = command("load", "empty.ndjson", folder=tmp_path)
    assert empty.returncode == 0
    assert "0 events" in empty.stdout
    assert command("load", "missing.ndjson", folder=tmp_path).returncode == 2


def test_strict_stops_at_the_first_that_is_no_event(tmp_path: Path) -> None:
    result = command("load", "--strict", report("91") / "dump.ndjson", folder=tmp_path)
    assert result.returncode == 3
    assert "dump.ndjson:2" in result.stderr


def test_standard_input_and_compressed_files_are_loaded(tmp_path: Path) -> None:
    event = json.dumps(run("copy", ["orders"], ["report"], at=0)).encode()
    assert command("load", "-", folder=tmp_path, stdin=gzip.compress(event)).returncode == 0
    assert "1 dataset, 1 job" in command("impact", "dataset:shop:orders", folder=tmp_path).stdout


def test_a_running_server_is_loaded_and_asked_by_its_address(tmp_path: Path) -> None:
    with LineageGraph.open(None) as graph, serving(graph) as url:
        loaded = command("load", report("91") / "dump.ndjson", "--url", url, folder=tmp_path)
        assert loaded.returncode == 3
        words = ("--namespace", "warehouse://north:5432", "--name", "lab.a")
        by_option = command("impact", *words, "--url", url, "--json", folder=tmp_path)
        by_setting = command("impact", *words, "--json", folder=tmp_path, LINEAGE_URL=url)
        assert json.loads(by_option.stdout) == json.loads(by_setting.stdout)
        assert json.loads(by_option.stdout)["counts"] == {"dataset": 3, "job": 3}
        unknown = command("impact", "dataset:shop:nope", "--url", url, folder=tmp_path)
        assert unknown.returncode == 4
        assert unknown.stderr == "Error: dataset:shop:nope is not known\n"
        assert len(graph.journal.dead_letters()) == 2


def test_the_graph_is_drawn_as_a_list_of_edges(folder: Path) -> None:
    result = command("graph", "dataset:shop:clean", "--depth", 1, folder=folder, COLUMNS="120")
    assert "5 nodes, 4 edges" in result.stdout
    assert len(re.findall("READ_BY|WRITES", result.stdout)) == 4


def test_search_finds_parts_of_names(folder: Path) -> None:
    result = command("search", "ORD", folder=folder)
    assert "orders" in result.stdout
    assert "1 found" in result.stdout
    assert "no name holds" in command("search", "r_s", folder=folder).stdout


def test_exports_hold_the_whole_graph(folder: Path) -> None:
    with LineageGraph.open(folder / "lineage-data") as graph:
        whole = graph.networkx()
    linked = json.loads(command("export", "--format", "json", folder=folder).stdout)
    as_json = nx.node_link_graph(linked, edges="edges")
    command("export", "--format", "graphml", "--output", "graph.graphml", folder=folder)
    as_graphml = nx.read_graphml(folder / "graph.graphml")
    for other in (as_json, as_graphml):
        assert set(other) == set(whole)
        assert other.number_of_edges() == whole.number_of_edges()
    assert command("export", "--format", "openlineage", folder=folder).stdout.count("\n") == 2


def test_settings_come_from_options_then_environment_then_file(folder: Path, tmp_path: Path) -> None:
    (folder / "lineage-graph.toml").write_text('data = "elsewhere"\n')
    assert command("search", "orders", folder=folder).returncode == 2
    assert command("search", "orders", folder=folder, LINEAGE_DATA="lineage-data").returncode == 0
    assert command("search", "orders", "--data", "lineage-data", folder=folder, LINEAGE_DATA="nowhere").returncode == 0
    (folder / "lineage-graph.toml").write_text('dta = "elsewhere"\n')
    wrong = command("search", "orders", folder=folder)
    assert wrong.returncode == 2
    assert "dta" in wrong.stderr


@pytest.fixture
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server as people start it, with the address that it prints."""
    process = subprocess.Popen([COMMAND, "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = re.search(r"http://\S+", process.stdout.readline())
    assert address is not None
    yield process, address[0]
    process.kill()
    process.communicate(timeout=20)


def test_serve_answers_until_it_is_told_to_end(served: tuple[subprocess.Popen[str], str], folder: Path) -> None:
    process, url = served
    assert "2 datasets, 2 jobs" in command("impact", "dataset:shop:orders", "--url", url, folder=folder).stdout
    locked = command("impact", "dataset:shop:orders", folder=folder)
    assert locked.returncode == 5
    assert str(process.pid) in locked.stderr
    port = url.rpartition(":")[2]
    taken = command("serve", "--port", port, "--data", "other", folder=folder)
    assert taken.returncode == 2
    assert port in taken.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) in (0, -signal.SIGTERM)


def test_serving_to_the_world_needs_a_word(folder: Path) -> None:
    result = command("serve", "--host", "0.0.0.0", folder=folder)
    assert result.returncode == 2
    assert "--unsafe-no-auth" in result.stderr


def test_the_demo_answers_a_question_of_each_kind(tmp_path: Path) -> None:
    for _ in range(2):
        result = command("demo", "--no-serve", folder=tmp_path, COLUMNS="140")
        assert result.returncode == 0, result.stderr
        for question in ("impact", "upstream", "search", "graph"):
            assert f"$ lineage-graph {question}" in result.stdout


def test_the_demo_leaves_other_events_alone(folder: Path) -> None:
    result = command("demo", "--no-serve", "--data", "lineage-data", folder=folder)
    assert result.returncode == 2
    assert "other events" in result.stderr
    assert command("export", "--format", "openlineage", folder=folder).stdout.count("\n") == 2


COMMANDS = ("serve", "load", "impact", "upstream", "graph", "search", "export", "demo")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_holds_an_example(tmp_path: Path, name: str) -> None:
    assert f"Example: lineage-graph {name}" in command(name, "--help", folder=tmp_path).stdout.replace("\n ", "")
