"""Every table of a pipeline, recomputed from bronze as one plain batch query. Nothing is computed before a
frame is asked for its rows.

A table of another pipeline is taken as it stands, at the version that was consumed of it: what it should be
is for its own pipeline's verification to say.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import FAILED_RULES
from spark_jobs.config.files import read_text
from spark_jobs.config.gold import Gold
from spark_jobs.config.lookups import Lookup, in_order
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.table_name import TableName
from spark_jobs.gold.functions import compute_python, compute_sql
from spark_jobs.silver.failed_rules import with_failed_rules
from spark_jobs.verify import gold_rows, rows, snapshots
from spark_jobs.verify.members import Membership, with_members, with_taken
from spark_jobs.verify.published import Standing, judged_rows, with_columns_of

ANSI = "spark.sql.ansi.enabled"
ORIGIN = ("_arrived_at", "_processed_at", "_file", "_file_id", "_line", "_content")
PLACE = ("file_id", "line", "element")
"""Where a row that was set aside came from."""
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for the processing time, which is not compared."""


@dataclass
class Recomputation:
    """The recomputed tables by their full names. Frames that several tables read are kept until `release`."""

    pipeline: Pipeline
    conf: Path
    standing: Standing
    inputs: dict[str, tuple[str, ...]]
    consumed: dict[str, dict[str, Any]] = field(default_factory=dict)
    _tables: dict[str, DataFrame] = field(default_factory=dict)
    _judged: dict[str, DataFrame] = field(default_factory=dict)
    _seen: dict[str, DataFrame] = field(default_factory=dict)
    _kept: list[DataFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        # As a batch of silver has it, in which no row stops the others. Gold is built strictly: see
        # `_strict`.
        self.standing.spark.conf.set(ANSI, "false")

    def table(self, name: str) -> DataFrame:
        if name not in self._tables:
            layer, short = TableName(name).parts
            build = {"dimension": self._dimension, "silver": self._silver, "gold": self._gold}[layer]
            frame = build(short)
            is_read_again = any(name in inputs for inputs in self.inputs.values())
            self._tables[name] = self._keep(frame) if is_read_again else frame
        return self._tables[name]

    def judged(self, name: str) -> DataFrame:
        """All rows of a dimension or silver table with their classes, before versions compete."""
        if name not in self._judged:
            layer, short = TableName(name).parts
            build = self._judged_dimension if layer == "dimension" else self._judged_silver
            self._judged[name] = self._keep(build(short))
        return self._judged[name]

    def quarantined(self, name: str) -> DataFrame:
        bad = self.judged(name).where(F.col("_class") == rows.QUARANTINED)
        return _places(bad).withColumn("rules", F.array_join(F.array_sort("_rules"), ", ")).drop("_rules")

    def parked(self, name: str) -> DataFrame:
        return _places(self.judged(name).where(F.col("_class") == rows.PARKED)).drop("_rules")

    def deleted(self, name: str) -> DataFrame:
        """The keys whose newest version is a delete, and its sequence; of a history all that end a member."""
        layer, short = TableName(name).parts
        table = self.pipeline.dimensions[short] if layer == "dimension" else self.pipeline.silver[short]
        gone = self._versions(name, table).where(F.col("_class") == rows.DELETE)
        if isinstance(table, Dimension) and table.snapshot and table.history == "scd1":
            newest = snapshots.is_current(self._versions(name, table), table)
            gone = newest.where(~F.col("_is_current"))
        return gone.select(*dict.fromkeys(rows.version_columns(table)))

    def late(self, name: str) -> DataFrame:
        gold = self.pipeline.gold[TableName(name).name]
        silver = self._input(name, str(gold.from_))
        with self._strict():
            return gold_rows.late_rows(silver, gold, self.window_column(gold))

    def is_beyond(self, name: str) -> bool:
        """Whether a table stands that nothing but its own state store can give."""
        layer, short = TableName(name).parts
        return layer == "gold" and self.pipeline.gold[short].state is not None and self.standing.has(name)

    def window_column(self, gold: Gold) -> str:
        """The window's own column, else the event time."""
        if gold.reads_gold:
            return (gold.window.column if gold.window else None) or "window_start"
        silver = self.pipeline.silver_named(gold.from_)
        event = silver.event_time if silver else None
        return (gold.window.column if gold.window else None) or (event.column if event else "")

    def release(self) -> None:
        for frame in self._kept:
            frame.unpersist()

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame.persist())
        return frame

    def _judged_dimension(self, name: str) -> DataFrame:
        dimension = self.pipeline.dimensions[name]
        return self._typed(
            f"dimension.{name}",
            dimension.from_,
            partial(rows.dimension_rows, pipeline=self.pipeline, dimension=dimension),
        )

    def _dimension(self, name: str) -> DataFrame:
        dimension = self.pipeline.dimensions[name]
        if dimension.history == "scd1":
            newest = self._versions(f"dimension.{name}", dimension)
            found, history = newest.where(F.col("_class") == rows.CANDIDATE), []
            if dimension.snapshot:
                found = snapshots.is_current(newest, dimension).where("_is_current")
        elif dimension.snapshot:
            history, at = ["_valid_from", "_valid_to"], dimension.sequence[0]
            winners = self._versions(f"dimension.{name}", dimension)
            attributes = [c for c in dimension.columns if c not in (*dimension.key, at)]
            said = rows.what_is_said(winners, attributes)
            found = snapshots.intervals(winners, said, dimension.key, at, dimension)
        else:
            is_version = F.col("_class").isin(rows.CANDIDATE, rows.DELETE)
            versions = self.judged(f"dimension.{name}").where(is_version)
            ties = rows.ties_of(dimension, self.pipeline.sources[dimension.from_])
            found = rows.intervals(versions, dimension.key, dimension.sequence, list(dimension.columns), ties)
            history = ["_valid_from", "_valid_to"]
        for other in in_order(dimension.lookup, dimension.columns):
            found = with_taken(found, self._membership(other, dimension.lookup[other]))
        taken = [column for lookup in dimension.lookup.values() for column in lookup.taken]
        return _unprocessed(found).select(*dimension.columns, *taken, *history, *ORIGIN)

    def _membership(self, name: str, lookup: Lookup) -> Membership:
        dimension, table = self.pipeline.dimensions[name], f"dimension.{name}"
        ended = self.deleted(table) if dimension.has_ends else None
        return Membership(name, lookup, dimension, self.table(table), ended)

    def _judged_silver(self, name: str) -> DataFrame:
        silver = self.pipeline.silver[name]
        typed = self._typed(
            f"silver.{name}", silver.from_, partial(rows.silver_rows, pipeline=self.pipeline, silver=silver)
        )
        memberships = [
            self._membership(dimension, silver.lookup[dimension])
            for dimension in in_order(silver.lookup, silver.columns)
        ]
        gives_up = any(lookup.give_up_after for lookup in silver.lookup.values())
        newest_arrival = self.standing.newest_arrival(list(self.pipeline.sources)) if gives_up else None
        return with_members(
            typed, memberships, silver.event_time.column if silver.event_time else None, newest_arrival
        )

    def _typed(self, table: str, source: str, build: Callable[..., DataFrame]) -> DataFrame:
        quarantine, judged_by = self.standing.table(f"quarantine.{table}"), self.standing.rules(table)
        records = self.standing.records(source)
        return judged_rows(records, lambda frame, rules: build(frame, rules=rules), judged_by, quarantine)

    def _silver(self, name: str) -> DataFrame:
        silver = self.pipeline.silver[name]
        published = self._versions(f"silver.{name}", silver).where(F.col("_class") == rows.CANDIDATE)
        taken = [column for lookup in silver.lookup.values() for column in lookup.taken]
        event = [F.col(silver.event_time.column).alias("_event_at")] if silver.event_time else []
        seen_until = ["_seen_until", "_closed_until"] if self.pipeline.is_watermarked(name) else []
        found = _unprocessed(published).select(*silver.columns, *taken, *event, *ORIGIN, *seen_until)
        return self._tagged(found, f"silver.{name}")

    def _tagged(self, found: DataFrame, table: str) -> DataFrame:
        """Rows name the rules that they fail where the table has the column for it."""
        standing = self.standing.table(table)
        known = self.pipeline.tagging(table) if standing is None else FAILED_RULES in standing.columns
        version = self.consumed.get(table, {}).get("tagging")
        return with_failed_rules(found, self.standing.tagging(table, version)) if known else found

    def _versions(self, name: str, table: Silver | Dimension) -> DataFrame:
        """The newest version of every key, deletes included; of a history that of every time; without a key
        every row.
        """
        versions = self.judged(name).where(F.col("_class").isin(rows.CANDIDATE, rows.DELETE))
        if isinstance(table, Silver) and self.pipeline.is_watermarked(TableName(name).name):
            versions = gold_rows.with_seen(versions, self._seen_by_file(name, table))
        if not table.key:
            return versions
        ties = rows.ties_of(table, self.pipeline.sources[table.from_])
        if isinstance(table, Dimension) and table.history == "scd2":
            return rows.winners_by_time(versions, table.key, table.sequence, ties)
        return rows.newest_versions(versions, table.key, table.sequence, ties)

    def _seen_by_file(self, name: str, silver: Silver) -> DataFrame:
        """Every row that fits its columns has been seen, whatever became of it by rules, decisions, versions
        or for want of a member.
        """
        if name not in self._seen:
            assert silver.event_time is not None
            marks = self.standing.close_marks(silver.from_)
            is_stream = self.pipeline.sources[silver.from_].is_stream
            found = gold_rows.seen_by_file(
                self.judged(name), silver.event_time.column, marks, is_stream=is_stream
            )
            self._seen[name] = self._keep(found)
        return self._seen[name]

    def _gold(self, name: str) -> DataFrame:
        gold, spark = self.pipeline.gold[name], self.standing.spark
        inputs = {table: self._input(f"gold.{name}", table) for table in self.inputs[f"gold.{name}"]}
        with self._strict():
            if gold.sql:
                return compute_sql(spark, read_text(self.conf / gold.sql), inputs, NEVER)
            if gold.python:
                return compute_python(gold.python, self.conf, [inputs[table] for table in gold.inputs], NEVER)
            if gold.is_native:
                return self._native(name, gold, inputs)
            source = str(gold.from_)
            progress = self._progress(name, gold) if gold.watermark and gold.mode == "append" else None
            return gold_rows.aggregate(inputs[source], gold, self.window_column(gold), progress)

    def _native(self, name: str, gold: Gold, inputs: dict[str, DataFrame]) -> DataFrame:
        standing, late = self.standing.table(f"gold.{name}"), self.standing.table(f"late.gold.{name}")
        rows = {
            table: gold_rows.on_time(frame.where(gold.where or "true"), late, table)
            for table, frame in inputs.items()
        }
        if gold.join is not None:
            sides = [side.from_ for side in gold.join.sides.values()]
            newest = [gold_rows.newest_of(inputs[table]) for table in sides]
            left, right = (rows[table] for table in sides)
            return gold_rows.join_rows(
                gold.join, left, right, standing, gold_rows.watermark_of(gold.join, newest)
            )
        assert gold.dedup is not None
        return gold_rows.dedup_rows(gold.dedup, rows[str(gold.from_)], standing)

    def _progress(self, name: str, gold: Gold) -> DataFrame:
        """How far the feed had come; of another pipeline's feed as far as the ledger says that the table
        knew.
        """
        source = str(gold.from_)
        if other_pipeline(source) is None:
            return gold_rows.progress(
                self._seen_by_file(source, self.pipeline.silver[TableName(source).name])
            )
        until, closed = self.consumed.get(f"gold.{name}", {}).get("watermark") or (None, None)
        known = self.standing.spark.createDataFrame([(until, closed)], "until string, closed string")
        high = F.col("until").cast("timestamp") + F.expr(f"INTERVAL {gold.watermark}")
        return known.select(high.alias("_high"), F.col("closed").cast("timestamp").alias("_closed"))

    def _input(self, table: str, name: str) -> DataFrame:
        if other_pipeline(name) is None:
            return with_columns_of(self.table(name), self.standing.table(name))
        return self.standing.other(name, self.consumed.get(table, {}).get(name))

    @contextmanager
    def _strict(self) -> Iterator[None]:
        """Gold tables follow the rules of ANSI, as they do when they are made: types of expressions depend on
        it.
        """
        spark = self.standing.spark
        spark.conf.set(ANSI, "true")
        try:
            yield
        finally:
            spark.conf.set(ANSI, "false")


def _places(judged: DataFrame) -> DataFrame:
    place = (F.col(f"_{name}").alias(name) for name in PLACE)
    return judged.select(*place, "_rules")


def _unprocessed(found: DataFrame) -> DataFrame:
    return found.withColumn("_processed_at", F.lit(None).cast("timestamp"))
