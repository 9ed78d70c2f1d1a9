"""CSV: quotes, line ends, and rows that are too long."""

import gzip
from pathlib import Path

import pytest

from spark_jobs.bronze import batches, lines
from tests.bronze.arrive import read, refusal, written

ROWS = b"".join(b"%d,fine\n" % number for number in range(3, 50))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'id,name\n1,a\n2,"oops\n' + ROWS, "line 3 to 50: a quote is opened and never closed"),
        (b'id,"name\n1,a\n2,b\n', "line 1 to 3: a quote is opened and never closed"),
        (b'id,name\n1,"abc"def\n2,b\n', "line 2: text follows a closing quote"),
        (b'id,name\n1,"oops\n2,"fine"\n', "line 2 to 3: text follows a closing quote"),
        (
            b'id,name\n1,"say \\"hi\\""\n',
            "line 2: text follows a closing quote; a quote within a quoted value is written twice",
        ),
        (b'id,name\n1,"a" \n', "line 2: text follows a closing quote"),
        (b"id,name\n1,a\rb,2\n", "line 2: a line end of another kind than the file's stands within a row"),
        (b"id,name\r1,a\nb,2\r", "line 1: a line end of another kind"),
        (b"id,caf\xe9\n1,a\n", "line 1: the header is not UTF-8 text"),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_whose_rows_cannot_be_told_apart_is_refused_with_the_line(
    tmp_path: Path, content: bytes, reason: str, is_packed: bool
) -> None:
    file = (
        written(tmp_path, "a.csv.gz", gzip.compress(content))
        if is_packed
        else written(tmp_path, "a.csv", content)
    )
    assert reason in refusal(read(file, "csv"))


def test_quotes_that_are_in_order_may_hold_anything(tmp_path: Path) -> None:
    content = b'id,name\n1,"two\nlines, and a ""quote"""\r\n2,5" pipe\n3,"a\rb"\n4,\n"5",""\n'
    assert read(written(tmp_path, "a.csv", content), "csv") == [
        (3, '{"id": "1", "name": "two\\nlines, and a \\"quote\\""}', None),
        (4, '{"id": "2", "name": "5\\" pipe"}', None),
        (5, '{"id": "3", "name": "a\\rb"}', None),
        (6, '{"id": "4", "name": ""}', None),
        (7, '{"id": "5", "name": ""}', None),
    ]


def test_lines_may_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a.csv", b"id,name\r1,a\r2,b"), "csv") == [
        (2, '{"id": "1", "name": "a"}', None),
        (3, '{"id": "2", "name": "b"}', None),
    ]


@pytest.mark.parametrize("block_bytes", [100, 5000, 8 * 1024 * 1024])
def test_a_row_that_is_too_long_is_set_aside_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    in_lines = b'"' + b'a "" line,\n' * 300 + b'"'
    content = (
        b"id,name\n1,a\n2,"
        + b"x" * 3000
        + b"\n3,b\n4,"
        + in_lines
        + b"\n5,c\n"
        + b'6,"'
        + b"y" * 2000
        + b'\n",\n7,d\n'
    )
    assert read(written(tmp_path, "a.csv", content), "csv", bytes_per_record=1000) == [
        (2, '{"id": "1", "name": "a"}', None),
        (3, None, "a record of 3,002 bytes, longer than bytes_per_record allows: 1,000"),
        (4, '{"id": "3", "name": "b"}', None),
        (305, None, "a record of 3,004 bytes, longer than bytes_per_record allows: 1,000"),
        (306, '{"id": "5", "name": "c"}', None),
        (308, None, "a record of 2,005 bytes, longer than bytes_per_record allows: 1,000"),
        (309, '{"id": "7", "name": "d"}', None),
    ]


@pytest.mark.parametrize("block_bytes", [100, 8 * 1024 * 1024])
@pytest.mark.parametrize("delimiter", [",", "§"])
def test_a_quote_within_a_plain_value_takes_no_other_rows_into_a_row_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, delimiter: str
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    long = "x" * 2000
    plain, quoted = f'1,5" {long},x\n2,fine,x', f'3,"{long}\n""two"" lines",6" x\n"4",7" {long},x'
    content = f"id,name,more\n{plain}\n{quoted}\n5,fine,x\n".replace(",", delimiter).encode()
    found = read(written(tmp_path, "a.csv", content), "csv", bytes_per_record=1000, delimiter=delimiter)
    assert [(line, record and record[:10], problem and problem[:8]) for line, record, problem in found] == [
        (2, None, "a record"),
        (3, '{"id": "2"', None),
        (5, None, "a record"),
        (6, None, "a record"),
        (7, '{"id": "5"', None),
    ]


def test_a_line_end_may_be_cut_where_the_beginning_of_the_file_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "START_BYTES", 8)
    assert read(written(tmp_path, "a.csv", b"id,name\r\n1,a\r\n"), "csv") == [
        (2, '{"id": "1", "name": "a"}', None)
    ]


def test_a_quote_that_is_never_closed_is_found_however_long_the_file(tmp_path: Path) -> None:
    content = b'id,name\n1,"oops\n' + b"2,fine\n" * 1000
    assert "line 2: a quote is opened and never closed" in refusal(
        read(written(tmp_path, "a.csv", content), "csv", bytes_per_record=1000)
    )


def test_a_header_that_is_too_long_is_none(tmp_path: Path) -> None:
    content = b"x" * 2000 + b"\n1\n"
    assert "the header has 2,000 bytes" in refusal(
        read(written(tmp_path, "a.csv", content), "csv", bytes_per_record=1000)
    )


def test_ten_thousand_columns_are_read_in_a_moment(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(10_000)]
    content = f"{','.join(names)}\n{','.join('1' * 10_000)}\n".encode()
    [(line, record, problem)] = read(written(tmp_path, "a.csv", content), "csv")
    assert (line, str(record)[:20], problem) == (2, '{"c0": "1", "c1": "1', None)


def test_a_file_of_rows_of_another_width_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_BROKEN", 3)
    some = written(tmp_path, "some.csv", b"id,name\n" + b"1\n" * 3 + b"2,b\n" * 20)
    many = written(tmp_path, "many.csv", b"id,name\n2,b\n" + b"1\n" * 4 + b"2,b\n" * 20)

    assert [problem for _, _, problem in read(some, "csv") if problem] == ["1 field, the header has 2"] * 3
    reason = "4 of its 25 records have another number of fields than the header, the first is line 3"
    assert reason in refusal(read(many, "csv"))
