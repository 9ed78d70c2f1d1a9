"""A batch of bronze records into an scd2 dimension: the histories of the keys it names are built anew, and only what differs is written."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch, kept
from spark_jobs.silver import history
from spark_jobs.silver.decode import decode
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.facts import check_records, classify
from spark_jobs.silver.set_aside import write_set_aside
from spark_jobs.silver.tally import count_classes, observe_records, tally_rows


def process_history(records: DataFrame, batch: Batch, table: FactTable) -> Counts:
    """Publish one batch of versions and say what became of them."""
    spark = records.sparkSession
    key, sequence, declared = table.key, str(table.sequence), table.declared
    observed, entered = observe_records(records)
    decoded = classify(decode(observed, table.decoding), batch, table)
    with kept(decoded):
        tally = tally_rows(decoded, table)
        check_records(tally, entered.get["records"], batch)
        candidates = decoded.where(F.col("_class").isNull())
        old = batch.read(spark, table.name).join(candidates.select(*key).distinct(), on=list(key), how="left_semi")
        columns = [*declared, *history.ORIGIN, "_content", "_is_known"]
        incoming = candidates.withColumn("_is_known", F.lit(False)).select(*columns)
        known = history.expand_intervals(old, sequence, declared).select(*columns)
        ranked = history.rank_versions_at(known.unionByName(incoming), key, sequence)
        with kept(ranked):
            marked = history.mark_changes(ranked.where(F.col("_class") == "winner"), key, sequence, declared)
            by_class = _add_up({name: count for name, count in tally.by_class.items() if name}, _classes(ranked, marked))
            changes = history.differences(old, history.build_intervals(marked, key, sequence, declared), key)
            with kept(changes.withColumn("_processed_at", F.lit(batch.processed_at))) as changes:
                actions = {row["_action"]: row["count"] for row in changes.groupBy("_action").count().collect()}
                grown = actions.get("insert", 0) - actions.get("delete", 0)
                counts = Counts(rows_in=tally.rows, **by_class, grown=grown)
                batch.check(counts)
                write_set_aside(decoded, batch, table, counts)
                _publish(changes, set(actions), batch, table, counts)
    return counts


def _classes(ranked: DataFrame, marked: DataFrame) -> dict[str, int]:
    """What became of the incoming versions."""
    losers = ranked.where(~F.col("_is_known") & (F.col("_class") != "winner")).select("_class")
    winners = marked.where(~F.col("_is_known")).select(history.class_of_winner().alias("_class"))
    return count_classes(losers.unionAll(winners))


def _add_up(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in first.keys() | second.keys()}


def _publish(changes: DataFrame, actions: set[str], batch: Batch, table: FactTable, counts: Counts) -> None:
    """New intervals alone are appended; a MERGE would read the table for nothing."""
    if actions <= {"insert"}:
        if actions:
            tables.append(changes.drop("_action"), table.name, batch, counts)
        return
    same_place = " AND ".join(f"old.`{column}` = new.`{column}`" for column in [*table.key, "_valid_from"])
    values: dict[str, str | Column] = {f"`{column}`": f"new.`{column}`" for column in changes.columns if column != "_action"}
    with tables.merging(changes, table.name, same_place, batch, counts) as merge:
        merge = merge.whenMatchedDelete(condition="new._action = 'delete'").whenMatchedUpdate(set=values)
        merge.whenNotMatchedInsert(values=values).execute()
