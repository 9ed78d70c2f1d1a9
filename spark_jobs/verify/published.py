"""The tables as they stand in the lake: bronze, from which all is recomputed, and those that are compared
with it. Only reads.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.expectations import SET_ASIDE, Rule, rules_version, tagging
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.tables import read
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.verify.rows import QUARANTINED

RECORDS_DDL = (
    "record string, _file string, _file_id string, _line bigint, _arrived_at timestamp, _chunk bigint,"
    " _problem string, _file_modified_at timestamp"
)
ARRIVALS_DDL = "chunk bigint, arrived_at timestamp, verdict string"
TAKEN, CLOSED = "taken", "closed"

STREAM, RULES = "stream", "rules"
PLACE = ("_file_id", "_line", "_element")

Build = Callable[[DataFrame, tuple[Rule, ...]], DataFrame]
"""Typed rows of records, by these rules for single rows."""


@dataclass(frozen=True)
class Span:
    """The chunks of arrivals after one and up to another (None: without end) were judged by these rules."""

    after: int | None
    until: int | None
    rules: tuple[Rule, ...]

    def holds(self) -> Column:
        chunk = F.col("_chunk")
        is_after = chunk > self.after if self.after is not None else F.lit(True)
        return is_after & (chunk <= self.until) if self.until is not None else is_after


@dataclass(frozen=True)
class Standing:
    """What is there of one pipeline. A table that is not there counts as empty."""

    spark: SparkSession
    lake: Lake

    def has(self, name: str) -> bool:
        """Whether a table is there, by its full name; those of rows set aside are called
        quarantine.silver.orders and the like.
        """
        return table_version(self.lake.table(name)) is not None

    def table(self, name: str) -> DataFrame | None:
        return self._read(self.lake.table(name))

    def other(self, name: str, version: int | None) -> DataFrame:
        """A table of another pipeline at the version that was consumed of it."""
        return read(self.spark, self.lake.table(name), version)

    def records(self, source: str) -> DataFrame:
        found = self._read(self.lake.table(f"bronze.{source}"))
        return self._empty(RECORDS_DDL) if found is None else found

    def rules(self, table: str) -> list[Span]:
        """By which rules the records of a table were judged."""
        ledger = Ledger(self.lake)
        live = ledger.live_definitions()
        return spans(ledger, table, live[table].generation if table in live else 1)

    def tagging(self, table: str, version: str | None) -> tuple[Rule, ...]:
        """The rules of this version by which the rows of a table were tagged last; the newest where it is not
        known.
        """
        noted = [tagging(rules) for _, rules in Verdicts(Ledger(self.lake)).noted(table)]
        same = [rules for rules in noted if (rules_version(rules) if rules else None) == version]
        return (same or noted or [()])[-1]

    def close_marks(self, source: str) -> DataFrame:
        """The chunks at which the feed was declared closed."""
        return self._arrivals(source).where(F.col("verdict") == CLOSED).select("chunk")

    def newest_arrival(self, sources: list[str]) -> str | None:
        """When the last file of any source was taken or a feed was closed, as Spark writes times."""
        found: str | None = None
        for source in sources:
            counted = self._arrivals(source).where(F.col("verdict").isin(TAKEN, CLOSED))
            newest = counted.agg(F.date_format(F.max("arrived_at"), "yyyy-MM-dd HH:mm:ss.SSSSSS")).collect()[
                0
            ][0]
            found = max(filter(None, (found, newest)), default=None)
        return found

    def _arrivals(self, source: str) -> DataFrame:
        found = self._read(self.lake.arrivals(source))
        return self._empty(ARRIVALS_DDL) if found is None else found

    def _read(self, path: str) -> DataFrame | None:
        return None if table_version(path) is None else read(self.spark, path)

    def _empty(self, ddl: str) -> DataFrame:
        return self.spark.createDataFrame([], ddl)


# By which rules the records of a table were judged when they came, and what people decided about them
# since: both are taken as recorded.
#
# Rules may change; rows that are there stay as they were judged. A decision of a person is no function of
# the files at all.


def spans(ledger: Ledger, table: str, generation: int) -> list[Span]:
    """The rules of a table over time, oldest first; the last ones hold without end."""
    verdicts, found = Verdicts(ledger), list[tuple[str | None, int | None]]()
    for row in sorted(ledger.batches(table, generation), key=lambda row: int(row["batch"])):
        if row["step"] == STREAM and row["chunk"] is not None:
            intent = ledger.intent((table, STREAM, generation, row["batch"]))
            version = intent.inputs.get(RULES) if intent else None
            # the batches of a first snapshot have no order
            chunk = max(row["chunk"], (found[-1][1] or 0) if found else 0)
            if found and found[-1][0] == version:
                found.pop()
            found.append((version, chunk))
    result, after = list[Span](), None
    for number, (version, chunk) in enumerate(found or [(None, None)]):
        rules = (
            tuple(rule for rule in verdicts.rules(table, version) if rule.on_fail == "quarantine")
            if version
            else ()
        )
        until = chunk if number < len(found) - 1 else None
        result.append(Span(after, until, rules))
        after = until
    return result


def judged_rows(
    records: DataFrame, build: Build, rules: list[Span], quarantine: DataFrame | None
) -> DataFrame:
    """The typed rows of a table: each by the rules of its time, or as a person decided."""
    frames = [build(records.where(span.holds()), span.rules) for span in rules]
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.unionByName(frame)
    if quarantine is None or "state" not in quarantine.columns:
        return rows
    is_replayed = F.col("state") == "replayed"
    # mostly so, and what follows decodes the records a second time
    if quarantine.where(is_replayed | _is_by_hand()).isEmpty():
        return rows
    place = [F.col(name.removeprefix("_")).alias(name) for name in PLACE]
    passed = quarantine.where(is_replayed).select(*place)
    again = build(
        records.join(
            passed.select("_file_id", "_line").distinct(), on=["_file_id", "_line"], how="left_semi"
        ),
        (),
    )
    rows = rows.join(passed, on=list(PLACE), how="left_anti").unionByName(
        again.join(passed, on=list(PLACE), how="left_semi")
    )
    names = F.transform("reasons", lambda reason: reason["rule"])
    return _as_decided(rows, quarantine.where(_is_by_hand()).select(*place, names.alias("_named")))


def _is_by_hand() -> Column:
    """Discarded, set aside with its batch, or looked at again since it came."""
    was_set_aside = F.exists("reasons", lambda reason: reason["rule"] == SET_ASIDE)
    return (F.col("state") == "discarded") | (
        (F.col("state") == "open") & (was_set_aside | (F.col("attempts") > 0))
    )


def _as_decided(rows: DataFrame, decided: DataFrame) -> DataFrame:
    joined = rows.join(decided, on=list(PLACE), how="left")
    is_decided = F.col("_named").isNotNull()
    changed = {
        "_class": F.when(is_decided, QUARANTINED).otherwise(F.col("_class")),
        "_rules": F.coalesce("_named", "_rules"),
    }
    return joined.select(
        *(changed[name].alias(name) if name in changed else F.col(name) for name in rows.columns)
    )


def with_columns_of(frame: DataFrame, table: DataFrame | None) -> DataFrame:
    """A recomputed table with the columns of the one that stands, in its order: SQL and Python may name them
    all.
    """
    known = {field.name: field.dataType for field in table.schema.fields} if table is not None else {}
    absent = {
        column: kind
        for column, kind in known.items()
        if column.startswith("_") and column not in frame.columns
    }
    full = frame.withColumns({column: F.lit(None).cast(kind) for column, kind in absent.items()})
    in_order = [column for column in known if column in full.columns]
    return full.select(*in_order, *(column for column in full.columns if column not in in_order))
