"""Rows that are there follow the rules of today. A tag is a function of the row and of the rules alone: a row
gets it when it is published and when a member corrects it; where rules have changed, those rows are
corrected that now say something else.
"""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.expectations import FAILED_RULES, tagging
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.kept import kept
from spark_jobs.lake.small_writes import Upsert, upsert
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.failed_rules import with_failed_rules
from spark_jobs.silver.publish import without

WAS = "_was_failed_rules"


def tag_again(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Correct the published rows whose `_failed_rules` is not what the rules of today say."""
    standing = batch.read(spark, table.name)
    tagged = with_failed_rules(
        standing.withColumnRenamed(FAILED_RULES, WAS), tagging(batch.gate.rules)
    ).withColumn("_processed_at", F.lit(batch.processed_at))
    identity = table.key or ("_file_id", "_line", "_content")
    with kept(tagged.where(~F.col(FAILED_RULES).eqNullSafe(F.col(WAS)))) as differing:
        count = differing.count()
        counts = Counts(rows_in=count, updated=count)
        if count:
            rows = differing.select(*standing.columns)
            batch.gate.judge(
                Candidate(
                    rows, count, lambda: without(standing, rows, identity).unionByName(rows), has_older=True
                )
            )
            values = (FAILED_RULES, "_processed_at")
            corrected = rows.select(*identity, *values).dropDuplicates([*identity])
            upsert(corrected, count, table.name, Upsert(identity, values, insert_when=None), batch, counts)
    return counts
