"""Whether each window of one gold table lies within one window of another that is made from it."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.config.calendar import Unit
from spark_jobs.config.gold import Window
from spark_jobs.config.names import parse_duration

DAY = timedelta(days=1)
WITHIN: dict[Unit, tuple[Unit, ...]] = {
    "day": ("day", "week", "month", "quarter", "year"),
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}
LOOKED_AT = [datetime(year, month, 15, tzinfo=UTC) for year in range(1970, 2041) for month in (1, 4, 7, 10)]
"""Times at which the offset of a zone is asked for."""


def why_not_within(inner: Window, outer: Window) -> str | None:
    """Why a window of `inner` may lie across the bounds of `outer`, or count twice; None where it cannot."""
    if inner.gap:
        return "its sessions begin and end at any time"
    if inner.size and inner.slide and parse_duration(inner.slide) != parse_duration(inner.size):
        return "its windows slide, so that a row counts in several of them"
    if outer.gap:
        return None
    if inner.calendar:
        return _of_calendar(inner, outer)
    step = parse_duration(inner.length)
    if outer.calendar:
        zone = outer.zone or "UTC"
        if _divides(step, DAY) and all(_divides(step, offset) for offset in _offsets(zone)):
            return None
        return f"the midnights of {zone} are not at bounds of its windows of {inner.length}"
    if _divides(step, parse_duration(outer.length)) and _divides(step, parse_duration(outer.step)):
        return None
    return f"windows of {outer.step} do not begin and end at bounds of its windows of {inner.length}"


def _of_calendar(inner: Window, outer: Window) -> str | None:
    assert inner.calendar is not None
    mine, theirs = inner.zone or "UTC", outer.zone or "UTC"
    if outer.calendar is None:
        return f"a {inner.calendar} of a calendar does not lie within windows of {outer.step}"
    if mine != theirs:
        return f"its {inner.calendar} is one of {mine}, not of {theirs}"
    if outer.calendar not in WITHIN[inner.calendar]:
        return f"a {inner.calendar} does not lie within one {outer.calendar}"
    return None


def _offsets(zone: str) -> set[timedelta]:
    try:
        known = ZoneInfo(zone)
    except ZoneInfoNotFoundError:  # a machine without a list of zones: the check of the zone was as lenient
        return set()
    return {offset for at in LOOKED_AT if (offset := at.astimezone(known).utcoffset()) is not None}


def _divides(part: timedelta, whole: timedelta) -> bool:
    return whole % part == timedelta()
