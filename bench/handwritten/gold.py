"""Hand-written gold: revenue per hour and city, and what each product sold, recomputed from silver."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from session import Places, read_arguments, start_session


def load_gold(session: SparkSession, places: Places) -> None:
    orders = session.read.format("delta").load(places.table("silver", "orders"))
    lines = session.read.format("delta").load(places.table("silver", "order_lines"))
    _replace(places, "revenue_per_hour", _revenue_per_hour(orders))
    _replace(places, "top_products", _top_products(lines))


def _revenue_per_hour(orders: DataFrame) -> DataFrame:
    return (
        orders.groupBy(F.window("ordered_at", "1 hour").alias("w"), "city")
        .agg(F.count("*").alias("order_count"), F.sum("amount").alias("revenue"))
        .select(
            F.col("w.start").alias("window_start"),
            F.col("w.end").alias("window_end"),
            "city",
            "order_count",
            "revenue",
            F.current_timestamp().alias("_processed_at"),
        )
    )


def _top_products(lines: DataFrame) -> DataFrame:
    return (
        lines.groupBy("sku", "category")
        .agg(
            F.countDistinct("order_id").alias("order_count"),
            F.sum("quantity").alias("quantity"),
            F.sum(F.col("quantity") * F.col("price")).alias("revenue"),
        )
        .select(
            "sku",
            "category",
            "order_count",
            "quantity",
            "revenue",
            F.current_timestamp().alias("_processed_at"),
        )
    )


def _replace(places: Places, name: str, rows: DataFrame) -> None:
    rows.write.format("delta").mode("overwrite").save(places.table("gold", name))


if __name__ == "__main__":
    load_gold(start_session("handwritten gold"), read_arguments(__doc__))
