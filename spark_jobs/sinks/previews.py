"""For people and tests: the first rows of a batch among the lines of a run, and a view in
the run's session.
"""

from collections.abc import Callable, Container

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.sensitive import MASK
from spark_jobs.config.sinks import ConsoleSink, MemorySink
from spark_jobs.config.text import count, plain
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.kept import kept
from spark_jobs.sinks.changes import OPERATION
from spark_jobs.sinks.delivery import Delivery

WIDEST = 30


class MemoryFull(Exception):
    """A view in memory would have more rows than its sink allows."""

    def __init__(self, sink: str, rows: int, limit: int) -> None:
        self.sink, self.rows, self.limit = sink, rows, limit
        super().__init__(
            f"{sink}: its view would have {count(rows, 'row')}, and holds {limit:,}; raise rows, or use to:"
            " files for so many"
        )


def deliver_console(
    delivery: Delivery, sink: ConsoleSink, sensitive: Container[str], say: Callable[[str], None]
) -> tuple[Counts, int | None]:
    """Say the first rows of the batch. Values of sensitive columns are masked, and none can act on a
    terminal.
    """
    with kept(delivery.rows) as changes:
        counts = delivery.counts(changes.count())
        delivery.refuse_deletes(counts)
        hidden = [name for name in delivery.columns if name in sensitive]
        shown = [
            F.lit(MASK).alias(name) if name in hidden else F.col(name).cast("string")
            for name in delivery.columns
        ]
        rows = [row.asDict() for row in changes.select(F.col(OPERATION), *shown).limit(sink.rows).collect()]
        sent = counts.inserted + counts.updated + counts.deleted
        if sent:
            for line in _as_table(delivery.batch.table, ["_operation", *delivery.columns], rows, sent):
                say(line)
    return counts, delivery.tally.version


def _as_table(sink: str, columns: list[str], rows: list[dict[str, str | None]], sent: int) -> list[str]:
    cells = [
        columns,
        *([plain("NULL" if row[name] is None else row[name], WIDEST) for name in columns] for row in rows),
    ]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    lines = [
        f"{sink}  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return [*lines, *([f"{sink}  and {count(sent - len(rows), 'more row')}"] if sent > len(rows) else [])]


def deliver_memory(delivery: Delivery, sink: MemorySink) -> tuple[Counts, int | None]:
    """Replace the view by the whole table, or add the changes to it."""
    spark, view = delivery.rows.sparkSession, view_name(delivery.told.pipeline, delivery.told.sink)
    with kept(delivery.rows) as changes:
        counts = delivery.counts(changes.count())
        delivery.refuse_deletes(counts)
        operation = (
            []
            if delivery.is_whole and sink.mode == "complete"
            else [F.col(OPERATION).alias(sink.operation or OPERATION)]
        )
        wanted = changes.select(*delivery.columns, *operation)
        before = (
            spark.table(f"global_temp.{view}") if not delivery.is_whole and _is_there(spark, view) else None
        )
        count = (
            counts.inserted + counts.updated + counts.deleted + (before.count() if before is not None else 0)
        )
        if count > sink.rows:
            raise MemoryFull(delivery.batch.table, count, sink.rows)
        rows = wanted if before is None else before.unionByName(wanted)
        _in_memory(rows).createOrReplaceGlobalTempView(view)
    return counts, delivery.tally.version


def view_name(pipeline: str, sink: str) -> str:
    return f"{pipeline}__{sink}"


def _is_there(spark: SparkSession, view: str) -> bool:
    return bool(spark.catalog.tableExists(f"global_temp.{view}"))


def _in_memory(rows: DataFrame) -> DataFrame:
    """Rows of their own, which depend on no version of the table."""
    return rows.sparkSession.createDataFrame(rows.collect(), rows.schema)
