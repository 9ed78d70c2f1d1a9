"""Tables stay in few files, and a table begins with Delta's own summary of it."""

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.lake import tables
from spark_jobs.landing import arrivals
from spark_jobs.run import context
from tests.conftest import Workshop, unguarded

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: log
sources: {lines: {format: json, path: lines}}
silver: {lines: {from: lines, columns: {n: bigint}}}
"""


def file_counts(workshop: Workshop) -> list[int]:
    root = workshop.root / "lake" / "log"
    return [
        len(DeltaTable(root / table).file_uris())
        for table in ("bronze/lines", "silver/lines", "_weir/arrivals/lines")
    ]


def test_one_batch_in_several_puts_small_files_together(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "COMPACT_EVERY", 3)
    monkeypatch.setattr(arrivals, "MOST_FILES", 2)
    workshop.write("conf/pipelines/log.yml", PIPELINE)

    found = []
    for number in range(3):
        workshop.land(f"lines/{number}.json", f'{{"n":{number}}}\n')
        assert workshop.run("log").exit_code == 0
        found.append(file_counts(workshop))

    # those of the arrivals before a chunk comes that bronze has not read
    assert found == [[1, 1, 1], [2, 2, 2], [1, 1, 2]]
    assert workshop.rows("log.silver.lines", "n") == [(0,), (1,), (2,)]


def test_a_new_table_has_a_checksum_that_delta_finds_right(workshop: Workshop, spark: SparkSession) -> None:
    path = str(workshop.root / "new")

    tables.create(path, "id BIGINT, name STRING", tables.CHANGE_FEED, unguarded)

    jvm = spark._jvm
    assert jvm is not None
    snapshot = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        spark._jsparkSession, path
    ).unsafeVolatileSnapshot()
    assert snapshot.checksumOpt().isDefined()
    assert snapshot.validateChecksum(jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({}))
