"""What is read of a file is compared with another count of what it holds, before anything
of it is written.
"""

import bz2
import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from spark_jobs.bronze import counting, records
from spark_jobs.bronze.arrived import ArrivedFile, ReadingBroken
from spark_jobs.bronze.counting import Count, count_records
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from spark_jobs.landing.content import open_landed
from tests.bronze.arrive import arrived

ROWS = [{"id": number} for number in range(5000)]


def a_source(file_format: str) -> FileSource:
    return FileSource.model_validate({"format": file_format, "path": "in"})


def landed(folder: Path, name: str, content: bytes) -> ArrivedFile:
    (folder / name).write_bytes(content)
    return arrived(folder / name)


def count(file: ArrivedFile, file_format: str) -> Count | None:
    with open_landed(file.path) as opened:
        return count_records(opened, file, a_source(file_format))


def read(file: ArrivedFile, file_format: str) -> int:
    return sum(len(batch) for batch in read_records(file, a_source(file_format)))


def as_avro() -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(
        buffer,
        {"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}]},
        ROWS,
        sync_interval=1000,
    )
    return buffer.getvalue()


def as_columns(write: Callable[[pa.Table, Any], None]) -> bytes:
    buffer = io.BytesIO()
    write(pa.Table.from_pylist(ROWS), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "number"),
    [
        ("a.json", b'\xef\xbb\xbf{"a":1}\r\n\n  \t\n{"b":2}', 2),
        ("a.text", "één\n\n日本\n".encode(), 2),
        ("a.text", b"", 0),
        ("a.text", b"\n\n", 0),
        ("a.json.gz", gzip.compress(b"{}\n" * 7, mtime=0), 7),
        ("a.text.bz2", bz2.compress(b"x\n") + bz2.compress(b"y\nz"), 3),
        ("a.csv", b"\xef\xbb\xbfid,name\n1,a\n\n2,b\r\n3,c", 3),
        ("a.csv", b"id,name\r1,a\r\r2,b", 2),
        ("a.csv", b"id,name", 0),
        ("a.csv", b"", 0),
        ("a.parquet", as_columns(pq.write_table), 5000),
        ("a.orc", as_columns(orc.write_table), 5000),
        ("a.avro", as_avro(), 5000),
    ],
)
@pytest.mark.parametrize("block_bytes", [5, 1024])
def test_the_second_count_comes_to_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, number: int, block_bytes: int
) -> None:
    monkeypatch.setattr(counting, "BLOCK_BYTES", block_bytes)
    file, file_format = landed(tmp_path, name, content), name.split(".")[1]
    found = count(file, file_format)
    assert found is not None
    assert (found.least, found.most, read(file, file_format)) == (number, number, number)


def test_a_line_of_blanks_that_only_unicode_knows_may_be_a_record_or_none(tmp_path: Path) -> None:
    file = landed(tmp_path, "a.text", "a\n\u2003\u00a0\n".encode())
    assert count(file, "text") == Count(1, 2, "its lines")
    assert read(file, "text") == 1


def test_a_blank_line_that_is_too_long_for_a_record_is_one_that_was_set_aside(tmp_path: Path) -> None:
    source = FileSource.model_validate({"format": "text", "path": "in", "bytes_per_record": 1_000})
    rows = [
        row
        for batch in read_records(landed(tmp_path, "a.text", b"a\n" + b" " * 9_000 + b"\n"), source)
        for row in batch.to_pylist()
    ]
    assert rows[0]["record"] == "a"
    sheet = FileSource.model_validate({"format": "csv", "path": "in", "bytes_per_record": 1_000})
    rows = [
        row
        for batch in read_records(landed(tmp_path, "a.csv", b"id\n1\n" + b"x" * 9_000 + b"\n"), sheet)
        for row in batch.to_pylist()
    ]
    assert [row["line"] for row in rows] == [2, 3]


def test_only_the_new_part_of_a_file_is_counted(tmp_path: Path) -> None:
    landed(tmp_path, "a.json", b"{}\n{}\n{}\n{}\n")
    file = arrived(tmp_path / "a.json", start_byte=6, start_line=3)
    assert count(file, "json") == Count(2, 2, "its lines")


def test_there_is_no_second_count_of_sheets_with_quotes_and_of_xml(tmp_path: Path) -> None:
    assert count(landed(tmp_path, "a.csv", b'id,name\n1,"a\nb"\n'), "csv") is None
    with open_landed(landed(tmp_path, "a.xml", b"<r><o/></r>").path) as opened:
        source = FileSource.model_validate({"format": "xml", "path": "in", "row_tag": "o"})
        assert count_records(opened, arrived(tmp_path / "a.xml"), source) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{}\n" * 3),
        ("a.csv", b"id\n1\n2\n3\n"),
        ("a.parquet", as_columns(pq.write_table)),
        ("a.avro", as_avro()),
    ],
)
def test_a_reader_that_leaves_a_record_out_is_found_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    file, file_format = landed(tmp_path, name, content), name.rpartition(".")[2]
    whole = read(file, file_format)
    read_batches = records._read_batches

    def leave_one_out(*arguments: Any) -> Iterator[pa.RecordBatch]:
        first, *others = read_batches(*arguments)
        yield from (first.slice(1), *others)

    monkeypatch.setattr(records, "_read_batches", leave_one_out)
    with pytest.raises(
        ReadingBroken, match=rf"{name}.*{whole - 1:,} records were read, but it holds {whole:,} by "
    ):
        read(file, file_format)
