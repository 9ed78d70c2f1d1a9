"""Python tables of the clickstream pipeline: a function takes the inputs' DataFrames and
returns the table's.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def page_funnel(clicks: DataFrame) -> DataFrame:
    """How many users reached each page, and from how many referrers. One row: one page."""
    return (
        clicks.groupBy("page")
        .agg(
            F.countDistinct("user_id").alias("user_count"),
            F.count("*").alias("click_count"),
            F.countDistinct("referrer").alias("referrer_count"),
        )
        .select("page", "user_count", "click_count", "referrer_count")
    )
