"""The ledger's table `drift`: fields of a feed that came or went, each once; and the records in which they are looked for. No JVM."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.lake.delta_table import DeltaTable, options_of
from spark_jobs.lake.scan import scan_pieces

RECORDS_AT_ONCE = 8_192
DRIFT = pa.schema(
    [("run_id", pa.string()), ("source", pa.string()), ("field", pa.string()), ("kind", pa.string()), ("file", pa.string()),
     ("seen_at", pa.timestamp("us", "UTC"))]
)  # fmt: skip


def read_first_records(bronze: str, files: Sequence[Mapping[str, Any]], lines: int) -> Iterator[tuple[str, str]]:
    """(file, record) of the good records in the first lines of each of these arrivals."""
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    is_first = ds.field("_line") <= lines
    for file in files:  # what was appended, or is a part of a topic, starts at any line
        if file["start_line"]:
            is_first |= (ds.field("_file_id") == file["file_id"]) & (ds.field("_line") < file["start_line"] + lines)
    in_chunks = ds.field("_chunk").isin(sorted({file["chunk"] for file in files}))
    is_good = (ds.field("_line") > 0) & ds.field("_problem").is_null()
    asked = ["_line", "_file_id", "_chunk", "_problem"]
    taken: Counter[str] = Counter()
    for batch in scan_pieces(bronze, ["_file", "record"], RECORDS_AT_ONCE, in_chunks & is_good & is_first, asked):
        for file, record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            taken[file] += 1
            if taken[file] <= lines:
                yield file, record


def known_drift(path: str, source: str) -> set[tuple[str, str]]:
    """The fields of this source that were reported before, each with its kind."""
    if not DeltaTable.is_deltatable(path):
        return set()
    rows = DeltaTable(path).to_pyarrow_table(columns=["source", "field", "kind"]).to_pylist()
    return {(row["field"], row["kind"]) for row in rows if row["source"] == source}


def record_drift(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    write_deltalake(path, pa.Table.from_pylist([dict(row) for row in rows], schema=DRIFT), mode="append", storage_options=options_of(path))
