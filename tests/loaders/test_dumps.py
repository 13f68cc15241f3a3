"""Dumps of every shape, compression and place come out as the records that are in them, byte for byte."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_graph.errors import BadRequest
from lineage_graph.loaders import dumps
from lineage_graph.loaders.dumps import Broken, Progress, Record, read_dumps

SHARED = Path(__file__).parents[3] / "shared"

A, B, C = (
    b'{"eventTime":"2026-03-01T0%d:00:00Z","job":{"namespace":"n","name":"j"},"inputs":[{},{}]}' % hour
    for hour in range(3)
)

Write = Callable[[str, bytes], Path]
Compress = Callable[[bytes], bytes]
both_compressions = pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write


def records(path: str | Path, progress: Progress | None = None) -> list[tuple[str, bytes]]:
    """The records of a dump in which nothing is broken."""
    items = list(read_dumps(path, progress=progress))
    assert [item for item in items if isinstance(item, Broken)] == []
    return [(item.source, item.body) for item in items]


# -- shapes


@pytest.mark.parametrize(
    ("content", "places"),
    [
        pytest.param(A, ["1"], id="one object"),
        pytest.param(A + b"\n" + B + b"\n" + C + b"\n", ["1", "2", "3"], id="a line each"),
        pytest.param(A + b"\n" + B + b"\n" + C, ["1", "2", "3"], id="no newline at the end"),
        pytest.param(A + B + b" " + C, ["1", "1", "1"], id="all on one line"),
        pytest.param(A + b"\r" + B + b"\r" + C, ["1", "1", "1"], id="line ends of old Macs"),
        pytest.param(A + b",\n" + B + b",\n" + C + b",\n", ["1", "2", "3"], id="comma at line ends"),
        pytest.param(A + b"\n[" + B + b"," + C + b"]\n", ["1", "2[0]", "2[1]"], id="a mixture"),
    ],
)
def test_objects_are_named_after_their_line(write: Write, content: bytes, places: list[str]) -> None:
    found = records(write("d.json", content))
    assert found == [(f"d.json:{place}", body) for place, body in zip(places, [A, B, C], strict=False)]


@pytest.mark.parametrize(
    ("content", "places"),
    [
        pytest.param(b"[" + A + b"," + B + b"," + C + b"]", ["[0]", "[1]", "[2]"], id="one line"),
        pytest.param(b"[\n" + A + b",\n" + B + b"\n, " + C + b"\n]\n", ["[0]", "[1]", "[2]"], id="a line each"),
        pytest.param(b"[[" + A + b"," + B + b"],[],[" + C + b"]]", ["[0][0]", "[0][1]", "[2][0]"], id="arrays"),
        pytest.param(b'{"events": [' + A + b"," + B + b'], "totalCount": 2}', ["[0]", "[1]"], id="answer of Marquez"),
        pytest.param(
            b'{\n "totalCount" : 2,\n "events" : [\n  ' + A + b",\n  " + B + b"\n ]\n}",
            ["[0]", "[1]"],
            id="answer of Marquez, pretty-printed in another order",
        ),
        pytest.param(
            b'{"events":[' + A + b'],"totalCount":3}\n{"events":[' + B + b"," + C + b'],"totalCount":3}\n',
            ["[0]", ":2[0]", ":2[1]"],
            id="pages of Marquez",
        ),
    ],
)
def test_elements_of_an_array_are_named_after_their_index(write: Write, content: bytes, places: list[str]) -> None:
    found = records(write("d.json", content))
    assert found == [(f"d.json{place}", body) for place, body in zip(places, [A, B, C], strict=False)]


def test_an_array_in_ndjson_is_named_after_its_line(write: Write) -> None:
    path = write("d.ndjson", b"[" + A + b"]\n\n[" + B + b", " + C + b"]\n")
    assert records(path) == [("d.ndjson:1[0]", A), ("d.ndjson:3[0]", B), ("d.ndjson:3[1]", C)]


def test_pretty_printed_objects_are_named_after_the_line_they_begin_on(write: Write) -> None:
    first, second = (json.dumps(json.loads(event), indent=2).encode() for event in (A, B))
    line = first.count(b"\n") + 2
    found = records(write("d.json", first + b"\n" + second))
    assert found == [("d.json:1", first), (f"d.json:{line}", second)]


@pytest.mark.parametrize(
    "event", [b'{"eventTime":"2026-03-01T00:00:00Z","events":[{"a":1}]}', b'{"run":{"events":[{"a":1}]}}']
)
def test_an_event_with_a_list_called_events_stays_whole(write: Write, event: bytes) -> None:
    assert records(write("d.json", event)) == [("d.json:1", event)]


@pytest.mark.parametrize("name", ["dump-array.json", "dump-marquez.json", "dump-pretty.json"])
def test_reported_exports_hold_the_events_of_their_ndjson(name: str) -> None:
    (folder,) = SHARED.glob("reports/97-*")

    def events(path: Path) -> list[str]:
        return sorted(json.dumps(json.loads(body)) for _, body in records(path))

    assert events(folder / name) == events(folder / "events.ndjson")


def test_every_recorded_event_is_found() -> None:
    for path in sorted(SHARED.glob("corpus/*/*.ndjson")):
        lines = [line for line in path.read_bytes().split(b"\n") if line]
        if not any(line.startswith(b"[") for line in lines):
            assert [body for _, body in records(path)] == lines


# -- text


def test_a_byte_order_mark_crlf_and_blank_lines_do_no_harm(write: Write) -> None:
    path = write("d.ndjson", b"\xef\xbb\xbf" + A + b"\r\n\r\n" + B + b"\r\n  \t\r\n\xef\xbb\xbf" + C)
    assert records(path) == [("d.ndjson:1", A), ("d.ndjson:3", B), ("d.ndjson:5", C)]
    (reported,) = SHARED.glob("reports/92-*/dump-bom-crlf.ndjson")
    assert len(records(reported)) == 3


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_newline_separates_records(write: Write, character: str) -> None:
    event = f'{{"name":"a{character}b"}}'.encode()
    assert records(write("d.ndjson", event + b"\n" + A)) == [("d.ndjson:1", event), ("d.ndjson:2", A)]


def test_brackets_quotes_and_backslashes_in_strings_are_only_text(write: Write) -> None:
    event = rb'{"sql":"select \"}{\\\"[","\\":"}\\","x":[{"y":"]"}]}'
    array = b"[" + event + b"," + event + b"]"
    assert records(write("d.json", array)) == [("d.json[0]", event), ("d.json[1]", event)]
    assert records(write("d.json", event + event)) == [("d.json:1", event), ("d.json:1", event)]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", b"[]", b'{"events": [], "totalCount": 0}'])
def test_a_dump_with_nothing_in_it_is_told(write: Write, content: bytes) -> None:
    assert records(write("d.json", content), progress := Progress()) == []
    assert progress.empty == ["d.json"]


# -- compression


@both_compressions
@pytest.mark.parametrize("name", ["d.ndjson.gz", "d.ndjson", "d.zst"])
def test_compression_is_told_by_content(write: Write, name: str, compress: Compress) -> None:
    path = write(name, compress(A + b"\n" + B))
    assert records(path) == [(f"{name}:1", A), (f"{name}:2", B)]


def test_a_plain_file_named_as_compressed_is_read(write: Write) -> None:
    assert records(write("d.ndjson.gz", A)) == [("d.ndjson.gz:1", A)]


def test_members_and_frames_after_one_another_are_one_dump(write: Write) -> None:
    first, second = A[:9], A[9:] + b"\n" + B
    expected = [("d.json:1", A), ("d.json:2", B)]
    members = gzip.compress(first) + gzip.compress(second) + b"\0" * 3000
    assert records(write("d.json", members)) == expected
    skippable = b"\x53\x2a\x4d\x18\x03\0\0\0xyz"
    frames = skippable + zstandard.compress(first) + skippable + zstandard.compress(second)
    assert records(write("d.json", frames)) == expected


# -- places


def test_a_folder_is_read_in_order_of_names(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    for name in "b.json", "a/z.jsonl", "a/b/C.NDJSON", "a.ndjson.gz", "c.jsonl.zst", ".d.json", ".git/x.json":
        write(f"dump/{name}", A)
    write("dump/README.md", b"# dump")
    write("dump/a/events.csv", b"a,b")
    os.mkfifo(folder / "pipe.json")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "gone.json").symlink_to(folder / "nowhere.json")
    (folder / "link.json").symlink_to(folder / "b.json")
    progress = Progress()
    assert [place for place, _ in records(folder, progress)] == [
        "a/b/C.NDJSON:1",
        "a/z.jsonl:1",
        "a.ndjson.gz:1",
        "b.json:1",
        "c.jsonl.zst:1",
        "link.json:1",
    ]
    assert progress.ignored == ["README.md", "a/events.csv", "gone.json", "loop", "pipe.json"]


def test_several_paths_are_told_apart_by_the_path_as_given(write: Write) -> None:
    one, two = write("one/d.json", A), write("two/d.json", B)
    assert [item.source for item in read_dumps([one, str(two.parent)])] == [f"{one}:1", f"{two}:1"]


def test_a_file_given_by_itself_may_have_any_name(write: Write) -> None:
    assert records(write("events.log.1", A)) == [("events.log.1:1", A)]


def test_a_file_name_that_is_no_text_can_be_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"d\xff.json")).write_bytes(A)
    assert records(tmp_path) == [("d\\xff.json:1", A)]


def test_a_missing_path_is_refused_before_anything_is_read(write: Write, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"must be an existing file or folder, .* there is no '.*nowhere.json'"):
        read_dumps([write("d.json", A), tmp_path / "nowhere.json"])


def test_a_file_that_is_gone_does_not_stop_the_others(write: Write, tmp_path: Path) -> None:
    gone = write("a.json", A)
    write("b.json", B)
    items = read_dumps(tmp_path)
    gone.unlink()
    assert list(items) == [
        Broken("a.json", "can't be read: No such file or directory"),
        Record("b.json:1", B),
    ]


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user who may not read everything, though the tests may run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_what_may_not_be_read_is_told(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "a/a.json", "b.json", "c.json":
        write(f"dump/{name}", A)
    monkeypatch.chdir(tmp_path / "dump")
    for path, mode in {".": 0o755, "a": 0, "b.json": 0, "c.json": 0o644}.items():
        os.chmod(path, mode)
    with unprivileged():
        items = list(read_dumps("."))
    os.chmod("a", 0o755)
    reason = "can't be read: Permission denied"
    assert items == [Broken("a", reason), Broken("b.json", reason), Record("c.json:1", A)]


def test_progress_counts_what_was_read(write: Write, tmp_path: Path) -> None:
    content = gzip.compress(A + b"\nnonsense\n" + B)
    size = len(content) + len(A)
    write("a.json", content)
    write("b.json", A)
    items = read_dumps(tmp_path, progress=(progress := Progress()))
    assert progress == Progress(bytes_total=size)
    assert len(list(items)) == 4
    assert progress == Progress(files=2, records=3, broken=1, bytes_read=size, bytes_total=size)


# -- standard input

PRINT_PLACES = """
from lineage_graph.loaders.dumps import Progress, read_dumps
progress = Progress()
for item in read_dumps("-", progress=progress):
    print(item.source, flush=True)
print(progress.bytes_total)
"""
COMMAND = [sys.executable, "-P", "-c", PRINT_PLACES]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_standard_input_is_told_by_content(compress: Compress) -> None:
    done = subprocess.run(COMMAND, input=compress(A + b"\n" + B), capture_output=True, check=True)
    assert done.stdout.split() == [b"<stdin>:1", b"<stdin>:2", b"None"]


def test_a_record_comes_out_of_a_pipe_as_soon_as_it_is_written() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        for line, event in enumerate([A, B, C], 1):
            process.stdin.write(event + b"\n")
            assert process.stdout.readline() == b"<stdin>:%d\n" % line
        process.stdin.close()
        assert process.stdout.read() == b"None\n"


# -- any events, in any container, read in pieces of any size

TEXT = st.text(st.sampled_from('ab"\\{}[],:\n\r\t\u2028é😀\ufeff'), max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(
    events=st.lists(st.dictionaries(TEXT, JSON, max_size=4), min_size=1, max_size=5),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    shape=st.sampled_from(["lines", "array", "marquez", "one line"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    piece=st.integers(1, 40),
)
@settings(max_examples=300, deadline=None)
def test_any_events_come_out_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[dict[str, Any]],
    indent: int | None,
    ascii_only: bool,
    shape: str,
    newline: str,
    piece: int,
) -> None:
    texts = [json.dumps(event, indent=indent, ensure_ascii=ascii_only) for event in events]
    bodies = [text.replace("\n", newline).encode() for text in texts]
    end = newline.encode()
    content = {
        "lines": end.join(bodies) + end,
        "array": b"[" + end + (b"," + end).join(bodies) + b"]",
        "marquez": b'{"totalCount":1,"events":[' + b", ".join(bodies) + b"]}",
        "one line": b" ".join(bodies),
    }[shape]
    path = tmp_path_factory.mktemp("any") / "d.json"
    path.write_bytes(content)
    with patch.object(dumps, "_CHUNK", piece), patch.object(dumps, "_COMPRESSED_CHUNK", piece):
        assert [body for _, body in records(path)] == bodies
