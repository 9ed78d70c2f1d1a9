"""Files that are taken in by hand."""

import os
from typing import Any

import pytest

from spark_jobs.landing.arrivals import files_not_taken
from spark_jobs.landing.look import Arrivals
from spark_jobs.landing.taking import NotTakeable, take_file
from tests.landing.landing_zone import AT, LandingZone


def refusal(zone: LandingZone, path: str, consumed: int | None = None, **keys: Any) -> str:
    with pytest.raises(NotTakeable) as refused:
        take_file(zone.feed(**keys), path, AT, "me@here", consumed)
    return str(refused.value)


def test_a_hidden_file_is_taken_and_not_refused_again(zone: LandingZone) -> None:
    zone.land("_a.json", b'{"a":1}\n')
    zone.register()
    taking = zone.take("_a.json")
    assert (taking.path, taking.chunk, taking.start_line, taking.may_repeat) == (
        "shop/orders/_a.json",
        2,
        None,
        False,
    )
    assert zone.arrivals("chunk", "verdict", "reason")[1] == (2, "taken", "by me@here")
    assert zone.register() == Arrivals()
    assert files_not_taken(zone.feed().arrivals) == []


def test_of_a_file_that_was_appended_to_what_is_new_is_taken(zone: LandingZone) -> None:
    zone.land("a.json", b'{"a":1}\n')
    zone.register()
    zone.land("a.json", b'{"a":1}\n{"a":2}\n')
    zone.register(consumed=1)
    taking = zone.take("a.json", consumed=1)
    assert (taking.start_line, taking.may_repeat) == (2, False)
    assert zone.register(consumed=1) == Arrivals()


@pytest.mark.parametrize("keys", [{}, {"same_content": "skip"}])
def test_a_rewritten_or_repeated_file_is_taken_whole_and_may_repeat_records(
    zone: LandingZone, keys: dict[str, Any]
) -> None:
    zone.land("a.json", b"old")
    zone.land("b.json", b"new")
    zone.register(**keys)
    zone.land("a.json", b"other")
    zone.land("c.json", b"new")
    zone.register(consumed=1, **keys)
    if keys:
        assert zone.take("c.json", consumed=1, **keys).may_repeat
    taking = zone.take("a.json", consumed=1, **keys)
    assert (taking.start_line, taking.may_repeat) == (None, True)


def test_a_file_that_could_not_be_read_is_taken_again_under_its_own_id_once(zone: LandingZone) -> None:
    zone.land("a.json", b'{"a":1}\n')
    zone.register()
    path = "shop/orders/a.json"
    assert "it is taken already; `weir run shop` reads it" in refusal(zone, path, consumed=None)
    zone.read("a.json", line=0)
    taking = zone.take("a.json", consumed=1)
    assert (taking.chunk, (taking.file_id,)) == (2, zone.arrivals("file_id")[0])
    assert "it is taken already" in refusal(zone, path, consumed=1)
    zone.read("a.json", line=1)
    assert (
        "its records are in bronze.orders already; to read it a second time, land it under another name"
        in refusal(zone, path, consumed=2)
    )
    assert zone.arrivals("chunk") == [(1,), (2,)]


def test_the_rest_of_a_file_that_could_not_be_read_is_taken_from_where_reading_ended(
    zone: LandingZone,
) -> None:
    zone.land("a.json", b'{"a":1}\n')
    zone.register(changed="take")
    zone.read("a.json", line=1)
    zone.land("a.json", b'{"a":1}\n{"a":2}\n')
    zone.register(changed="take")
    zone.read("a.json", line=0)
    assert zone.take("a.json", consumed=2).start_line == 2


def test_an_empty_file_is_not_taken_twice(zone: LandingZone) -> None:
    zone.land("a.json", b"")
    zone.register()
    assert "it was read and holds no records" in refusal(zone, "shop/orders/a.json", consumed=1)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "shop/orders/../secret.json",
        "shop/other/a.json",
        "shop/orders",
        "",
        "shop/orders//a.json",
        "./shop/orders/a.json",
    ],
)
def test_paths_outside_the_folder_are_refused(zone: LandingZone, path: str) -> None:
    zone.land("a.json")
    zone.land("../secret.json")
    zone.land("../../shop/other/a.json")
    assert "it is not a path below the folder 'shop/orders' of orders" in refusal(zone, path)


def test_links_special_files_and_folders_are_refused(zone: LandingZone) -> None:
    outside = zone.land("../outside/a.json").parent
    folder = zone.land("a.json").parent
    (folder / "link.json").symlink_to("a.json")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe.json")
    (folder / "deep").mkdir()
    assert "symbolic link" in refusal(zone, "shop/orders/link.json")
    assert "symbolic link" in refusal(zone, "shop/orders/linked/a.json")
    assert "a pipe, a socket" in refusal(zone, "shop/orders/pipe.json")
    assert "name one file" in refusal(zone, "shop/orders/deep")
    assert "Not a directory" in refusal(zone, "shop/orders/a.json/b.json")
    assert "not UTF-8 text" in refusal(zone, "shop/orders/caf\udce9.json")
    assert "does not match the pattern '*.csv'" in refusal(zone, "shop/orders/a.json", pattern="*.csv")


def test_a_misspelt_path_is_answered_with_the_nearest_file_that_was_not_taken(zone: LandingZone) -> None:
    zone.land("_2024-05-01.json")
    zone.register()
    assert "did you mean 'shop/orders/_2024-05-01.json'?" in refusal(zone, "shop/orders/2024-05-01.json")
