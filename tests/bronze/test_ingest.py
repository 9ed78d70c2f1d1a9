"""A chunk of arrivals becomes bronze rows, read by the driver or by tasks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_jobs.bronze import ingest
from spark_jobs.bronze.ingest import read_by_driver, read_by_tasks
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.layout import Lake
from spark_jobs.landing.arrivals import read_arrivals
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import register_arrivals
from tests.conftest import unguarded

pytestmark = pytest.mark.spark


def test_driver_and_tasks_read_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    source = FileSource.model_validate({"format": "json", "path": "in", "changed": "take"})
    feed = make_feed(Lake(str(tmp_path / "lake"), "shop"), str(tmp_path / "landing"), "in", source, unguarded)
    folder = tmp_path / "landing" / "in"
    folder.mkdir(parents=True)
    for name, content in (
        ("a.json", "1\n2\n"),
        ("a.json", "1\n2\n3\n4\n"),
        ("b c%.json", "5\n"),
        ("gone.json", "6\n"),
    ):
        (folder / name).write_text(content)
        register_arrivals(feed, datetime(2026, 3, 1, tzinfo=UTC))
    (folder / "gone.json").unlink()
    chunk = spark.read.format("delta").load(feed.arrivals).where("chunk > 1")
    files = chunk.toArrow().to_pylist()

    held = read_by_driver(files, source, feed.landing)
    by_tasks = read_by_tasks(chunk, files, source, feed.landing)

    assert held is not None
    by_driver = spark.createDataFrame(held)

    assertDataFrameEqual(by_tasks, by_driver)
    rows = by_driver.select("_file", "_line", "record", "_problem", "_chunk").collect()
    assert sorted(tuple(row) for row in rows) == [
        ("in/a.json", 3, "3", None, 2),
        ("in/a.json", 4, "4", None, 2),
        ("in/b c%.json", 1, "5", None, 3),
        ("in/gone.json", 0, None, "FileNotFoundError: No such file or directory", 4),
    ]


def test_the_driver_takes_no_more_rows_of_a_small_file_than_it_can_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = FileSource.model_validate({"format": "parquet", "path": "in"})
    feed = make_feed(Lake(str(tmp_path / "lake"), "shop"), str(tmp_path / "landing"), "in", source, unguarded)
    folder = tmp_path / "landing" / "in"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1] * 500_000)}), folder / "a.parquet")
    register_arrivals(feed, datetime(2026, 3, 1, tzinfo=UTC))
    files = read_arrivals(feed.arrivals)
    assert files[0]["size"] < 10_000
    taken: list[int] = []

    def watch(*arguments: Any) -> Iterator[pa.RecordBatch]:
        for batch in read_records(*arguments):
            taken.append(len(batch))
            yield batch

    monkeypatch.setattr(ingest, "read_records", watch)

    assert ingest.read_by_driver(files, source, feed.landing) is None
    assert sum(taken) < 250_000
    monkeypatch.setattr(ingest, "ROWS_OF_DRIVER", 2**30)
    rows = ingest.read_by_driver(files, source, feed.landing)
    assert rows is not None
    assert rows.num_rows == 500_000
