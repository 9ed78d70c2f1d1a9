"""Publishes what was decided of a batch of a silver table: what readers would see, shown to the gate, and
the writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import FAILED_RULES
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.small_writes import Upsert, append, upsert
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.tally import Tally
from spark_jobs.silver.versions import (
    is_newer,
)

ROWS_PER_FILE = 250_000
"""Large loads are written in files of about so many rows, each a span of event time: who asks for a window
then reads few of them.
"""


@dataclass(frozen=True)
class Judgement:
    """The winners of a batch with their verdict, the number of rows per class, of deleted keys that came
    back, and of newer copies of versions that stand and of those that deleted their key.
    """

    rows: DataFrame
    by_class: dict[str, int]
    revived: int = 0
    copies: int = 0
    copies_of_deletes: int = 0


def publish(judgement: Judgement, batch: Batch, table: FactTable, counts: Counts) -> None:
    """Deleted keys are remembered first. New rows alone are appended; a MERGE would read the table for
    nothing.
    """
    judged = judgement.rows
    if counts.deleted or judgement.revived or judgement.copies_of_deletes:
        _remember_deleted(judgement, batch, table, counts)
    if counts.updated or counts.grown != counts.inserted or judgement.copies:
        is_removed = (F.col("_class") == "deleted") & F.col("_is_standing")
        is_copy = F.col("_is_newer_copy") & ~F.col("_is_delete")
        changed = judged.where(F.col("_class").isin("inserted", "updated") | is_removed | is_copy)
        count = counts.inserted + counts.updated + counts.deleted + judgement.copies
        _merge(changed.select(*published_columns(batch, table), "_is_delete"), count, batch, table, counts)
    elif counts.inserted:
        new = judged.where(F.col("_class") == "inserted").select(*published_columns(batch, table))
        append(_by_event_time(new, table, counts), counts.inserted, table.name, batch, counts)


def candidate(judgement: Judgement, tally: Tally, batch: Batch, table: FactTable) -> Candidate:
    """The rows that the batch is about to publish, and the table as it will be with them."""
    changed = judgement.rows.where(F.col("_class").isin("inserted", "updated", "deleted"))
    rows = changed.where(F.col("_class") != "deleted").select(*shown_columns(batch, table))

    def whole() -> DataFrame:
        if not batch.inputs.get(table.name):
            return rows
        standing = batch.read(rows.sparkSession, table.name)
        known = standing.select(*(name for name in rows.columns if name in standing.columns))
        left = without(known, changed, table.key) if table.key else known
        return left.unionByName(rows, allowMissingColumns=True)

    inserted, updated = (judgement.by_class.get(name, 0) for name in ("inserted", "updated"))
    removed = inserted - judgement.by_class["grown"]
    shown = changed.where((F.col("_class") != "deleted") | F.col("_is_standing")).select(
        *shown_columns(batch, table), "_class"
    )
    return Candidate(
        rows,
        inserted + updated,
        whole,
        tally.asked,
        tally.by_rule,
        removes=lambda: removed > 0,
        changes=shown,
    )


def without(standing: DataFrame, changed: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows of a table that a batch leaves as they are."""
    return standing.join(changed.select(*key), on=list(key), how="left_anti").select(*standing.columns)


def shown_columns(batch: Batch, table: FactTable) -> list[Column | str]:
    """What rules may name: all that a row says, and where it came from."""
    event_time = table.decoding.event_time
    event = [F.col(event_time).alias("_event_at")] if event_time else []
    tags = [FAILED_RULES] if table.is_tagged else []
    return [*table.declared, *table.taken, *event, *_origin(batch, table), *tags]


def published_columns(batch: Batch, table: FactTable) -> list[Column | str]:
    return [*shown_columns(batch, table), *(["_seen_until", "_closed_until"] if table.is_watermarked else [])]


def _origin(batch: Batch, table: FactTable) -> list[Column | str]:
    place = dict.fromkeys(["_file", "_file_id", "_line", "_content", *table.ties])
    return ["_arrived_at", F.lit(batch.processed_at).alias("_processed_at"), *place]


def _by_event_time(rows: DataFrame, table: FactTable, counts: Counts) -> DataFrame:
    event_time, files = table.decoding.event_time, counts.inserted // ROWS_PER_FILE
    return rows.repartitionByRange(files + 1, event_time) if event_time and files else rows


def _remember_deleted(judgement: Judgement, batch: Batch, table: FactTable, counts: Counts) -> None:
    """The table of deleted keys holds those whose newest version deletes them: one that
    comes back leaves it.
    """
    identity = dict.fromkeys([*table.key, *(name for name in table.sequence if name in table.declared)])
    is_copy = F.col("_is_newer_copy") & F.col("_is_delete")
    moved = judgement.rows.where(
        (F.col("_class") == "deleted") | ((F.col("_class") == "inserted") & F.col("_was_deleted")) | is_copy
    )
    rows = moved.select(*identity, *_origin(batch, table), "_is_delete")
    values = tuple(name for name in rows.columns if name != "_is_delete")
    how = Upsert(table.key, values, delete_when="NOT new._is_delete", insert_when="new._is_delete")
    upsert(
        rows,
        counts.deleted + judgement.revived + judgement.copies_of_deletes,
        table.deleted,
        how,
        batch,
        counts,
    )


def _merge(changed: DataFrame, count: int, batch: Batch, table: FactTable, counts: Counts) -> None:
    """Write the rows, which were judged already; the guard holds the same order once more at the table
    itself.
    """
    newer = is_newer(table.sequences, table.ties)
    how = Upsert(
        table.key,
        tuple(name for name in changed.columns if name != "_is_delete"),
        delete_when=f"new._is_delete AND {newer}",
        update_when=newer,
        insert_when="NOT new._is_delete",
        compared=(*table.sequence, *table.ties),
        for_spark=table.is_change_feed,
    )
    upsert(changed, count, table.name, how, batch, counts)
