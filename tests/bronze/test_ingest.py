"""A chunk of arrivals becomes bronze rows, read by the driver or by tasks."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_jobs.bronze import arrived, ingest
from spark_jobs.bronze.ingest import read_chunk
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.layout import Lake
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.registrar import register_arrivals

pytestmark = pytest.mark.spark


def test_driver_and_tasks_read_the_same_rows(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FileSource.model_validate({"format": "json", "path": "in", "changed": "take"})
    feed = make_feed(Lake(str(tmp_path / "lake"), "shop"), str(tmp_path / "landing"), "in", source)
    folder = tmp_path / "landing" / "in"
    folder.mkdir(parents=True)
    for name, content in (("a.json", "1\n2\n"), ("a.json", "1\n2\n3\n4\n"), ("b c%.json", "5\n"), ("gone.json", "6\n")):
        (folder / name).write_text(content)
        register_arrivals(feed, datetime(2026, 3, 1, tzinfo=UTC))
    (folder / "gone.json").unlink()
    chunk = spark.read.format("delta").load(feed.arrivals).where("chunk > 1")
    files = chunk.toArrow().to_pylist()

    with monkeypatch.context() as no_hashing:
        no_hashing.setattr(arrived, "_hash_start", lambda *_: pytest.fail("a file that is as it was is not read twice"))
        by_driver = read_chunk(chunk, files, source, feed.landing)
    monkeypatch.setattr(ingest, "READ_BY_DRIVER", -1)
    by_tasks = read_chunk(chunk, files, source, feed.landing)

    assertDataFrameEqual(by_tasks, by_driver)
    rows = by_driver.select("_file", "_line", "record", "_problem", "_chunk").collect()
    assert sorted(tuple(row) for row in rows) == [
        ("in/a.json", 3, "3", None, 2),
        ("in/a.json", 4, "4", None, 2),
        ("in/b c%.json", 1, "5", None, 3),
        ("in/gone.json", 0, None, "FileNotFoundError: No such file or directory", 4),
    ]
