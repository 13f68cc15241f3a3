"""What is read as JSON, and what an event is known by."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_graph.errors import InvalidEvent
from lineage_graph.events import MAX_DEPTH, canonical, decode, digest_of

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is empty at line 1 column 1"),
        (b" \n", "is empty"),
        (b"{not json", "is not JSON"),
        (b'{"eventType":', "is not JSON"),
        (b'{\n"a": 1,\n"b": x}', "at line 3 column 6"),
        (b"NaN", "is not JSON"),
        (b'{"a": Infinity}', "is not JSON"),
        (b'{"a": -Infinity}', "is not JSON"),
        (b'{"a": 1e999}', "is not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON"),
        (b'{"a": 1} {"b": 2}', "is not JSON"),
        (b"{'a': 1}", "is not JSON"),
        (b'{"a": "\\ud800"}', "lone surrogate"),
        (b'{"a": "\\udc00 "}', "lone surrogate"),
        (b'{"\\ud83dx": 1}', "lone surrogate"),
        (b'{"a": 123456789012345678901234567890, "b": "\\ud83dx"}', "lone surrogate"),
        (b'{"a": "\xed\xa0\x80"}', "is not UTF-8: byte 0xed at 7"),
        (b'{"a": "\xff"}', "is not UTF-8: byte 0xff at 7"),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8: byte 0xff at 0"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested deeper"),
        (b"[" * 100_000, "is nested deeper"),
        (b'{"a":' * 100_000, "is nested deeper"),
    ],
)
def test_what_is_no_json_is_refused_with_its_position(body: bytes, words: str) -> None:
    with pytest.raises(InvalidEvent) as refused:
        decode(body)
    assert refused.value.path == "$"
    assert words in refused.value.reason


def nested(levels: int) -> bytes:
    return b'{"a":[' * (levels // 2) + b'"x"' + b"]}" * (levels // 2)


def test_nesting_is_taken_to_its_limit_and_no_deeper() -> None:
    deepest = decode(nested(MAX_DEPTH))
    assert decode(canonical(deepest)) == deepest
    for innermost in (b'"x"', b"1" * 25):
        with pytest.raises(InvalidEvent, match="nested deeper than 500 levels"):
            decode(nested(MAX_DEPTH + 2).replace(b'"x"', innermost))


def test_a_flat_document_may_have_any_number_of_brackets() -> None:
    document: dict[str, Any] = {"a": [[] for _ in range(5000)], "b": "[{" * 5000}
    assert decode(json.dumps(document).encode()) == document


def test_a_byte_order_mark_is_passed_over() -> None:
    assert decode(b'\xef\xbb\xbf{"a": 1}\r\n') == {"a": 1}


@pytest.mark.parametrize(
    "number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**30 + 1, -(10**300) - 1]
)
def test_integers_of_any_size_are_exact(number: int) -> None:
    document = {"n": number, "again": [number, {"n": number}], "float": 0.1}
    assert decode(json.dumps(document).encode()) == document
    assert json.loads(canonical(document)) == document


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(min_value=-(10**40), max_value=10**40))
def test_numbers_come_back_as_sent(real: float, whole: int) -> None:
    document = {"real": real, "whole": whole}
    back = decode(json.dumps(document).encode())
    assert repr(back) == repr(document)
    assert repr(decode(canonical(back))) == repr({"real": real, "whole": whole})


def test_characters_that_only_look_like_line_ends_are_text() -> None:
    document = {"a": "x\u2028y\u2029z\u0085\u0000"}
    assert decode(json.dumps(document, ensure_ascii=False).replace("\0", "\\u0000").encode()) == document


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(name, shuffled(inner, chance)) for name, inner in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@given(JSON, st.randoms(use_true_random=False))
def test_the_digest_is_the_same_for_any_key_order_and_whitespace(document: Any, chance: random.Random) -> None:
    other = json.dumps(shuffled(document, chance), indent=chance.choice([None, 1, "\t"])).encode()
    assert digest_of(decode(other)) == digest_of(document)
    assert decode(canonical(document)) == document


@given(JSON)
def test_a_huge_integer_changes_nothing_else_in_the_canonical_text(document: Any) -> None:
    assert decode(canonical([document, 2**70])) == [decode(canonical(document)), 2**70]


def test_another_document_has_another_digest() -> None:
    documents: list[Any] = [
        {},
        [],
        {"a": 1},
        {"a": "1"},
        {"a": None},
        {"a": [1, 2]},
        {"a": [2, 1]},
        {"a": 2**70},
        {"a": 2**70 + 1},
    ]
    digests = [digest_of(document) for document in documents]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 32 and set(digest) <= set("0123456789abcdef") for digest in digests)


@pytest.mark.parametrize("value", ["\ud800", {"\udc00": 1}, [float("nan"), 2**70], object(), {(1, 2): 3}])
def test_what_json_cannot_say_has_no_digest(value: Any) -> None:
    with pytest.raises(InvalidEvent, match="cannot be written as JSON"):
        digest_of({"value": value})
