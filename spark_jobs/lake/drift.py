"""The columns of the ledger's table `drift`, fields of a feed that came or went, and the records in which they are looked for. No JVM."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa

from spark_jobs.lake.scan import scan_pieces

RECORDS_AT_ONCE = 8_192
FILES_AT_ONCE = 200
"""Arrow walks through a condition by calling itself: one about every file of a large batch would end the process."""
DRIFT = pa.schema(
    [("run_id", pa.string()), ("source", pa.string()), ("field", pa.string()), ("kind", pa.string()), ("file", pa.string()),
     ("seen_at", pa.timestamp("us", "UTC"))]
)  # fmt: skip


def read_first_records(bronze: str, files: Sequence[Mapping[str, Any]], lines: int) -> Iterator[tuple[str, str]]:
    """(file, record) of the good records in the first lines of each of these arrivals."""
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    later = [file for file in files if file["start_line"]]  # what was appended, or is a part of a topic, starts at any line
    starts = [(ds.field("_file_id") == file["file_id"]) & (ds.field("_line") < file["start_line"] + lines) for file in later]
    asked_for = [ds.field("_line") <= lines, *(reduce(or_, starts[at : at + FILES_AT_ONCE]) for at in range(0, len(starts), FILES_AT_ONCE))]
    in_chunks = ds.field("_chunk").isin(sorted({file["chunk"] for file in files}))
    is_good = (ds.field("_line") > 0) & ds.field("_problem").is_null()
    asked = ["_line", "_file_id", "_chunk", "_problem"]
    taken: Counter[str] = Counter()
    for is_first in asked_for:
        for batch in scan_pieces(bronze, ["_file", "record"], RECORDS_AT_ONCE, in_chunks & is_good & is_first, asked):
            for file, record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                taken[file] += 1
                if taken[file] <= lines:
                    yield file, record
