"""The tables as they stand in the lake: bronze, from which all is recomputed, and those that are compared
with it. Only reads.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.tables import read
from spark_jobs.verify.judging import Span, spans

RECORDS_DDL = (
    "record string, _file string, _file_id string, _line bigint, _arrived_at timestamp, _chunk bigint,"
    " _problem string"
)
ARRIVALS_DDL = "chunk bigint, arrived_at timestamp, verdict string"
TAKEN, CLOSED = "taken", "closed"


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
