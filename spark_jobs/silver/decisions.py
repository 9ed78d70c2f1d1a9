"""What people decided about rows stays decided when a table is rebuilt: a row that was discarded, or set
aside with its batch, goes back into quarantine as it was, whatever today's rules say of it.
"""

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import SET_ASIDE
from spark_jobs.lake import delta_log, tables
from spark_jobs.lake.selection import DISCARDED, OPEN
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.fact_table import FactTable

PLACE = ("_file_id", "_line", "_element")


def is_decided() -> Column:
    """Of a row in quarantine: a person has put or left it there."""
    was_set_aside = F.exists("reasons", lambda reason: reason["rule"] == SET_ASIDE) & (
        F.coalesce("state", F.lit(OPEN)) == OPEN
    )
    return (F.col("state") == DISCARDED) | was_set_aside


def with_decisions(decoded: DataFrame, batch: Batch, table: FactTable) -> DataFrame:
    """In a rebuild, adds `_state` and gives decided rows the reasons that they had; elsewhere no row was ever
    decided about.
    """
    standing = _standing(decoded, batch, table)
    if standing is None:
        return decoded
    place = [F.col(name.removeprefix("_")).alias(name) for name in PLACE]
    decided = standing.where(is_decided()).select(
        *place, F.col("reasons").alias("_kept"), F.coalesce("state", F.lit(OPEN)).alias("_state")
    )
    joined = decoded.join(F.broadcast(decided), on=list(PLACE), how="left")
    return joined.withColumn("_reasons", F.coalesce("_kept", "_reasons")).select(*decoded.columns, "_state")


def needs_texts(batch: Batch, table: FactTable) -> bool:
    """Whether rows may be set aside that are good in themselves, and so carry no text."""
    return table.may_wait or bool(batch.gate.blocked_for) or bool(batch.lake.staged)


def _standing(decoded: DataFrame, batch: Batch, table: FactTable) -> DataFrame | None:
    """The quarantine that readers see while the table is built beside it."""
    path = replace(batch.lake, staged=frozenset()).table(table.quarantine)
    if not batch.lake.staged or delta_log.table_version(path) is None:
        return None
    rows = tables.read(decoded.sparkSession, path)
    return rows if "state" in rows.columns else None
