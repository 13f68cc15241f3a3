"""The state of a run as a function of the set of its events (design 4)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_graph.model import run_state

Marks = list[tuple[int, str]]
STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
marks = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(("START", "RUNNING", *STATES))), max_size=6)


@pytest.mark.parametrize(
    ("marks", "state", "started", "ended"),
    [
        ([], "NEW", 7, None),
        ([(1, "START")], "RUNNING", 1, None),
        ([(1, "RUNNING")], "RUNNING", 7, None),
        ([(1, "START"), (2, "COMPLETE")], "COMPLETED", 1, 2),
        ([(2, "COMPLETE")], "COMPLETED", 7, 2),
        ([(1, "START"), (2, "ABORT")], "ABORTED", 1, 2),
        ([(3, "START"), (2, "COMPLETE")], "COMPLETED", 3, 2),
        ([(1, "START"), (2, "COMPLETE"), (3, "START")], "COMPLETED", 1, 2),
        ([(1, "START"), (2, "COMPLETE"), (3, "RUNNING")], "COMPLETED", 1, 2),
        ([(1, "START"), (2, "FAIL"), (3, "COMPLETE")], "FAILED", 1, 2),
        ([(1, "START"), (2, "COMPLETE"), (3, "FAIL")], "FAILED", 1, 3),
        ([(1, "START"), (2, "FAIL"), (2, "COMPLETE")], "FAILED", 1, 2),
        ([(1, "START"), (2, "FAIL"), (3, "START"), (4, "COMPLETE")], "COMPLETED", 1, 4),
        ([(1, "START"), (2, "COMPLETE"), (3, "START"), (4, "FAIL")], "FAILED", 1, 4),
        ([(1, "START"), (2, "FAIL"), (2, "START"), (3, "COMPLETE")], "FAILED", 1, 2),
        ([(1, "START"), (2, "COMPLETE"), (5, "COMPLETE")], "COMPLETED", 1, 5),
        ([(1, "START"), (2, "ABORT"), (3, "FAIL")], "FAILED", 1, 3),
        ([(2, "COMPLETE"), (5, "START"), (1, "FAIL")], "FAILED", 5, 1),
        ([(5, "START"), (3, "START"), (6, "COMPLETE")], "COMPLETED", 3, 6),
    ],
)
def test_state_start_and_end(marks: Marks, state: str, started: int, ended: int | None) -> None:
    for order in itertools.permutations(marks):
        assert run_state(order, 7) == (state, started, ended)


@given(marks)
def test_a_terminal_event_makes_a_terminal_state_whatever_the_times_say(marks: Marks) -> None:
    state, _, ended = run_state(marks, 0)
    ends = {STATES[kind] for _, kind in marks if kind in STATES}
    assert (state in ends) if ends else state in ("NEW", "RUNNING")
    assert (ended is None) == (not ends)


@given(marks, st.integers(7, 9))
def test_a_start_alone_never_reopens_a_finished_run(marks: Marks, at: int) -> None:
    if any(kind in STATES for _, kind in marks):
        before, after = run_state(marks, 0), run_state([*marks, (at, "START")], 0)
        assert (before.state, before.ended) == (after.state, after.ended)


@given(marks, st.sampled_from(("FAIL", "ABORT")))
def test_a_new_attempt_that_succeeds_makes_up_for_any_failure(marks: Marks, kind: str) -> None:
    state, _, ended = run_state([*marks, (6, kind), (10, "START"), (11, "COMPLETE")], 0)
    assert (state, ended) == ("COMPLETED", 11)


@given(marks)
def test_the_run_began_at_its_earliest_start(marks: Marks) -> None:
    starts = [time for time, kind in marks if kind == "START"]
    assert run_state(marks, 42).started == (min(starts) if starts else 42)
