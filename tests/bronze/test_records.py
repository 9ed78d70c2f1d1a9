import gzip
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.bronze import lines, sheets
from spark_jobs.bronze.records import read_records
from tests.bronze.arrive import arrived

Row = tuple[int, str | None, str | None]


def read(path: Path, file_format: str = "json") -> list[Row]:
    return [tuple(row.values()) for batch in read_records(arrived(path), file_format, ",") for row in batch.to_pylist()]


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_a_line_is_a_record_with_its_number_and_blank_lines_are_none(tmp_path: Path) -> None:
    file = written(tmp_path, "a.json", b'\xef\xbb\xbf{"a":1}\r\n\n   \n{"b":2}')
    assert read(file) == [(1, '{"a":1}', None), (4, '{"b":2}', None)]


def test_lines_are_whole_and_numbered_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 7)
    texts = ["short", "", "a line that is longer than several blocks", "é\u2028ü", "last"]
    file = written(tmp_path, "a.json", "\n".join(texts).encode())
    assert read(file) == [(number, line, None) for number, line in enumerate(texts, 1) if line]


def test_a_line_that_is_not_utf8_keeps_its_text_and_leaves_its_neighbours_alone(tmp_path: Path) -> None:
    file = written(tmp_path, "a.json", b'{"a":1}\ncaf\xe9\n{"b":2}\n')
    assert read(file) == [(1, '{"a":1}', None), (2, "caf\\xe9", "not UTF-8 text"), (3, '{"b":2}', None)]


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a.json", b"")) == []
    assert read(written(tmp_path, "a.csv", b""), "csv") == []
    assert read(written(tmp_path, "b.csv", b"id,name\n"), "csv") == []


def test_a_csv_record_is_kept_by_the_names_of_its_header(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", b'name, id\n"Smith, J.",1\n\n"two\nlines",2\n')
    assert read(file, "csv") == [(2, '{"name": "Smith, J.", "id": "1"}', None), (5, '{"name": "two\\nlines", "id": "2"}', None)]


def test_a_csv_row_of_another_width_than_the_header_keeps_its_fields_and_gets_a_problem(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", b"id,name\n1\n2,b\n3,c,x\n")
    assert read(file, "csv") == [
        (2, '["1"]', "1 fields, the header has 2"),
        (3, '{"id": "2", "name": "b"}', None),
        (4, '["3", "c", "x"]', "3 fields, the header has 2"),
    ]


def test_a_csv_value_that_is_not_utf8_is_a_problem_of_its_row_alone(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", b"id\ncaf\xe9\nfine\n")
    assert read(file, "csv") == [(2, '{"id": "caf\\xe9"}', "not UTF-8 text"), (3, '{"id": "fine"}', None)]


def test_a_parquet_row_becomes_a_json_object(tmp_path: Path) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    times = pa.array([at], pa.timestamp("us", "UTC"))
    pq.write_table(
        pa.table({"id": [1], "at": times, "amount": [Decimal("1.50")], "tags": [["a"]], "none": pa.nulls(1)}), tmp_path / "a.parquet"
    )
    record = '{"id": 1, "at": "2026-03-01T12:00:00+00:00", "amount": "1.50", "tags": ["a"], "none": null}'
    assert read(tmp_path / "a.parquet", "parquet") == [(1, record, None)]


def test_a_parquet_value_that_cannot_be_read_is_a_problem_of_its_row_alone(tmp_path: Path) -> None:
    names = pa.array([b"fine", b"caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"id": [1, 2], "name": names}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", "parquet") == [
        (1, '{"id": 1, "name": "fine"}', None),
        (2, '{"id": 2}', "values that cannot be read: name: UnicodeDecodeError"),
    ]


def test_a_gzip_file_is_read_by_its_name(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a.json.gz", gzip.compress(b'\xef\xbb\xbf{"a":1}\n'))) == [(1, '{"a":1}', None)]


CUT = gzip.compress(b'{"a":1}\n' * 5000)[:-10]


@pytest.mark.parametrize(
    ("name", "content", "file_format", "reason"),
    [
        ("cut.json.gz", CUT, "json", "ended before the end-of-stream marker"),
        ("plain.csv.gz", b"id\n1\n", "csv", "Not a gzipped file"),
        ("twice.csv", b"id,id\n1,2\n", "csv", "empty or repeated name"),
        ("not.parquet", b"id\n1\n", "parquet", "Parquet"),
        ("huge.csv", b"id\n1\n" + b"x" * 2000 + b"\n", "csv", "field larger than field limit"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_gives_its_problem_and_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, file_format: str, reason: str
) -> None:
    monkeypatch.setattr(sheets, "LONGEST_FIELD", 1000)
    found = read(written(tmp_path, name, content), file_format)
    assert [(line, record) for line, record, _ in found] == [(0, None)]
    assert reason in str(found[0][2])
