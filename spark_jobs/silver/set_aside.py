"""Rows that are not published: quarantined, or parked until a member comes. Both are kept with their record,
their place and every reason, so that they can be read again.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import READABLE, rules_version
from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.selection import OPEN, REPLAYED
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.fact_table import SET_ASIDE_DDL, FactTable

REPLAY = "replay"
"""The step in which rows of quarantine are taken through the definition and rules of today."""
NOT_KEPT = "its record was not kept"
SAME_ROW = "old.file_id = new.file_id AND old.line = new.line AND old.element = new.element"


def with_records(rows: DataFrame, records: DataFrame) -> DataFrame:
    """Rows that are good in themselves carry no text: theirs is taken from the records that came."""
    texts = records.where(F.col("_line") > 0).select("_file_id", "_line", F.col("record").alias("_text"))
    joined = rows.join(texts, on=["_file_id", "_line"], how="left")
    return joined.withColumn("_record", F.coalesce("_record", "_text")).select(*rows.columns)


def write_set_aside(rows: DataFrame, longest: int, batch: Batch, table: FactTable, counts: Counts) -> None:
    """Append the batch's quarantined and parked rows; nothing is written where there are none. `longest` is
    the length of a record.
    """
    for name, count, kind in (
        (table.quarantine, counts.quarantined, "quarantined"),
        (table.parked, counts.parked, "parked"),
    ):
        if count:
            tables.create(batch.lake.table(name), SET_ASIDE_DDL, tables.CHANGEABLE, batch.lease.check)
            tables.append_few(
                rows.where(F.col("_class") == kind).select(*_columns(rows, batch)),
                count,
                longest,
                name,
                batch,
                counts,
            )


def move_set_aside(
    changed: DataFrame, classes: Collection[str], batch: Batch, table: FactTable, counts: Counts
) -> None:
    """Bring the tables of these classes to what the rows are now: those that went on leave, those that wait
    for something else say so.

    A row that a person replayed does not leave quarantine: its state says that it went on.
    """
    rows = changed.select("_class", *_columns(changed, batch))
    values: dict[str, str | Column] = {
        f"`{name}`": f"new.`{name}`" for name in rows.columns if name != "_class"
    }
    for name, kind in ((table.quarantine, "quarantined"), (table.parked, "parked")):
        if kind not in classes:
            continue
        tables.create(batch.lake.table(name), SET_ASIDE_DDL, tables.CHANGEABLE, batch.lease.check)
        with tables.merging(rows, name, SAME_ROW, batch, counts) as merge:
            has_left = f"new._class <> '{kind}'"
            if batch.step == REPLAY and kind == "quarantined":
                merge = merge.whenMatchedUpdate(
                    condition=has_left, set={"state": F.lit(REPLAYED), "attempts": "new.attempts"}
                )
            else:
                merge = merge.whenMatchedDelete(condition=has_left)
            merge = merge.whenMatchedUpdate(set=values)
            merge.whenNotMatchedInsert(condition=f"new._class = '{kind}'", values=values).execute()


def as_records(set_aside: DataFrame) -> DataFrame:
    """The records of set-aside rows in the form of bronze, each once, to be decoded again.

    What could not be read when it came cannot be read now: its problem goes with it, or it would be decoded
    into a row of NULLs.
    """
    names = {
        "record": "record",
        "file": "_file",
        "file_id": "_file_id",
        "line": "_line",
        "arrived_at": "_arrived_at",
        "chunk": "_chunk",
        "file_modified_at": "_file_modified_at",
    }
    columns = [F.col(name).alias(alias) for name, alias in names.items()]
    unread = F.get(F.filter("reasons", lambda reason: reason["rule"] == READABLE), F.lit(0))
    problem = F.coalesce(unread["value"], F.when(unread.isNotNull() | F.col("record").isNull(), NOT_KEPT))
    return set_aside.dropDuplicates(["file_id", "line"]).select(*columns, problem.alias("_problem"))


def _columns(rows: DataFrame, batch: Batch) -> list[Column]:
    seen = [_known(rows, f"_{name}", "timestamp") for name in ("seen_until", "closed_until")]
    return [
        F.col("_record").alias("record"),
        F.col("_reasons").alias("reasons"),
        F.col("_file").alias("file"),
        F.col("_file_id").alias("file_id"),
        F.col("_line").alias("line"),
        F.col("_element").alias("element"),
        F.col("_arrived_at").alias("arrived_at"),
        F.col("_chunk").alias("chunk"),
        seen[0].alias("seen_until"),
        seen[1].alias("closed_until"),
        F.lit(batch.processed_at).alias("set_aside_at"),
        F.lit(batch.run_id).alias("run_id"),
        F.lit(batch.number).cast("bigint").alias("batch"),
        F.lit(rules_version(batch.gate.rules) if batch.gate.rules else None).cast("string").alias("rules"),
        F.coalesce(_known(rows, "_first_seen_at", "timestamp"), F.lit(batch.processed_at)).alias(
            "first_seen_at"
        ),
        F.coalesce(_known(rows, "_attempts", "int"), F.lit(0)).alias("attempts"),
        F.coalesce(_known(rows, "_state", "string"), F.lit(OPEN)).alias("state"),
        F.col("_file_modified_at").alias("file_modified_at"),
    ]


def _known(rows: DataFrame, name: str, kind: str) -> Column:
    """A column that only rows have which were set aside before."""
    return F.col(name) if name in rows.columns else F.lit(None).cast(kind)
