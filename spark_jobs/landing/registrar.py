"""Registers landed files as arrivals: one row per file in a Delta table, one commit and one data file per chunk of `files_per_batch`.

The bronze stream takes a data file per micro-batch, so a chunk is a batch, fixed for ever, whatever is killed. The chunk's number
is the version of its commit. A file's id is a hash of its path and content: the same file has the same id in every lake.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema, write_deltalake

from spark_jobs.config.pipeline import Source
from spark_jobs.landing.folder import LandedFile, hash_content, list_files, stat_file

_TIME = pa.timestamp("us", "UTC")
ARRIVALS = pa.schema(
    [("chunk", pa.int64()), ("path", pa.string()), ("size", pa.int64()), ("modified_at", _TIME), ("content_hash", pa.string()),
     ("file_id", pa.string()), ("arrived_at", _TIME), ("verdict", pa.string()), ("reason", pa.string())]
)  # fmt: skip

TAKEN, TOUCHED, REFUSED = "taken", "touched", "refused"
CHANGED = "this path was taken before with other content; land the new content under a new name"
HIDDEN = "names that start with . or _ are taken for unfinished or private files; land it under another name"


@dataclass(frozen=True)
class Arrivals:
    """What a listing found new: files to take, files refused, and files that were still being written."""

    taken: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    waiting: tuple[str, ...] = ()


def register_arrivals(landing: str, source: Source, table: str, arrived_at: datetime) -> Arrivals:
    """List the source's folder and append what is new to its arrivals table."""
    seen = read_arrivals(table, ["path", "size", "modified_at", "content_hash", "verdict"])
    known = {(row["path"], row["size"], row["modified_at"]) for row in seen}
    found = [file for file in list_files(landing, source.path, source.pattern) if (file.path, file.size, file.modified_at) not in known]
    if not found:
        return Arrivals()
    with ThreadPoolExecutor(4) as pool:
        hashed = list(pool.map(lambda file: _hash_if_quiet(landing, file), found))
    taken_hashes = {row["path"]: row["content_hash"] for row in seen if row["verdict"] == TAKEN}
    rows = [_judge(file, content, taken_hashes) for file, content in zip(found, hashed, strict=True) if content is not None]
    _append_chunks(table, rows, source.files_per_batch, arrived_at)
    return Arrivals(
        taken=sum(row["verdict"] == TAKEN for row in rows),
        refused=tuple((row["path"], row["reason"]) for row in rows if row["verdict"] == REFUSED),
        waiting=tuple(file.path for file, content in zip(found, hashed, strict=True) if content is None),
    )


def read_arrivals(table: str, columns: list[str]) -> list[dict[str, Any]]:
    """The rows of an arrivals table; none where nothing has arrived."""
    if not DeltaTable.is_deltatable(table):
        return []
    rows: list[dict[str, Any]] = DeltaTable(table).to_pyarrow_table(columns=columns).to_pylist()
    return rows


def last_taken_chunk(table: str) -> int | None:
    """The newest chunk with a file to take: what bronze must have read to be up to date."""
    return max((row["chunk"] for row in read_arrivals(table, ["chunk", "verdict"]) if row["verdict"] == TAKEN), default=None)


def bytes_after(table: str, chunk: int) -> int:
    """The bytes of the taken files in later chunks than this one."""
    return sum(
        row["size"] for row in read_arrivals(table, ["chunk", "size", "verdict"]) if row["chunk"] > chunk and row["verdict"] == TAKEN
    )


def _hash_if_quiet(landing: str, file: LandedFile) -> str | None:
    """The content's hash, or None where the file changed or vanished while it was read: it waits for the next run."""
    try:
        content = hash_content(landing, file.path)
        return content if stat_file(landing, file.path) == file else None
    except FileNotFoundError:
        return None


def _judge(file: LandedFile, content: str, taken_hashes: dict[str, str]) -> dict[str, Any]:
    """Taken, or touched (a new time, the content as it was taken), or refused with a reason."""
    verdict, reason = TAKEN, None
    if file.path.rsplit("/", 1)[-1].startswith((".", "_")):
        verdict, reason = REFUSED, HIDDEN
    elif file.path in taken_hashes:
        is_same = taken_hashes[file.path] == content
        verdict, reason = (TOUCHED, None) if is_same else (REFUSED, CHANGED)
    file_id = hashlib.sha256(f"{file.path}\0{content}".encode()).hexdigest()[:16]
    row = {"path": file.path, "size": file.size, "modified_at": file.modified_at, "content_hash": content, "file_id": file_id}
    return {**row, "verdict": verdict, "reason": reason}


def _append_chunks(table: str, rows: list[dict[str, Any]], files_per_batch: int, arrived_at: datetime) -> None:
    if not DeltaTable.is_deltatable(table):
        DeltaTable.create(table, schema=Schema.from_arrow(ARRIVALS), configuration={"delta.appendOnly": "true"})
    for start in range(0, len(rows), files_per_batch):
        chunk = DeltaTable(table).version() + 1
        filled = [{**row, "chunk": chunk, "arrived_at": arrived_at} for row in rows[start : start + files_per_batch]]
        write_deltalake(table, pa.Table.from_pylist(filled, schema=ARRIVALS), mode="append")


def close_marks(table: str) -> list[int]:
    """The chunks of the marks that closed the feed's windows, ascending."""
    return sorted(row["chunk"] for row in read_arrivals(table, ["chunk", "verdict"]) if row["verdict"] == "closed")


def newest_arrival(table: str) -> datetime | None:
    """When something last arrived."""
    return max(
        (row["arrived_at"] for row in read_arrivals(table, ["arrived_at", "verdict"]) if row["verdict"] in (TAKEN, "closed")), default=None
    )
