"""Files whose records are not in bronze, and those that a person leaves out."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.landing.arrivals import files_not_taken
from spark_jobs.landing.look import Arrivals
from spark_jobs.landing.skipped import NotDiscardable, discard_files, files_set_aside
from tests.landing.landing_zone import AT, LandingZone, named


def aside(zone: LandingZone) -> dict[str, str]:
    return {file.path.removeprefix("shop/orders/"): file.verdict for file in files_set_aside(zone.feed())}


def discard(zone: LandingZone, *names: str) -> int:
    return discard_files(zone.feed(), [f"shop/orders/{name}" for name in names], AT, "me@here", "a test file")


def refusal(zone: LandingZone, *names: str) -> str:
    with pytest.raises(NotDiscardable) as refused:
        discard(zone, *names)
    return str(refused.value)


def try_to_read(zone: LandingZone, name: str, chunk: int, line: int = 0) -> None:
    """Bronze has tried the file of this chunk: a record, or at line 0 its problem."""
    [file_id] = [
        found for path, at, found in zone.arrivals("path", "chunk", "file_id") if (path, at) == (name, chunk)
    ]
    problem = None if line else "EOFError: cut"
    rows = {
        "_file_id": [file_id],
        "_line": pa.array([line], pa.int64()),
        "_chunk": pa.array([chunk], pa.int64()),
    }
    write_deltalake(
        zone.feed().bronze, pa.table({**rows, "_problem": pa.array([problem], pa.string())}), mode="append"
    )


def test_refused_repeated_and_unreadable_files_are_listed_with_how_to_take_them(zone: LandingZone) -> None:
    zone.land("_a.json")
    zone.land("b.json", b"{}")
    zone.land("c.json", b"{}")
    zone.land("d.json", b"cut")
    zone.register(same_content="skip")
    try_to_read(zone, "d.json", chunk=1)

    assert aside(zone) == {"_a.json": "refused", "c.json": "repeated", "d.json": "unreadable"}
    [*_, unreadable] = files_set_aside(zone.feed())
    assert (unreadable.reason, unreadable.command) == (
        "EOFError: cut",
        "weir take shop orders shop/orders/d.json",
    )


def test_a_file_that_was_taken_again_is_not_listed_unless_it_is_unreadable_again(zone: LandingZone) -> None:
    zone.land("a.json", b"cut")
    zone.register()
    try_to_read(zone, "a.json", chunk=1)
    zone.take("a.json", consumed=1)
    assert aside(zone) == {}

    try_to_read(zone, "a.json", chunk=2)
    assert aside(zone) == {"a.json": "unreadable"}

    zone.take("a.json", consumed=2)
    try_to_read(zone, "a.json", chunk=3, line=1)
    assert aside(zone) == {}


def test_a_discarded_file_is_no_longer_told_of_and_says_who_and_why(zone: LandingZone) -> None:
    zone.land("_a.json")
    zone.register()

    assert discard(zone, "_a.json") == 2

    assert zone.arrivals("verdict", "reason")[1] == ("discarded", "by me@here: a test file")
    assert (files_not_taken(zone.feed().arrivals), aside(zone)) == ([], {"_a.json": "discarded"})
    assert zone.register() == Arrivals()


def test_a_discarded_file_stays_so_when_it_is_touched_and_comes_back_when_it_says_something_else(
    zone: LandingZone,
) -> None:
    zone.land("a.json", b'{"a":1}\n', modified=100)
    zone.register()
    zone.land("a.json", b'{"a":2}\n', modified=200)
    zone.register(consumed=1)
    discard(zone, "a.json")

    zone.land("a.json", b'{"a":2}\n', modified=300)
    assert zone.register(consumed=1) == Arrivals()

    zone.land("a.json", b'{"a":3}\n', modified=400)
    assert list(named(zone.register(consumed=1).refused)) == ["a.json"]


def test_a_discarded_file_can_still_be_taken(zone: LandingZone) -> None:
    zone.land("_a.json", b'{"a":1}\n')
    zone.register()
    discard(zone, "_a.json")

    assert zone.take("_a.json").chunk == 3
    assert aside(zone) == {}


def test_an_unreadable_file_that_was_discarded_and_taken_is_told_of_again(zone: LandingZone) -> None:
    zone.land("a.json", b"cut", modified=100)
    zone.register()
    try_to_read(zone, "a.json", chunk=1)
    discard(zone, "a.json")
    assert aside(zone) == {"a.json": "discarded"}

    zone.take("a.json", consumed=2)
    try_to_read(zone, "a.json", chunk=3)
    zone.land("a.json", b"cut", modified=200)
    assert list(named(zone.register(consumed=3).refused)) == ["a.json"]


def test_what_is_taken_unknown_or_discarded_already_cannot_be_discarded_and_nothing_is_written(
    zone: LandingZone,
) -> None:
    zone.land("_a.json")
    zone.land("_b.json")
    zone.land("c.json")
    zone.register()
    discard(zone, "_b.json")

    assert "its records are in bronze.orders, or come there with the next run" in refusal(
        zone, "_a.json", "c.json"
    )
    assert "did you mean 'shop/orders/_a.json'?" in refusal(zone, "a.json")
    assert (
        "it was discarded already, by me@here: a test file; to take it in after all: `weir take"
        in refusal(zone, "_b.json")
    )
    assert aside(zone) == {"_a.json": "refused", "_b.json": "discarded"}


def test_several_files_are_discarded_at_once_each_once(zone: LandingZone) -> None:
    zone.land("_a.json")
    zone.land("_b.json")
    zone.register()

    discard(zone, "_b.json", "_a.json", "_b.json")

    assert [name for name, verdict in zone.arrivals("path", "verdict") if verdict == "discarded"] == [
        "_a.json",
        "_b.json",
    ]
