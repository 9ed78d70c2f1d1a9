import errno
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from spark_jobs.lake.failpoints import Failpoint, arm
from spark_jobs.landing import arrivals, look
from spark_jobs.landing.arrivals import bytes_after, files_not_taken, last_taken_chunk
from spark_jobs.landing.content import Content, read_content
from spark_jobs.landing.folder import LINK, NOT_UTF8, LandedFile
from spark_jobs.landing.look import GROWING, Arrivals
from spark_jobs.landing.packing import TIMES_PACKED
from spark_jobs.landing.verdicts import HIDDEN, REWRITTEN
from tests.landing.landing_zone import AT, LandingZone, named


def test_each_new_file_arrives_once(zone: LandingZone) -> None:
    zone.land("a.json")
    assert zone.register().taken == 1
    zone.land("b.json")
    assert zone.register().taken == 1
    assert zone.register() == Arrivals()
    assert zone.arrivals("path", "chunk", "verdict") == [("a.json", 1, "taken"), ("b.json", 2, "taken")]


def test_a_chunk_holds_at_most_files_per_batch_and_is_one_commit_of_one_data_file(zone: LandingZone) -> None:
    for number in range(5):
        zone.land(f"{number}.json")
    zone.register(files_per_batch=2)
    assert zone.arrivals("chunk") == [(1,), (1,), (2,), (2,), (3,)]
    assert len(DeltaTable(zone.feed().arrivals).file_uris()) == 3


def test_chunks_that_bronze_has_read_are_put_together_where_they_are_many(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "MOST_FILES", 3)
    counts = []

    for number in range(7):
        zone.land(f"{number}.json")
        zone.register(consumed=last_taken_chunk(zone.feed().arrivals))
        counts.append(len(DeltaTable(zone.feed().arrivals).file_uris()))

    assert counts == [1, 2, 3, 2, 3, 2, 3]
    assert zone.arrivals("path", "verdict") == [(f"{number}.json", "taken") for number in range(7)]
    # the versions of their commits
    assert zone.arrivals("chunk") == [(1,), (2,), (3,), (5,), (6,), (8,), (9,)]


@pytest.mark.parametrize("consumed", [None, 1])
def test_a_chunk_that_bronze_has_not_read_stays_a_file(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch, consumed: int | None
) -> None:
    monkeypatch.setattr(arrivals, "MOST_FILES", 2)
    for number in range(4):
        zone.land(f"{number}.json")
        zone.register(consumed=consumed)
    assert len(DeltaTable(zone.feed().arrivals).file_uris()) == 4


def test_a_folder_that_is_not_there_has_no_files(zone: LandingZone) -> None:
    assert zone.register() == Arrivals()
    assert not Path(zone.feed().arrivals).exists()


def test_old_files_and_odd_names_are_taken_as_they_are(zone: LandingZone) -> None:
    names = [
        "with blank.json",
        "100%.json",
        "%20.json",
        "[a]*.json",
        "naïve-日本.json",
        "sub/deep.json",
        "a\nb.json",
        "back\\slash.json",
    ]
    for name in names:
        zone.land(name, modified=1)
    assert zone.register().taken == len(names)
    assert zone.arrivals("path") == sorted((name,) for name in names)


def test_only_names_that_match_the_pattern_belong_to_the_source(zone: LandingZone) -> None:
    zone.land("a.json")
    zone.land("a.done")
    zone.register(pattern="*.json")
    assert zone.arrivals("path") == [("a.json",)]


def test_what_is_refused_is_refused_once_with_its_reason(zone: LandingZone) -> None:
    folder = zone.land("a.json").parent
    (folder / "link.json").symlink_to("a.json")
    with open(os.fsencode(folder) + b"/caf\xe9.json", "wb"):
        pass
    assert named(zone.register().refused) == {"caf\\xe9.json": NOT_UTF8, "link.json": LINK}
    assert zone.register() == Arrivals()
    assert files_not_taken(zone.feed().arrivals) == [
        ("shop/orders/caf\\xe9.json", NOT_UTF8),
        ("shop/orders/link.json", LINK),
    ]


def test_a_file_in_the_place_of_a_refused_link_is_taken(zone: LandingZone) -> None:
    link = zone.land("a.json").with_name("link.json")
    link.symlink_to("a.json")
    zone.register()
    link.unlink()
    zone.land("link.json", b'{"b":1}')
    assert zone.register().taken == 1
    assert files_not_taken(zone.feed().arrivals) == []


@pytest.mark.parametrize("name", [".part.json", "_SUCCESS"])
def test_hidden_names_are_refused_with_the_command_that_takes_them_in(zone: LandingZone, name: str) -> None:
    zone.land(name)
    assert named(zone.register().refused) == {name: f"{HIDDEN} `weir take shop orders shop/orders/{name}`"}
    assert zone.register() == Arrivals()


def test_the_command_quotes_the_path_for_the_shell(zone: LandingZone) -> None:
    zone.land("_a b'c.json")
    assert named(zone.register().refused)["_a b'c.json"].endswith(
        """`weir take shop orders 'shop/orders/_a b'"'"'c.json'`"""
    )


def test_a_path_that_changed_after_it_was_taken_is_refused_once_in_each_state(zone: LandingZone) -> None:
    zone.land("a.json", b"1")
    zone.register()
    file = zone.land("a.json", b"22")
    reason = f"{REWRITTEN} `weir take shop orders shop/orders/a.json`"
    assert named(zone.register(consumed=1).refused) == {"a.json": reason}
    assert zone.register(consumed=1) == Arrivals()
    os.utime(file, (5, 5))
    assert named(zone.register(consumed=1).refused) == {"a.json": reason}
    assert last_taken_chunk(zone.feed().arrivals) == 1


def test_a_path_that_was_only_touched_is_neither_taken_again_nor_refused(zone: LandingZone) -> None:
    file = zone.land("a.json")
    zone.register()
    os.utime(file, (5, 5))
    assert zone.register() == Arrivals()
    assert zone.arrivals("chunk", "verdict", "reason") == [(1, "taken", None), (2, "touched", None)]
    assert last_taken_chunk(zone.feed().arrivals) == 1


def test_an_empty_file_that_is_filled_later_is_taken(zone: LandingZone) -> None:
    zone.land("a.json", b"")
    zone.register()
    zone.land("a.json", b"{}\n")
    assert zone.register().taken == 1
    assert zone.arrivals("verdict", "size", "start_byte") == [("taken", 0, None), ("taken", 3, None)]


def test_a_file_that_changes_while_it_is_read_waits_for_the_next_run(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = zone.land("a.json")
    read = read_content

    def grow_meanwhile(landing: str, landed: LandedFile, *more: Any) -> Content | None:
        file.write_bytes(b'{"a":1}')
        return read(landing, landed, *more)

    with monkeypatch.context() as growing:
        growing.setattr(look, "read_content", grow_meanwhile)
        assert zone.register() == Arrivals(waiting=(("shop/orders/a.json", GROWING),))
    assert zone.register().taken == 1


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errno.EACCES, "Permission denied"),
        (errno.ENOENT, "No such file or directory"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_file_that_cannot_be_opened_waits_with_its_reason_in_each_run(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch, error: int, reason: str
) -> None:
    zone.land("a.json", b'{"a":1}')
    zone.land("b.json", b'{"b":1}')
    read = read_content

    def fail(landing: str, landed: LandedFile, *more: Any) -> Content | None:
        if landed.path.endswith("a.json"):
            raise OSError(error, os.strerror(error), landed.path)
        return read(landing, landed, *more)

    with monkeypatch.context() as failing:
        failing.setattr(look, "read_content", fail)
        first, second = zone.register(), zone.register()
    assert (first.taken, second.taken) == (1, 0)
    assert named(first.waiting) == named(second.waiting) == {"a.json": f"it cannot be read: {reason}"}
    assert zone.register().taken == 1


def test_a_file_waits_until_it_has_settled(zone: LandingZone) -> None:
    zone.land("a.json", modified=int(AT.timestamp()) - 29)
    zone.land("b.json", modified=int(AT.timestamp()) - 30)
    found = zone.register(settle="30 seconds")
    assert found.taken == 1
    assert named(found.waiting) == {
        "a.json": "it was modified at 2026-02-28 23:59:31+00:00, less than 30 seconds ago"
    }
    assert zone.register(AT + timedelta(seconds=1), settle="30 seconds").taken == 1


def test_a_file_that_says_what_another_said_is_skipped_where_the_source_says_so(zone: LandingZone) -> None:
    zone.land("b.json", b"same")
    zone.register(same_content="skip")
    zone.land("a.json", b"same")
    found = zone.register(same_content="skip")
    assert named(found.repeated) == {"a.json": "it says exactly what 'shop/orders/b.json' said"}
    assert zone.register(same_content="skip") == Arrivals()
    zone.land("c.json", b"same")
    assert zone.register().taken == 1


def test_of_two_new_files_that_say_the_same_the_first_by_path_is_taken(zone: LandingZone) -> None:
    zone.land("b/1.json", b"same")
    zone.land("a/2.json", b"same")
    zone.register(same_content="skip", files_per_batch=1)
    assert zone.arrivals("path", "verdict", "chunk") == [
        ("a/2.json", "taken", 1),
        ("b/1.json", "repeated", 1),
    ]


def test_a_copy_of_a_file_that_could_not_be_read_is_no_repeat(zone: LandingZone) -> None:
    zone.land("a.json", b"same").with_name("b.json")
    zone.register(same_content="skip")
    zone.read("a.json", line=0)
    zone.land("b.json", b"same")
    assert zone.register(same_content="skip").taken == 1


def test_the_same_file_has_the_same_id_in_every_lake(tmp_path: Path) -> None:
    zones = [LandingZone(tmp_path / lake) for lake in ("one", "two")]
    for zone in zones:
        zone.land("a.json", b"same")
        zone.register()
    assert zones[0].arrivals("file_id") == zones[1].arrivals("file_id")


def test_bytes_after_a_chunk_are_those_still_to_read(zone: LandingZone) -> None:
    zone.land("a.json", b"12345\n")
    zone.land("_b.json", b"refused")
    zone.register()
    zone.land("c.json", b"123")
    zone.register()
    zone.land("a.json", b"12345\n67")
    zone.register(changed="take")
    assert [bytes_after(zone.feed().arrivals, chunk) for chunk in (0, 1, 2, 3)] == [11, 5, 2, 0]
    assert bytes_after(str(zone.root / "none"), 0) == 0
    zone.land("d.json.gz", b"1234")
    zone.register()
    assert bytes_after(zone.feed().arrivals, 3, "json") == 4 * TIMES_PACKED


@pytest.mark.parametrize(("point", "written"), [("arrivals.before", 1), ("arrivals.after", 2)])
def test_after_a_crash_between_chunks_each_file_still_arrives_once(
    zone: LandingZone, point: str, written: int
) -> None:
    for number in range(4):
        zone.land(f"{number}.json")
    with arm(f"{point}:bronze.orders#2=raise"), pytest.raises(Failpoint):
        zone.register(files_per_batch=1)
    assert len(zone.arrivals("path")) == written
    zone.register(files_per_batch=1)
    assert zone.arrivals("path", "chunk") == [(f"{number}.json", number + 1) for number in range(4)]
