"""A stream of JSON text, and where each value in it begins and ends: what :mod:`.dumps` is made with.

Values are found by their brackets and strings alone: so their bytes stay as they are, nothing recurses, and a
value need not be good JSON to be told from the next one. What can't be told so (a string or bracket that is
never closed) is given up at the first newline that no JSON value can reach over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

HEAD = 64 * 1024
"""How much of a dump is looked at to tell what it is, and how much is kept of a value that is too large."""

_LONG_LINE = 1024 * 1024

_STRING_PART = rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
_STRING = _STRING_PART + rb'"'

_TOKEN = re.compile(rb'[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+(?:([{\[])|([}\]])|("))?')
"""Up to and with the next bracket outside of strings, opening (group 1) or closing (2), or the quote of a
string that does not end on its line or in the text at hand (3)."""

_OPEN_STRING = re.compile(_STRING_PART)

_SCALAR = re.compile(_STRING + rb'|"[^\n]*+|[^\s,\]\["{]++')

_GAP = re.compile(rb"[\s,]*+(?:\xef\xbb\xbf[\s,]*+)*+")

_TEAR = re.compile(
    rb"\n(?:(?:(?<=[^,:\[{\s]\n)|(?<=[^,:\[{\s]\r\n))\s*+[^,:\]}\s]"
    rb'|\s*+(?!["\d{}\[\],:-]|true|false|null|NaN|Infinity)\S.{4})'
)
"""A newline that no JSON value can reach over: two tokens meet there with no punctuation between them, or
what follows is no token."""

_INDENT = re.compile(rb"\n(?:\xef\xbb\xbf)?+([ \t]*+)")

_NEXT_VALUE = re.compile(rb"\n\s*+[{\[]")

_ADJACENT = re.compile(rb"\}\s*\{")

_ENVELOPE = re.compile(
    rb'\{\s*+(?:(?!"eventTime")' + _STRING + rb"\s*+:\s*+(?:" + _STRING + rb'|[^"{}\[\],\s]++)\s*+,\s*+)*?'
    rb'"events"\s*+:\s*+\['
)
"""The beginning of Marquez's ``{"events": [...], "totalCount": n}``, in any order of its keys."""

_ENVELOPE_HEAD = 256
"""How far into a line ``"events"`` makes it worth a closer look."""

_MARGIN = 256
"""How much before ``pos`` stays in memory: enough for the indent of its line."""

_RESCUES = 64
"""What a torn value took in is looked at again, at most once for each line or open bracket of it. Above this
it is not: such text is made to waste time."""


class Value(NamedTuple):
    """A value as found. ``reason`` says what is wrong with it, and is empty when nothing is.

    A ``torn`` value did not end where a value can; the text goes on at the next line that may begin another.
    """

    body: bytes
    reason: str = ""
    torn: bool = False


class JsonText:
    """The part of a stream that is in memory: around ``pos``, the next byte to look at.

    Values of more than ``limit`` bytes are passed over: the reason says so, the body is their first 64 KiB.
    """

    def __init__(self, pieces: Iterable[bytes], limit: int) -> None:
        self.data = b"\n"
        self.pos = 1
        self.line = 1
        """The line of ``pos``, from 1."""
        self._pieces = iter(pieces)
        self._limit = limit
        self._tear = -1

    # -- the text at hand

    def more(self) -> bool:
        """Read on, letting go of what lies before ``pos``. False when there is no more."""
        kept = self.data[max(self.pos - _MARGIN, 0) :]
        pieces = [kept]
        size = 0
        for piece in self._pieces:
            pieces.append(piece)
            size += len(piece)
            # At least a share of what is kept: so a large value takes time in proportion to its size.
            if size > len(kept) // 4:
                break
        self.data, self.pos, self._tear = b"".join(pieces), min(self.pos, _MARGIN), -1
        return size > 0

    def ahead(self, size: int) -> bytes:
        """The next ``size`` bytes, or as many as there are."""
        while len(self.data) - self.pos < size and self.more():
            pass
        return self.data[self.pos : self.pos + size]

    def move(self, pos: int) -> None:
        self.line += self.data.count(b"\n", self.pos, pos)
        self.pos = pos

    def skip_gap(self) -> bytes:
        """Move over blanks, commas and byte order marks. The byte that follows; nothing at the end."""
        while True:
            following = self.data[self.pos : self.pos + 1]
            if following == b"{":
                return following
            gap = _GAP.match(self.data, self.pos)
            assert gap
            self.move(gap.end())
            # A byte order mark has three bytes, which may come in two pieces.
            if len(self.data) - self.pos >= 3 or not self.more():
                return self.data[self.pos : self.pos + 1]

    # -- values, from ``pos``

    def whole_line(self) -> bytes | None:
        """Move over the line if it surely is a record by itself; None if that takes a closer look.

        Nearly every line of a dump goes this way, so it is looked at only in ways as fast as reading it.
        """
        while (end := self.data.find(b"\n", self.pos)) < 0:
            if len(self.data) - self.pos > _LONG_LINE or not self.more():
                return None
        line = self.data[self.pos : end].rstrip()
        if (
            line.endswith(b"}")
            and (_NEXT_VALUE.match(self.data, end) or line.count(b"{") == line.count(b"}"))
            and line.find(b'"events"', 0, _ENVELOPE_HEAD) < 0
            and not _ADJACENT.search(line)
            and len(line) <= self._limit
        ):
            self.pos = end + 1
            self.line += 1
            return line
        return None

    def envelope(self) -> bool:
        """Whether the object here is no event but holds a list of them; if so, move to the first of them."""
        self.ahead(HEAD)
        head = _ENVELOPE.match(self.data, self.pos)
        if head:
            self.move(head.end())
        return head is not None

    def value(self, depth: int = 0) -> Value:
        """Move over the object or array; with ``depth`` 1, over what is left of it from inside."""
        at = self.pos
        head = b""
        while True:
            data, tear = self.data, self._next_tear()
            in_string = False
            for token in _TOKEN.finditer(data, at, tear):
                if token.lastindex == 1:
                    depth += 1
                elif token.lastindex == 2:
                    depth -= 1
                    if not depth:
                        return self._whole(token.end(), head)
                elif token.lastindex == 3:
                    at = token.end() - 1
                    in_string = True
                    break
            else:
                at = tear
            newline = data.find(b"\n", at) if in_string else -1
            if newline >= 0:
                return self._torn(newline, head, depth, "a string is not closed on its line")
            if tear < len(data):
                return self._torn(tear, head, depth, f"it breaks off with {depth} of its brackets open")
            if head or len(data) - self.pos > self._limit:
                head = head or data[self.pos : self.pos + HEAD]
                self._let_go(at, in_string)
                at = self.pos
            done = at - self.pos
            if not self.more():
                return self._torn(len(self.data), head, depth, "the file ends inside of this record")
            at = self.pos + done

    def scalar(self) -> bytes:
        """Move over whatever stands in place of an object or array, up to a comma or closing bracket."""
        while (scalar := _SCALAR.match(self.data, self.pos)) and scalar.end() == len(self.data):
            if len(scalar.group()) > self._limit or not self.more():
                break
        assert scalar
        self.move(scalar.end())
        return scalar.group()[:HEAD]

    def rest_of_line(self) -> bytes:
        """Move to the end of the line. Its bytes from here, of a long line the first 64 KiB."""
        rest = self.ahead(HEAD).partition(b"\n")[0]
        while (end := self.data.find(b"\n", self.pos)) < 0:
            self.pos = len(self.data)
            if not self.more():
                return rest
        self.pos = end
        return rest

    # -- inside of a value

    def _next_tear(self) -> int:
        if self._tear < self.pos:
            tear = _TEAR.search(self.data, self.pos)
            self._tear = tear.start() if tear else len(self.data)
        return self._tear

    def _let_go(self, at: int, in_string: bool) -> None:
        """Forget a value that is too large up to ``at``; of a string open there, all but that it is open."""
        self.move(at)
        if in_string:
            part = _OPEN_STRING.match(self.data, at)
            assert part
            self.data, self.pos, self._tear = b'"' + self.data[part.end() :], 0, -1

    def _whole(self, end: int, head: bytes) -> Value:
        body = head or self.data[self.pos : end]
        if head or len(body) > self._limit:
            self.move(end)
            return Value(body[:HEAD], self._larger())
        if body.startswith(b"{") and not body.endswith(b"}"):
            return self._torn(end, b"", 1, "a bracket is closed that was not opened")
        self.move(end)
        return Value(body)

    def _torn(self, end: int, head: bytes, depth: int, reason: str) -> Value:
        """Give the value up, which can't go on beyond ``end``, and move to where the next one may begin."""
        if head:
            self.move(end)
            return Value(head, self._larger(), torn=True)
        first_line = self.data.find(b"\n", self.pos, end)
        if first_line >= 0 and min(depth, self.data.count(b"\n", self.pos, end)) <= _RESCUES:
            end = self._next_alike(first_line, end)
        body = self.data[self.pos : end].rstrip()
        self.move(end)
        return Value(body, f"not JSON: {reason}", torn=True)

    def _next_alike(self, first_line: int, otherwise: int) -> int:
        """The newline before the next line on which a value begins, indented as the line of ``pos`` is.

        A value torn over several lines is either an unfinished one with good ones below, or pretty-printed.
        In both cases that is where the next one begins.
        """
        indent = _INDENT.match(self.data, max(self.data.rfind(b"\n", 0, self.pos), 0))
        alike = indent and re.compile(rb"\n" + indent[1] + rb"[{\[]").search(self.data, first_line)
        return alike.start() if alike else otherwise

    def _larger(self) -> str:
        return f"record larger than {self._limit:,} bytes"
