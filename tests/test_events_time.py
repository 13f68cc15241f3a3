"""Which times are taken, as what instant, and how they are written."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_graph.errors import InvalidEvent
from lineage_graph.events import format_time, parse, parse_time


@pytest.mark.parametrize(
    ("text", "shown", "zone_assumed"),
    [
        ("2026-03-01T06:00:00Z", "2026-03-01T06:00:00Z", False),
        ("2026-03-01t06:00:00z", "2026-03-01T06:00:00Z", False),
        ("2026-03-01 06:00:00Z", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T06:00Z", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T06:00:00", "2026-03-01T06:00:00Z", True),
        ("2026-03-01 06:00:00.25", "2026-03-01T06:00:00.25Z", True),
        ("2026-03-01T06:00:00.123456789Z", "2026-03-01T06:00:00.123456789Z", False),
        ("2026-03-01T06:00:00.1234567899999Z", "2026-03-01T06:00:00.123456789Z", False),
        ("2026-03-01T06:00:00.100000000Z", "2026-03-01T06:00:00.1Z", False),
        ("2026-03-01T06:00:00.000000000001Z", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T06:00:00.000Z", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T06:00:00+00:00", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T06:00:00-00:00", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T08:30:00.5+02:30", "2026-03-01T06:00:00.5Z", False),
        ("2026-02-28T20:00:00-10:00", "2026-03-01T06:00:00Z", False),
        ("2026-03-01T08:00:00+0200", "2026-03-01T06:00:00Z", False),
        ("2026-03-02T05:59:00+23:59", "2026-03-01T06:00:00Z", False),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", False),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z", False),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", False),
        ("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z", False),
        ("1678-01-01T00:00:00Z", "1678-01-01T00:00:00Z", False),
        ("2261-12-31T23:59:59.999999999Z", "2261-12-31T23:59:59.999999999Z", False),
    ],
)
def test_times_that_are_taken(text: str, shown: str, zone_assumed: bool) -> None:
    ns, assumed = parse_time(text)
    assert (format_time(ns), assumed) == (shown, zone_assumed)
    event = parse({"eventTime": text, "job": {"namespace": "n", "name": "j"}})
    assert (event.event_time, event.zone_assumed) == (ns, zone_assumed)


NOT_A_TIME = [
    "",
    " ",
    "now",
    "yesterday",
    "2026-03-01",
    "20260301T060000Z",
    "2026-3-1T06:00:00Z",
    "2026-03-01T06:00:00Z[Europe/London]",
    "2026-03-01T06:00:00 Europe/London",
    "2026-03-01T06:00:00.Z",
    "2026-03-01T06:00:00,5Z",
    "2026-03-01T06:00:00Z\n",
    " 2026-03-01T06:00:00Z",
    "2026-03-01T06:00:00+2",
    "2026-03-01T06:00:00+02:00Z",
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-03-00T00:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T06:60:00Z",
    "2026-03-01T06:00:61Z",
    "2026-03-01T06:00:00+24:00",
    "2026-03-01T06:00:00+02:60",
    "0000-01-01T00:00:00Z",
    "1678-01-01T00:00:00+00:01",
    "2261-12-31T23:59:00-00:01",
    "2261-12-31T23:59:60Z",
    "12026-03-01T06:00:00Z",
    "-2026-03-01T06:00:00Z",
    "٢٠٢٦-03-01T06:00:00Z",
    "1772344800",
    1_772_344_800,
    1_772_344_800.5,
    None,
    True,
    [],
    {},
]


@pytest.mark.parametrize("sent", NOT_A_TIME)
def test_times_that_are_refused_name_the_field_and_what_is_expected(sent: Any) -> None:
    with pytest.raises(ValueError, match=r"^must (be|have) an? ") as caught:
        parse_time(sent)
    with pytest.raises(InvalidEvent) as refused:
        parse({"eventTime": sent, "job": {"namespace": "n", "name": "j"}})
    assert (refused.value.path, refused.value.reason) == ("$.eventTime", str(caught.value))


@given(st.datetimes(datetime(1678, 1, 1), datetime(2261, 12, 31)), st.integers(min_value=0, max_value=999))
def test_a_time_that_is_written_reads_back(moment: datetime, nanoseconds: int) -> None:
    ns, _ = parse_time(f"{moment.isoformat(timespec='microseconds')}{nanoseconds:03d}Z")
    assert parse_time(format_time(ns)) == (ns, False)
    assert ns % 1000 == nanoseconds
