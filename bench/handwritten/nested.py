"""Hand-written three hops for nested orders in one session: bronze lines, silver upserts with two lookups,
gold per hour recomputed.
"""

from collections.abc import Callable
from functools import partial

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from session import Places, read_arguments, start_session
from silver import newest

SOURCES = ("orders", "customers", "stores")
ITEMS = "array<struct<sku:string,quantity:int,price:decimal(10,2)>>"
ORDER = (
    "order_id bigint, ordered_at timestamp, updated_at timestamp, customer struct<id:bigint,channel:string>,"
    f" store_id int, status string, items {ITEMS}"
)
AMOUNT = (
    "aggregate(items, CAST(0 AS DECIMAL(12,2)), (total, item) -> CAST(total + item.quantity * item.price AS"
    " DECIMAL(12,2)))"
)
TABLES = {
    "customers": "customer_id bigint, segment string, changed_at timestamp",
    "stores": "store_id int, city string, changed_at timestamp",
    "orders": (
        "order_id bigint, ordered_at timestamp, updated_at timestamp, customer_id bigint, channel string,"
        f" store_id int, status string, items {ITEMS}, amount decimal(12,2), segment string, city string,"
        " _processed_at timestamp"
    ),
}
KEYS = {"customers": "customer_id", "stores": "store_id"}


def load_bronze(session: SparkSession, places: Places) -> None:
    queries = [_lines(session, places, source) for source in SOURCES]
    for query in queries:
        query.awaitTermination()


def _lines(session: SparkSession, places: Places, source: str):  # type: ignore[no-untyped-def]
    lines = session.readStream.option("maxFileAge", "3650d").text(str(places.landing / "nested" / source))
    rows = lines.select(
        F.col("value").alias("record"),
        F.col("_metadata.file_path").alias("_file"),
        F.col("_metadata.file_modification_time").alias("_file_modified_at"),
        F.current_timestamp().alias("_arrived_at"),
    )
    writer = rows.writeStream.format("delta").option(
        "checkpointLocation", places.checkpoint(f"bronze_{source}")
    )
    return writer.trigger(availableNow=True).start(places.table("bronze", source))


def load_silver(session: SparkSession, places: Places) -> None:
    for name, columns in TABLES.items():
        made = DeltaTable.createIfNotExists(session).location(places.table("silver", name))
        for column in columns.split(", "):
            made = made.addColumn(*column.split(" ", 1))
        made.execute()
    dimensions = [_stream(session, places, name, partial(_merge_members, name)) for name in KEYS]
    for query in dimensions:
        query.awaitTermination()
    _stream(session, places, "orders", _merge_orders).awaitTermination()


def _stream(
    session: SparkSession, places: Places, source: str, merge: Callable[[Places, DataFrame, int], None]
):  # type: ignore[no-untyped-def]
    bronze = session.readStream.format("delta").load(places.table("bronze", source))
    writer = bronze.writeStream.foreachBatch(partial(merge, places)).option(
        "checkpointLocation", places.checkpoint(f"silver_{source}")
    )
    return writer.trigger(availableNow=True).start()


def _merge_members(name: str, places: Places, batch: DataFrame, _: int) -> None:
    rows = batch.select(F.from_csv("record", TABLES[name], {"mode": "PERMISSIVE"}).alias("r")).select("r.*")
    known = rows.where(F.col(KEYS[name]).isNotNull() & F.col("changed_at").isNotNull())
    _upsert(
        batch,
        places.table("silver", name),
        newest(known, KEYS[name], sequence="changed_at"),
        KEYS[name],
        "changed_at",
    )


def _merge_orders(places: Places, batch: DataFrame, _: int) -> None:
    parsed = batch.select(F.from_json("record", ORDER).alias("r")).select("r.*")
    typed = parsed.where("order_id IS NOT NULL AND ordered_at IS NOT NULL AND updated_at IS NOT NULL").select(
        "order_id",
        "ordered_at",
        "updated_at",
        F.col("customer.id").alias("customer_id"),
        "customer.channel",
        "store_id",
        "status",
        "items",
        F.expr(AMOUNT).alias("amount"),
    )
    rows = newest(typed, "order_id", sequence="updated_at")
    for name, key in KEYS.items():
        members = (
            batch.sparkSession.read.format("delta").load(places.table("silver", name)).drop("changed_at")
        )
        rows = rows.join(F.broadcast(members), on=key, how="left")
    _upsert(
        batch,
        places.table("silver", "orders"),
        rows.withColumn("_processed_at", F.current_timestamp()),
        "order_id",
        "updated_at",
    )


def _upsert(batch: DataFrame, path: str, rows: DataFrame, key: str, sequence: str) -> None:
    (
        DeltaTable.forPath(batch.sparkSession, path).alias("t")
        .merge(rows.alias("s"), f"t.{key} = s.{key}")
        .whenMatchedUpdateAll(f"s.{sequence} > t.{sequence}")
        .whenNotMatchedInsertAll()
        .execute()
    )  # fmt: skip


def load_gold(session: SparkSession, places: Places) -> None:
    orders = session.read.format("delta").load(places.table("silver", "orders"))
    hours = orders.groupBy(F.window("ordered_at", "1 hour").alias("w"), "city").agg(
        F.count("*").alias("order_count"), F.sum("amount").alias("revenue")
    )
    rows = hours.select(
        "w.start", "w.end", "city", "order_count", "revenue", F.current_timestamp().alias("_processed_at")
    )
    rows.write.format("delta").mode("overwrite").save(places.table("gold", "revenue_per_hour"))


if __name__ == "__main__":
    places, session = read_arguments(__doc__), start_session("handwritten nested")
    for load in (load_bronze, load_silver, load_gold):
        load(session, places)
