"""Orders from a topic into bronze (as they came) and silver (typed, the newest version of each), as one would
write it by hand.
"""

import argparse
import os
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from bench.handwritten.session import ROOT, start_session

RECORD = (
    "customer struct<id:bigint,address:struct<city:string>>, payment struct<amount:string,method:string>,"
    " ordered_at string"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--lake", type=Path, required=True)
    arguments = parser.parse_args()
    jars = ",".join(str(jar) for jar in sorted((ROOT / ".envs/jars/kafka").glob("*.jar")))
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {jars} pyspark-shell"
    spark = start_session("by hand")
    bronze, silver = str(arguments.lake / "bronze"), str(arguments.lake / "silver")
    topic = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.servers)
        .option("subscribe", arguments.topic)
    )
    messages = topic.option("startingOffsets", "earliest").option("includeHeaders", "true").load()
    texts = [F.col(name).cast("string").alias(name) for name in ("key", "value")]
    kept = messages.select(
        *texts, "headers", "partition", "offset", "timestamp", F.current_timestamp().alias("ingested_at")
    )
    to_bronze = kept.writeStream.format("delta").option(
        "checkpointLocation", f"{arguments.lake}/checkpoints/bronze"
    )
    to_bronze.trigger(availableNow=True).start(bronze).awaitTermination()
    rows = spark.readStream.format("delta").load(bronze)
    to_silver = rows.writeStream.option("checkpointLocation", f"{arguments.lake}/checkpoints/silver").trigger(
        availableNow=True
    )
    to_silver.foreachBatch(lambda batch, _: upsert(batch, silver)).start().awaitTermination()


def upsert(batch: DataFrame, silver: str) -> None:
    parsed = batch.select(F.from_json("value", RECORD).alias("order"), "key", "offset", "timestamp")
    typed = parsed.select(
        F.col("key").alias("order_id"),
        F.col("order.customer.id").alias("customer_id"),
        F.col("order.customer.address.city").alias("city"),
        F.col("order.payment.amount").cast("decimal(12,2)").alias("amount"),
        F.col("order.payment.method").alias("method"),
        F.col("order.ordered_at").cast("timestamp").alias("ordered_at"),
        F.col("offset").alias("message"),
    )
    newest = Window.partitionBy("order_id").orderBy(F.desc("message"))
    orders = typed.withColumn("_rank", F.row_number().over(newest)).where("_rank = 1").drop("_rank")
    if not DeltaTable.isDeltaTable(batch.sparkSession, silver):
        orders.write.format("delta").save(silver)
        return
    table = DeltaTable.forPath(batch.sparkSession, silver).alias("old")
    merge = table.merge(orders.alias("new"), "old.order_id = new.order_id")
    merge.whenMatchedUpdateAll("new.message > old.message").whenNotMatchedInsertAll().execute()


if __name__ == "__main__":
    main()
