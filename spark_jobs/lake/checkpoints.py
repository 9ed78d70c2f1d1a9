"""Streaming checkpoints: Spark's own progress per table. Looked at before a query starts, because a damaged one would either fail deep in
the engine or, worse, count its batches anew and have them taken for done.
"""

import json
from pathlib import Path

LOGS = ("offsets", "commits")


class CheckpointLost(Exception):
    """The ledger knows batches of a table that its checkpoint does not: a new one would count from 0."""

    def __init__(self, table: str, checkpoint: str, why: str) -> None:
        self.table, self.checkpoint = table, checkpoint
        super().__init__(
            f"{table}: its checkpoint {checkpoint} {why}, but its batches are in the ledger; restore the folder from a backup, or "
            f"run `weir rebuild` for {table}, which starts a new one"
        )


class CheckpointDamaged(Exception):
    """A file of a checkpoint cannot be read."""

    def __init__(self, table: str, file: Path, why: str) -> None:
        self.table, self.file = table, file
        super().__init__(
            f"{table}: {file} of its checkpoint is damaged ({why}); restore the folder from a backup, or run `weir rebuild` for {table}"
        )


def check_checkpoint(table: str, checkpoint: str, last_done: int | None) -> None:
    """CheckpointLost or CheckpointDamaged unless the checkpoint is whole and has come as far as the ledger says."""
    folder = Path(checkpoint)
    if "://" in checkpoint:
        return  # on other storage than a file system Spark's own errors must do
    begun = _numbers(folder / "offsets")
    if last_done is not None and not begun:
        raise CheckpointLost(table, checkpoint, "is gone")
    if last_done is not None and max(begun) < last_done:
        raise CheckpointLost(table, checkpoint, f"ends at batch {max(begun)} while the ledger knows {last_done}")
    if not begun:
        return
    committed = _numbers(folder / "commits")
    if committed and max(committed) > max(begun):
        raise CheckpointDamaged(table, folder / "offsets" / str(max(committed)), "it is missing")
    _check_json(table, folder / "metadata", first=0)
    _check_json(table, folder / "offsets" / str(max(begun)), first=1)
    if committed:
        _check_json(table, folder / "commits" / str(max(committed)), first=1)


def _numbers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []


def _check_json(table: str, file: Path, first: int) -> None:
    """Spark's logs are lines of JSON below a line with their version."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        if len(lines) <= first or (first and not lines[0].startswith("v")):
            raise CheckpointDamaged(table, file, "it is cut")
        for line in lines[first:]:
            if line != "-":
                json.loads(line)
    except FileNotFoundError:
        raise CheckpointDamaged(table, file, "it is missing") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise CheckpointDamaged(table, file, "it is not what Spark writes") from None
