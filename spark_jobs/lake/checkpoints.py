"""Streaming checkpoints: Spark's own progress per table. Looked at before a query starts, because a damaged one would either fail deep in
the engine or, worse, count its batches anew and have them taken for done.

Of its files Spark reads `metadata`, the last two of `offsets` and the last of `commits`; each may have its checksum beside it.
"""

import json
import struct
import zlib
from typing import Any

from spark_jobs.lake.storage import names_in, read_bytes, read_text

CHECKSUM_HEADER = struct.Struct(">4si")
"""Hadoop's checksum files: a mark, the bytes per checksum, then a CRC-32 for every such block."""


class CheckpointLost(Exception):
    """The checkpoint and the ledger are not of one time: its batches would be taken for done, or passed over."""

    def __init__(self, table: str, checkpoint: str, why: str) -> None:
        self.table, self.checkpoint = table, checkpoint
        super().__init__(
            f"{table}: its checkpoint {checkpoint} {why}; restore the pipeline's folder as a whole from a backup, {_or(table)}"
        )


class CheckpointDamaged(Exception):
    """A file of a checkpoint cannot be read."""

    def __init__(self, table: str, file: str, why: str) -> None:
        self.table, self.file = table, file
        super().__init__(f"{table}: {file} of its checkpoint is damaged ({why}); restore the checkpoint from a backup, {_or(table)}")


def _or(table: str) -> str:
    if table.startswith("bronze."):
        return "or load into a new lake"
    return f"or run `weir rebuild` for {table}, which starts a new one"


def check_checkpoint(table: str, checkpoint: str, last_done: int | None) -> None:
    """CheckpointLost or CheckpointDamaged unless the checkpoint is whole and has come as far as the ledger says."""
    begun, committed = _numbers(f"{checkpoint}/offsets"), _numbers(f"{checkpoint}/commits")
    known = "no batch of it" if last_done is None else f"batch {last_done}"
    if last_done is not None and not begun:
        raise CheckpointLost(table, checkpoint, f"is gone, but the ledger knows {known}")
    if committed and (last_done is None or max(committed) > last_done):
        raise CheckpointLost(table, checkpoint, f"has ended batch {max(committed)}, but the ledger knows {known}")
    if not begun:
        return
    if committed and max(committed) > max(begun):
        raise CheckpointDamaged(table, f"{checkpoint}/offsets/{max(committed)}", "it is missing")
    if last_done is not None and max(begun) < last_done:
        raise CheckpointLost(table, checkpoint, f"ends at batch {max(begun)}, but the ledger knows {known}")
    _check_json(table, f"{checkpoint}/metadata", first=0)
    for number in range(max(0, max(begun) - 1), max(begun) + 1):
        _check_json(table, f"{checkpoint}/offsets/{number}", first=1)
    if committed:
        _check_json(table, f"{checkpoint}/commits/{max(committed)}", first=1)


def last_commit(checkpoint: str) -> str | None:
    """What Spark has written of the last batch that ended; None where none has."""
    committed = _numbers(f"{checkpoint}/commits")
    return read_text(f"{checkpoint}/commits/{max(committed)}") if committed else None


def next_watermark(commit: str | None) -> int:
    """The watermark of the query's next batch in milliseconds, also of one that was begun: what the last ended one has left behind."""
    return int(json.loads(commit.splitlines()[1])["nextBatchWatermarkMs"]) if commit else 0


def read_offset(checkpoint: str, number: int) -> Any:
    """What a batch ends before, as its one source wrote it; None for the batch before the first."""
    return json.loads(read_text(f"{checkpoint}/offsets/{number}").splitlines()[2]) if number >= 0 else None


def begun_versions(checkpoint: str) -> dict[str, int]:
    """Of a query over Delta tables: the last version of each that a batch reads which was begun and not ended, by the tables' ids."""
    begun, committed = _numbers(f"{checkpoint}/offsets"), _numbers(f"{checkpoint}/commits")
    if not begun or max(begun) in committed:
        return {}
    lines = read_text(f"{checkpoint}/offsets/{max(begun)}").splitlines()[2:]
    offsets = [json.loads(line) for line in lines if line != "-"]
    return {offset["reservoirId"]: offset["reservoirVersion"] - (1 if offset["index"] < 0 else 0) for offset in offsets}


def begun_batches(checkpoint: str) -> list[int]:
    """The numbers of the batches that were begun, as far as Spark keeps them."""
    return _numbers(f"{checkpoint}/offsets")


def read_first_offset(checkpoint: str) -> Any:
    """Where the first batch begins, for a source that writes it down."""
    try:
        text = read_text(f"{checkpoint}/sources/0/0")
    except FileNotFoundError:
        return None
    return json.loads(text[text.index("{") :]) if "{" in text else None


def _numbers(folder: str) -> list[int]:
    return [int(name) for name in names_in(folder) if name.isdigit()]


def _check_json(table: str, file: str, first: int) -> None:
    """Spark's logs are lines of JSON below a line with their version."""
    try:
        content = read_bytes(file)
        lines = content.decode().splitlines()
        if len(lines) <= first or (first and not lines[0].startswith("v")):
            raise CheckpointDamaged(table, file, "it is cut")
        for line in lines[first:]:
            if line != "-":
                json.loads(line)
    except FileNotFoundError:
        raise CheckpointDamaged(table, file, "it is missing") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise CheckpointDamaged(table, file, "it is not what Spark writes") from None
    folder, _, name = file.rpartition("/")
    if not _fits_checksum(content, f"{folder}/.{name}.crc"):
        raise CheckpointDamaged(table, file, "its checksum is of another content")


def _fits_checksum(content: bytes, checksums: str) -> bool:
    """Spark refuses a file that its checksum does not fit, and takes one that has none."""
    try:
        found = read_bytes(checksums)
    except FileNotFoundError:
        return True
    mark, block = CHECKSUM_HEADER.unpack_from(found) if len(found) >= CHECKSUM_HEADER.size else (b"", 0)
    if mark != b"crc\0" or block <= 0:
        return False
    expected = b"".join(zlib.crc32(content[start : start + block]).to_bytes(4, "big") for start in range(0, len(content), block))
    return found[CHECKSUM_HEADER.size :] == expected
