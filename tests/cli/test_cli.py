"""Questions and loads by the real command, on real data folders."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lineage_graph import LineageGraph
from tests.api.conftest import serving
from tests.cli.conftest import COMMAND, command, report
from tests.events_builder import run


def test_impact_is_a_table_with_totals(folder: Path) -> None:
    result = command("impact", "dataset:shop:orders", folder=folder)
    assert result.returncode == 0
    assert re.search(r"clean .* 1 ", result.stdout)
    assert "2 datasets, 2 jobs" in result.stdout


def test_json_is_the_answer_whole(folder: Path) -> None:
    result = command("impact", "--namespace", "shop", "--name", "orders", "--json", folder=folder)
    answer = json.loads(result.stdout)
    assert [item["name"] for item in answer["items"]] == ["clean", "first", "report", "second"]
    assert answer["total"] == 4
    assert answer["next"] is None


def test_csv_is_a_list_that_no_spreadsheet_runs(tmp_path: Path) -> None:
    event = json.dumps(run("copy", ["orders"], ["=cmd()"], at=0)).encode()
    command("load", "-", folder=tmp_path, stdin=event)
    rows = list(csv.DictReader(io.StringIO(command("impact", "dataset:shop:orders", "--csv", folder=tmp_path).stdout)))
    assert rows[0]["name"] == "'=cmd()"


def test_csv_cannot_take_over_the_terminal(tmp_path: Path) -> None:
    event = json.dumps(run("copy", ["orders"], ["a\x1b[2J\r\u202eb"], at=0)).encode()
    command("load", "-", folder=tmp_path, stdin=event)
    shown = command("impact", "dataset:shop:orders", "--csv", folder=tmp_path).stdout
    assert next(csv.DictReader(io.StringIO(shown)))["name"] == r"a\x1b[2J\r\u202eb".replace(r"\r", r"\x0d")
    assert not re.search("[\x1b\r\u202e]", shown)


def test_nothing_is_said_and_unknown_is_another_thing(folder: Path) -> None:
    nothing = command("impact", "dataset:shop:report", folder=folder)
    assert nothing.returncode == 0
    assert "nothing depends on it" in nothing.stdout
    unknown = command("impact", "dataset:shop:reprot", folder=folder)
    assert unknown.returncode == 4
    assert "reprot is not known" in unknown.stderr
    assert unknown.stdout == ""


def test_an_unknown_name_is_told_with_the_names_most_like_it(folder: Path) -> None:
    for words in (("dataset:shop:reprot",), ("--namespace", "shop", "--name", "reprot"), ("dataset:other:report",)):
        for question in ("impact", "upstream", "graph"):
            assert command(question, *words, folder=folder).stderr.endswith("; did you mean dataset:shop:report?\n")
    job = command("impact", "job:shop:frist", folder=folder)
    assert job.returncode == 4
    assert "did you mean" not in command("impact", "dataset:shop:zzz", folder=folder).stderr


def test_a_server_that_is_away_is_no_empty_answer(folder: Path) -> None:
    result = command("impact", "dataset:shop:orders", "--json", "--url", "http://127.0.0.1:9", folder=folder)
    assert result.returncode == 5
    assert result.stdout == ""
    assert "unavailable" in result.stderr


def test_a_database_that_is_away_is_no_empty_answer(folder: Path) -> None:
    for question in ("impact", "upstream", "graph"):
        words = (question, "dataset:shop:orders", "--json", "--store", "bolt://127.0.0.1:9")
        result = command(*words, folder=folder)
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
        lost = command(
            "paths", "dataset:warehouse://north:5432:lab.a", "dataset:shop:nope", "--url", url, folder=tmp_path
        )
        assert (lost.returncode, lost.stderr) == (4, "Error: target dataset:shop:nope is not known\n")
        assert len(graph.journal.dead_letters()) == 2


def test_the_graph_is_drawn_as_a_list_of_edges(folder: Path) -> None:
    result = command("graph", "dataset:shop:clean", "--depth", 1, folder=folder, COLUMNS="120")
    assert "5 nodes, 4 edges" in result.stdout
    assert len(re.findall("READ_BY|WRITES", result.stdout)) == 4


def test_paths_are_a_table_of_their_nodes(folder: Path) -> None:
    ends = ("dataset:shop:orders", "dataset:shop:report")
    shown = command("paths", *ends, folder=folder).stdout
    assert re.search(r"1 +0 +dataset:shop:orders *\n +1 +dataset:shop:clean +direct +shop:first *\n", shown)
    assert "1 path\n" in shown
    parts = ("--source-namespace", "shop", "--source-name", "orders", ends[1])
    answer = json.loads(command("paths", *parts, "--json", folder=folder).stdout)
    assert [path["nodes"] for path in answer["items"]] == [[ends[0], "dataset:shop:clean", ends[1]]]
    rows = list(csv.DictReader(io.StringIO(command("paths", *ends, "--csv", folder=folder).stdout)))
    assert [(row["path"], row["depth"], row["target"], row["via"]) for row in rows] == [
        ("1", "1", "dataset:shop:clean", "job:shop:first"),
        ("1", "2", "dataset:shop:report", "job:shop:second"),
    ]


def test_paths_against_the_data_and_to_nowhere_are_told(folder: Path) -> None:
    shown = command("paths", "dataset:shop:report", "dataset:shop:orders", folder=folder).stdout
    assert "no path from dataset:shop:report to dataset:shop:orders\n" in shown
    assert "there is one the other way: from dataset:shop:orders to dataset:shop:report\n" in shown
    unknown = command("paths", "dataset:shop:orders", "dataset:shop:reprot", folder=folder)
    assert unknown.returncode == 4
    assert "target dataset:shop:reprot is not known; did you mean dataset:shop:report?" in unknown.stderr
    same = command("paths", "dataset:shop:orders", "dataset:shop:orders", folder=folder)
    assert same.returncode == 2
    assert "target is the source" in same.stderr
    late = command("paths", "dataset:shop:orders", "dataset:shop:report", "--seconds", "0.000001", folder=folder)
    assert (late.returncode, "not complete: cut by time\n" in late.stdout) == (0, True)
    for wrong in (("--k", "0"), ("--seconds", "61"), ("--depth", "2")):
        refused = command("paths", "dataset:shop:orders", "dataset:shop:report", *wrong, folder=folder)
        assert (refused.returncode, wrong[0] in refused.stderr) == (2, True)


def test_search_finds_parts_of_names(folder: Path) -> None:
    result = command("search", "ORD", folder=folder)
    assert "orders" in result.stdout
    assert "1 found" in result.stdout
    assert "no name holds" in command("search", "r_s", folder=folder).stdout


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


def test_help_loads_neither_server_nor_database(tmp_path: Path) -> None:
    script = (
        "import sys; from lineage_graph.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in shown.stdout.splitlines()[-1].split()}
    assert "lineage_graph" in loaded
    assert not loaded & {"fastapi", "uvicorn", "neo4j", "httpx"}


def test_the_version_is_told(tmp_path: Path) -> None:
    assert re.fullmatch(r"lineage-graph, version \d+\.\d+\.\d+\n", command("--version", folder=tmp_path).stdout)


def test_a_reader_that_leaves_early_ends_the_command_without_a_trace(folder: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "export", "--format", "json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
