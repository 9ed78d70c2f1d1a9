"""Streaming checkpoints: Spark's own progress per table. Looked at before a query starts, because a damaged
one would either fail deep in the engine or, worse, count its batches anew and have them taken for done.

Of its files Spark reads `metadata`, the last two of `offsets` and the last of `commits`; each may have its
checksum beside it.
"""

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from spark_jobs.config.table_name import TableName
from spark_jobs.lake.storage import names_in, read_bytes, read_text

CHECKSUM_HEADER = struct.Struct(">4si")
"""Hadoop's checksum files: a mark, the bytes per checksum, then a CRC-32 for every such block."""


@dataclass(frozen=True)
class Checkpoint:
    """Where Spark keeps how far the query of a table has come."""

    table: str
    path: str


class CheckpointLost(Exception):
    """The checkpoint and the ledger are not of one time: its batches would be taken for
    done, or passed over.
    """

    def __init__(self, table: str, checkpoint: str, why: str) -> None:
        self.table, self.checkpoint = table, checkpoint
        super().__init__(
            f"{table}: its checkpoint {checkpoint} {why}; restore the pipeline's folder as a whole from a"
            f" backup, {_or(table)}"
        )


class CheckpointDamaged(Exception):
    """A file of a checkpoint cannot be read."""

    def __init__(self, table: str, file: str, why: str) -> None:
        self.table, self.file = table, file
        super().__init__(
            f"{table}: {file} of its checkpoint is damaged ({why}); restore the checkpoint from a backup,"
            f" {_or(table)}"
        )


def _or(table: str) -> str:
    if TableName(table).is_bronze:
        return "or load into a new lake"
    return f"or run `weir rebuild` for {table}, which starts a new one"


def check_checkpoint(checkpoint: Checkpoint, last_done: int | None) -> None:
    """CheckpointLost or CheckpointDamaged unless the checkpoint is whole and has come as far as the ledger
    says.
    """
    table, path = checkpoint.table, checkpoint.path
    begun, committed = _numbers(f"{path}/offsets"), _numbers(f"{path}/commits")
    known = "no batch of it" if last_done is None else f"batch {last_done}"
    if last_done is not None and not begun:
        raise CheckpointLost(table, path, f"is gone, but the ledger knows {known}")
    if committed and (last_done is None or max(committed) > last_done):
        raise CheckpointLost(table, path, f"has ended batch {max(committed)}, but the ledger knows {known}")
    if not begun:
        return
    if committed and max(committed) > max(begun):
        raise CheckpointDamaged(table, f"{path}/offsets/{max(committed)}", "it is missing")
    if last_done is not None and max(begun) < last_done:
        raise CheckpointLost(table, path, f"ends at batch {max(begun)}, but the ledger knows {known}")
    _read_log(table, f"{path}/metadata", first=0)
    for number in range(max(0, max(begun) - 1), max(begun) + 1):
        _read_offsets(checkpoint, number)
    if committed:
        _read_log(table, f"{path}/commits/{max(committed)}", first=1)


def next_watermark(checkpoint: Checkpoint) -> int:
    """The watermark of the query's next batch in milliseconds, also of one that was begun: what the last
    ended one has left behind.
    """
    committed = _numbers(f"{checkpoint.path}/commits")
    if not committed:
        return 0
    commit = _read_log(checkpoint.table, f"{checkpoint.path}/commits/{max(committed)}", first=1)
    return int(commit[0]["nextBatchWatermarkMs"])


def read_offset(checkpoint: Checkpoint, number: int) -> Any:
    """What a batch ends before, as its one source wrote it; None for the batch before the first."""
    return _read_offsets(checkpoint, number)[0] if number >= 0 else None


def begun_versions(checkpoint: Checkpoint) -> dict[str, int]:
    """Of a query over Delta tables: the last version of each that a batch reads which was begun and not
    ended, by the tables' ids.
    """
    begun, committed = _numbers(f"{checkpoint.path}/offsets"), _numbers(f"{checkpoint.path}/commits")
    if not begun or max(begun) in committed:
        return {}
    offsets = [offset for offset in _read_offsets(checkpoint, max(begun)) if offset is not None]
    return {
        offset["reservoirId"]: offset["reservoirVersion"] - (1 if offset["index"] < 0 else 0)
        for offset in offsets
    }


def _read_offsets(checkpoint: Checkpoint, number: int) -> list[Any]:
    """Of each source of the query, what the batch ends before; None for one that has given nothing yet."""
    file = f"{checkpoint.path}/offsets/{number}"
    _, *offsets = _read_log(checkpoint.table, file, first=1)
    if not offsets:
        raise CheckpointDamaged(checkpoint.table, file, "it is cut")
    return offsets


def begun_batches(checkpoint: Checkpoint) -> list[int]:
    """The numbers of the batches that were begun, as far as Spark keeps them."""
    return _numbers(f"{checkpoint.path}/offsets")


def read_first_offset(checkpoint: Checkpoint) -> Any:
    """Where the first batch begins, for a source that writes it down."""
    file = f"{checkpoint.path}/sources/0/0"
    try:
        return json.loads("{" + read_text(file).partition("{")[2])
    except FileNotFoundError:
        return None
    except json.JSONDecodeError:
        raise CheckpointDamaged(checkpoint.table, file, "it is not what Spark writes") from None


def _numbers(folder: str) -> list[int]:
    return [int(name) for name in names_in(folder) if name.isdigit()]


def _read_log(table: str, file: str, first: int) -> list[Any]:
    """The lines of JSON that Spark has written, below a line with their version; None for "-", which stands
    for nothing.

    CheckpointDamaged unless it is whole: nobody reads a checkpoint but so.
    """
    try:
        content = read_bytes(file)
        lines = content.decode().splitlines()
        if len(lines) <= first or (first and not lines[0].startswith("v")):
            raise CheckpointDamaged(table, file, "it is cut")
        said = [json.loads(line) if line != "-" else None for line in lines[first:]]
    except FileNotFoundError:
        raise CheckpointDamaged(table, file, "it is missing") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise CheckpointDamaged(table, file, "it is not what Spark writes") from None
    folder, _, name = file.rpartition("/")
    if not _fits_checksum(content, f"{folder}/.{name}.crc"):
        raise CheckpointDamaged(table, file, "its checksum is of another content")
    return said


def _fits_checksum(content: bytes, checksums: str) -> bool:
    """Spark refuses a file that its checksum does not fit, and takes one that has none."""
    try:
        found = read_bytes(checksums)
    except FileNotFoundError:
        return True
    mark, block = CHECKSUM_HEADER.unpack_from(found) if len(found) >= CHECKSUM_HEADER.size else (b"", 0)
    if mark != b"crc\0" or block <= 0:
        return False
    expected = b"".join(
        zlib.crc32(content[start : start + block]).to_bytes(4, "big")
        for start in range(0, len(content), block)
    )
    return found[CHECKSUM_HEADER.size :] == expected
