"""Close marks, and what the engine asks the arrivals."""

from datetime import timedelta

from spark_jobs.landing.arrivals import close_marks, last_arrival, last_taken_chunk, newest_arrival
from spark_jobs.landing.look import Arrivals
from spark_jobs.landing.taking import close_feed
from tests.landing.landing_zone import AT, LandingZone

HOUR = timedelta(hours=1)


def test_a_mark_is_a_row_of_its_own_chunk_and_makes_no_work_for_bronze(zone: LandingZone) -> None:
    zone.land("a.json")
    zone.register()
    assert close_feed(zone.feed(), AT + HOUR, "by me@here") == 2
    columns = ("chunk", "path", "size", "verdict", "reason", "content_hash", "file_id")
    assert zone.arrivals(*columns)[1] == (2, "", 0, "closed", "by me@here", None, None)
    assert close_marks(zone.feed().arrivals) == [2]
    assert last_taken_chunk(zone.feed().arrivals) == 1
    assert newest_arrival(zone.feed().arrivals) == AT + HOUR


def test_there_is_nothing_to_close_where_nothing_has_arrived_since_the_last_mark(zone: LandingZone) -> None:
    assert close_feed(zone.feed(), AT, "by me@here") is None
    zone.land("a.json", b"1")
    zone.register()
    assert [close_feed(zone.feed(), AT, "by me@here") for _ in range(2)] == [2, None]
    zone.land("b.json", b"2")
    zone.register()
    assert close_feed(zone.feed(), AT, "by me@here") == 4
    assert close_marks(zone.feed().arrivals) == [2, 4]


def test_a_feed_is_closed_once_when_nothing_arrived_for_idle_after(zone: LandingZone) -> None:
    zone.land("a.json", b"1")
    zone.register(AT, idle_after="1 hour")
    assert zone.register(AT + HOUR - timedelta(seconds=1), idle_after="1 hour") == Arrivals()
    assert zone.register(AT + HOUR, idle_after="1 hour") == Arrivals(closed="nothing arrived for 1 hour")
    assert zone.register(AT + 9 * HOUR, idle_after="1 hour") == Arrivals()
    zone.land("b.json", b"2")
    zone.register(AT + 10 * HOUR, idle_after="1 hour")
    assert zone.register(AT + 11 * HOUR, idle_after="1 hour").closed
    assert zone.arrivals("verdict") == [("taken",), ("closed",), ("taken",), ("closed",)]


def test_a_clock_that_was_wrong_for_one_file_does_not_keep_a_feed_open(zone: LandingZone) -> None:
    zone.land("a.json", b"1")
    zone.register(AT.replace(year=AT.year + 10), idle_after="1 hour")
    zone.land("b.json", b"2")
    zone.register(AT, idle_after="1 hour")
    assert zone.register(AT + HOUR, idle_after="1 hour").closed


def test_an_arrival_under_a_clock_that_was_ahead_is_not_the_last_one_for_ever(zone: LandingZone) -> None:
    """What was given up by it stays given up: only rules about recent rows go by the last one."""
    zone.land("a.json", b"1")
    ahead = AT.replace(year=AT.year + 10)
    zone.register(ahead)
    zone.land("b.json", b"2")
    zone.register(AT)
    assert (newest_arrival(zone.feed().arrivals), last_arrival(zone.feed().arrivals)) == (ahead, AT)
    close_feed(zone.feed(), AT + HOUR, "by me@here")
    assert last_arrival(zone.feed().arrivals) == AT + HOUR


def test_an_idle_feed_is_not_closed_while_a_file_waits(zone: LandingZone) -> None:
    zone.land("a.json", b"1", modified=1)
    zone.register(AT, idle_after="1 hour", settle="1 minute")
    zone.land("b.json", b"2", modified=int((AT + 2 * HOUR).timestamp()))
    assert zone.register(AT + 2 * HOUR, idle_after="1 hour", settle="1 minute").closed is None
    assert close_marks(zone.feed().arrivals) == []


def test_a_refused_file_does_not_keep_a_feed_open(zone: LandingZone) -> None:
    zone.land("a.json", b"1")
    zone.register(AT, idle_after="1 hour")
    zone.land("_b.json", b"2")
    assert zone.register(AT + HOUR, idle_after="1 hour").closed
    assert zone.arrivals("chunk", "verdict") == [(1, "taken"), (2, "refused"), (3, "closed")]


def test_a_feed_of_which_nothing_ever_arrived_is_never_closed(zone: LandingZone) -> None:
    assert zone.register(AT, idle_after="1 hour") == Arrivals()
    assert newest_arrival(zone.feed().arrivals) is last_arrival(zone.feed().arrivals) is None
