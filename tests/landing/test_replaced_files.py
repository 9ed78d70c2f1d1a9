"""Files that are replaced at the same size and time, as `cp -p` and `rsync -t` do it."""

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from spark_jobs.landing import arrivals_schema
from spark_jobs.landing.folder import file_time
from spark_jobs.landing.look import CHANGED
from tests.landing.landing_zone import LandingZone, named

REWRITTEN = "it says something else than when it was taken"


def replace(file: Path, content: bytes) -> None:
    """As `rsync -t`: a new file with the old one's time in its place."""
    before, copy = file.stat(), file.with_name(".copy")
    copy.write_bytes(content)
    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
    copy.rename(file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def overwrite(file: Path, content: bytes) -> None:
    """As `cp -p`: in place."""
    before = file.stat()
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("replace_by", [replace, overwrite])
@pytest.mark.parametrize("consumed", [None, 1], ids=["before bronze has read it", "later"])
def test_a_file_that_was_replaced_at_its_size_and_time_is_named_once(
    zone: LandingZone, replace_by: Callable[[Path, bytes], None], consumed: int | None
) -> None:
    file = zone.land("a.json", b'{"a":1}')
    zone.register()
    replace_by(file, b'{"a":2}')

    found, again = zone.register(consumed=consumed), zone.register(consumed=consumed)

    assert named(found.refused)["a.json"].startswith(REWRITTEN)
    assert named(found.unread) == ({"a.json": CHANGED} if consumed is None else {})
    assert again.refused == ()


def test_its_new_content_is_taken_where_the_source_takes_changes(zone: LandingZone) -> None:
    file = zone.land("a.json", b'{"a":1}')
    zone.register(changed="take")
    replace(file, b'{"a":2}')

    assert zone.register(changed="take").taken == 1


def test_a_folder_on_a_copied_disk_has_the_same_files(zone: LandingZone) -> None:
    folder = zone.land("a.json", b'{"a":1}').parent
    zone.land("b.json", b'{"b":1}')
    zone.register()
    shutil.copytree(folder, folder.with_name("copy"))  # with their times, as new files
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)

    found = zone.register()

    assert (found.taken, found.refused, found.unread) == (0, (), ())
    assert zone.register(consumed=1) == found
    assert [verdict for *_, verdict in zone.arrivals("path", "verdict")] == [
        "taken",
        "taken",
        "touched",
        "touched",
    ]


def test_arrivals_from_before_files_had_tags_know_files_that_were_not_changed_since(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, replaced = zone.land("kept.json", b'{"a":1}'), zone.land("replaced.json", b'{"a":1}')
    with monkeypatch.context() as older:
        older.setattr(
            arrivals_schema,
            "ARRIVALS",
            arrivals_schema.ARRIVALS.remove(arrivals_schema.ARRIVALS.get_field_index("tag")),
        )
        zone.register(at=after(kept, replaced))
    assert zone.register(at=after(kept, replaced)).refused == ()
    assert len(zone.arrivals("path")) == 2

    while after(kept, replace_now(replaced)) == after(kept):  # until the clock of the disk has moved
        pass

    assert list(named(zone.register().refused)) == ["replaced.json"]


def replace_now(file: Path) -> Path:
    replace(file, b'{"a":2}')
    return file


def after(*files: Path) -> datetime:
    """The newest time at which one of them was changed in any way."""
    return max(file_time(file.stat().st_ctime_ns) for file in files)
