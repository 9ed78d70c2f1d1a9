"""Counting a batch in one job: its rows by class, its records, how far its event times go, and the span of
its keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, Row
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.lake.seen import Seen
from spark_jobs.silver.fact_table import FactTable

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = "TIMESTAMP '0100-01-01'"
"""Event times before it are kept, but have no part in the watermark: Python's calendar ends there."""
RANGED = ("tinyint", "smallint", "int", "bigint", "string")
"""Key types whose least and greatest value can be handed back to Spark as they come."""


@dataclass(frozen=True)
class Tally:
    """`rows` is what the records must give: one row each, or one per element. `highs`: the greatest event
    time before each close mark. `by_rule`: the rows that each rule has set aside. `ties`: the keys of which
    this batch alone has several newest versions.
    """

    by_class: dict[str, int]
    records: int
    rows: int
    high: datetime | None
    highs: dict[int, datetime | None]
    chunk: int | None
    key_range: dict[str, tuple[Any, Any]]
    by_rule: dict[str, int]
    ties: int = 0

    @property
    def asked(self) -> int:
        """The rows that rules were asked about."""
        return sum(count for name, count in self.by_class.items() if name != "filtered")

    def seen(self, before: Seen) -> Seen:
        """What the table has seen with this batch."""
        passed = [mark for mark in self.highs if self.chunk is not None and mark <= self.chunk]
        closed_until = _later(before.high, self.highs[max(passed)]) if passed else before.closed_until
        chunk = self.chunk if self.chunk is not None else before.chunk
        return Seen(_later(before.high, self.high), closed_until, chunk, records=self.records)


def observe_records(records: DataFrame) -> tuple[DataFrame, Observation]:
    """The records of a batch, counted as they pass: what must come out again is known apart from what does.
    And how long the longest is.
    """
    entered = Observation()
    longest = F.coalesce(F.max(F.octet_length("record")), F.lit(0)).alias("longest")
    return (
        records.where(F.col("_line") > 0).observe(entered, F.count(F.lit(1)).alias("records"), longest),
        entered,
    )


def tally_rows(
    rows: DataFrame, table: FactTable, rules: Sequence[Rule] = (), marks: Sequence[int] = ()
) -> Tally:
    """Count the rows, which have `_class`; winners are those that may be published. `rules` are those for
    single rows.
    """
    is_first = F.col("_element") <= 1
    at = F.col(table.decoding.event_time) if table.decoding.event_time else F.lit(None).cast("timestamp")
    is_accepted = (F.col("_is_accepted")) & (at >= F.expr(EARLIEST))
    ranged = ranged_key(table)
    ends = [
        end for name in ranged for end in (F.min(name).alias(f"min_{name}"), F.max(name).alias(f"max_{name}"))
    ]
    found = (
        rows.groupBy("_class")
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.sum(is_first.cast("bigint")).alias("records"),
            F.sum(F.when(is_first, F.col("_elements")).cast("bigint")).alias("rows"),
            _high(at, is_accepted).alias("high"),
            *(_high(at, is_accepted & (F.col("_chunk") < mark)).alias(f"high_{mark}") for mark in marks),
            F.max("_chunk").alias("chunk"),
            F.sum((F.col("_is_tied") if "_is_tied" in rows.columns else F.lit(False)).cast("bigint")).alias(
                "ties"
            ),
            *(
                F.sum(_names(rule).cast("bigint")).alias(f"rule_{number}")
                for number, rule in enumerate(rules)
            ),
            *ends,
        )
        .collect()
    )
    winners = [row for row in found if row["_class"] == "winner"]
    return Tally(
        by_class={row["_class"]: row["count"] for row in found},
        records=sum(row["records"] or 0 for row in found),
        rows=sum(row["rows"] or 0 for row in found),
        high=_greatest(found, "high"),
        highs={mark: _greatest(found, f"high_{mark}") for mark in marks},
        chunk=max((row["chunk"] for row in found if row["chunk"] is not None), default=None),
        by_rule={
            rule.name: sum(row[f"rule_{number}"] or 0 for row in found) for number, rule in enumerate(rules)
        },
        ties=sum(row["ties"] or 0 for row in found),
        key_range={name: (row[f"min_{name}"], row[f"max_{name}"]) for row in winners for name in ranged},
    )


def ranged_key(table: FactTable) -> list[str]:
    """The columns of the key by whose range the versions of the table are searched. Never a sensitive one,
    nor one that is computed from such or matched with it: its least and greatest value would be literals of
    Spark's plans, and so stand in event logs.
    """
    return [
        name for name in table.key if table.decoding.columns[name].type in RANGED and name not in table.hidden
    ]


def count_classes(rows: DataFrame) -> dict[str, int]:
    return {row["_class"]: row["count"] for row in rows.groupBy("_class").count().collect()}


def _names(rule: Rule) -> Column:
    """Whether the reasons of a row name this rule."""
    return F.exists("_reasons", lambda reason: reason["rule"] == rule.name)


def _high(at: Column, when: Column) -> Column:
    return F.unix_micros(F.max(F.when(when, at)))


def _greatest(rows: Sequence[Row], name: str) -> datetime | None:
    micros = max((row[name] for row in rows if row[name] is not None), default=None)
    return EPOCH + timedelta(microseconds=micros) if micros is not None else None


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(filter(None, (one, other)), default=None)
