"""Files that are not as they were when they arrived."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.bronze import lines
from spark_jobs.bronze.arrived import ArrivedFile, ReadingBroken
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from tests.bronze.arrive import arrived

Row = tuple[int, str | None, str | None]
CHANGED = [(0, None, "UnreadableFile: changed between arrival and reading")]


def read(file: ArrivedFile, file_format: str = "json") -> list[Row]:
    return rows_of(read_records(file, a_source(file_format)))


def a_source(file_format: str) -> FileSource:
    return FileSource.model_validate({"format": file_format, "path": "in"})


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[Row]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.fixture
def landed(tmp_path: Path) -> Path:
    file = tmp_path / "a.json"
    file.write_bytes(b'{"a":1}\n{"a":2}\n')
    os.utime(file, (100, 100))
    return file


def test_a_file_that_vanished_gives_its_problem(landed: Path) -> None:
    file = arrived(landed)
    landed.unlink()
    assert read(file) == [(0, None, "FileNotFoundError: No such file or directory")]


@pytest.mark.parametrize(
    "content",
    [b'{"b":1}\n{"b":2}\n', b'{"a":1}\n', b'{"b":1}\n{"b":2}\n{"b":3}\n'],
    ids=["as long", "shorter", "longer"],
)
def test_a_file_that_was_rewritten_gives_its_problem_and_no_record_of_the_new_content(
    landed: Path, content: bytes
) -> None:
    file = arrived(landed)
    landed.write_bytes(content)
    assert read(file) == CHANGED


@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_a_file_that_was_replaced_at_the_same_size_and_time_gives_its_problem(
    landed: Path, file_format: str
) -> None:
    file = arrived(landed)
    landed.write_bytes(b'{"b":1}\n{"b":2}\n')
    os.utime(landed, (100, 100))
    assert read(file, file_format) == CHANGED


def test_a_file_that_is_replaced_between_two_attempts_of_a_batch_gives_its_problem_to_the_second(
    landed: Path,
) -> None:
    file = arrived(landed)
    assert read(file) == [(1, '{"a":1}', None), (2, '{"a":2}', None)]
    copy = landed.with_name("copy")
    copy.write_bytes(b'{"b":1}\n{"b":2}\n')
    os.utime(copy, (100, 100))
    copy.rename(landed)
    assert read(file) == CHANGED


def test_a_file_that_is_overwritten_in_place_with_its_time_kept_breaks_the_batch(
    landed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4)
    batches = read_records(arrived(landed), a_source("json"))
    next(batches)
    before = landed.stat().st_ctime_ns
    landed.write_bytes(b'{"b":1}\n{"b":2}\n')
    while landed.stat().st_ctime_ns == before:  # the clock of a disk moves in steps
        os.utime(landed, (100, 100))
    os.utime(landed, (100, 100))
    with pytest.raises(ReadingBroken, match="changed between arrival and reading"):
        rows_of(batches)


def test_a_file_that_was_only_touched_is_read(landed: Path) -> None:
    file = arrived(landed)
    os.utime(landed, (200, 200))
    assert read(file) == [(1, '{"a":1}', None), (2, '{"a":2}', None)]


def test_lines_that_were_appended_after_the_arrival_are_not_read_with_it(landed: Path) -> None:
    file = arrived(landed)
    with open(landed, "ab") as more:
        more.write(b'{"a":3}\n')
    assert read(file) == [(1, '{"a":1}', None), (2, '{"a":2}', None)]


def test_a_csv_file_that_was_appended_to_after_the_arrival_has_changed(tmp_path: Path) -> None:
    sheet = tmp_path / "a.csv"
    sheet.write_text("id\n1\n")
    file = arrived(sheet)
    sheet.write_text("id\n1\n2\n")
    assert read(file, "csv") == CHANGED


@pytest.mark.parametrize("block_bytes", [3, 1024])
def test_the_new_part_of_a_file_is_read_with_the_line_numbers_that_go_on(
    landed: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    assert read(arrived(landed, start_byte=8, start_line=2)) == [(2, '{"a":2}', None)]


def test_what_has_become_a_link_or_a_pipe_is_not_opened(landed: Path) -> None:
    file = arrived(landed)
    landed.rename(landed.with_name("b.json"))
    landed.symlink_to("b.json")
    [(line, _, problem)] = read(file)
    assert (line, "symbolic links" in str(problem)) == (0, True)
    landed.unlink()
    os.mkfifo(landed)
    assert read(file) == [(0, None, "OSError: not a regular file")]


def test_a_file_that_changes_while_its_records_are_on_their_way_breaks_the_batch(
    landed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4)
    batches = read_records(arrived(landed), a_source("json"))
    next(batches)
    landed.write_bytes(b'{"b":1}\n{"b":2}\n')
    with pytest.raises(ReadingBroken, match=r"(?s)a\.json.*changed between arrival and reading.*run again"):
        rows_of(batches)


def test_a_file_that_is_replaced_while_it_is_read_is_read_to_its_own_end(
    landed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4)
    batches = read_records(arrived(landed), a_source("json"))
    first = next(batches)
    landed.with_name("b.json").write_bytes(b"something else")
    landed.with_name("b.json").rename(landed)
    assert rows_of(iter([first, *batches])) == [(1, '{"a":1}', None), (2, '{"a":2}', None)]


def test_the_error_comes_whole_out_of_a_worker() -> None:
    error = ReadingBroken("landing/a.json", "OSError: Input/output error")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
