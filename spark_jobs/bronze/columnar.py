"""Files of rows that say their own columns: Parquet and ORC as Arrow batches, Avro as Python objects."""

from collections.abc import Iterator
from io import BufferedReader

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.batches import ROWS_PER_BATCH, Record
from spark_jobs.bronze.objects import as_text


def parquet_batches(opened: BufferedReader) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq  # only where a Parquet file is read: it takes a tenth of a second

    opened.seek(0)
    yield from pq.ParquetFile(opened).iter_batches(ROWS_PER_BATCH)


def orc_batches(opened: BufferedReader) -> Iterator[pa.RecordBatch]:
    """A stripe at a time, which is what ORC reads at once."""
    from pyarrow import orc  # only where an ORC file is read

    opened.seek(0)
    file = orc.ORCFile(opened)
    for stripe in range(file.nstripes):
        yield from pa.Table.from_batches([file.read_stripe(stripe)]).to_batches(ROWS_PER_BATCH)


def read_avro(opened: BufferedReader) -> Iterator[Record]:
    import fastavro  # only where an Avro file is read

    opened.seek(0)
    try:
        for line, row in enumerate(fastavro.reader(opened), 1):
            yield line, as_text(row if isinstance(row, dict) else {"value": row}), None
    except Exception as error:  # what fastavro raises for broken files is anything from KeyError to struct.error
        raise UnreadableFile(f"not a whole Avro file: {type(error).__name__} {error}") from error
