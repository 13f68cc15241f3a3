"""Questions over HTTP: parameters, pages and problems."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.api.conftest import send
from tests.events_builder import run

SHARED = Path(__file__).resolve().parents[3] / "shared"


def fill(client: httpx.Client) -> None:
    for number in range(5):
        event = run(f"step {number}", [f"table {number}"], [f"table {number + 1}"], at=number)
        send(client, json.dumps(event).encode())


def ask(client: httpx.Client, question: str, **parameters: object) -> httpx.Response:
    return client.get(f"/api/v1/{question}", params={"namespace": "shop", "name": "table 0", **parameters})  # type: ignore[arg-type]


def test_pages_add_up_to_the_answer(client: httpx.Client) -> None:
    fill(client)
    whole = ask(client, "impact").json()
    assert whole["total"] == 10
    assert whole["counts"] == {"dataset": 5, "job": 5}
    paged, cursor = [], None
    while True:
        page = ask(client, "impact", limit=3, **({"cursor": cursor} if cursor else {})).json()
        assert page["total"] == 10
        paged += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert paged == whole["items"]


def test_only_the_kinds_asked_for_are_listed(client: httpx.Client) -> None:
    fill(client)
    answer = ask(client, "impact", only="dataset").json()
    assert {item["type"] for item in answer["items"]} == {"dataset"}
    assert answer["total"] == 5


def test_a_graph_has_nodes_both_ways_and_edges_that_explain_themselves(client: httpx.Client) -> None:
    fill(client)
    answer = client.get("/api/v1/graph", params={"node": "dataset:shop:table 2", "depth": 1}).json()
    assert {node["name"]: node["depth"] for node in answer["nodes"] if node["type"] == "dataset"} == {
        "table 1": -1,
        "table 2": 0,
        "table 3": 1,
    }
    assert {(e["type"], e["source"], e["target"]) for e in answer["edges"]} == {
        ("READ_BY", "dataset:shop:table 1", "job:shop:step 1"),
        ("WRITES", "job:shop:step 1", "dataset:shop:table 2"),
        ("READ_BY", "dataset:shop:table 2", "job:shop:step 2"),
        ("WRITES", "job:shop:step 2", "dataset:shop:table 3"),
    }
    assert all(e["first_event"] and e["last_event"] and e["producer"] and e["observed"] for e in answer["edges"])
    assert not answer["complete"]
    assert answer["truncated_by"] == ["depth"]


def test_paths_have_two_ends_by_id_or_by_parts(client: httpx.Client) -> None:
    fill(client)
    by_id = {"source": "dataset:shop:table 1", "target": "dataset:shop:table 3"}
    by_parts = {
        f"{end}_{part}": value
        for end, name in (("source", "table 1"), ("target", "table 3"))
        for part, value in (("namespace", "shop"), ("name", name))
    }
    answer = client.get("/api/v1/paths", params=by_id | {"seconds": 30}).json()
    assert [path["nodes"] for path in answer["items"]] == [[f"dataset:shop:table {number}" for number in (1, 2, 3)]]
    assert [step["via"] for step in answer["items"][0]["steps"]] == [["job:shop:step 1"], ["job:shop:step 2"]]
    assert client.get("/api/v1/paths", params=by_parts | {"seconds": 30}).json() == answer
    back = client.get("/api/v1/paths", params={"source": by_id["target"], "target": by_id["source"]}).json()
    assert (back["items"], back["reverse"]) == ([], True)
    assert (back["complete"], back["more"], back["total"]) == (True, False, 0)


def test_paths_that_time_ran_out_for_say_so(client: httpx.Client) -> None:
    fill(client)
    ends = {"source": "dataset:shop:table 0", "target": "dataset:shop:table 3"}
    answer = client.get("/api/v1/paths", params=ends | {"seconds": 1e-6}).json()
    assert (answer["complete"], answer["truncated_by"], answer["more"]) == (False, ["time"], None)


def test_an_unknown_node_is_told_with_those_most_like_it(client: httpx.Client) -> None:
    fill(client)
    ends = {"source": "dataset:shop:table 0", "target": "dataset:shop:tables 3"}
    unknown = client.get("/api/v1/paths", params=ends)
    assert unknown.status_code == 404
    assert unknown.headers["content-type"] == "application/problem+json"
    problem = unknown.json()
    assert (problem["field"], problem["nearest"]) == ("target", ["dataset:shop:table 3"])
    assert problem["detail"] == "target dataset:shop:tables 3 is not known; did you mean dataset:shop:table 3?"
    problem = client.get("/api/v1/impact", params={"node": "job:shop:zzz"}).json()
    assert problem["detail"] == "job:shop:zzz is not known"
    assert not {"nearest", "field"} & problem.keys()


@pytest.mark.parametrize(
    "name", ["50% off", "a#b", "x?y=1&z", "order + returns", "tab\there", "données.été", "a:b:c", "//x"]
)
def test_every_id_given_out_is_taken_back(client: httpx.Client, name: str) -> None:
    event = run("copy", [name], [f"{name} out"], at=0)
    send(client, json.dumps(event).encode())
    (item,) = ask(client, "impact", name=name, only="dataset").json()["items"]
    back = client.get(f"/api/v1/upstream?node={quote(item['id'], safe='')}")
    assert back.status_code == 200
    assert name in {found["name"] for found in back.json()["items"]}


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("impact?namespace=shop&name=nope", 404, "nope"),
        ("impact?node=nonsense", 400, "nonsense"),
        ("impact?node=dataset:", 400, "node"),
        ("impact", 400, "node"),
        ("impact?namespace=shop&name=table 0&depth=abc", 422, "depth"),
        ("impact?namespace=shop&name=table 0&depth=-1", 422, "depth"),
        ("impact?namespace=shop&name=table 0&depth=1.5", 422, "depth"),
        ("impact?namespace=shop&name=table 0&limit=0", 422, "limit"),
        ("impact?namespace=shop&name=table 0&dept=1", 400, "dept"),
        ("impact?namespace=shop&name=table 0&as_of=2026-01-01T00:00:00Z", 400, "as_of"),
        ("impact?namespace=shop&name=table 0&window=week", 400, "window"),
        ("impact?namespace=shop&name=table 0&window=P7D&all=true", 400, "window"),
        ("impact?namespace=shop&name=table 0&cursor=xx", 400, "cursor"),
        ("impact?namespace=shop&name=table 0&field=nope", 404, "nope"),
        ("impact?node=run:00000000-0000-0000-0000-000000000000", 404, "run:"),
        ("impact?namespace=shop&name=table 0&name=table 1", 400, "name"),
        ("jobs/runs/shared?namespace=shop", 400, "name"),
        ("jobs/runs/", 400, "run"),
        ("search?q=", 400, "q"),
        ("search", 422, "q"),
        ("search?q=a&cursor=W10", 400, "cursor"),
        ("graph?namespace=shop&name=table 0&level=row", 422, "level"),
        ("graph?namespace=shop&name=table 0&cursor=xx", 400, "cursor"),
        ("graph?namespace=shop&name=table 0&only=job", 400, "only"),
        ("impact?node=dataset:shop:table 0&name=table 1", 400, "name"),
        ("jobs/runs/unknown-run", 404, "run:"),
        ("paths?source=dataset:shop:table 0", 400, "target"),
        ("paths?source=dataset:shop:table 0&target=dataset:shop:table 0", 400, "the source"),
        ("paths?source=dataset:shop:table 0&target=dataset:shop:table 1&k=0", 422, "k"),
        ("paths?source=dataset:shop:table 0&target=dataset:shop:table 1&k=101", 422, "k"),
        ("paths?source=dataset:shop:table 0&target=dataset:shop:table 1&k=few", 422, "k"),
        ("paths?source=dataset:shop:table 0&target=dataset:shop:table 1&seconds=61", 422, "seconds"),
        ("paths?source=dataset:shop:table 0&target_name=table 1", 400, "target"),
        ("paths?source=dataset:shop:table 0&target=dataset:shop:table 1&depth=2", 400, "depth"),
        ("nowhere", 404, "nowhere"),
    ],
)
def test_a_bad_question_is_told_what_is_wrong_with_it(client: httpx.Client, query: str, status: int, told: str) -> None:
    fill(client)
    answer = client.get(f"/api/v1/{query}")
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert told in answer.json()["detail"]


def test_asking_for_the_unknown_makes_nothing(client: httpx.Client) -> None:
    fill(client)
    assert ask(client, "impact", name="tabel 0").status_code == 404
    assert client.get("/api/v1/search", params={"q": "tabel"}).json()["total"] == 0


def test_an_id_with_two_readings_is_answered_with_both(client: httpx.Client) -> None:
    for namespace, name in (("a", "b:c"), ("a:b", "c")):
        event = run("copy", [{"namespace": namespace, "name": name}], [f"{namespace} out"], at=0)
        send(client, json.dumps(event).encode())
    answer = client.get("/api/v1/impact", params={"node": "dataset:a:b:c"})
    assert answer.status_code == 400
    assert len(answer.json()["readings"]) == 2


def test_one_run_id_of_two_jobs_asks_which(client: httpx.Client) -> None:
    for job in ("first", "second"):
        event = run(job, ["orders"], [f"{job} out"], at=0, run="shared")
        send(client, json.dumps(event).encode())
    run_id = event["run"]["runId"]
    assert client.get(f"/api/v1/jobs/runs/{run_id}").status_code == 400
    answer = client.get(f"/api/v1/jobs/runs/{run_id}", params={"namespace": event["job"]["namespace"], "name": "first"})
    assert answer.json()["job"]["name"] == "first"


def test_a_run_id_may_hold_any_character(client: httpx.Client) -> None:
    sent = "scheduled__2026-01-01T00:00:00+00:00/try 1?#%"
    event = run("copy", ["orders"], ["report"], at=0)
    event["run"]["runId"] = sent
    send(client, json.dumps(event).encode())
    answer = client.get(f"/api/v1/jobs/runs/{quote(sent, safe='')}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "COMPLETED"


@pytest.mark.parametrize("depth", [2**31, 2**63, 99999999999999999999])
def test_a_depth_beyond_all_measure_goes_to_the_end(client: httpx.Client, depth: int) -> None:
    fill(client)
    answer = ask(client, "impact", depth=depth).json()
    assert answer["complete"]
    assert answer["total"] == 10


def test_another_method_is_told_which_one_is_taken(embedded: httpx.Client) -> None:
    answer = embedded.put("/api/v1/lineage", content=b"{}")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_service_tells_how_it_is(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json() == {"status": "ready", "journal": "ok", "store": "ok", "lag": 0}


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_the_pages_need_nothing_from_elsewhere(embedded: httpx.Client, path: str) -> None:
    page = embedded.get(path)
    assert page.status_code == 200
    assert "<h1>" in page.text
    host = str(embedded.base_url).rstrip("/")
    assert "//" not in page.text.replace(host, "").replace("</", "<")


def test_every_route_and_parameter_is_in_the_openapi_document(embedded: httpx.Client) -> None:
    document = embedded.get("/openapi.json").json()
    assert {
        "/api/v1/lineage",
        "/api/v1/lineage/batch",
        "/api/v1/impact",
        "/api/v1/upstream",
        "/api/v1/graph",
        "/api/v1/paths",
        "/api/v1/search",
        "/api/v1/jobs/runs/{id}",
        "/api/v1/dead-letters",
        "/api/v1/dead-letters/{id}",
        "/healthz",
        "/readyz",
    } == document["paths"].keys()
    for parameter in document["paths"]["/api/v1/impact"]["get"]["parameters"]:
        assert parameter["description"]


def test_bad_requests_of_a_report_never_fail_inside(embedded: httpx.Client) -> None:
    (folder,) = (SHARED / "reports").glob("89-*")
    fill(embedded)
    for line in (folder / "requests.txt").read_text().splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] in ("GET", "POST", "PUT", "DELETE"):
            answer = embedded.request(words[0], words[1])
            assert 400 <= answer.status_code < 500, line
