"""The event as received: from bytes to JSON to a checked :data:`Event` (OpenLineage 2-0-2, core schema).

Strict about what lineage hangs on (who, which run, when), lenient about everything else: facets are kept as
sent, null counts as absent, unknown keys are passed over. The one error raised is
:class:`~lineage_graph.errors.InvalidEvent`, whose path names the part to mend.
"""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from hashlib import blake2b, md5
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from lineage_graph.errors import InvalidEvent

MAX_DEPTH = 500
"""Deepest nesting of arrays and objects that is taken: less than what makes recursive JSON writers fail."""


# -- models


def _facets(value: Any) -> Any:
    """A facet that is null is as if absent, and so are facets that are null as a whole."""
    if value is None:
        return {}
    if isinstance(value, dict) and None in value.values():
        return {name: facet for name, facet in value.items() if facet is not None}
    return value


def _empty_for_null(value: Any) -> Any:
    return [] if value is None else value


def _blank_for_null(value: Any) -> Any:
    return "" if value is None else value


Name: TypeAlias = Annotated[str, Field(min_length=1)]
Facets: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_facets)]
Uri: TypeAlias = Annotated[str, BeforeValidator(_blank_for_null)]
EventType: TypeAlias = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class DatasetRef(_Model):
    """A dataset as an event names it, text kept exactly (design 2), and its facets as sent."""

    namespace: Name
    name: Name
    facets: Facets = {}


class InputDataset(DatasetRef):
    """A dataset that was read. ``input_facets`` are about this one reading."""

    input_facets: Facets = {}


class OutputDataset(DatasetRef):
    """A dataset that was written. ``output_facets`` are about this one writing."""

    output_facets: Facets = {}


class Job(_Model):
    """A job as an event names it, text kept exactly (design 2), and its facets as sent."""

    namespace: Name
    name: Name
    facets: Facets = {}


class Run(_Model):
    """A run. ``run_id`` is a UUID (see :func:`run_uuid`); ``given_id`` is the text sent where it differs."""

    run_id: Name
    given_id: str | None = None
    facets: Facets = {}

    @model_validator(mode="before")
    @classmethod
    def _as_uuid(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(text := value.get("runId"), str) and text:
            run_id = run_uuid(text)
            return {**value, "runId": run_id, "givenId": None if run_id == text else text}
        return value


class _Event(_Model):
    event_time: int
    """Nanoseconds since 1970 in UTC."""
    zone_assumed: bool = False
    """Whether the time was sent without a zone and taken as UTC (design 5)."""
    digest: str
    """:func:`digest_of` the document."""
    producer: Uri = ""
    schema_url: Annotated[Uri, Field(validation_alias="schemaURL")] = ""


class RunEvent(_Event):
    """Something observed of a run. Lists that were absent or null are empty: they say nothing (design 4)."""

    event_type: EventType | None = None
    run: Run
    job: Job
    inputs: Annotated[list[InputDataset], Field(fail_fast=True), BeforeValidator(_empty_for_null)] = []
    outputs: Annotated[list[OutputDataset], Field(fail_fast=True), BeforeValidator(_empty_for_null)] = []


class JobEvent(_Event):
    """Lineage declared for a job. A list is ``None`` where it was absent or null: it declares nothing."""

    job: Job
    inputs: Annotated[list[InputDataset] | None, Field(fail_fast=True)] = None
    outputs: Annotated[list[OutputDataset] | None, Field(fail_fast=True)] = None


class DatasetEvent(_Event):
    """Metadata declared for a dataset."""

    dataset: DatasetRef


Event: TypeAlias = RunEvent | JobEvent | DatasetEvent

_KINDS: dict[str, type[RunEvent | JobEvent | DatasetEvent]] = {
    "RunEvent": RunEvent,
    "JobEvent": JobEvent,
    "DatasetEvent": DatasetEvent,
}


# -- reading


def read(body: bytes) -> Event:
    """The event that ``body`` holds: :func:`decode`, then :func:`parse`; raises InvalidEvent as they do."""
    return parse(decode(body))


def parse(document: Any) -> Event:
    """The event that a decoded JSON ``document`` is.

    A document with a run is a RunEvent. Otherwise its schemaURL says what it is, and what that kind requires
    is asked for by name; without a telling schemaURL a dataset makes a DatasetEvent and a job a JobEvent.
    Raises InvalidEvent with the path of the first part to mend.
    """
    if not isinstance(document, dict):
        raise InvalidEvent("$", f"must be an object that is an OpenLineage event, but is {_shown(document)}")
    kind = _kind(document)
    try:
        time, zone_assumed = parse_time(document["eventTime"])
    except KeyError:
        raise InvalidEvent("$.eventTime", f"is missing; expected {_TIME_EXPECTED}") from None
    except ValueError as error:
        raise InvalidEvent("$.eventTime", str(error)) from None
    taken = {"eventTime": time, "zoneAssumed": zone_assumed, "digest": digest_of(document)}
    try:
        return kind.model_validate({**document, **taken})
    except ValidationError as error:
        raise _first_problem(error) from None


def _kind(document: dict[str, Any]) -> type[RunEvent | JobEvent | DatasetEvent]:
    if document.get("run") is not None:
        return RunEvent
    schema_url = document.get("schemaURL")
    if isinstance(schema_url, str) and (named := _KINDS.get(schema_url.rpartition("/")[2])):
        return named
    if document.get("dataset") is not None:
        return DatasetEvent
    if document.get("job") is not None:
        return JobEvent
    raise InvalidEvent("$", "has no run, no job and no dataset: no kind of event")


_REASONS = {
    "missing": "is missing",
    "string_too_short": "must not be empty",
    "string_type": "must be a string",
    "list_type": "must be a list of objects",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be one of START, RUNNING, COMPLETE, ABORT, FAIL, OTHER",
}


def _first_problem(error: ValidationError) -> InvalidEvent:
    problem = error.errors(include_url=False, include_context=False)[0]
    path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
    reason = _REASONS.get(problem["type"], problem["msg"])
    if problem["type"] not in ("missing", "string_too_short"):
        reason += f", but is {_shown(problem['input'])}"
    return InvalidEvent(path, reason)


def _shown(value: Any) -> str:
    """What was sent in place of something else, short enough for a message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    text = json.dumps(value) if isinstance(value, str | int | float) else repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."


def run_uuid(text: str) -> str:
    """The UUID of a run id: itself in lower case, else the name-based one of its UTF-8 bytes (design 2).

    Version 3 without a namespace, as Java's ``UUID.nameUUIDFromBytes`` and so Marquez give it.
    """
    if _UUID.fullmatch(text):
        return text.lower()
    # A text from a command line may hold what UTF-8 cannot; it names a run that no event can have sent.
    name = text.encode("utf-8", "surrogatepass")
    return str(UUID(bytes=md5(name, usedforsecurity=False).digest(), version=3))


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


# -- JSON


def decode(body: bytes) -> Any:
    """The JSON document in ``body``, which is UTF-8 with or without a byte order mark; integers are exact.

    Raises InvalidEvent, with the position, for what is no JSON: NaN and Infinity, numbers beyond the range of
    a double, lone surrogates; and for nesting deeper than :data:`MAX_DEPTH`.
    """
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _no_json(body, error) from None
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _is_too_deep(document):
        raise InvalidEvent("$", f"is nested deeper than {MAX_DEPTH} levels")
    if _LONG_NUMBER in body.translate(_DIGITS_AS_ZERO):
        # orjson gives integers beyond 64 bits as floats. It has checked the text, so only numbers can differ.
        try:
            return json.loads(body)
        except RecursionError:
            raise InvalidEvent("$", "is nested too deep") from None
    return document


_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
"""Nineteen digits in a row: fewer always fit 64 bits."""


def _no_json(body: bytes, error: orjson.JSONDecodeError) -> InvalidEvent:
    place = f"at line {error.lineno} column {error.colno}"
    try:
        body.decode()
    except UnicodeDecodeError as undecodable:
        return InvalidEvent("$", f"is not UTF-8: byte 0x{body[undecodable.start]:02x} at {undecodable.start}")
    if not body.strip():
        return InvalidEvent("$", f"is empty {place}; expected a JSON object")
    if "surrogate" in error.msg:
        return InvalidEvent("$", f"has a lone surrogate, which is no character, {place}")
    if "depth" in error.msg or "ecursion" in error.msg:
        return InvalidEvent("$", f"is nested deeper than {MAX_DEPTH} levels {place}")
    return InvalidEvent("$", f"is not JSON: {error.msg} {place}")


def _is_too_deep(document: Any) -> bool:
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def canonical(document: Any) -> bytes:
    """The one way to write a JSON document: keys sorted, compact, UTF-8; equal documents give equal bytes.

    Raises InvalidEvent for what JSON cannot say, such as a lone surrogate in a string.
    """
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Integers beyond 64 bits and more than 254 levels are left to the standard library.
        pass
    try:
        return _CANONICAL.encode(document).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEvent("$", f"cannot be written as JSON: {error}") from None


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_of(document: Any) -> str:
    """What an event is known by: 32 hex digits, the same for any order of keys and any whitespace."""
    return blake2b(canonical(document), digest_size=16).hexdigest()


# -- time


_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))?"
)
_TIME_EXPECTED = "an RFC 3339 time such as 2026-03-01T06:00:00Z"
_SECOND = 1_000_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)
_EARLIEST = (date(1678, 1, 1).toordinal() - _EPOCH_DAY) * 86_400
_LATEST = (date(2262, 1, 1).toordinal() - _EPOCH_DAY) * 86_400 - 1
"""The whole years whose nanoseconds fit 64 bits, which is what databases hold."""


def parse_time(text: Any) -> tuple[int, bool]:
    """An RFC 3339 time as nanoseconds since 1970 in UTC, and whether UTC was assumed because it has no zone.

    Also taken: lower-case ``t`` and ``z``, a space for the ``T``, no seconds, an offset without its colon.
    Digits after the ninth of a fraction are cut off; second 60 is the next second. Raises ValueError, saying
    what is expected, for anything else: a number, a date alone, a day that does not exist, years beyond
    1678 to 2261.
    """
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"must be {_TIME_EXPECTED}, but is {_shown(text)}")
    year, month, day, hour, minute, second, fraction, utc, sign, offset_hour, offset_minute = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        raise ValueError(f"must be a day that exists, but is {_shown(text)}") from None
    if hour > "23" or minute > "59" or (second or "") > "60":
        raise ValueError(f"must be a time of day from 00:00:00 to 23:59:59, but is {_shown(text)}")
    seconds = days * 86_400 + int(hour) * 3600 + int(minute) * 60 + int(second or 0)
    if sign:
        if offset_hour > "23" or offset_minute > "59":
            raise ValueError(f"must have an offset from -23:59 to +23:59, but is {_shown(text)}")
        offset = int(offset_hour) * 3600 + int(offset_minute) * 60
        seconds += offset if sign == "-" else -offset
    if not _EARLIEST <= seconds <= _LATEST:
        raise ValueError(f"must be a time within the years 1678 to 2261 in UTC, but is {_shown(text)}")
    nanoseconds = int(fraction[:9].ljust(9, "0")) if fraction else 0
    return seconds * _SECOND + nanoseconds, not (utc or sign)


def format_time(ns: int) -> str:
    """Nanoseconds since 1970 as RFC 3339 in UTC, with as many digits of a second as it takes and no more."""
    seconds, nanoseconds = divmod(ns, _SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    return f"{text}.{nanoseconds:09d}".rstrip("0") + "Z" if nanoseconds else f"{text}Z"
