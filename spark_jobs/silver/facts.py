"""A batch of bronze records into a silver table (or an scd1 dimension): decode, look up, pick the newest versions, publish.

Quarantined rows are written first and the table last: the table's commit carries the counts and is what makes the batch published.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.pipeline import Dimension, Lookup, Pipeline
from spark_jobs.lake import delta_log, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.decode import Decoding, count_rows, decode
from spark_jobs.silver.lookup import look_up
from spark_jobs.silver.quarantine import write_quarantine
from spark_jobs.silver.versions import class_of_decoded, content_hash, judge_winners, rank_versions


@dataclass(frozen=True)
class FactTable:
    """What a batch needs to know of its table."""

    path: str
    quarantine: str
    decoding: Decoding
    key: tuple[str, ...]
    sequence: str | None
    lookups: tuple[tuple[Lookup, Dimension, str], ...] = ()

    @property
    def declared(self) -> list[str]:
        return list(self.decoding.columns)


def silver_table(pipeline: Pipeline, name: str, lake: Lake) -> FactTable:
    table = pipeline.silver[name]
    key, event = tuple(table.key or ()), table.event_time
    ordered = [table.sequence_column] if key and table.sequence_column else []
    decoding = Decoding(
        source_format=pipeline.sources[table.from_].format,
        columns=table.columns,
        explode=table.explode,
        where=table.where,
        required=(*key, *ordered, *([event.column] if event else [])),
        event_time=event.column if event else None,
        future=event.future if event else None,
    )
    lookups = tuple((lookup, pipeline.dimensions[d], lake.table(f"dimension.{d}")) for d, lookup in table.lookup.items())
    full_name = f"silver.{name}"
    return FactTable(lake.table(full_name), lake.quarantine(full_name), decoding, key, table.sequence_column, lookups)


def dimension_table(pipeline: Pipeline, name: str, lake: Lake) -> FactTable:
    dimension = pipeline.dimensions[name]
    decoding = Decoding(
        source_format=pipeline.sources[dimension.from_].format,
        columns=dimension.columns,
        where=dimension.where,
        required=(*dimension.key, dimension.sequence_by),
    )
    full_name = f"dimension.{name}"
    return FactTable(lake.table(full_name), lake.quarantine(full_name), decoding, tuple(dimension.key), dimension.sequence_by)


def process_facts(records: DataFrame, batch: Batch, table: FactTable) -> Counts:
    """Publish one batch and say what became of its rows."""
    spark = records.sparkSession
    rows = enrich(decode(records, table.decoding), table, spark)
    rows = rows.withColumn("_content", content_hash(rows, table.declared)).withColumn("_class", class_of_decoded())
    if not table.key or table.sequence is None:
        rows = rows.withColumn("_class", F.coalesce("_class", F.lit("inserted")))
        with kept(rows):
            by_class = count_classes(rows)
            rows_in = count_rows(records, table.decoding, sum(by_class.values()))
            return _publish(rows, rows, Counts.of_classes(rows_in, by_class), batch, table)
    ranked = rank_versions(rows, table.key, table.sequence)
    with kept(ranked):
        by_class = count_classes(ranked)
        rows_in = count_rows(records, table.decoding, sum(by_class.values()))
        winners = ranked.where(F.col("_class") == "winner")
        winner_count = by_class.pop("winner", 0)
        if not delta_log.table_bytes(table.path):
            judged = winners.withColumn("_class", F.lit("inserted"))
            return _publish(ranked, judged, Counts.of_classes(rows_in, by_class | {"inserted": winner_count}), batch, table)
        judged = judge_winners(winners, tables.read(spark, table.path), table.key, table.sequence, winner_count)
        with kept(judged):
            for name, count in count_classes(judged).items():
                by_class[name] = by_class.get(name, 0) + count
            return _publish(ranked, judged, Counts.of_classes(rows_in, by_class), batch, table)


def enrich(rows: DataFrame, table: FactTable, spark: SparkSession) -> DataFrame:
    for lookup, dimension, path in table.lookups:
        rows = look_up(rows, tables.read(spark, path), lookup, dimension, table.decoding.event_time)
    return rows


def count_classes(rows: DataFrame) -> dict[str, int]:
    return {row["_class"]: row["count"] for row in rows.groupBy("_class").count().collect()}


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows are computed once for all that the block asks of them."""
    rows.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


def _publish(all_rows: DataFrame, judged: DataFrame, counts: Counts, batch: Batch, table: FactTable) -> Counts:
    write_quarantine(all_rows, table.quarantine, batch, counts)
    new = judged.where(F.col("_class").isin("inserted", "updated")).select(*_published_columns(batch, table))
    if counts.updated:
        _merge(new, batch, table, counts)
    elif counts.inserted:
        tables.append(new, table.path, batch, counts)
    return counts


def _published_columns(batch: Batch, table: FactTable) -> list[Column | str]:
    event_time = table.decoding.event_time
    taken = [column for lookup, _, _ in table.lookups for column in lookup.take]
    event = [F.col(event_time).alias("_event_at")] if event_time else []
    origin: list[Column | str] = ["_arrived_at", F.lit(batch.processed_at).alias("_processed_at"), "_file", "_file_id", "_line", "_content"]
    return [*table.declared, *taken, *event, *origin]


def _merge(new: DataFrame, batch: Batch, table: FactTable, counts: Counts) -> None:
    """The rows were judged already; the guard holds the same order once more at the table itself."""
    spark = new.sparkSession
    same_key = " AND ".join(f"old.`{column}` = new.`{column}`" for column in table.key)
    seq = f"`{table.sequence}`"
    is_newer = f"new.{seq} > old.{seq} OR (new.{seq} = old.{seq} AND new._content > old._content)"
    with tables.merge_session(spark, batch, counts):
        merge = tables.target(spark, table.path).merge(new.alias("new"), same_key)
        merge.whenMatchedUpdateAll(condition=is_newer).whenNotMatchedInsertAll().execute()
