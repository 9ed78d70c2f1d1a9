"""Files of a batch that brought no record to bronze. What enters: the files, and the bronze rows of their
chunks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.lake.scan import scan_pieces

ASKED = ["_file_id", "_line", "_problem"]


MOST_OF_EMPTY = 4_096


"""A file without a record is no longer than a header, a byte order mark, or the frame of a packed file."""


ROWS_AT_ONCE = 65_536


File = Mapping[str, Any]


"""A row of the arrivals."""


Barren = tuple[list[tuple[str, str]], list[str]]


"""Paths that cannot be read, each with its problem; and paths without a record."""


def barren_in(files: Sequence[File], rows: Iterable[pa.Table | pa.RecordBatch]) -> Barren:
    """By the rows of the batch: at line 0 stands the problem of a file that cannot be read, and of one
    without a record there is none.
    """
    seen: set[str] = set()
    problems: dict[str, str] = {}
    for piece in rows:
        seen.update(pc.unique(piece["_file_id"]).to_pylist())
        at_fault = piece.filter(pc.equal(piece["_line"], 0))
        problems.update(zip(at_fault["_file_id"].to_pylist(), at_fault["_problem"].to_pylist(), strict=True))
    unreadable = [(file["path"], problems[file["file_id"]]) for file in files if file["file_id"] in problems]
    return unreadable, [file["path"] for file in files if file["file_id"] not in seen]


def find_barren(
    bronze: str, files: Sequence[File], chunks: Collection[int], *, has_unreadable: bool
) -> Barren:
    """The same from the table, which is read only where there may be such a file."""
    import pyarrow.dataset as ds  # takes a third of a second

    small = [file for file in files if file["size"] - (file["start_byte"] or 0) <= MOST_OF_EMPTY]
    if not small and not has_unreadable:
        return [], []
    where = ds.field("_chunk").isin(sorted(chunks))
    unreadable, without = barren_in(files, scan_pieces(bronze, ASKED, ROWS_AT_ONCE, where, ["_chunk"]))
    return unreadable, without
