"""What public bug reports expect of a command line."""

from __future__ import annotations

import json
from pathlib import Path

from lineage_graph import LineageGraph
from tests.api.conftest import serving
from tests.cli.conftest import command, report

WAREHOUSE = ("--namespace", "warehouse://north:5432")


def test_a_table_without_jobs_is_known_and_a_typo_is_not(tmp_path: Path) -> None:
    command("load", report("45") / "events.ndjson", folder=tmp_path)
    for question in ("impact", "upstream", "graph"):
        lonely = command(question, *WAREHOUSE, "--name", "lab.lonely", folder=tmp_path)
        assert lonely.returncode == 0
        typo = command(question, *WAREHOUSE, "--name", "lab.lonley", folder=tmp_path)
        assert typo.returncode == 4
        assert "lab.lonley is not known" in typo.stderr
        assert typo.stdout == ""
    assert command("search", "lonley", folder=tmp_path).stdout == "no name holds lonley\n"


def test_the_number_of_a_wide_answer_is_not_that_of_a_page(tmp_path: Path) -> None:
    command("load", report("47") / "events.ndjson", folder=tmp_path)
    words = ("impact", *WAREHOUSE, "--name", "fan.hub")
    page = command(*words, "--limit", 100, "--only", "dataset", folder=tmp_path)
    assert "1500 datasets" in page.stdout
    assert "100 of 1500 shown; the next page: --cursor " in page.stdout
    cursor = page.stdout.rpartition("--cursor ")[2].strip()
    rest = command(*words, "--limit", 10_000, "--only", "dataset", "--cursor", cursor, "--csv", folder=tmp_path)
    assert len(rest.stdout.splitlines()) == 1 + 1400
    answer = json.loads(command(*words, "--json", folder=tmp_path).stdout)
    names = {item["name"] for item in answer["items"] if item["type"] == "dataset"}
    assert names == {f"fan.o{number:04}" for number in range(1500)}
    assert answer["total"] == len(answer["items"])


def test_ids_that_an_answer_hands_out_are_taken_back(tmp_path: Path) -> None:
    command("load", report("69") / "events.ndjson", folder=tmp_path)
    answer = json.loads(command("graph", "dataset:s3://b-1:/raw/in+1.csv", "--json", folder=tmp_path).stdout)
    assert {node["name"] for node in answer["nodes"]} == {"/raw/in+1.csv", "merge a+b/c #1", "out:2 (final)"}
    for node in answer["nodes"]:
        again = json.loads(command("upstream", node["id"], "--json", folder=tmp_path).stdout)
        assert again["node"]["id"] == node["id"]


def test_no_lineage_and_lineage_that_is_not_to_be_had_are_two_things(tmp_path: Path) -> None:
    event = (report("71") / "events.ndjson").read_bytes()
    words = ("impact", *WAREHOUSE, "--name")
    with LineageGraph.open(None) as graph, serving(graph) as url:
        graph.ingest([event])
        none = command(*words, "lab.b", "--url", url, folder=tmp_path)
        unknown = command(*words, "lab.zzz", "--url", url, folder=tmp_path)
    stopped = command(*words, "lab.a", "--url", url, "--json", folder=tmp_path)
    assert none.returncode == 0
    assert "nothing depends on it" in none.stdout
    assert unknown.returncode == 4
    assert "is not known" in unknown.stderr
    assert stopped.returncode == 5
    assert stopped.stdout == ""
    assert "unavailable" in stopped.stderr


def test_a_dump_in_utf_16_is_refused_aloud(tmp_path: Path) -> None:
    text = (report("92") / "events.ndjson").read_text(encoding="utf-8")
    (tmp_path / "wide.ndjson").write_text(text, encoding="utf-16")
    result = command("load", "wide.ndjson", folder=tmp_path)
    assert result.returncode != 0
    assert "UTF-16" in result.stdout


def test_separators_inside_of_a_text_survive_export_and_load(tmp_path: Path) -> None:
    dump = report("94") / "events.ndjson"
    command("load", dump, folder=tmp_path)
    command("export", "--format", "openlineage", "--output", "again.ndjson", folder=tmp_path)
    assert (tmp_path / "again.ndjson").read_bytes().strip() == dump.read_bytes().strip()
    assert command("load", "again.ndjson", folder=tmp_path).returncode == 0
    assert command("export", "--format", "openlineage", folder=tmp_path).stdout.count("\n") == 1
    answer = json.loads(command("impact", *WAREHOUSE, "--name", "lab.a\x85x", "--json", folder=tmp_path).stdout)
    job = next(item for item in answer["items"] if item["type"] == "job")
    assert len(job["name"]) == 10
    assert job["name"][3] == "\u2028"


def test_parts_of_a_dump_once_more_by_file_and_by_http_change_nothing(tmp_path: Path) -> None:
    lines = (report("95") / "events.ndjson").read_bytes().splitlines(keepends=True)
    with LineageGraph.open(None) as graph, serving(graph) as url:
        for part in (lines, lines, lines[:2], lines[2:]):
            loaded = command("load", "-", "--url", url, folder=tmp_path, stdin=b"".join(part))
            assert loaded.returncode == 0
            if part is lines:
                first = graph.networkx()
        assert len(list(graph.events())) == 4
        assert graph.networkx().nodes(data=True) == first.nodes(data=True)
        assert graph.networkx().number_of_edges() == first.number_of_edges()


def test_a_repaired_dump_is_loaded_beside_what_was_taken(tmp_path: Path) -> None:
    dump = report("91") / "dump.ndjson"
    assert command("load", dump, folder=tmp_path).returncode == 3
    (tmp_path / "repaired.ndjson").write_bytes((report("91") / "events.ndjson").read_bytes())
    assert command("load", "repaired.ndjson", folder=tmp_path).returncode == 0
    assert command("export", "--format", "openlineage", folder=tmp_path).stdout.count("\n") == 3
