"""Event dumps: files, folders and standard input, split into single events.

A dump is told by its content, never by its name: one object, an array, objects one after another (one a
line, or pretty-printed), Marquez's ``{"events": [...]}``, and any mixture of these; plain, gzip or zstd. Only
a newline separates records (U+2028 and its like may stand in a string); a byte order mark, CRLF, blank lines
and stray commas do no harm; and what is broken never stops what follows.

This module finds where each record begins and ends and hands out its bytes as they are in the dump; whether
they are an event is for :func:`lineage_graph.events.read` to say. Everything is streamed: memory is bounded
by one record, however large the dump and whatever a compressed one expands to.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import zstandard

from lineage_graph.errors import BadRequest

from .json_text import HEAD, JsonText, Value

RECORD_LIMIT = 64 * 1024 * 1024
STDIN = "<stdin>"

_CHUNK = 1024 * 1024
_COMPRESSED_CHUNK = 1024
"""Small, because it bounds a bomb: zstd makes at most 128 KiB of 4 bytes (RFC 8878, 3.1.1.2), so 32 MiB of
this; deflate makes 1 MiB."""


class Record(NamedTuple):
    """One JSON object of a dump, byte for byte, at ``source``: ``events.ndjson:17`` or ``dump.json[3]``."""

    source: str
    body: bytes


class Broken(NamedTuple):
    """A part of a dump that can't be an event record, and why.

    ``source`` is a place as in :class:`Record`, or the dump's name where the reason concerns all of it.
    ``body`` is the text as found; the first 64 KiB of a record that is too large, nothing of a whole dump.
    """

    source: str
    reason: str
    body: bytes = b""


@dataclass
class Progress:
    """How far reading has come; kept up to date while the records are taken.

    ``bytes_read`` and ``bytes_total`` are as on disk (compressed); the total is None when standard input or a
    pipe is among the dumps. ``ignored`` names what was found in folders and not read, ``empty`` the dumps in
    which there was no record, nor anything broken.
    """

    files: int = 0
    records: int = 0
    broken: int = 0
    bytes_read: int = 0
    bytes_total: int | None = None
    ignored: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def read_dumps(
    paths: str | Path | Iterable[str | Path],
    *,
    progress: Progress | None = None,
    record_limit: int = RECORD_LIMIT,
) -> Iterator[Record | Broken]:
    """Every record of the dumps at ``paths``, in order; ``-`` is standard input.

    Of a folder, all files that end in ``.json``, ``.ndjson`` or ``.jsonl``, with or without ``.gz`` or
    ``.zst``, are read in the order of their names, sub-folders included; hidden ones and links to folders are
    left out. A place is named after the file, or the path inside the folder; when several paths are given,
    after the path as given.

    A record of more than ``record_limit`` bytes is Broken; so is a dump that can't be read, or holds nothing
    like an event. Raises :class:`~lineage_graph.errors.BadRequest` when a path does not exist, before
    anything is read.
    """
    progress = progress if progress is not None else Progress()
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    dumps = [dump for path in given for dump in _dumps_at(str(path), len(given) == 1, progress)]
    sizes = [dump.size for dump in dumps]
    progress.bytes_total = None if None in sizes else sum(size or 0 for size in sizes)
    return _read_all(dumps, progress, record_limit)


def _read_all(dumps: list[_Dump], progress: Progress, limit: int) -> Iterator[Record | Broken]:
    for dump in dumps:
        found = False
        progress.files += 1
        for item in _read(dump, progress, limit):
            found = True
            if isinstance(item, Record):
                progress.records += 1
            else:
                progress.broken += 1
            yield item
        if not found:
            progress.empty.append(dump.name)


# -- where dumps are


class _Dump(NamedTuple):
    name: str
    path: str
    size: int | None
    """In bytes; None when it can't be known before the end."""


_DUMP_NAME = re.compile(r"\.(json|ndjson|jsonl)(\.(gz|zst))?$", re.IGNORECASE)


def _dumps_at(path: str, alone: bool, progress: Progress) -> Iterator[_Dump]:
    if path == "-":
        yield _Dump(STDIN, path, None)
    elif os.path.isdir(path):
        for parts in sorted(_entries(path)):
            inside = os.path.join(path, *parts)
            name = _printable("/".join(parts) if alone else inside)
            unreadable_folder = os.path.isdir(inside) and not os.path.islink(inside)
            if unreadable_folder or (_DUMP_NAME.search(parts[-1]) and os.path.isfile(inside)):
                yield _Dump(name, inside, os.path.getsize(inside))
            else:
                progress.ignored.append(name)
    elif os.path.exists(path):
        name = _printable(os.path.basename(path) if alone else path)
        yield _Dump(name, path, os.path.getsize(path) if os.path.isfile(path) else None)
    else:
        reason = f"must be an existing file or folder, or - for standard input: there is no {path!r}"
        raise BadRequest("path", reason)


def _entries(folder: str) -> Iterator[tuple[str, ...]]:
    """All that is not hidden below ``folder``, in parts; of folders, only those that can't be walked into."""
    unreadable: list[OSError] = []
    for where, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        for name in files + links:
            if not name.startswith("."):
                yield Path(where, name).relative_to(folder).parts
    for error in unreadable:
        yield Path(error.filename).relative_to(folder).parts


def _printable(name: str) -> str:
    """A file name of bytes that are no UTF-8 would make every later text that holds it unwritable."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


# -- the bytes of a dump

_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Pieces:
    """The bytes of a dump, decompressed, piece by piece; ``damage`` says why they end early, if they do."""

    def __init__(self, file: BufferedReader, progress: Progress) -> None:
        self.damage = ""
        self._file = file
        self._progress = progress

    def __iter__(self) -> Iterator[bytes]:
        try:
            start = self._read(_COMPRESSED_CHUNK)
            while len(start) < 4 and (more := self._read(_COMPRESSED_CHUNK)):
                start += more
            if start.startswith(b"\x1f\x8b"):
                yield from self._decompressed(start, lambda: zlib.decompressobj(wbits=31))
            elif _ZSTD.match(start):
                yield from self._decompressed(start, lambda: zstandard.ZstdDecompressor().decompressobj())
            else:
                yield start
                while piece := self._read(_CHUNK):
                    yield piece
        except (zlib.error, zstandard.ZstdError) as error:
            self.damage = f"the compressed data is damaged: {error}"
        except OSError as error:
            self.damage = f"can't be read: {error.strerror or error}"

    def _decompressed(self, piece: bytes, new: Callable[[], _Decompressor]) -> Iterator[bytes]:
        stream: _Decompressor | None = None
        while piece:
            if stream is None:
                # Between two members or frames; zeros may pad a gzip file at its end.
                piece = piece.lstrip(b"\0")
                stream = new() if piece else None
            if stream is not None:
                yield stream.decompress(piece)
                piece = stream.unused_data
                stream = None if stream.eof else stream
            piece = piece or self._read(_COMPRESSED_CHUNK)
        if stream is not None:
            self.damage = "the compressed data is cut short: what follows is missing"

    def _read(self, size: int) -> bytes:
        # At most one read of the system, so that events come out of a pipe as they are written into it.
        piece = self._file.read1(size)
        self._progress.bytes_read += len(piece)
        return piece


# -- the records of a dump

_ARRAY_DEPTH = 4
_BY_LINE = re.compile(r"\.(ndjson|jsonl)(\.(gz|zst))?$", re.IGNORECASE)
_VALUE_AT_LINE_START = re.compile(rb"^[ \t]*+[{\[]", re.MULTILINE)


def _read(dump: _Dump, progress: Progress, limit: int) -> Iterator[Record | Broken]:
    if dump.path == "-":
        yield from _split(cast(BufferedReader, sys.stdin.buffer), dump.name, progress, limit)
        return
    try:
        with open(dump.path, "rb") as file:
            yield from _split(file, dump.name, progress, limit)
    except OSError as error:
        yield Broken(dump.name, f"can't be read: {error.strerror or error}")


def _split(file: BufferedReader, name: str, progress: Progress, limit: int) -> Iterator[Record | Broken]:
    pieces = _Pieces(file, progress)
    text = JsonText(pieces, limit)
    if reason := _unlike_events(text):
        yield Broken(name, reason)
        return
    yield from _records(text, name)
    if pieces.damage:
        yield Broken(name, pieces.damage)


def _unlike_events(text: JsonText) -> str:
    """Why there can be no events in the text, judged by its beginning; empty when there can."""
    first = text.skip_gap()
    if not first or (first in b"{[" and text.ahead(2)[1:] != b"\0"):
        return ""
    head = text.ahead(HEAD)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 2 <= head[:4].count(0) <= 3:
        return "the text is UTF-16 or UTF-32: convert it to UTF-8 first, as with iconv -f UTF-16 -t UTF-8"
    if b"\0" in head:
        return "binary data, not events as JSON"
    if not _VALUE_AT_LINE_START.search(head):
        return f"not events as JSON: no line begins with {{ or [ at its start, which is {_excerpt(head)}"
    return ""


def _records(text: JsonText, name: str) -> Iterator[Record | Broken]:
    whole = None if _BY_LINE.search(name) else name
    while byte := text.skip_gap():
        place = f"{name}:{text.line}"
        if byte == b"{" and (line := text.whole_line()):
            yield Record(place, line)
        elif byte == b"{" and text.envelope():
            if (yield from _elements(text, whole or place)) and (rest := text.value(depth=1)).reason:
                yield Broken(place, rest.reason, rest.body)
        elif byte == b"{":
            yield _item(place, text.value())
        elif byte == b"[":
            text.move(text.pos + 1)
            yield from _elements(text, whole or place)
        else:
            line = text.rest_of_line()
            yield Broken(place, f"not a JSON object: {_excerpt(line)}", line)
        whole = None


def _elements(text: JsonText, label: str) -> Generator[Record | Broken, None, bool]:
    """The elements of the array that ``text`` is inside of, and of arrays in it. True when it is closed."""
    first_line = text.line
    torn = False
    indices = [0]
    while byte := text.skip_gap():
        if byte == b"[" and len(indices) < _ARRAY_DEPTH:
            text.move(text.pos + 1)
            indices.append(0)
            continue
        if byte == b"]":
            text.move(text.pos + 1)
            indices.pop()
            if not indices:
                return True
        else:
            place, line = label + "".join(f"[{index}]" for index in indices), text.line
            if byte in b"{[":
                value = text.value()
                yield _item(place, value)
                torn = value.torn
                if torn and line == first_line:
                    # The array had one line and that is cut off: what follows is no element of it.
                    return False
            else:
                scalar = text.scalar()
                yield Broken(place, f"not a JSON object: {_excerpt(scalar)}", scalar)
        indices[-1] += 1
    if not torn:
        yield Broken(label, "not JSON: the file ends inside of this array, so events may be missing")
    return False


def _item(place: str, value: Value) -> Record | Broken:
    if value.reason:
        return Broken(place, value.reason, value.body)
    if value.body.startswith(b"["):
        return Broken(place, f"not a JSON object but an array inside of {_ARRAY_DEPTH} others", value.body)
    return Record(place, value.body)


def _excerpt(text: bytes) -> str:
    line = text.partition(b"\n")[0].strip()
    return ascii(line[:60].decode("utf-8", "backslashreplace")) + ("..." if len(line) > 60 else "")
