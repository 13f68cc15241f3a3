"""Any order, repetition and batching of the same events gives the identical graph, on both stores (design 1.3)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from lineage_graph import Asked, LineageGraph, NotFound, Scope
from lineage_graph.events import parse
from lineage_graph.upserts import Upserts, upserts_of
from tests.events_builder import NAMESPACE, Event, run_id
from tests.properties.histories import DATASETS, EXAMPLES, FIELDS, JOBS, RUNS, histories, told
from tests.stores import empty_graph

NODES = [
    *(Asked(namespace=NAMESPACE, name=name) for name in DATASETS),
    *(Asked(namespace=NAMESPACE, name=name, field=field) for name in DATASETS for field in FIELDS),
    *(Asked(namespace=NAMESPACE, name=name, type="job") for name in JOBS),
]
SCOPES = (Scope(), Scope("all"), Scope.parse(window="PT3M"))
QUESTIONS = [(name, node, scope) for name in ("impact", "upstream") for node in NODES for scope in SCOPES]


def answers_of(graph: LineageGraph, questions: list[tuple[str, Asked, Scope]]) -> Iterator[Any]:
    """Each question with its answer, and the state of every run."""
    for name, node, scope in questions:
        try:
            yield name, str(node), str(scope), getattr(graph, name)(node, scope).model_dump()
        except NotFound as error:
            yield name, str(node), str(scope), str(error)
    for name in RUNS:
        for job in JOBS:
            try:
                yield name, job, graph.run(run_id(name), (NAMESPACE, job)).state
            except NotFound as error:
                yield name, job, str(error)


def merge(graph: LineageGraph, batch: list[Event]) -> None:
    """Merge events as they are: a journal would keep repetitions from the store."""
    upserts = Upserts()
    for event in batch:
        upserts.join(upserts_of(parse(event)))
    graph.store.merge(upserts, graph.store.applied + len(batch))


def merge_in_disorder(graph: LineageGraph, history: list[Event], chance: random.Random) -> None:
    told_again = history + [event for event in history if chance.random() < 0.4]
    chance.shuffle(told_again)
    while told_again:
        size = chance.randint(1, 4)
        merge(graph, told_again[:size])
        told_again = told_again[size:]


@settings(max_examples=EXAMPLES or 150, deadline=None)
@given(histories, st.randoms(use_true_random=False))
def test_order_repetition_and_batching_leave_no_trace(history: list[Event], chance: random.Random) -> None:
    note(told(history))
    with closing(empty_graph(None)) as one, closing(empty_graph(None)) as other:
        for event in history:
            merge(one, [event])
        merge_in_disorder(other, history, chance)
        assert list(other.store.elements()) == list(one.store.elements())
        assert list(answers_of(other, QUESTIONS)) == list(answers_of(one, QUESTIONS))


@settings(max_examples=EXAMPLES // 3 or 50, deadline=None)
@given(histories)
def test_what_was_asked_before_a_merge_changes_no_answer_after_it(history: list[Event]) -> None:
    """A store remembers steps between merges; a new graph of the same events remembers none."""
    note(told(history))
    with closing(empty_graph(None)) as asked:
        for count, event in enumerate(history, 1):
            merge(asked, [event])
            with closing(empty_graph(None)) as new:
                for told_before in history[:count]:
                    merge(new, [told_before])
                assert list(answers_of(asked, QUESTIONS)) == list(answers_of(new, QUESTIONS))


@settings(max_examples=EXAMPLES // 100 or 5, deadline=None)
@given(histories, st.randoms(use_true_random=False))
def test_what_was_asked_of_neo4j_before_a_merge_changes_no_answer_after_it(
    neo4j_uri: str, history: list[Event], chance: random.Random
) -> None:
    note(told(history))
    with closing(empty_graph(neo4j_uri)) as asked:
        for count, event in enumerate(history, 1):
            merge(asked, [event])
            with closing(empty_graph(None)) as new:
                merge(new, history[:count])
                questions = chance.sample(QUESTIONS, 8)
                assert list(answers_of(asked, questions)) == list(answers_of(new, questions))


@settings(max_examples=EXAMPLES // 20 or 25, deadline=None)
@given(histories, st.randoms(use_true_random=False))
def test_neo4j_holds_exactly_what_the_embedded_store_holds(
    neo4j_uri: str, history: list[Event], chance: random.Random
) -> None:
    note(told(history))
    with closing(empty_graph(None)) as embedded, closing(empty_graph(neo4j_uri)) as stored:
        merge(embedded, history)
        merge_in_disorder(stored, history, chance)
        assert list(stored.store.elements()) == list(embedded.store.elements())
        questions = chance.sample(QUESTIONS, 12)
        assert list(answers_of(stored, questions)) == list(answers_of(embedded, questions))
