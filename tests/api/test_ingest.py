"""Events over HTTP: what is taken, what is refused, and how both are said."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lineage_graph import LineageGraph
from tests.api.conftest import send, serving, settle
from tests.events_builder import run

SHARED = Path(__file__).resolve().parents[3] / "shared"
REPORTS = SHARED / "reports"


def lines_of(report: str, file: str) -> list[bytes]:
    (folder,) = REPORTS.glob(f"{report}-*")
    return [line for line in (folder / file).read_bytes().split(b"\n") if line.strip()]


def post(client: httpx.Client, body: bytes, **headers: str) -> httpx.Response:
    return client.post("/api/v1/lineage", content=body, headers={"Content-Type": "application/json", **headers})


def names(client: httpx.Client, question: str, name: str, namespace: str = "shop") -> set[str]:
    answer = client.get(f"/api/v1/{question}", params={"namespace": namespace, "name": name})
    assert answer.status_code == 200, answer.text
    return {item["name"] for item in answer.json()["items"] if item["type"] == "dataset"}


def body(at: float = 0) -> bytes:
    return json.dumps(run("copy", ["orders"], ["report"], at=at)).encode()


def is_problem(answer: httpx.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert {"type", "title", "status", "detail"} <= problem.keys()
    assert problem["status"] == answer.status_code
    for inside in ("Traceback", 'File "', "bolt://"):
        assert inside not in answer.text
    return problem


def test_an_event_is_in_the_answers_once_it_is_acknowledged(client: httpx.Client) -> None:
    answer = post(client, body())
    while answer.status_code == 202:
        settle(client)
        answer = post(client, body())
    assert answer.status_code == 201
    assert names(client, "impact", "orders") == {"report"}


def test_an_event_sent_again_changes_nothing_and_says_so(embedded: httpx.Client) -> None:
    assert post(embedded, body()).json() == {"status": "created", "duplicate": False}
    assert post(embedded, body()).json() == {"status": "created", "duplicate": True}


@pytest.mark.parametrize("path", ["/api/v1/lineage/api/v1/lineage", "/api/v1/lineage/"])
def test_a_client_with_the_full_address_as_its_base_is_served(embedded: httpx.Client, path: str) -> None:
    assert embedded.post(path, content=body()).status_code == 201


BAD = json.loads((SHARED / "cases" / "bad-input.json").read_text())["ask"]


@pytest.mark.parametrize("case", [c for c in BAD if "post" in c], ids=lambda c: c["post"][:40])
def test_what_is_no_event_is_refused_naming_the_place(embedded: httpx.Client, case: dict[str, Any]) -> None:
    answer = post(embedded, case["post"].encode())
    assert answer.status_code in case["status"]
    if answer.status_code >= 400:
        assert is_problem(answer)["field"].startswith("$")


@pytest.mark.parametrize("line", lines_of("08", "raw-bad.ndjson"))
def test_a_refused_event_leaves_nothing_behind(embedded: httpx.Client, line: bytes) -> None:
    assert post(embedded, line).status_code in (400, 422)
    for text in ("lab", "half"):
        assert embedded.get("/api/v1/search", params={"q": text}).json()["total"] == 0


def test_a_refused_event_is_kept_among_the_dead_letters() -> None:
    with LineageGraph.open(None) as graph, serving(graph) as url, httpx.Client(base_url=url) as client:
        assert post(client, b'{"eventType": "START"}').status_code in (400, 422)
        (letter,) = graph.journal.dead_letters()
        assert letter.body == b'{"eventType": "START"}'
        assert letter.source == "POST /api/v1/lineage"


@pytest.mark.parametrize("line", lines_of("07", "raw-null-facets.ndjson"))
def test_null_where_an_object_was_expected_counts_as_absent(embedded: httpx.Client, line: bytes) -> None:
    assert post(embedded, line).status_code == 201


@pytest.mark.parametrize("report", ["37", "83"])
def test_odd_values_never_break_the_server(embedded: httpx.Client, report: str) -> None:
    file = {"37": "raw-times.ndjson", "83": "raw-odd-strings.ndjson"}[report]
    for line in lines_of(report, file):
        answer = post(embedded, line)
        assert answer.status_code < 500
        if report == "37" and answer.status_code >= 400:
            assert "eventTime" in answer.text
    assert embedded.get("/api/v1/search", params={"q": "lab"}).status_code == 200


def test_deep_nesting_is_refused_and_the_server_lives(embedded: httpx.Client) -> None:
    (folder,) = REPORTS.glob("77-*")
    assert post(embedded, (folder / "raw-nested-3000.json").read_bytes()).status_code < 500
    assert post(embedded, b"[" * 100_000 + b"]" * 100_000).status_code in (400, 422)
    assert post(embedded, body()).status_code == 201


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_is_refused(embedded: httpx.Client, number: str) -> None:
    event = body().decode().replace('"eventType"', f'"odd": {number}, "eventType"')
    assert post(embedded, event.encode()).status_code == 400


def test_a_facet_comes_back_as_it_was_sent(client: httpx.Client) -> None:
    (line,) = lines_of("84", "events.ndjson")
    event = json.loads(line)
    send(client, line)
    answer = client.get(f"/api/v1/jobs/runs/{event['run']['runId']}")
    assert json.loads(answer.text)["facets"]["acme_stats"] == event["run"]["facets"]["acme_stats"]


def test_a_run_id_that_is_no_uuid_means_the_same_run_each_time(client: httpx.Client) -> None:
    for line in lines_of("17", "raw-non-uuid.ndjson"):
        send(client, line)
    answer = client.get("/api/v1/jobs/runs/nightly-2026-03-01")
    assert answer.json()["state"] == "COMPLETED"


def test_a_batch_takes_the_good_and_tells_the_bad_by_index(client: httpx.Client) -> None:
    (folder,) = REPORTS.glob("11-*")
    batch = (folder / "batch.json").read_bytes()
    for known in (0, 2):
        answer = client.post("/api/v1/lineage/batch", content=batch, headers={"Content-Type": "application/json"})
        assert answer.status_code == 200
        result = answer.json()
        assert result["status"] == "partial_success"
        assert result["summary"] == {"received": 3, "successful": 2, "duplicates": known, "failed": 1}
        assert [(f["index"], f["retriable"]) for f in result["failed_events"]] == [(1, False)]
    settle(client)
    found = client.get("/api/v1/search", params={"q": "lab.", "type": "dataset"}).json()["items"]
    assert {hit["name"] for hit in found} == {"lab.x1", "lab.y1", "lab.x3", "lab.y3"}


def test_a_batch_may_be_one_event_a_line(embedded: httpx.Client) -> None:
    lines = b"\n".join([body(), b"", b"{broken", body(at=5)])
    answer = embedded.post(
        "/api/v1/lineage/batch", content=gzip.compress(lines),
        headers={"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"},
    )  # fmt: skip
    assert answer.json()["summary"] == {"received": 3, "successful": 2, "duplicates": 0, "failed": 1}


@pytest.mark.parametrize("sent", [b"{", b"{}", b'"x"', b""])
def test_a_batch_that_is_no_list_is_refused_whole(embedded: httpx.Client, sent: bytes) -> None:
    answer = embedded.post("/api/v1/lineage/batch", content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    is_problem(answer)


@pytest.mark.parametrize(("report", "inputs"), [("81", {"lab.hub_a", "lab.hub_b"}), ("82", {"lab.new_in"})])
def test_parallel_events_on_the_same_nodes_are_all_taken(client: httpx.Client, report: str, inputs: set[str]) -> None:
    lines = lines_of(report, "events.ndjson")
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda line: post(client, line).status_code, lines))
    assert set(statuses) <= {201, 202}
    settle(client)
    event = json.loads(lines[0])
    namespace = event["outputs"][0]["namespace"]
    expected = {json.loads(line)["outputs"][0]["name"] for line in lines}
    for name in inputs:
        assert names(client, "impact", name, namespace) == expected
        hits = client.get("/api/v1/search", params={"q": name, "type": "dataset"}).json()
        assert hits["total"] == 1


def test_a_batch_of_bad_events_only_is_told_event_by_event(embedded: httpx.Client) -> None:
    answer = embedded.post("/api/v1/lineage/batch", content=b"[{}, null]")
    assert answer.status_code == 200
    assert answer.json()["summary"] == {"received": 2, "successful": 0, "duplicates": 0, "failed": 2}
    assert [failure["index"] for failure in answer.json()["failed_events"]] == [0, 1]


def test_a_batch_larger_than_one_write_is_taken_whole() -> None:
    lines = b"\n".join(body(at=number) for number in range(1_200))
    with LineageGraph.open(None) as graph, serving(graph) as url, httpx.Client(base_url=url, timeout=30) as client:
        answer = client.post("/api/v1/lineage/batch", content=lines, headers={"Content-Type": "application/x-ndjson"})
        assert answer.json()["summary"] == {"received": 1_200, "successful": 1_200, "duplicates": 0, "failed": 0}
        assert graph.journal.count == 1_200
        assert writes(graph) >= 3
        settle(client)


def writes(graph: LineageGraph) -> int:
    """How many transactions the journal was written in: the events of one were received at the same time."""
    return len({entry.received for entries in graph.journal.replay() for entry in entries})


def test_events_that_wait_together_are_one_write() -> None:
    with LineageGraph.open(None) as graph, serving(graph) as url:
        with ThreadPoolExecutor(32) as pool, httpx.Client(base_url=url, timeout=30) as client:
            bodies = [body(at=number) for number in range(200)]
            assert {answer.status_code for answer in pool.map(lambda b: post(client, b), bodies)} <= {201, 202}
        assert graph.journal.count == 200
        assert writes(graph) < 200
