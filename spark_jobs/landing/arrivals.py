"""The arrivals table of a source: one row per file and decision, one commit and one data file per chunk,
which is cut at a number of files or bytes.

The bronze stream takes a data file per micro-batch, so a chunk is a batch, fixed for ever, whatever is
killed. The chunk's number is the version of its commit. A row with an empty path is a close mark: what had
arrived before it counts as complete.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from deltalake import Schema

from spark_jobs.lake.delta_commit import append_once, write_checksum
from spark_jobs.lake.delta_table import DeltaTable, options_of, read_rows
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.upkeep import checkpoint_log, compact_files, measure_files
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.packing import estimate_unpacked

TAKEN, TOUCHED, REFUSED, REPEATED, CLOSED = "taken", "touched", "refused", "repeated", "closed"
DISCARDED = "discarded"
"""A person decided not to take the file: nobody is told of it any more. `weir take` takes it anyway."""

MOST_FILES = 20
"""Small data files of an arrivals table at which they are put together: an increment reads them all, several
times.
"""

Row = dict[str, Any]


def read_arrivals(table: str, columns: list[str] | None = None) -> list[Row]:
    """The rows of an arrivals table, those of the first chunk first; none where nothing has arrived."""
    rows = read_rows(table, columns)
    return sorted(rows, key=lambda row: row["chunk"]) if columns is None or "chunk" in columns else rows


def append_chunks(feed: Feed, rows: list[Row], arrived_at: datetime) -> int:
    """Append the rows, chunk by chunk; gives the number of the last chunk."""
    chunks = [append_chunk(feed, part, arrived_at) for part in cut_chunks(rows, *feed.files.batch_limits)]
    return chunks[-1] if chunks else DeltaTable(feed.arrivals).version()


def append_chunk(feed: Feed, rows: list[Row], arrived_at: datetime) -> int:
    """Append the rows as one chunk, and give its number."""
    import pyarrow as pa  # with pandas it takes half a second: not for a run with nothing to do

    from spark_jobs.landing.arrivals_schema import ARRIVALS

    table = feed.arrivals
    reach("arrivals.before", feed.table)
    feed.guard()
    if not DeltaTable.is_deltatable(table):
        DeltaTable.create(
            table,
            schema=Schema.from_arrow(ARRIVALS),
            configuration={"delta.appendOnly": "true"},
            storage_options=options_of(table),
        )
        write_checksum(table)
    chunk = DeltaTable(table).version() + 1
    filled = [{**row, "chunk": chunk, "arrived_at": arrived_at} for row in rows]
    new = pa.Table.from_pylist(filled, schema=ARRIVALS)
    # Tables that were made before objects had a tag get the column now.
    options = {"schema_mode": "merge", "storage_options": options_of(table)}
    append_once(table, new, f"weir/{feed.pipeline}/{feed.table}/arrivals", chunk, **options)
    write_checksum(table)
    reach("arrivals.after", feed.table)
    return chunk


def compact_arrivals(feed: Feed) -> None:
    """Write many small chunks as one data file. Not while bronze has yet to begin with one of them: its batch
    would be all of the file.
    """
    table = feed.arrivals
    if not DeltaTable.is_deltatable(table) or measure_files(table).small < MOST_FILES:
        return
    reach("upkeep.before", f"arrivals.{feed.name}", "compact")
    feed.guard()
    compact_files(table)
    checkpoint_log(table)
    reach("upkeep.after", f"arrivals.{feed.name}", "compact")


def cut_chunks(rows: list[Row], most_files: int, most_bytes: int | None) -> Iterator[list[Row]]:
    """The rows in their order, in parts of so many files or bytes to read, whichever comes first; a larger
    file is a part of its own.

    A row about a file that brings no record (touched, refused) goes with the part at hand: it makes no batch
    smaller, and no second one.
    """
    part: list[Row] = []
    files = size = 0
    for row in rows:
        is_taken = row["verdict"] == TAKEN
        to_read = row["size"] - (row["start_byte"] or 0) if is_taken else 0
        is_full = files == most_files or (most_bytes is not None and size + to_read > most_bytes)
        if is_taken and files and is_full:
            yield part
            part, files, size = [], 0, 0
        part.append(row)
        files += is_taken
        size += to_read
    if part:
        yield part


def last_taken_chunk(table: str, ahead: Sequence[Row] = ()) -> int | None:
    """The newest chunk with a file to take: what bronze must have read to be up to date. `ahead` are rows
    that a run is about to add.
    """
    rows = (*read_arrivals(table, ["chunk", "verdict"]), *ahead)
    return max((row["chunk"] for row in rows if row["verdict"] == TAKEN), default=None)


def taken_files(table: str) -> list[Row]:
    """Chunk, path and size of every file that was taken."""
    rows = read_arrivals(table, ["chunk", "path", "size", "verdict", "start_byte"])
    return [row for row in rows if row["verdict"] == TAKEN]


def bytes_after(table: str, chunk: int, file_format: str = "text") -> int:
    """About how many bytes of records the taken files in later chunks than this one hold, from where they are
    new.
    """
    return sum(bytes_to_read(row, file_format) for row in taken_files(table) if row["chunk"] > chunk)


def bytes_to_read(row: Row, file_format: str) -> int:
    """The same of one file; packed and columnar ones hold more than their size."""
    return estimate_unpacked(row["path"], row["size"] - (row["start_byte"] or 0), file_format)


def close_marks(table: str, ahead: Sequence[Row] = ()) -> list[int]:
    """The chunks of the close marks, ascending."""
    rows = (*read_arrivals(table, ["chunk", "verdict"]), *ahead)
    return sorted(row["chunk"] for row in rows if row["verdict"] == CLOSED)


def newest_arrival(table: str, ahead: Sequence[Row] = ()) -> datetime | None:
    """When the last file was taken, or the last close mark set."""
    rows = (*read_arrivals(table, ["arrived_at", "verdict"]), *ahead)
    return max((row["arrived_at"] for row in rows if row["verdict"] in (TAKEN, CLOSED)), default=None)


def last_arrival(table: str, ahead: Sequence[Row] = ()) -> datetime | None:
    """When the newest chunk arrived: by its number, and not by a clock that may have been wrong before it."""
    rows = (*read_arrivals(table, ["arrived_at", "verdict", "chunk"]), *ahead)
    counted = [row for row in rows if row["verdict"] in (TAKEN, CLOSED)]
    last = max(counted, key=lambda row: int(row["chunk"]), default=None)
    return last["arrived_at"] if last else None


def newest_decisions(rows: list[Row]) -> dict[str, Row]:
    """Per path, in the order of paths, what was decided last."""
    newest = {
        row["path"]: row for row in sorted(rows, key=lambda row: row["chunk"]) if row["verdict"] != CLOSED
    }
    return {path: newest[path] for path in sorted(newest)}


def files_not_taken(table: str) -> list[tuple[str, str]]:
    """Per path the newest decision, where it was not to take the file: the path and the reason."""
    newest = newest_decisions(read_arrivals(table, ["chunk", "path", "verdict", "reason"]))
    return [(path, row["reason"]) for path, row in newest.items() if row["verdict"] in (REFUSED, REPEATED)]
