"""Paths that were taken before and have other content now: appended to, rewritten, or back after they could
not be read.
"""

import gzip
import os

import pytest

from spark_jobs.landing.look import Arrivals
from spark_jobs.landing.verdicts import APPENDED, DOUBT, REWRITTEN, UNREAD
from tests.landing.landing_zone import LandingZone, named

COMMAND = "`weir take shop orders shop/orders/{}`"


def start(zone: LandingZone) -> tuple[str, int | None, int | None]:
    [*_, (verdict, byte, line)] = zone.arrivals("verdict", "start_byte", "start_line")
    return verdict, byte, line


@pytest.mark.parametrize(
    ("now", "reason"), [(b"1\n2\n", APPENDED), (b"1", REWRITTEN), (b"2\n1\n", REWRITTEN), (b"", REWRITTEN)]
)
def test_appended_and_rewritten_files_are_told_apart(zone: LandingZone, now: bytes, reason: str) -> None:
    zone.land("a.json", b"1\n")
    zone.register()
    zone.land("a.json", now)
    assert named(zone.register().refused) == {"a.json": f"{reason} {COMMAND.format('a.json')}"}


@pytest.mark.parametrize(
    ("before", "after", "byte", "line"),
    [
        (b'{"a":1}\n', b'{"a":2}\n', 8, 2),
        (b'{"a":1}', b'\n{"a":2}\n', 7, 1),
        (b'{"a":1}', b'\r\n{"a":2}\n', 7, 1),
        (b'{"a":1}\r', b'\n{"a":2}\n', 8, 1),
        (b'{"a":1}\n\n{"b"', b':"half"}\n', 9, 3),
        (b'{"a":1}\n{"b":{"c":1}', b"}\n", 8, 2),
        (b'{"a":1}\n{"b":"caf\xc3', b'\xa9"}\n', 8, 2),
        (b'\xef\xbb\xbf{"a":1', b"}\n", 0, 1),
        (b'{"a":1}', b' \n{"a":2}\n', 7, 1),
        (b'{"a":1}\n   ', b'{"a":2}\n', 11, 2),
        (b'{"a":1}\n12', b"3\n", 8, 2),
    ],
    ids=[
        "whole line", "line end missing", "windows line end", "between \\r and \\n", "half a record", "half an object", "half a letter",
        "byte order mark", "record whole", "blank line", "no object",
    ],
)  # fmt: skip
def test_only_the_new_part_of_appended_json_is_taken(
    zone: LandingZone, before: bytes, after: bytes, byte: int, line: int
) -> None:
    zone.land("a.json", before)
    zone.register(changed="take")
    zone.land("a.json", before + after)
    assert zone.register(changed="take").taken == 1
    assert start(zone) == ("taken", byte, line)


def test_a_cut_line_that_a_tolerant_parser_may_have_taken_is_refused(zone: LandingZone) -> None:
    zone.land("a.json", b"{'a':1}")
    zone.register(changed="take")
    zone.land("a.json", b"{'a':1}  \n")
    [reason] = named(zone.register(changed="take").refused).values()
    assert "line 1 was not whole" in reason
    assert zone.take("a.json", consumed=1).start_line == 1


def test_appended_text_is_taken_unless_its_last_line_was_cut(zone: LandingZone) -> None:
    zone.land("a.log", b"one\n")
    zone.land("b.log", b"one\ntw")
    zone.register(changed="take", format="text")
    zone.land("a.log", b"one\ntwo\n")
    zone.land("b.log", b"one\ntwo\n")
    found = zone.register(changed="take", format="text")
    assert found.taken == 1
    doubt = "its line 2 was half-written when it was taken, and that half is a record of its own now"
    assert named(found.refused) == {"b.log": f"{DOUBT.format(doubt=doubt)} {COMMAND.format('b.log')}"}
    taking = zone.take("b.log", consumed=1, format="text")
    assert (taking.start_line, taking.doubt) == (2, doubt)


def test_a_file_that_grows_in_many_steps_is_taken_step_by_step(zone: LandingZone) -> None:
    whole = b"".join(b'{"n":%d}\n' % number for number in range(50))
    for size in (10, 25, 26, 200, len(whole)):
        zone.land("a.json", whole[:size])
        zone.register(changed="take")
    sizes, starts = zip(*zone.arrivals("size", "start_byte"), strict=True)
    assert sizes == (10, 25, 26, 200, len(whole))
    assert starts == (None, *(whole[:size].rfind(b"\n") + 1 for size in sizes[:-1]))


@pytest.mark.parametrize(("file_format", "name"), [("csv", "a.csv"), ("json", "a.json.gz")])
def test_what_cannot_be_read_from_its_middle_is_taken_as_a_whole(
    zone: LandingZone, file_format: str, name: str
) -> None:
    first, second = (gzip.compress(part) if name.endswith(".gz") else part for part in (b"id\n1\n", b"2\n"))
    zone.land(name, first)
    zone.register(changed="take", format=file_format)
    zone.land(name, first + second)
    assert zone.register(changed="take", format=file_format).taken == 1
    assert start(zone) == ("taken", None, None)
    assert len(set(zone.arrivals("file_id"))) == 2


def test_a_rewritten_file_is_taken_as_a_whole(zone: LandingZone) -> None:
    zone.land("a.json", b'{"a":1}\n')
    zone.register(changed="take")
    zone.land("a.json", b'{"a":9}\n{"a":2}\n')
    zone.register(changed="take")
    assert start(zone) == ("taken", None, None)


def test_content_that_was_taken_before_is_not_taken_again_when_it_comes_back(zone: LandingZone) -> None:
    for content in (b'{"a":1}\n', b'{"b":1}\n', b'{"a":1}\n'):
        zone.land("a.json", content)
        zone.register(changed="take")
    assert zone.arrivals("verdict") == [("taken",), ("taken",), ("touched",)]


def test_what_was_appended_to_a_file_that_could_not_be_read_is_taken_with_the_whole(
    zone: LandingZone,
) -> None:
    zone.land("a.json", b'{"a":1}\n')
    zone.register(changed="take")
    zone.read("a.json", line=0)
    zone.land("a.json", b'{"a":1}\n{"a":2}\n')
    zone.register(changed="take")
    assert start(zone) == ("taken", None, None)


def test_a_file_that_comes_back_after_it_could_not_be_read_is_named_with_its_command(
    zone: LandingZone,
) -> None:
    zone.land("a.json", b'{"a":1}\n')
    zone.register()
    zone.read("a.json", line=0)
    os.utime(zone.land("a.json", b'{"a":1}\n'), (9, 9))
    assert named(zone.register(consumed=1).refused) == {"a.json": f"{UNREAD} {COMMAND.format('a.json')}"}
    assert zone.register(consumed=1) == Arrivals()
