"""A file that holds an embedded graph as it was at some offset, so that a start replays only what came since.

It is a shortcut, never the truth: one that is damaged, of another journal or of another version is passed over, and the
graph is made from the journal. It is data only; reading it runs nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec
import zstandard

from lineage_graph.errors import JournalError
from lineage_graph.journal import Journal
from lineage_graph.model import (
    Dataset,
    DatasetKey,
    Evidence,
    Flow,
    Job,
    JobKey,
    OutputKey,
    Run,
    RunKey,
    Schema,
)
from lineage_graph.projection import Output, Use

log = logging.getLogger("lineage_graph")

VERSION = 1
"""Changes whenever what is held, or what a rule makes of the same events, does."""
FILE = "graph.snapshot"
_MAGIC = b"lineage-graph snapshot\n"
_CHUNK = 5_000
"""Entities encoded at once."""
_DIGEST = 16

KINDS: dict[str, Any] = {
    "datasets": tuple[str, dict[DatasetKey, Dataset]],
    "jobs": tuple[str, dict[JobKey, Job]],
    "runs": tuple[str, dict[RunKey, Run]],
    "outputs": tuple[str, dict[OutputKey, Output]],
    "flows": tuple[str, dict[str, Flow]],
    "mappings": tuple[str, dict[str, bytes]],
    "uses": tuple[str, dict[OutputKey, dict[str, Use]]],
    "reads": tuple[str, dict[tuple[DatasetKey, JobKey], Evidence]],
    "schemas": tuple[str, dict[tuple[DatasetKey, str], tuple[Schema, Evidence]]],
    "columns": tuple[str, dict[DatasetKey, dict[str, None]]],
}
"""A part of each kind that a graph holds, by name, in the order in which they can be taken back."""

Part: TypeAlias = tuple[str, dict[Any, Any]]


class Snapshots:
    """Where the embedded graph of one journal is saved, and taken back from."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._path = folder / FILE
        self._journal = journal

    def load(self) -> tuple[Header, list[Part]] | None:
        """What the newest snapshot holds; ``None`` where there is none that can be used, which the log explains."""
        if not self._path.exists():
            return None
        try:
            documents = read(self._path)
            header = next(documents)
            assert isinstance(header, Header)
            if header.journal != self._journal.id or self._journal.digest_at(header.applied) != header.digest:
                raise Unusable("it is of another journal")
            return header, [part for part in documents if not isinstance(part, Header)]
        except Unusable as error:
            log.warning("%s is passed over and the graph made anew from the journal: %s", self._path, error)
            return None

    def save(self, applied: int, newest: int | None, parts: Iterable[Part]) -> None:
        """Write down a graph. A failure is in the log and loses nothing but time at the next start."""
        digest = self._journal.digest_at(applied)
        if digest is None:
            return
        try:
            write(self._path, Header(VERSION, self._journal.id, applied, digest, newest), parts)
        except OSError as error:
            log.warning("%s could not be written: %s", self._path, error)

    def forget(self) -> None:
        """Remove the snapshot. Raises :class:`~lineage_graph.errors.JournalError` when the folder does not let it."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise JournalError(
                self._journal.place, f"holds {FILE}, which can't be removed: {error.strerror}; remove it by hand"
            ) from error


class Header(NamedTuple):
    """Which events a snapshot holds: those of ``journal`` up to offset ``applied``, whose event has the ``digest``."""

    version: int
    journal: str
    applied: int
    digest: str
    newest: int | None


class Unusable(Exception):
    """Raised when a file is no whole snapshot; the text says why."""


def write(path: Path, header: Header, parts: Iterable[Part]) -> None:
    """Put a snapshot in the place of the one before, whole or not at all. Raises :class:`OSError`."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(_MAGIC)
        digest = blake2b(digest_size=_DIGEST)
        encode, compress = msgspec.msgpack.Encoder().encode, zstandard.ZstdCompressor(level=1).compress
        for document in (header, *_chunks(parts)):
            frame = compress(encode(document))
            for piece in (len(frame).to_bytes(8, "big"), frame):
                digest.update(piece)
                file.write(piece)
        file.write(bytes(8) + digest.digest())
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _chunks(parts: Iterable[Part]) -> Iterator[Part]:
    for kind, held in parts:
        entries = iter(held.items())
        while chunk := dict(islice(entries, _CHUNK)):
            yield kind, chunk


def read(path: Path) -> Iterator[Header | Part]:
    """The header, then the parts. Raises :class:`Unusable` as soon as something is wrong, at the latest at the end,
    where the checksum of all is; nothing is to be used before that."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise Unusable("it is another kind of file")
            frames = _frames(file)
            header = msgspec.msgpack.decode(next(frames), type=Header)
            yield header
            if header.version != VERSION:
                raise Unusable(f"it is of version {header.version}, this is {VERSION}")
            decoders = {kind: msgspec.msgpack.Decoder(part) for kind, part in KINDS.items()}
            for frame in frames:
                kind = msgspec.msgpack.decode(frame, type=tuple[str, msgspec.Raw])[0]
                yield decoders[kind].decode(frame)
    except (OSError, EOFError, KeyError, StopIteration, msgspec.MsgspecError, zstandard.ZstdError) as error:
        raise Unusable(f"{type(error).__name__}: {error}") from error


def _frames(file: IO[bytes]) -> Iterator[bytes]:
    digest, decompress = blake2b(digest_size=_DIGEST), zstandard.ZstdDecompressor().decompress
    while True:
        size = file.read(8)
        length = int.from_bytes(size, "big")
        if len(size) == 8 and length == 0:
            break
        frame = file.read(length)
        if len(size) < 8 or len(frame) < length:
            raise EOFError("it is cut off")
        digest.update(size)
        digest.update(frame)
        yield decompress(frame)
    if file.read() != digest.digest():
        raise EOFError("its checksum is wrong")
