"""The summaries of versions that delta-rs wrote, as Spark takes them."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from spark_jobs.lake import delta_commit
from spark_jobs.lake.delta_commit import create_table, write_checksum
from spark_jobs.lake.upkeep import compact_files
from tests.lake.questions import counting

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
WIDER = SCHEMA.replace("]}", ',{"name":"note","type":"string","nullable":true,"metadata":{}}]}')


def summary(path: Path, version: int) -> dict[str, object]:
    found: dict[str, object] = json.loads((path / "_delta_log" / f"{version:020}.crc").read_text())
    return found


def append(path: Path, *ids: int) -> None:
    write_deltalake(path, pa.table({"id": list(ids)}), mode="append", schema_mode="merge")


def test_a_summary_follows_the_commits_whoever_made_them(tmp_path: Path) -> None:
    table = tmp_path / "table"
    create_table(str(table), SCHEMA, {})
    for number in range(3):
        append(table, number)  # a crash may have left two of them without a summary
    write_checksum(str(table))
    create_table(str(table), WIDER, {})
    compact_files(str(table))

    last = summary(table, 5)
    sizes = DeltaTable(table).get_add_actions(flatten=True).column("size_bytes").to_pylist()

    assert [version for version in range(6) if (table / "_delta_log" / f"{version:020}.crc").exists()] == [
        0,
        3,
        4,
        5,
    ]
    assert (summary(table, 3)["numFiles"], last["numFiles"], last["tableSizeBytes"]) == (3, 1, sum(sizes))
    assert '"note"' not in str(summary(table, 3)["metadata"])
    assert '"note"' in str(last["metadata"])


def test_no_summary_is_written_where_the_log_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far, gone = tmp_path / "far", tmp_path / "gone"
    for table in (far, gone):
        for number in range(3):
            append(table, number)
    (gone / "_delta_log" / f"{1:020}.json").write_text('{"remove":{"path":"a","dataChange":true}}')
    monkeypatch.setattr(delta_commit, "MOST_COMMITS", 2)
    write_checksum(str(far))
    monkeypatch.undo()
    write_checksum(str(gone))

    assert not list(far.glob("_delta_log/*.crc"))
    assert not list(gone.glob("_delta_log/*.crc"))


@pytest.mark.spark
def test_spark_opens_a_version_of_delta_rs_without_a_job_and_finds_its_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "table")
    create_table(path, SCHEMA, {})
    append(tmp_path / "table", 1, 2)
    write_checksum(path)

    with counting(spark) as asked:
        rows = spark.readStream.format("delta").load(path)

    assert rows.columns == ["id"]
    assert (asked.executions, asked.jobs) == (0, 0)
    assert sorted(row["id"] for row in spark.read.format("delta").load(path).collect()) == [1, 2]
    delta = spark.sparkContext._jvm.org.apache.spark.sql.delta  # type: ignore[union-attr]
    snapshot = delta.DeltaLog.forTable(spark._jsparkSession, path).unsafeVolatileSnapshot()
    assert (snapshot.version(), snapshot.checksumOpt().isDefined()) == (1, True)
    # against what Spark computes from the log
    assert snapshot.validateChecksum(getattr(snapshot, "validateChecksum$default$1")())
