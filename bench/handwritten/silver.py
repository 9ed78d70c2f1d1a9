"""Hand-written silver: typed rows, the newest per key, orders with the customer of their time.

Simpler than what Weir promises: rows that do not fit are dropped, and orders are not joined again when their
customer arrives later.
"""

from collections.abc import Callable
from functools import partial
from typing import cast

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType
from session import Places, read_arguments, start_session

ORDER = """
    order_id bigint, ordered_at timestamp, updated_at timestamp, customer_id bigint, status string,
    payment struct<amount: decimal(12,2), method: string>,
    items array<struct<line_no: int, sku: string, quantity: int, price: decimal(10,2)>>
"""
CUSTOMER = "customer_id bigint, city string, segment string, changed_at timestamp"
PRODUCT = "sku string, category string, unit_cost decimal(10,2), changed_at timestamp"

SILVER_TABLES = {
    "products": PRODUCT,
    "customers": f"{CUSTOMER}, _valid_from timestamp, _valid_to timestamp",
    "orders": (
        "order_id bigint, ordered_at timestamp, updated_at timestamp, customer_id bigint, status string,"
        " amount decimal(12,2), method string, is_card boolean, city string, segment string, _processed_at"
        " timestamp"
    ),
    "order_lines": (
        "order_id bigint, line_no int, sku string, quantity int, price decimal(10,2), ordered_at timestamp,"
        " updated_at timestamp, category string, _processed_at timestamp"
    ),
}


def load_silver(session: SparkSession, places: Places) -> None:
    """Dimensions first, since the orders are joined with them."""
    for name, columns in SILVER_TABLES.items():
        schema = cast(StructType, StructType.fromDDL(columns))
        DeltaTable.createIfNotExists(session).location(places.table("silver", name)).addColumns(
            schema
        ).execute()
    dimensions = [
        _stream(session, places, "products", _merge_products),
        _stream(session, places, "customers", _merge_customers),
    ]
    for query in dimensions:
        query.awaitTermination()
    _stream(session, places, "orders", _merge_orders_and_lines).awaitTermination()


def _stream(
    session: SparkSession, places: Places, source: str, merge: Callable[[Places, DataFrame, int], None]
) -> StreamingQuery:
    bronze = session.readStream.format("delta").load(places.table("bronze", source))
    writer = bronze.writeStream.foreachBatch(partial(merge, places)).option(
        "checkpointLocation", places.checkpoint(f"silver_{source}")
    )
    return writer.trigger(availableNow=True).start()


def newest(rows: DataFrame, *key: str, sequence: str) -> DataFrame:
    latest_first = Window.partitionBy(*key).orderBy(F.col(sequence).desc())
    return rows.withColumn("_place", F.row_number().over(latest_first)).where("_place = 1").drop("_place")


def _merge_products(places: Places, batch: DataFrame, _: int) -> None:
    products = _typed(batch, PRODUCT).where("sku IS NOT NULL AND changed_at IS NOT NULL")
    _upsert(
        batch,
        places.table("silver", "products"),
        newest(products, "sku", sequence="changed_at"),
        ["sku"],
        "changed_at",
    )


def _merge_customers(places: Places, batch: DataFrame, _: int) -> None:
    """SCD2: each version from its time to the next one's. A version that arrives late shortens the one before
    it.
    """
    session, path = batch.sparkSession, places.table("silver", "customers")
    incoming = _typed(batch, CUSTOMER).where("customer_id IS NOT NULL AND changed_at IS NOT NULL")
    known = session.read.format("delta").load(path).select(incoming.columns)
    versions = incoming.unionByName(
        known.join(incoming.select("customer_id").distinct(), on="customer_id", how="left_semi")
    )
    in_order = Window.partitionBy("customer_id").orderBy("changed_at")
    history = (
        versions.dropDuplicates(["customer_id", "changed_at"])
        .withColumn("_valid_from", F.col("changed_at"))
        .withColumn("_valid_to", F.lead("changed_at").over(in_order))
    )
    (
        DeltaTable.forPath(session, path).alias("t")
        .merge(history.alias("s"), "t.customer_id = s.customer_id AND t.changed_at = s.changed_at")
        .whenMatchedUpdateAll("NOT (t._valid_to <=> s._valid_to)")
        .whenNotMatchedInsertAll()
        .execute()
    )  # fmt: skip


def _typed(batch: DataFrame, columns: str) -> DataFrame:
    """The fields of a CSV row are texts."""
    texts = batch.select(F.from_json("record", "map<string, string>").alias("r"))
    return texts.select(
        *[
            F.col("r")[name].try_cast(type_).alias(name)
            for name, type_ in (part.split(" ") for part in columns.split(", "))
        ]
    )


def _merge_orders_and_lines(places: Places, batch: DataFrame, _: int) -> None:
    orders = batch.select(F.from_json("record", ORDER).alias("r")).select("r.*").where(_is_usable()).persist()
    _upsert(batch, places.table("silver", "orders"), _orders(places, orders), ["order_id"], "updated_at")
    _upsert(
        batch,
        places.table("silver", "order_lines"),
        _order_lines(places, orders),
        ["order_id", "line_no"],
        "updated_at",
    )
    orders.unpersist()


def _is_usable() -> Column:
    is_known = (
        F.col("order_id").isNotNull() & F.col("ordered_at").isNotNull() & F.col("updated_at").isNotNull()
    )
    return is_known & (F.col("ordered_at") <= F.current_timestamp() + F.expr("INTERVAL 1 DAY"))


def _orders(places: Places, orders: DataFrame) -> DataFrame:
    customers = orders.sparkSession.read.format("delta").load(places.table("silver", "customers")).alias("c")
    latest = newest(orders.drop("items"), "order_id", sequence="updated_at").alias("o")
    is_before_next = F.col("c._valid_to").isNull() | (F.col("o.ordered_at") < F.col("c._valid_to"))
    was_valid = (F.col("o.ordered_at") >= F.col("c._valid_from")) & is_before_next
    return latest.join(customers, on=(F.col("o.customer_id") == F.col("c.customer_id")) & was_valid, how="left").select(
        "o.order_id", "o.ordered_at", "o.updated_at", "o.customer_id", "o.status",
        F.col("o.payment.amount").alias("amount"),
        F.col("o.payment.method").alias("method"),
        (F.col("o.payment.method") == "card").alias("is_card"),
        "c.city", "c.segment",
        F.current_timestamp().alias("_processed_at"),
    )  # fmt: skip


def _order_lines(places: Places, orders: DataFrame) -> DataFrame:
    products = (
        orders.sparkSession.read.format("delta")
        .load(places.table("silver", "products"))
        .select("sku", "category")
    )
    lines = orders.select("order_id", F.explode("items").alias("item"), "ordered_at", "updated_at").select(
        "order_id", "item.*", "ordered_at", "updated_at"
    )
    latest = newest(lines.where("line_no IS NOT NULL"), "order_id", "line_no", sequence="updated_at")
    return latest.join(F.broadcast(products), on="sku", how="left").select(
        "order_id",
        "line_no",
        "sku",
        "quantity",
        "price",
        "ordered_at",
        "updated_at",
        "category",
        F.current_timestamp().alias("_processed_at"),
    )


def _upsert(batch: DataFrame, path: str, rows: DataFrame, key: list[str], sequence: str) -> None:
    same_key = " AND ".join(f"t.{name} = s.{name}" for name in key)
    (
        DeltaTable.forPath(batch.sparkSession, path).alias("t")
        .merge(rows.alias("s"), same_key)
        .whenMatchedUpdateAll(f"s.{sequence} > t.{sequence}")
        .whenNotMatchedInsertAll()
        .execute()
    )  # fmt: skip


if __name__ == "__main__":
    load_silver(start_session("handwritten silver"), read_arguments(__doc__))
