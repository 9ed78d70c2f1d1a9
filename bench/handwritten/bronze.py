"""Hand-written bronze: every line of the landed files with its file and times, one Delta table per source."""

from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from session import Places, read_arguments, start_session

DIMENSIONS = {"customers": "customer_id", "products": "sku"}
MAX_CSV_COLUMNS = 8


def load_bronze(session: SparkSession, places: Places) -> None:
    """The sources do not depend on each other, so their queries run at the same time."""
    queries = [_append(_lines(session, places, "orders"), places, "orders")]
    for source, key in DIMENSIONS.items():
        query = _lines(session, places, source).writeStream.foreachBatch(
            partial(_append_csv, places, source, key)
        )
        queries.append(
            query.option("checkpointLocation", places.checkpoint(f"bronze_{source}"))
            .trigger(availableNow=True)
            .start()
        )
    for running in queries:
        running.awaitTermination()


def _lines(session: SparkSession, places: Places, source: str) -> DataFrame:
    return (
        session.readStream.option("maxFileAge", "3650d")
        .text(str(places.landing / "retail" / source))
        .select(
            F.col("value").alias("record"),
            F.col("_metadata.file_path").alias("_file"),
            F.col("_metadata.file_modification_time").alias("_file_modified_at"),
            F.current_timestamp().alias("_arrived_at"),
        )
    )


def _append(lines: DataFrame, places: Places, source: str) -> StreamingQuery:
    writer = lines.writeStream.format("delta").option(
        "checkpointLocation", places.checkpoint(f"bronze_{source}")
    )
    return writer.trigger(availableNow=True).start(places.table("bronze", source))


def _append_csv(places: Places, source: str, key: str, lines: DataFrame, batch: int) -> None:
    """Files order their columns differently: each row becomes a JSON object by the names in the header of its
    file.
    """
    is_header = F.col("record").contains("changed_at") & F.col("record").contains(key)
    headers = lines.where(is_header).select("_file", F.split("record", ",").alias("names"))
    columns = [f"c{at}" for at in range(MAX_CSV_COLUMNS)]
    fields = F.from_csv("record", ", ".join(f"{name} string" for name in columns))
    values = F.slice(F.array(*[fields[name] for name in columns]), F.lit(1), F.size("names"))
    rows = (
        lines.where(~is_header & (F.trim("record") != ""))
        .join(F.broadcast(headers), on="_file", how="inner")
        .select(
            F.to_json(F.map_from_arrays(F.col("names"), values)).alias("record"),
            "_file",
            "_file_modified_at",
            "_arrived_at",
        )
    )
    once = (
        rows.write.format("delta")
        .mode("append")
        .option("txnAppId", f"bronze_{source}")
        .option("txnVersion", batch)
    )
    once.save(places.table("bronze", source))


if __name__ == "__main__":
    load_bronze(start_session("handwritten bronze"), read_arguments(__doc__))
