"""Request bodies: decompressed as a stream, never more than the limit in memory."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

import zstandard
from fastapi import Request

from lineage_graph.api.problems import Refusal

LIMIT = 64 << 20
"""Bytes of a body, counted before and after decompression."""
_SLICE = 1 << 10
"""Bytes decompressed at once: at most 1 MiB of gzip, and 32 MiB of a zstd that is nothing but repetition."""


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
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > LIMIT:
        raise _too_large()
    decoder = _decoder(request.headers.get("content-encoding", "identity").strip().lower())
    received, decoded = 0, bytearray()
    async for chunk in request.stream():
        received += len(chunk)
        if received > LIMIT:
            raise _too_large()
        if decoder is None:
            decoded += chunk
        else:
            decoder.take(chunk, decoded)
    if decoder is not None:
        decoder.end()
    return bytes(decoded)


_NEVER_JSON = {
    "text/csv",
    "text/html",
    "text/xml",
    "application/xml",
    "application/x-www-form-urlencoded",
    "application/zip",
}


def _decoder(encoding: str) -> _Frames | None:
    """What decodes a body; ``None`` for one that comes as it is."""
    if encoding in ("identity", ""):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Frames(encoding, lambda: zlib.decompressobj(zlib.MAX_WBITS | 32))
    if encoding == "zstd":
        # A body that fits needs no window beyond the limit.
        return _Frames(encoding, zstandard.ZstdDecompressor(max_window_size=LIMIT).decompressobj)
    raise Refusal(
        415,
        "unsupported-encoding",
        "This encoding is not taken",
        f"send gzip, zstd, deflate or identity, not {encoding}",
    )


class _Frame(Protocol):
    """What zlib and zstandard give to decompress one gzip member or zstd frame."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class _Frames:
    """Decodes a stream of one or more members or frames, in slices.

    Slices bound what one step can blow up to, and what is copied when a frame ends: a body of nothing but empty
    frames costs no more than its length.
    """

    def __init__(self, encoding: str, new: Callable[[], _Frame]) -> None:
        self.encoding = encoding
        self.new = new
        self.frame: _Frame | None = None

    def take(self, chunk: bytes, decoded: bytearray) -> None:
        """Decode a part of the stream onto a buffer."""
        try:
            for start in range(0, len(chunk), _SLICE):
                rest = chunk[start : start + _SLICE]
                while rest:
                    frame = self.frame or self.new()
                    decoded += frame.decompress(rest)
                    if len(decoded) > LIMIT:
                        raise _too_large()
                    rest = frame.unused_data
                    self.frame = None if frame.eof else frame
        except (zlib.error, zstandard.ZstdError) as error:
            raise _broken(self.encoding) from error

    def end(self) -> None:
        if self.frame is not None:
            raise _broken(self.encoding)
