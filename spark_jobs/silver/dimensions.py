"""A batch of bronze records into an scd2 dimension: the histories of the keys it names are built anew, and only what differs is written."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch
from spark_jobs.silver import history
from spark_jobs.silver.decode import count_rows, decode
from spark_jobs.silver.facts import FactTable, count_classes, kept
from spark_jobs.silver.quarantine import write_quarantine
from spark_jobs.silver.versions import class_of_decoded, content_hash


def process_history(records: DataFrame, batch: Batch, table: FactTable) -> Counts:
    """Publish one batch of versions and say what became of them."""
    spark = records.sparkSession
    key, sequence, declared = table.key, str(table.sequence), table.declared
    decoded = decode(records, table.decoding)
    decoded = decoded.withColumn("_content", content_hash(decoded, declared)).withColumn("_class", class_of_decoded())
    with kept(decoded):
        candidates = decoded.where(F.col("_class").isNull())
        old = tables.read(spark, table.path).join(candidates.select(*key).distinct(), on=list(key), how="left_semi")
        columns = [*declared, *history.ORIGIN, "_content", "_is_known"]
        incoming = candidates.withColumn("_is_known", F.lit(False)).select(*columns)
        known = history.expand_intervals(old, sequence, declared).select(*columns)
        ranked = history.rank_versions_at(known.unionByName(incoming), key, sequence)
        with kept(ranked):
            marked = history.mark_changes(ranked.where(F.col("_class") == "winner"), key, sequence, declared)
            by_class = _add_up(count_classes(decoded.where(F.col("_class").isNotNull())), _classes(ranked, marked))
            counts = Counts.of_classes(count_rows(records, table.decoding, sum(by_class.values())), by_class)
            changes = history.differences(old, history.build_intervals(marked, key, sequence, declared), key)
            with kept(changes.withColumn("_processed_at", F.lit(batch.processed_at))) as changes:
                write_quarantine(decoded, table.quarantine, batch, counts)
                _publish(changes, batch, table, counts)
    return counts


def _classes(ranked: DataFrame, marked: DataFrame) -> dict[str, int]:
    """What became of the incoming versions."""
    losers = ranked.where(~F.col("_is_known") & (F.col("_class") != "winner")).select("_class")
    winners = marked.where(~F.col("_is_known")).select(history.class_of_winner().alias("_class"))
    return count_classes(losers.unionAll(winners))


def _add_up(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in first.keys() | second.keys()}


def _publish(changes: DataFrame, batch: Batch, table: FactTable, counts: Counts) -> None:
    """New intervals alone are appended; a MERGE would read the table for nothing."""
    spark = changes.sparkSession
    actions = {row["_action"] for row in changes.select("_action").distinct().collect()}
    if actions <= {"insert"}:
        if actions:
            tables.append(changes.drop("_action"), table.path, batch, counts)
        return
    same_place = " AND ".join(f"old.`{column}` = new.`{column}`" for column in [*table.key, "_valid_from"])
    values: dict[str, str | Column] = {f"`{column}`": f"new.`{column}`" for column in changes.columns if column != "_action"}
    with tables.merge_session(spark, batch, counts):
        merge = tables.target(spark, table.path).merge(changes.alias("new"), same_place)
        merge = merge.whenMatchedDelete(condition="new._action = 'delete'").whenMatchedUpdate(set=values)
        merge.whenNotMatchedInsert(values=values).execute()
