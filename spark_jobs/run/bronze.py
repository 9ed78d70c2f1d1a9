"""The step of a bronze table: its query, and what each of its batches does. The same for a scheduled run and
for one that is always on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.bronze.ingest import BRONZE_DDL, barren_in, find_barren, read_by_driver, read_by_tasks
from spark_jobs.bronze.messages import message_rows, read_schema
from spark_jobs.bronze.rows import added_rows, changed_rows, rate_rows, socket_rows
from spark_jobs.config.files import read_text
from spark_jobs.config.loading import Project
from spark_jobs.config.sensitive import sensitive_paths
from spark_jobs.config.sources import (
    AnySource,
    DeltaSource,
    FileSource,
    KafkaSource,
    RateSource,
    SocketSource,
    StreamSource,
)
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.checkpoints import Checkpoint, read_first_offset, read_offset
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.ledger_batches import STREAM
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.landing.arrivals import TAKEN, read_arrivals
from spark_jobs.landing.broker import read_topic_id
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.streams import Range, broker_settings, count_misplaced, last_tag, register_batch
from spark_jobs.quality.masking import mask_problem
from spark_jobs.run.bronze_writes import append_held_records, append_records, check_appended, tell_drift
from spark_jobs.run.context import Done, RunContext
from spark_jobs.session.jvm_end import note_work

# The bronze step of sources that are no files: Spark's own source gives the batches, and each is registered
# when it begins. What a batch reads stands in Spark's log of offsets before it begins: done again after a
# crash it reads the same, is registered as the same chunk, and its write is skipped if it was there.

LOST = (
    "KAFKA_DATA_LOSS",
    "OffsetOutOfRangeException",
    "failOnDataLoss",
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "DELTA_SOURCE_IGNORE_DELETE",
)


class MessagesLost(Exception):
    """What was not read yet is gone from the source, or was changed there: nothing of the batch is taken."""

    def __init__(self, table: str, place: str, said: str) -> None:
        self.table, self.place = table, place
        super().__init__(
            f"{table}: {place} no longer has all that was to be read ({said}): its retention is shorter than"
            " the time between runs, or it was re-created or changed. What is in bronze stays. Lengthen the"
            " retention; to go on from what is there now, declare a source of another name"
        )


def start_messages(
    run: RunContext, name: str, source: AnySource, trigger: Mapping[str, Any]
) -> streams.Running:
    table = f"bronze.{name}"
    feed = make_feed(run.lake, run.order.project.landing, name, source, run.order.lease.check)
    first = _begin_anew(run, table, feed) if isinstance(source, StreamSource) and source.is_live else None
    checkpoint = run.checkpoint(table, first)
    to_records = _transform(run.order.project, source)
    tag = _check_topic(run, table, feed, source) if isinstance(source, KafkaSource) else None

    def ingest(messages: DataFrame, batch: Batch) -> Done:
        ranges = _ranges(source, checkpoint, batch.number - (first or 0))
        arrivals, arrived_at = register_batch(
            feed, f"{batch.generation}.{batch.number}", ranges, datetime.now(UTC), tag
        )
        path, chunks = run.lake.table(table), {arrivals[0]["chunk"]}
        if not delta_log.has_transaction(path, batch.app_id, batch.number):
            append_records(
                _arrived(to_records(messages, batch.number), arrived_at, arrivals[0]["chunk"]), batch, chunks
            )
        else:
            check_appended(run, batch, chunks)
        if isinstance(source, KafkaSource):
            _check_offsets(batch, arrivals, path)
        tell_drift(run, name, arrivals, batch)
        return delta_log.count_chunks(path, chunks), Seen()

    rows = read_stream(run.new_session(), run.order.project, source)
    running = run.start(rows, table, {}, ingest, trigger=trigger, anew_from=first)
    return replace(running, explain=partial(_explain, table, source.place(run.order.project.landing)))


def _check_topic(run: RunContext, table: str, feed: Feed, source: KafkaSource) -> str | None:
    """The id of the topic. MessagesLost where it is another one than before: its offsets count other
    messages, and Spark would go on from the last one, past all that are before it.
    """
    found, known = read_topic_id(source, broker_settings(run.order.project, source)), last_tag(feed)
    if found and known and found != known:
        raise MessagesLost(
            table, source.place(run.order.project.landing), f"the topic had the id {known}, and has {found}"
        )
    return found


def _begin_anew(run: RunContext, table: str, feed: Feed) -> int:
    """The number of the next batch of a source that keeps nothing. One that a crash has cut cannot be done
    again: it ends as it stands.
    """
    number, path = run.next_number(table, STREAM), run.lake.table(table)
    begun = f"{run.plan.generation(table)}.{number}"
    chunks = {row["chunk"] for row in read_arrivals(feed.arrivals) if row["content_hash"] == begun}
    if not chunks:
        return number
    run.batch(table, STREAM, number, lambda _: (delta_log.count_chunks(path, chunks), Seen()))
    return number + 1


def _check_offsets(batch: Batch, arrivals: list[dict[str, Any]], path: str) -> None:
    """RowsMissing unless the messages of the batch lie within its offsets, each once."""
    found = delta_log.count_places(path, arrivals[0]["chunk"])
    if wrong := count_misplaced(arrivals, found):
        count = sum(rows for rows, *_ in found.values())
        counts = Counts(rows_in=count, inserted=count - sum(wrong.values()))
        raise RowsMissing(
            batch,
            counts,
            "messages are there twice or outside of the offsets that were read, in"
            f" {', '.join(sorted(wrong))}",
        )


def read_stream(spark: SparkSession, project: Project, source: AnySource) -> DataFrame:
    """Spark's own source, from its earliest message on."""
    match source:
        case KafkaSource():
            options = {f"kafka.{name}": value for name, value in broker_settings(project, source).items()}
            options |= {
                "kafka.bootstrap.servers": source.servers,
                "subscribe": source.topic,
                "startingOffsets": "earliest",
            }
            options |= {
                "failOnDataLoss": "true",
                "includeHeaders": "true",
                "kafka.isolation.level": "read_committed",
            }
            return (
                spark.readStream.format("kafka")
                .options(**options, maxOffsetsPerTrigger=source.offsets_per_batch)
                .load()
            )
        case DeltaSource():
            read = streams.read_changes_of_others if source.changes else streams.read_table_of_others
            return read(
                spark, f"{project.landing}/{source.path}", source.files_per_batch, source.bytes_per_batch
            )
        case RateSource():
            return spark.readStream.format("rate").option("rowsPerSecond", source.rows_per_second).load()
        case SocketSource():
            socket = spark.readStream.format("socket").option("host", source.host).option("port", source.port)
            return socket.option("includeTimestamp", "true").load()
    raise TypeError(f"{source.format} is read as files")


def _transform(project: Project, source: AnySource) -> Callable[[DataFrame, int], DataFrame]:
    match source:
        case KafkaSource():
            schema = read_schema(read_text(project.conf / source.schema_)) if source.schema_ else None
            return lambda rows, _: message_rows(rows, source, schema)
        case DeltaSource():
            to_rows = changed_rows if source.changes else added_rows
            return lambda rows, _: to_rows(rows, source, streams.DATA_FILE)
        case RateSource():
            return lambda rows, _: rate_rows(rows)
        case SocketSource():
            return lambda rows, number: socket_rows(rows, source, number)
    raise TypeError(f"{source.format} is read as files")


def _ranges(source: AnySource, checkpoint: Checkpoint, number: int) -> list[Range]:
    """What a batch reads, by Spark's own log."""
    start, end = read_offset(checkpoint, number - 1), read_offset(checkpoint, number)
    match source:
        case KafkaSource():
            before = (start or read_first_offset(checkpoint) or {}).get(source.topic, {})
            places = [
                (f"kafka/{source.topic}/{partition}", before.get(partition, 0), until)
                for partition, until in end[source.topic].items()
            ]
            ranges = [Range(path, first, until) for path, first, until in places if until > first]
            return ranges or [Range(path, first, until) for path, first, until in places[:1]]
        case DeltaSource():
            return [Range(source.path, start["reservoirVersion"] if start else 0, end["reservoirVersion"])]
    return [Range(source.format, start or 0, end)]


def _arrived(records: DataFrame, arrived_at: datetime, chunk: int) -> DataFrame:
    return records.select(
        "record", "_file", "_file_id", "_line", "_file_modified_at", F.lit(arrived_at).alias("_arrived_at"),
        F.lit(chunk).cast("bigint").alias("_chunk"), "_problem",
    )  # fmt: skip


def _explain(table: str, place: str, error: BaseException) -> BaseException:
    said = str(error)
    if not any(mark in said for mark in LOST):
        return error
    line = next((line for line in said.splitlines() if any(mark in line for mark in LOST)), said)
    return MessagesLost(table, place, line.strip()[:300])


def start_bronze(
    run: RunContext, name: str, trigger: Mapping[str, Any] = streams.AVAILABLE_NOW
) -> streams.Running:
    """Start the query of a source by a trigger of Spark's, as in {"processingTime": "10 seconds"}; `wait` on
    what it gives.
    """
    run.create(f"bronze.{name}", BRONZE_DDL, tables.RECORDS)
    source = run.pipeline.sources[name]
    return (
        _start_files(run, name, source, trigger)
        if isinstance(source, FileSource)
        else start_messages(run, name, source, trigger)
    )


def _start_files(
    run: RunContext, name: str, source: FileSource, trigger: Mapping[str, Any]
) -> streams.Running:
    """Files are read by what the arrivals say of them: a chunk of these is a batch."""
    table = f"bronze.{name}"

    def ingest(chunk: DataFrame, batch: Batch) -> Done:
        taken = chunk.where(F.col("verdict") == TAKEN)
        files = taken.toArrow().to_pylist()
        chunks = {file["chunk"] for file in files}
        note_work(table, f"batch {batch.number}: {_named(files)}")
        rows = None
        if files and delta_log.has_transaction(run.lake.table(table), batch.app_id, batch.number):
            check_appended(run, batch, chunks)
        elif files:
            rows = read_by_driver(files, source, run.order.project.landing)
            if rows is None:
                append_records(read_by_tasks(taken, files, source, run.order.project.landing), batch, chunks)
            else:
                append_held_records(rows, chunk.sparkSession, batch, chunks)
        tell_drift(run, name, files, batch)
        counts = delta_log.count_chunks(run.lake.table(table), chunks)
        _note_barren(run, name, files, rows, counts)
        return counts, Seen()

    arrivals = streams.read_rows(
        run.new_session(), run.lake.arrivals(name), files_per_batch=1, checkpoint=run.checkpoint(table)
    )
    return run.start(arrivals, table, {}, ingest, trigger=trigger)


def _note_barren(
    run: RunContext, name: str, files: Sequence[Mapping[str, Any]], rows: pa.Table | None, counts: Counts
) -> None:
    """Files of the batch that brought no record; `rows` are its rows where the driver has them."""
    if not files:
        return
    table, chunks = f"bronze.{name}", {file["chunk"] for file in files}
    if rows is not None:
        unreadable, empty = barren_in(files, [rows])
    else:
        unreadable, empty = find_barren(
            run.lake.table(table), files, chunks, records=counts.inserted, unreadable=counts.quarantined
        )
    hidden = {()} if sensitive_paths(run.pipeline, name) else ()
    run.notices.add_files(
        table, [(path, mask_problem(problem, hidden)) for path, problem in unreadable], empty
    )


def _named(files: Sequence[Mapping[str, Any]]) -> str:
    """The files of a chunk in a few words: the largest is the one to look at first."""
    largest = max(files, key=lambda file: file["size"] or 0, default=None)
    return (
        f"{largest['path']!r}{f' and {len(files) - 1} more' if len(files) > 1 else ''}"
        if largest
        else "no file"
    )
