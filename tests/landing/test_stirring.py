"""What has landed since a look shows in the times of the folders."""

import os
import time
from pathlib import Path

import pytest

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.landing import stirring
from spark_jobs.landing.stirring import Stirring

PIPELINE = Pipeline.model_validate(
    {"pipeline": "shop", "sources": {"sales": {"format": "json", "path": "sales"}}}
)


def land(root: Path, path: str, seconds_ago: float = 10.0) -> None:
    """A file that was written and renamed into its place some time ago."""
    file, new = root / path, root / "new"
    file.parent.mkdir(parents=True, exist_ok=True)
    new.write_text("{}\n")
    new.rename(file)
    for place in (file, file.parent):
        os.utime(place, (time.time(), time.time() - seconds_ago))


def test_a_file_that_lands_is_noticed_in_a_new_folder_as_well(tmp_path: Path) -> None:
    for file in ("sales/1.json", "sales/2024/2.json"):
        folders = Stirring(str(tmp_path), PIPELINE)
        assert not folders.has_landed()

        land(tmp_path, file)

        assert folders.has_landed()
    assert not Stirring(str(tmp_path), PIPELINE).has_landed()


def test_a_file_that_is_being_written_is_left_to_the_next_look(tmp_path: Path) -> None:
    land(tmp_path, "sales/1.json")
    folders = Stirring(str(tmp_path), PIPELINE)

    land(tmp_path, "sales/2.json", seconds_ago=-5)

    assert not folders.has_landed()


def test_very_many_folders_are_left_to_the_next_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stirring, "MOST_FOLDERS", 1)
    land(tmp_path, "sales/2024/1.json")
    folders = Stirring(str(tmp_path), PIPELINE)

    land(tmp_path, "sales/2.json")

    assert not folders.has_landed()


def test_a_landing_zone_elsewhere_is_left_to_the_next_look() -> None:
    assert not Stirring("s3a://lake/landing", PIPELINE).has_landed()
