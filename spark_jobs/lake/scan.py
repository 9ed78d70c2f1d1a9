"""Reads a few rows or columns of a table that may be large, or not be there, or lack columns that came later.
No JVM.

What enters: a table's path and what is wanted of it. What leaves: plain rows; a column that the table does
not have is None.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from spark_jobs.lake.delta_table import DeltaTable, open_dataset

if TYPE_CHECKING:
    import pyarrow as pa  # loaded where rows are read: not by a command that finds nothing to do
    import pyarrow.dataset as ds

ROWS_PER_READ = 8_192
Wanted = Mapping[str, Collection[Any]]
"""Per column the values that are wanted. A column that the table lacks rules nothing out."""


def read_where(path: str, columns: list[str], wanted: Wanted | None = None) -> list[dict[str, Any]]:
    """The rows that have one of the wanted values in each of these columns; none where there is no table."""
    found = (row for batch in scan(path, columns, wanted) for row in batch.to_pylist())
    return [{name: row.get(name) for name in columns} for row in found]


def scan(path: str, columns: list[str], wanted: Wanted | None = None) -> "Iterator[pa.RecordBatch]":
    """The same as batches, of which one is in memory at a time."""
    rows = open_dataset(path)
    if rows is not None and any(name in rows.schema.names for name in columns):
        where = _condition(rows.schema, wanted or {})
        yield from _pieces(rows, columns, ROWS_PER_READ, where, list(wanted or {}))


def scan_pieces(
    path: str, columns: Sequence[str], size: int, where: Any = None, asked: Sequence[str] = ()
) -> "Iterator[pa.RecordBatch]":
    """These columns, as far as the table has them, of the rows that meet a condition on them or on those that
    are `asked`, in pieces of at most so many rows; nothing where there is no table.
    """
    rows = open_dataset(path)
    if rows is not None:
        yield from _pieces(rows, columns, size, where, asked)


def _pieces(
    rows: "ds.Dataset", columns: Sequence[str], size: int, where: Any, asked: Sequence[str]
) -> "Iterator[pa.RecordBatch]":
    """Arrow's own scanner decodes whole row groups, several at once, and those of a big batch are big. Files
    are read by their pages here, which takes the same memory for a million rows as for a few.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq  # takes a third of a second: not for a look that finds nothing

    shown = [name for name in columns if name in rows.schema.names]
    schema = pa.schema(
        [rows.schema.field(name) for name in dict.fromkeys([*shown, *asked]) if name in rows.schema.names]
    )
    for fragment in rows.get_fragments(where):
        with pq.ParquetFile(fragment.filesystem.open_input_file(fragment.path), pre_buffer=False) as file:
            there = {*file.schema_arrow.names}
            stored = [name for name in schema.names if name in there]
            for batch in file.iter_batches(size, columns=stored, use_threads=False):
                piece = _completed(batch, schema)
                yield from (piece if where is None else piece.filter(where)).select(shown).to_batches()


def _completed(batch: "pa.RecordBatch", schema: "pa.Schema") -> "pa.Table":
    """With the columns that came after the file was written."""
    import pyarrow as pa

    known = {name: batch.column(name).cast(schema.field(name).type) for name in batch.schema.names}
    return pa.table(
        [known.get(field.name, pa.nulls(len(batch), field.type)) for field in schema], schema=schema
    )


def count_where(path: str, wanted: Wanted) -> int:
    rows = open_dataset(path)
    return 0 if rows is None else int(rows.count_rows(filter=_condition(rows.schema, wanted)))


def column_names(path: str) -> list[str]:
    """The columns of a table; none where it is not there."""
    return (
        [field.name for field in DeltaTable(path).schema().fields] if DeltaTable.is_deltatable(path) else []
    )


def _condition(schema: "pa.Schema", wanted: Wanted) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    condition = None
    for name, values in wanted.items():
        if name in schema.names:
            one = ds.field(name).isin(pa.array(list(values), schema.field(name).type))
            condition = one if condition is None else condition & one
    return condition


# The records in which fields that came or went are looked for.

RECORDS_AT_ONCE = 8_192
FILES_AT_ONCE = 200
"""Arrow walks through a condition by calling itself: one about every file of a large batch would end the
process.
"""


def read_first_records(
    bronze: str, files: Sequence[Mapping[str, Any]], lines: int
) -> Iterator[tuple[str, str]]:
    """(file, record) of the good records in the first lines of each of these arrivals."""
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    # what was appended, or is a part of a topic, starts at any line
    later = [file for file in files if file["start_line"]]
    starts = [
        (ds.field("_file_id") == file["file_id"]) & (ds.field("_line") < file["start_line"] + lines)
        for file in later
    ]
    asked_for = [
        ds.field("_line") <= lines,
        *(reduce(or_, starts[at : at + FILES_AT_ONCE]) for at in range(0, len(starts), FILES_AT_ONCE)),
    ]
    in_chunks = ds.field("_chunk").isin(sorted({file["chunk"] for file in files}))
    is_good = (ds.field("_line") > 0) & ds.field("_problem").is_null()
    asked = ["_line", "_file_id", "_chunk", "_problem"]
    taken: Counter[str] = Counter()
    for is_first in asked_for:
        for batch in scan_pieces(
            bronze, ["_file", "record"], RECORDS_AT_ONCE, in_chunks & is_good & is_first, asked
        ):
            for file, record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                taken[file] += 1
                if taken[file] <= lines:
                    yield file, record
