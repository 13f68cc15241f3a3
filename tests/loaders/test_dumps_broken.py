"""What is broken, too large or no dump at all is named once, stops nothing, and takes no other record with it."""

from __future__ import annotations

import gzip
import json
import os
import re
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_graph.loaders import dumps
from lineage_graph.loaders.dumps import Broken, Record, read_dumps

SHARED = Path(__file__).parents[3] / "shared"

A, B, C = (
    b'{"eventTime":"2026-03-01T0%d:00:00Z","job":{"namespace":"n","name":"j"},"inputs":[{},{}]}' % hour
    for hour in range(3)
)

Items = list[Record | Broken]
Read = Callable[..., Items]
Compress = Callable[[bytes], bytes]
both_compressions = pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads content as if it were a file."""

    def read(content: bytes, name: str = "d.ndjson", **options: Any) -> Items:
        (tmp_path / name).write_bytes(content)
        return list(read_dumps(tmp_path / name, **options))

    return read


def places(items: Items) -> list[str]:
    """``place`` of a record, ``place: reason`` of what is broken."""
    return [f"{item[0]}: {item.reason}" if isinstance(item, Broken) else item.source for item in items]


def whole(items: Items) -> list[bytes]:
    return [item.body for item in items if isinstance(item, Record)]


# -- records that are cut off


def test_a_broken_line_is_named_and_the_rest_goes_on() -> None:
    (path,) = SHARED.glob("reports/91-*/dump.ndjson")
    items = list(read_dumps(path))
    lines = path.read_bytes().rstrip().split(b"\n")
    assert [item.source for item in items] == [f"dump.ndjson:{line}" for line in range(1, 6)]
    assert items[1] == Broken("dump.ndjson:2", "not JSON: it breaks off with 2 of its brackets open", lines[1])
    assert whole(items) == [line for line in lines if line != lines[1]]


@pytest.mark.parametrize(
    "broken",
    [
        b'{"eventType": "COMP',
        b'{"eventType": "COMP\\',
        b'{"eventType":',
        b'{"eventType": "COMPLETE",',
        b'{"inputs": [',
        b'{"inputs": [{"name": "a"},',
        b"[",
        b'[{"inputs": [',
        b'[{"a',
        b"not JSON at all",
        b'"{"',
        b"}",
    ],
)
def test_a_line_cut_off_anywhere_takes_no_other_with_it(read: Read, broken: bytes) -> None:
    items = read(b"\n".join([A, broken, B, C, broken, broken, A, broken]))
    assert whole(items) == [A, B, C, A]
    assert items[1].source.startswith("d.ndjson:2")


def test_the_good_elements_of_an_array_that_is_cut_off_are_kept(read: Read) -> None:
    assert whole(read(A + b"\n[" + B + b"," + C[:-9] + b"\n" + A)) == [A, B, A]


def test_broken_lines_after_one_another_are_broken_one_by_one(read: Read) -> None:
    assert places(read(A + b'\n{"a": "b\n{"a": \nnonsense\n}{}\n' + B)) == [
        "d.ndjson:1",
        "d.ndjson:2: not JSON: a string is not closed on its line",
        "d.ndjson:3: not JSON: it breaks off with 1 of its brackets open",
        "d.ndjson:4: not a JSON object: 'nonsense'",
        "d.ndjson:5: not a JSON object: '}{}'",
        "d.ndjson:6",
    ]


def test_an_event_torn_by_a_newline_in_a_string_costs_no_other(read: Read) -> None:
    assert places(read(A + b'\n{"a": "b\nc", "d": 1}\n' + B)) == [
        "d.ndjson:1",
        "d.ndjson:2: not JSON: a string is not closed on its line",
        'd.ndjson:3: not a JSON object: \'c", "d": 1}\'',
        "d.ndjson:4",
    ]


@pytest.mark.parametrize("indent", [1, 4, "\t"])
@pytest.mark.parametrize("harm", [(b'"j"', b'"j\n"'), (b'"j"', b'"j'), (b"},", b"\n"), (b"[", b"")])
def test_a_broken_record_among_pretty_printed_ones_is_one(
    read: Read, indent: int | str, harm: tuple[bytes, bytes]
) -> None:
    events = [json.loads(event) for event in (A, B, C)]
    array = json.dumps(events, indent=indent).encode()
    second = array.index(b"2026-03-01T01")
    items = read(array[:second] + array[second:].replace(*harm, 1), "d.json")
    assert [json.loads(body) for body in whole(items)] == [events[0], events[2]]
    assert [item.source for item in items] == ["d.json[0]", "d.json[1]", "d.json[2]"]


@pytest.mark.parametrize("end", [b"", b"\n", b","])
def test_a_record_that_the_file_ends_inside_of_is_broken(read: Read, end: bytes) -> None:
    reason = "not JSON: the file ends inside of this record"
    assert places(read(A + b"\n" + B[:-5] + end)) == ["d.ndjson:1", f"d.ndjson:2: {reason}"]
    assert places(read(b"[" + A + b"," + B[:-5] + end, "d.json")) == ["d.json[0]", f"d.json[1]: {reason}"]
    marquez = b'{"events":[' + A + b'],"totalCount":1'
    assert places(read(marquez + end, "d.json")) == ["d.json[0]", f"d.json:1: {reason}"]


@pytest.mark.parametrize("start", [b"[", b'{"events":['])
@pytest.mark.parametrize("end", [b"", b",\n"])
def test_an_array_that_the_file_ends_inside_of_is_told(read: Read, start: bytes, end: bytes) -> None:
    reason = "not JSON: the file ends inside of this array, so events may be missing"
    assert places(read(start + A + end, "d.json")) == ["d.json[0]", f"d.json: {reason}"]


def test_elements_that_are_no_objects_are_broken_one_by_one(read: Read) -> None:
    array = b'[1, "a,]", null, ' + A + b', [[[[{}]]]], x}, "' + b"\n" + B + b"]"
    assert places(read(array, "d.json")) == [
        "d.json[0]: not a JSON object: '1'",
        "d.json[1]: not a JSON object: '\"a,]\"'",
        "d.json[2]: not a JSON object: 'null'",
        "d.json[3]",
        "d.json[4][0][0][0]: not a JSON object but an array inside of 4 others",
        "d.json[5]: not a JSON object: 'x}'",
        "d.json[6]: not a JSON object: '\"'",
        "d.json[7]",
    ]


def test_a_tail_of_nul_bytes_after_a_power_cut_is_one_broken_line(read: Read) -> None:
    record, broken = read(A + b"\n" + b"\0" * 5_000_000)
    assert record == Record("d.ndjson:1", A)
    assert broken.source == "d.ndjson:2"
    assert broken.body == b"\0" * 65536


NO_PART_OF_A_RECORD = re.compile(rb"[\s,\[\]]|\xef\xbb\xbf")
PARTS = [A, b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"1", b" ", b"\xef\xbb\xbf"]


@given(st.lists(st.sampled_from(PARTS)))
@settings(max_examples=500, deadline=None)
def test_nothing_is_dropped_without_a_word(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    content = b"{}" + b"".join(parts) + b"\n" + B + b"\n" + C
    path = tmp_path_factory.mktemp("any") / "d.json"
    path.write_bytes(content)
    items = list(read_dumps(path))
    told = b"".join(item.body for item in items)
    assert NO_PART_OF_A_RECORD.sub(b"", told) == NO_PART_OF_A_RECORD.sub(b"", content)


# -- no dumps at all


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_refused_with_the_way_out(read: Read, encoding: str) -> None:
    assert places(read(A.decode().encode(encoding))) == [
        "d.ndjson: the text is UTF-16 or UTF-32: convert it to UTF-8 first, as with iconv -f UTF-16 -t UTF-8"
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"eventTime,job,run\n2026-03-01,a,{}\n",
        b"\0" * 100_000,
        b"PAR1\x15\x04\x15\0binary",
        b"null",
        b"\n" * 200_000 + b"<html>[]</html>" + b"\n" * 200_000,
    ],
    ids=["CSV", "zeros", "Parquet", "null", "HTML"],
)
def test_a_file_with_nothing_like_an_event_is_named_once(read: Read, content: bytes) -> None:
    (broken,) = read(content)
    assert isinstance(broken, Broken)
    assert broken.source == "d.ndjson"


@both_compressions
def test_what_came_before_a_cut_in_compressed_data_is_delivered(read: Read, compress: Compress) -> None:
    lines = [b'{"a":"%s"}' % os.urandom(400).hex().encode() for _ in range(1000)]
    content = compress(b"\n".join(lines))
    items = read(content[: len(content) // 2])
    found = whole(items)
    assert 300 < len(found) < 700
    assert found == lines[: len(found)]
    assert items[-1] == Broken("d.ndjson", "the compressed data is cut short: what follows is missing")


def test_damaged_compressed_data_is_named(read: Read) -> None:
    good = gzip.compress(A + b"\n")
    for content in good + b"junk", good[:-8] + b"\1" * 8, zstandard.compress(A) + b"junk":
        items = read(content)
        assert places(items)[-1].startswith("d.ndjson: the compressed data is damaged: ")
        assert whole(items) == ([A] if content.endswith(b"junk") else [])


# -- size and depth


@pytest.mark.parametrize(
    "large",
    [b'{"a":"%s"}' % (b"x" * 300), b'{"a":"%s"}' % (b"\\\\" * 300), b'{"a":[%s]}' % (b"{}," * 99 + b"1")],
    ids=["string", "backslashes", "array"],
)
@pytest.mark.parametrize("piece", [7, 64, 1024])
def test_after_a_record_that_is_too_large_the_rest_goes_on(read: Read, large: bytes, piece: int) -> None:
    reason = "record larger than 200 bytes"
    with patch.object(dumps, "_CHUNK", piece), patch.object(dumps, "_COMPRESSED_CHUNK", piece):
        lines = read(A + b"\n" + large + b"\n" + B, record_limit=200)
        assert places(lines) == ["d.ndjson:1", f"d.ndjson:2: {reason}", "d.ndjson:3"]
        for gap in b"", b"\n":
            array = b"[" + A + b"," + gap + large + b"," + gap + B + b"]"
            elements = read(array, "d.json", record_limit=200)
            assert places(elements) == ["d.json[0]", f"d.json[1]: {reason}", "d.json[2]"]
            assert whole(elements) == [A, B]


def test_a_pretty_printed_record_that_is_too_large_is_passed_over_whole(read: Read) -> None:
    large = json.dumps({"a": [{"b": {"c": n}} for n in range(100)]}, indent=2).encode()
    items = read(A + b"\n" + large + b"\n" + B, record_limit=200)
    line = large.count(b"\n") + 3
    assert places(items) == ["d.ndjson:1", "d.ndjson:2: record larger than 200 bytes", f"d.ndjson:{line}"]


@pytest.mark.parametrize(
    ("start", "filling", "end"),
    [
        pytest.param(b'{"a":"', b"x", b'"}', id="string"),
        pytest.param(b'{"a":[', b"0,", b"0]}", id="array"),
        pytest.param(b"[", b" ", b"]", id="blanks"),
        pytest.param(b"{}\n", b"\0", b"", id="zeros"),
    ],
)
@both_compressions
def test_a_decompression_bomb_takes_bounded_memory(
    read: Read, tmp_path: Path, start: bytes, filling: bytes, end: bytes, compress: Compress
) -> None:
    path = tmp_path / "d.ndjson"
    path.write_bytes(compress(start + filling * (150_000_000 // len(filling)) + end + b"\n" + A))
    tracemalloc.start()
    try:
        items = list(read_dumps(path, record_limit=1_000_000))
        assert tracemalloc.get_traced_memory()[1] < 110_000_000
    finally:
        tracemalloc.stop()
    assert items[-1].body == A
    assert all(len(item.body) <= 65536 for item in items)


DEEP = 100_000


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b"\n[", b"\n]"), (b'{"a":', b"}")])
def test_deep_nesting_is_only_another_record(read: Read, opening: bytes, closing: bytes) -> None:
    deep = b'{"a":' + opening * DEEP + b"0" + closing * DEEP + b"}"
    assert whole(read(b"[" + A + b"," + deep + b"," + B + b"]")) == [A, deep, B]
    assert whole(read(A + b"\n" + deep + b"\n" + B)) == [A, deep, B]


@pytest.mark.parametrize("line", [b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":[' * DEEP, b"}" * DEEP, b'"' * DEEP])
def test_a_line_of_brackets_is_broken_and_the_rest_goes_on(read: Read, line: bytes) -> None:
    items = read(A + b"\n" + line + b"\n" + B + b"\n" + C)
    assert whole(items) == [A, B, C]
    assert any(isinstance(item, Broken) for item in items)
    assert all(len(item.source) < 40 for item in items)


@pytest.mark.parametrize("line", [b"[", b'{"a":[', b'{"a":', b"[{}", b'{"a":[\n},', b'{"a":{\n],'])
def test_lines_of_unclosed_brackets_do_not_take_forever(read: Read, line: bytes) -> None:
    started = time.monotonic()
    assert any(isinstance(item, Broken) for item in read(b"\n".join([line] * DEEP)))
    assert time.monotonic() - started < 20
