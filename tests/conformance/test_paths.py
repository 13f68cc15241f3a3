"""Which ways the data takes from one node to another (design 6): shortest first, in time, and never silently none."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_graph import Asked, BadRequest, LineageGraph, NotFound, PathsAnswer, Scope
from tests.asking import EVER, NOW, column, job, short, table
from tests.events_builder import Event, dataset, declare, describe, run, run_id

DIAMOND = [
    run("split", ["a"], ["b", "c"], at=1),
    run("left", ["b"], ["d"], at=2),
    run("right", ["c"], ["d"], at=3),
    run("short", ["a"], ["d"], at=4),
]


def paths(graph: LineageGraph, source: Asked | str, target: Asked | str, scope: Scope = NOW, k: int = 5) -> PathsAnswer:
    """With all the time that a slow machine may need, so that no answer is cut short."""
    return graph.paths(source, target, scope, k, seconds=60)


def ways(answer: PathsAnswer) -> list[str]:
    """Such as ``a > b > c``."""
    return [" > ".join(map(short, path.nodes)) for path in answer]


def by(answer: PathsAnswer) -> list[list[list[str]]]:
    """The jobs of each step of each path."""
    return [[[short(name) for name in step.via] for step in path.steps] for path in answer]


def certainties(answer: PathsAnswer) -> list[list[str]]:
    return [[step.certainty for step in path.steps] for path in answer]


def test_paths_come_by_length_and_then_by_text(graph: LineageGraph) -> None:
    graph.ingest(DIAMOND)
    answer = paths(graph, table("a"), table("d"))
    assert ways(answer) == ["a > d", "a > b > d", "a > c > d"]
    assert by(answer) == [[["short"]], [["split"], ["left"]], [["split"], ["right"]]]
    assert [path.depth for path in answer] == [1, 2, 2]
    assert [step.depth for step in answer.items[1].steps] == [1, 2]
    assert (answer.total, answer.more, answer.complete, answer.truncated_by) == (3, False, True, [])
    assert (answer.source.id, answer.target.id) == ("dataset:shop:a", "dataset:shop:d")
    assert (answer.level, answer.scope, answer.reverse) == ("dataset", "current", None)
    assert answer.newest_event == "2026-01-01T00:04:00Z"


def test_the_first_paths_are_those_of_a_longer_list_and_say_that_there_are_more(graph: LineageGraph) -> None:
    graph.ingest(DIAMOND)
    for k in (1, 2):
        answer = paths(graph, table("a"), table("d"), k=k)
        assert ways(answer) == ["a > d", "a > b > d"][:k]
        assert (answer.complete, answer.more) == (True, True)


def test_several_jobs_between_two_tables_are_one_step_that_names_them_all(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("two", ["a"], ["b"], at=1),
            run("one", ["a"], ["b"], at=2),
            run("one", ["a", "x"], ["b"], at=3),
            run("end", ["b"], ["c"], at=4),
        ]
    )
    answer = paths(graph, table("a"), table("c"))
    assert ways(answer) == ["a > b > c"]
    assert by(answer) == [[["one", "two"], ["end"]]]


def test_an_alias_is_crossed_at_no_cost_and_either_name_is_an_end(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], [dataset("s3/b", symlinks=["hive.b"])], at=1),
            run("use", ["hive.b"], ["c"], at=2),
        ]
    )
    assert ways(paths(graph, table("a"), table("c"))) == ["a > s3/b > c"]
    assert ways(paths(graph, table("hive.b"), table("c"))) == ["s3/b > c"]
    answer = paths(graph, table("a"), table("hive.b"))
    assert ways(answer) == ["a > s3/b"]
    assert [alias.name for alias in answer.target.aliases] == ["s3/b"]


def test_a_cycle_ends_and_no_path_visits_a_table_twice(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("start", ["a"], ["b"], at=1),
            run("there", ["b"], ["c"], at=2),
            run("back", ["c"], ["b", "a"], at=3),
            run("merge", ["c"], ["c"], at=4),
            run("end", ["c"], ["d"], at=5),
        ]
    )
    assert ways(paths(graph, table("a"), table("d"))) == ["a > b > c > d"]
    assert ways(paths(graph, table("c"), table("b"))) == ["c > b", "c > a > b"]


def test_reversed_ends_are_told(graph: LineageGraph) -> None:
    graph.ingest([*DIAMOND, run("other", ["x"], ["y"], at=9)])
    answer = paths(graph, table("d"), table("a"))
    assert (answer.items, answer.complete, answer.more, answer.reverse) == ([], True, False, True)
    answer = paths(graph, table("a"), table("y"))
    assert (answer.items, answer.complete, answer.more, answer.reverse) == ([], True, False, False)


def test_a_pair_that_no_run_reported_together_is_no_step(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("copy", ["a"], ["b"], at=1, parent="day"),
            run("copy", ["x"], ["y"], at=2, parent="day"),
        ]
    )
    assert ways(paths(graph, table("a"), table("y"))) == []
    assert ways(paths(graph, table("a"), table("b"))) == ["a > b"]


def test_paths_are_of_the_scope(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["old"], ["b"], at=1), run("load", ["new"], ["b"], at=2)])
    assert ways(paths(graph, table("old"), table("b"))) == []
    answer = paths(graph, table("old"), table("b"), EVER)
    assert ways(answer) == ["old > b"]
    assert (answer.scope, answer.items[0].steps[0].in_latest_execution) == ("all", False)


# -- columns

MAPPED: list[Event] = [
    run(
        "clean",
        ["a"],
        ["b"],
        at=1,
        columns={"b": {"x": ["a.x IDENTITY"], "y": ["a.y IDENTITY", "a.x FILTER"]}},
    ),
    run("sum", ["b"], ["c"], at=2, columns={"c": {"total": ["b.x AGGREGATION", "b.y AGGREGATION"]}}),
]


def test_column_paths_tell_how_sure_each_step_is(graph: LineageGraph) -> None:
    graph.ingest(MAPPED)
    answer = paths(graph, column("a.x"), column("c.total"))
    assert ways(answer) == ["a.x > b.x > c.total", "a.x > b.y > c.total"]
    assert certainties(answer) == [["direct", "direct"], ["indirect", "direct"]]
    assert [path.certainty for path in answer] == ["direct", "indirect"]
    assert (answer.level, answer.column_coverage) == ("column", 1.0)


def test_a_job_that_said_nothing_of_columns_is_a_possible_step_to_its_whole_table(graph: LineageGraph) -> None:
    schema = [f"c{number}" for number in range(30)]
    graph.ingest(
        [
            describe(dataset("a", schema=["x"]), at=0),
            run("copy", ["a"], [dataset("b", schema=schema)], at=1),
            run("sum", ["b"], ["c"], at=2, columns={"c": {"total": ["b.c1"], "count": ["b.c2"]}}),
            run("export", ["b"], [dataset("d", schema=["out"])], at=3),
        ]
    )
    answer = paths(graph, column("a.x"), column("c.total"))
    assert ways(answer) == ["a.x > b > c.total"]
    assert certainties(answer) == [["possible", "possible"]]
    assert answer.column_coverage == 0.5
    assert ways(paths(graph, column("a.x"), column("d.out"))) == ["a.x > b > d.out"]
    assert ways(paths(graph, column("a.x"), column("b.c7"))) == ["a.x > b.c7"]


def test_a_column_that_touches_a_whole_output_goes_on_by_its_columns_where_they_are_known(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run(
                "filter",
                ["a"],
                [dataset("b", schema=["x", "y", "z"])],
                at=1,
                columns={"b": {"x": ["a.x"], "*": ["a.day FILTER"]}},
            ),
            run("sum", ["b"], ["c"], at=2, columns={"c": {"total": ["b.x", "b.y"]}}),
            run("export", ["b"], [dataset("d", schema=["out"])], at=3),
        ]
    )
    answer = paths(graph, column("a.day"), column("c.total"))
    assert ways(answer) == ["a.day > b.x > c.total", "a.day > b.y > c.total"]
    assert certainties(answer) == [["indirect", "direct"]] * 2
    answer = paths(graph, column("a.day"), column("d.out"))
    assert ways(answer) == ["a.day > b > d.out"]
    assert certainties(answer) == [["indirect", "possible"]]


def test_a_column_without_a_way_to_another_of_a_table_downstream_is_told(graph: LineageGraph) -> None:
    graph.ingest([run("copy", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"], "y": ["a.y"]}})])
    answer = paths(graph, column("a.x"), column("b.y"))
    assert (answer.items, answer.complete, answer.reverse) == ([], True, False)
    assert paths(graph, column("b.x"), column("a.x")).reverse is True


def test_a_column_may_come_back_to_the_table_that_it_left(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("out", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"]}}),
            run("back", ["b"], ["a"], at=2, columns={"a": {"y": ["b.x"]}}),
            run("merge", ["a"], ["a"], at=3, columns={"a": {"z": ["a.y"]}}),
        ]
    )
    assert ways(paths(graph, column("a.x"), column("a.z"))) == ["a.x > b.x > a.y > a.z"]


def test_a_column_made_from_itself_is_on_a_path_once(graph: LineageGraph) -> None:
    graph.ingest(
        [
            run("load", ["a"], ["b"], at=1, columns={"b": {"x": ["a.x"]}}),
            run("merge", ["b"], ["b"], at=2, columns={"b": {"x": ["b.x"], "y": ["b.x"]}}),
            run("use", ["b"], ["c"], at=3, columns={"c": {"z": ["b.x", "b.y"]}}),
        ]
    )
    answer = paths(graph, column("a.x"), column("c.z"))
    assert ways(answer) == ["a.x > b.x > c.z", "a.x > b.x > b.y > c.z"]
    assert (answer.complete, answer.more) == (True, False)


def test_a_table_and_a_column_are_joined_by_the_columns_of_the_table(graph: LineageGraph) -> None:
    graph.ingest(MAPPED)
    answer = paths(graph, table("a"), column("c.total"))
    assert ways(answer) == ["a.x > b.x > c.total", "a.x > b.y > c.total", "a.y > b.y > c.total"]
    assert answer.level == "column"
    assert ways(paths(graph, column("a.y"), table("c"))) == ["a.y > b.y > c.total"]


# -- jobs and runs as ends


def test_a_job_begins_with_what_it_writes_and_ends_with_what_it_reads(graph: LineageGraph) -> None:
    graph.ingest(DIAMOND)
    answer = paths(graph, job("split"), job("left"))
    assert ways(answer) == ["split > b > left"]
    assert by(answer) == [[["split"], ["left"]]]
    assert ways(paths(graph, job("split"), table("d"))) == ["split > b > d", "split > c > d"]
    assert ways(paths(graph, table("a"), job("right"))) == ["a > c > right"]


def test_a_run_begins_with_what_it_wrote(graph: LineageGraph) -> None:
    graph.ingest(
        [run("daily", ["a"], ["mon"], at=1), run("daily", ["a"], ["tue"], at=2), run("use", ["mon"], ["x"], at=3)]
    )
    answer = paths(graph, f"run:{run_id('daily@1')}", table("x"))
    assert [path.nodes[1:] for path in answer] == [["dataset:shop:mon", "dataset:shop:x"]]
    assert paths(graph, f"run:{run_id('daily@2')}", table("x")).items == []


def test_a_job_and_a_column_are_joined_by_columns(graph: LineageGraph) -> None:
    graph.ingest(MAPPED)
    assert ways(paths(graph, job("clean"), column("c.total"))) == ["clean > b.x > c.total", "clean > b.y > c.total"]
    assert ways(paths(graph, column("a.y"), job("sum"))) == ["a.y > b.y > sum"]


# -- what can't be asked


@pytest.mark.parametrize(("end", "asked"), [("source", ("zzz", "a")), ("target", ("a", "zzz"))])
def test_an_unknown_node_is_told_with_its_end(graph: LineageGraph, end: str, asked: tuple[str, str]) -> None:
    graph.ingest(DIAMOND)
    with pytest.raises(NotFound, match=f"^{end} dataset:shop:zzz is not known$"):
        graph.paths(*(f"dataset:shop:{name}" for name in asked))


def test_an_unknown_node_is_told_with_those_most_like_it(graph: LineageGraph) -> None:
    graph.ingest([run("load orders", ["orders"], ["report"], at=1)])
    for source, target, end, nearest in (
        (table("ordres"), table("report"), "source", "dataset:shop:orders"),
        ("dataset:other:orders", table("report"), "source", "dataset:shop:orders"),
        (table("orders"), "datasetField:shop:reports:x", "target", "dataset:shop:report"),
        (table("orders"), job("load order"), "target", "job:shop:load orders"),
    ):
        with pytest.raises(NotFound) as error:
            graph.paths(source, target)
        assert (error.value.end, error.value.nearest) == (end, (nearest,))
    for nameless in ("dataset:shop:", table("")):
        with pytest.raises(NotFound, match=r"^source dataset:shop: is not known$"):
            graph.paths(nameless, table("report"))


def test_two_names_of_one_node_are_no_two_ends(graph: LineageGraph) -> None:
    graph.ingest([run("load", ["a"], [dataset("b", symlinks=["c"], schema=["x"])], at=1)])
    for source, target in ((table("b"), table("b")), (table("b"), table("c")), (column("b.x"), column("c.x"))):
        with pytest.raises(BadRequest, match="target is the source"):
            graph.paths(source, target)
    for source, target in ((table("b"), column("c.x")), (column("b.x"), table("b"))):
        with pytest.raises(BadRequest, match="a column and its own table"):
            graph.paths(source, target)


def test_parameters_out_of_range_are_told(graph: LineageGraph) -> None:
    graph.ingest(DIAMOND)
    for wrong in ({"k": 0}, {"k": 101}, {"seconds": 0.0}, {"seconds": 61.0}, {"seconds": float("nan")}):
        with pytest.raises(BadRequest, match=f"^{next(iter(wrong))} is"):
            graph.paths(table("a"), table("d"), **wrong)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=r"^target_name is given beside target="):
        graph.paths(table("a"), Asked("dataset:shop:d", name="d"))


# -- sizes that must not matter


def ladder(rungs: int) -> list[Event]:
    """Diamonds one after another, with two ways through each."""
    return [
        event
        for i in range(rungs)
        for event in (
            run(f"s{i:02}", [f"n{i:02}"], [f"l{i:02}", f"r{i:02}"], at=i, columns=_columns(i, "s")),
            run(f"m{i:02}", [f"l{i:02}", f"r{i:02}"], [f"n{i + 1:02}"], at=i, columns=_columns(i, "m")),
        )
    ]


def _columns(i: int, kind: str) -> dict[str, Any]:
    if kind == "s":
        return {f"{side}{i:02}": {"x": [f"n{i:02}.x"]} for side in "lr"}
    return {f"n{i + 1:02}": {"x": [f"l{i:02}.x", f"r{i:02}.x"]}}


def test_of_a_billion_paths_the_first_are_given(graph: LineageGraph) -> None:
    graph.ingest(ladder(30))
    for source, target in ((table("n00"), table("n30")), (column("n00.x"), column("n30.x"))):
        answer = paths(graph, source, target)
        assert (answer.total, answer.complete, answer.more) == (5, True, True)
        assert {path.depth for path in answer} == {60}
        # The last diamonds tell the first paths apart.
        sides = ["".join(node[0] for node in map(short, path.nodes) if node[0] in "lr") for path in answer]
        assert sides == ["l" * 27 + end for end in ("lll", "llr", "lrl", "lrr", "rll")]
        assert paths(graph, target, source).reverse is True


def chain(length: int) -> list[Event]:
    return [run(f"j{i}", [f"t{i}"], [f"t{i + 1}"], at=i) for i in range(length)]


def check_chain(graph: LineageGraph, length: int) -> None:
    answer = paths(graph, table("t0"), table(f"t{length}"))
    assert (answer.total, answer.complete, answer.more) == (1, True, False)
    assert [short(node) for node in answer.items[0].nodes] == [f"t{i}" for i in range(length + 1)]
    assert ways(paths(graph, table("t100"), table("t102"))) == ["t100 > t101 > t102"]


def test_a_long_chain_is_one_path_told_whole(graph: LineageGraph) -> None:
    graph.ingest(chain(300))
    check_chain(graph, 300)


def test_a_chain_of_ten_thousand_is_one_path_told_whole() -> None:
    with LineageGraph.open(None) as graph:
        graph.ingest(chain(10_000))
        check_chain(graph, 10_000)


def hub(readers: int) -> list[Event]:
    return [
        run("load", ["a"], ["hub"], at=0),
        *(declare(f"job {number}", ["hub"], [f"t{number:05}"], at=1) for number in range(readers)),
    ]


def check_hub(graph: LineageGraph, readers: int) -> None:
    assert ways(paths(graph, table("a"), table("t00007"))) == ["a > hub > t00007"]
    assert paths(graph, table("t00007"), table("t00008")).reverse is False
    graph.ingest([run("all", [f"t{number:05}" for number in range(readers)], ["end"], at=2)])
    answer = paths(graph, table("a"), table("end"), k=3)
    assert ways(answer) == [f"a > hub > t{number:05} > end" for number in range(3)]
    assert (answer.complete, answer.more) == (True, True)


def test_a_table_that_five_thousand_read_is_crossed(graph: LineageGraph) -> None:
    graph.ingest(hub(5_000))
    check_hub(graph, 5_000)


def test_a_time_that_is_over_is_never_silent(graph: LineageGraph) -> None:
    graph.ingest(ladder(30))
    answer = graph.paths(table("n00"), table("n30"), seconds=1e-6)
    assert (answer.complete, answer.truncated_by, answer.more, answer.reverse) == (False, ["time"], None, None)
