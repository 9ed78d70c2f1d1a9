"""What lies in a landing folder: everything has its place, whatever it is."""

import errno
import os
import socket
from pathlib import Path

import pytest

from spark_jobs.landing import folder, look
from spark_jobs.landing.folder import LINK, NOT_UTF8, SPECIAL, VANISHED, Listing, list_folder
from tests.landing.landing_zone import AT, LandingZone


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders"
    path.mkdir()
    return path


def listed(orders: Path, pattern: str = "*") -> Listing:
    return list_folder(str(orders.parent), "orders", pattern)


def paths(listing: Listing) -> list[str]:
    return [file.path for file in listing.files]


def refused(listing: Listing) -> dict[str, str]:
    return {file.path: reason for file, reason in listing.refused}


def test_files_come_in_the_order_of_their_paths(orders: Path) -> None:
    for name in ("b.json", "a/z.json", "a.json", "c/a.json"):
        (orders / name).parent.mkdir(exist_ok=True)
        (orders / name).write_text("{}")
    assert paths(listed(orders)) == ["orders/a.json", "orders/a/z.json", "orders/b.json", "orders/c/a.json"]


def test_links_to_files_to_folders_and_to_nothing_are_refused(orders: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.json").write_text("{}")
    (orders / "file.json").symlink_to(tmp_path / "elsewhere" / "x.json")
    (orders / "folder").symlink_to(tmp_path / "elsewhere")
    (orders / "ring").symlink_to(orders)
    (orders / "nothing").symlink_to(tmp_path / "gone")
    (orders / "other.txt").symlink_to(tmp_path / "elsewhere" / "x.json")

    listing = listed(orders, "*.json")

    assert paths(listing) == []
    assert refused(listing) == {f"orders/{name}": LINK for name in ("file.json", "folder", "nothing", "ring")}


def test_the_folder_of_a_source_may_be_a_link_and_what_it_leads_to_is_taken(
    zone: LandingZone, tmp_path: Path
) -> None:
    source = zone.land("day/a.json", b'{"a":1}').parent.parent
    source.rename(tmp_path / "elsewhere")
    source.symlink_to(tmp_path / "elsewhere")
    assert zone.register().taken == 1


@pytest.mark.parametrize("read", ["read_whole", "read_if_it_matters"])
def test_a_folder_that_was_swapped_for_a_link_since_the_listing_is_not_followed(
    zone: LandingZone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    day = zone.land("day/a.json", b'{"a":1}').parent
    list_now = list_folder

    def swap_behind(*places: str) -> Listing:
        found = list_now(*places)
        day.rename(tmp_path / "elsewhere")
        day.symlink_to(tmp_path / "elsewhere")
        return found

    monkeypatch.setattr("spark_jobs.landing.look.list_folder", swap_behind)
    found = look.look_at(zone.feed(), AT, read=getattr(look, read)).found
    assert found.taken == 0
    assert found.waiting == (("shop/orders/day/a.json", "it cannot be read: Not a directory"),)


def test_pipes_and_sockets_are_refused_and_not_opened(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(orders / "pipe.json")
    os.mkfifo(orders / "pipe.txt")
    monkeypatch.chdir(orders)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.json")
        assert refused(listed(orders, "*.json")) == {
            "orders/pipe.json": SPECIAL,
            "orders/socket.json": SPECIAL,
        }


def test_names_that_are_not_utf8_are_refused_and_written_out(orders: Path) -> None:
    bad = os.fsencode(orders) + b"/caf\xe9"
    os.mkdir(bad)
    for name in (bad + b".json", bad + b"/a.json"):
        with open(name, "wb"):
            pass
    assert refused(listed(orders, "*.json")) == {
        "orders/caf\\xe9.json": NOT_UTF8,
        "orders/caf\\xe9/a.json": NOT_UTF8,
    }


def test_a_file_that_vanishes_while_the_folder_is_listed_waits(
    orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (orders / "gone.json").write_text("{}")
    (orders / "stays.json").write_text("{}")
    (orders / "folder").mkdir()
    scan = folder.scan

    def remove_after(path: Path) -> list[os.DirEntry[str]]:
        found = scan(path)
        (orders / "gone.json").unlink(missing_ok=True)
        if (orders / "folder").exists():
            (orders / "folder").rmdir()
        return found

    monkeypatch.setattr(folder, "scan", remove_after)
    listing = listed(orders)
    assert paths(listing) == ["orders/stays.json"]
    assert listing.waiting == [("orders/folder", VANISHED), ("orders/gone.json", VANISHED)]


def test_a_folder_that_may_not_be_listed_waits_and_the_others_are_listed(
    orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("closed", "open"):
        (orders / name).mkdir()
        (orders / name / "a.json").write_text("{}")
    scan = folder.scan

    def refuse(path: Path) -> list[os.DirEntry[str]]:
        if path.name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(folder, "scan", refuse)
    listing = listed(orders)
    assert paths(listing) == ["orders/open/a.json"]
    assert listing.waiting == [("orders/closed", "the folder cannot be listed: Permission denied")]


def test_a_file_in_the_place_of_the_folder_waits_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "orders").write_text("{}")
    assert listed(tmp_path / "orders").waiting == [("orders", "the folder cannot be listed: Not a directory")]


def test_a_folder_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path / "orders") == Listing()
