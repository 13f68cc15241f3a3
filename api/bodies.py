"""Request bodies: decompressed as a stream, never more than the limit in memory."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import zstandard
from fastapi import Request

from lineage_graph.api.problems import Refusal

LIMIT = 64 << 20
"""Bytes of a body, counted after decompression."""
_CHUNK = 1 << 20


def _too_large() -> Refusal:
    return Refusal(
        413,
        "too-large",
        "The body is too large",
        f"a body may have {LIMIT >> 20} MiB after decompression; send fewer events",
    )


def _broken(encoding: str) -> Refusal:
    return Refusal(400, "bad-encoding", "The body cannot be decompressed", f"it is no whole {encoding} stream")


async def body_of(request: Request) -> bytes:
    """The decoded body. Raises :class:`Refusal`: 413 beyond the limit, 415 for an unknown encoding or a type that can
    hold no event, 400 for a damaged stream."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if (kind and kind.split("/")[0] in ("image", "audio", "video", "multipart", "font")) or kind in _NEVER_JSON:
        raise Refusal(415, "unsupported-type", "This type holds no events", f"send application/json, not {kind}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    length = request.headers.get("content-length", "")
    if encoding in ("identity", "") and length.isdigit() and int(length) > LIMIT:
        raise _too_large()
    take = _decoder(encoding)
    received = bytearray()
    async for chunk in request.stream():
        for start in range(0, len(chunk), _CHUNK):
            take(chunk[start : start + _CHUNK], received)
    take(b"", received)
    return bytes(received)


_NEVER_JSON = {
    "text/csv",
    "text/html",
    "text/xml",
    "application/xml",
    "application/x-www-form-urlencoded",
    "application/zip",
}


def _decoder(encoding: str) -> Callable[[bytes, bytearray], None]:
    """A function that decodes a chunk onto a buffer; an empty chunk ends the stream."""
    if encoding in ("identity", ""):
        return _plain
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Inflate(encoding).take
    if encoding == "zstd":
        return _Zstandard().take
    raise Refusal(
        415,
        "unsupported-encoding",
        "This encoding is not taken",
        f"send gzip, zstd, deflate or identity, not {encoding}",
    )


def _plain(chunk: bytes, buffer: bytearray) -> None:
    buffer += chunk
    if len(buffer) > LIMIT:
        raise _too_large()


class _Inflate:
    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self.raw = encoding == "deflate"
        self.begun = False

    def take(self, chunk: bytes, buffer: bytearray) -> None:
        if not chunk:
            if self.begun and not self.inflate.eof:
                raise _broken(self.encoding)
            return
        self.begun = True
        try:
            while chunk:
                if self.inflate.eof:  # a gzip body may be several members one after another
                    self.inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
                buffer += self.inflate.decompress(chunk, LIMIT + 1 - len(buffer))
                chunk = self.inflate.unconsumed_tail or self.inflate.unused_data
                if len(buffer) > LIMIT:
                    raise _too_large()
        except zlib.error as error:
            raise _broken(self.encoding) from error


class _Zstandard:
    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        self.compressed = bytearray()

    def take(self, chunk: bytes, buffer: bytearray) -> None:
        """Kept compressed until the end: only then is it read, bounded, as a stream."""
        if chunk:
            self.compressed += chunk
            if len(self.compressed) > LIMIT:
                raise _too_large()
            return
        if not self.compressed:
            return
        try:
            with self.decompressor.stream_reader(bytes(self.compressed), read_across_frames=True) as reader:
                while part := reader.read(_CHUNK):
                    buffer += part
                    if len(buffer) > LIMIT:
                        raise _too_large()
            if not _ends_whole(bytes(self.compressed)):
                raise _broken("zstd")
        except zstandard.ZstdError as error:
            raise _broken("zstd") from error


def _ends_whole(compressed: bytes) -> bool:
    """Whether the last frame ends where the body does; the stream reader takes a cut one without a word."""
    rest = compressed
    while rest:
        one = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        for start in range(0, len(rest), _CHUNK):
            one.decompress(rest[start : start + _CHUNK])
            if one.eof:
                rest = one.unused_data + rest[start + _CHUNK :]
                break
        else:
            return False
    return True
