"""Taken files that are gone or changed before bronze has read them."""

import os
from pathlib import Path

import pytest

from spark_jobs.landing import folder
from spark_jobs.landing.look import CHANGED, GONE
from tests.landing.landing_zone import LandingZone, named


def test_taken_files_that_are_gone_or_changed_are_named_until_bronze_is_done_with_their_chunk(
    zone: LandingZone,
) -> None:
    for name in ("gone.json", "link.json", "rewritten.json", "same.json", "touched.json"):
        zone.land(name, name.encode(), modified=1)
    grown = zone.land("grown.json", b"{}\n")
    zone.register()
    for name in ("gone.json", "link.json"):
        (grown.parent / name).unlink()
    (grown.parent / "link.json").symlink_to("same.json")
    zone.land("rewritten.json", b"other")
    os.utime(grown.with_name("touched.json"), (9, 9))
    zone.land("grown.json", b"{}\n{}\n")

    expected = {"gone.json": GONE, "link.json": CHANGED, "rewritten.json": CHANGED}
    assert named(zone.register(consumed=None).unread) == expected
    assert named(zone.register(consumed=None).unread) == expected
    assert zone.register(consumed=1).unread == ()


def test_a_sheet_that_has_grown_before_it_was_read_has_changed(zone: LandingZone) -> None:
    zone.land("a.csv", b"id\n1\n")
    zone.register(format="csv")
    zone.land("a.csv", b"id\n1\n2\n")
    assert named(zone.register(format="csv").unread) == {"a.csv": CHANGED}


def test_files_of_a_folder_that_cannot_be_listed_are_not_called_gone(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone.land("deep/a.json")
    zone.register()
    scan = folder.scan

    def refuse(path: Path) -> list[os.DirEntry[str]]:
        if path.name == "deep":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(folder, "scan", refuse)
    found = zone.register()
    assert (named(found.waiting), found.unread) == (
        {"deep": "the folder cannot be listed: Permission denied"},
        (),
    )
