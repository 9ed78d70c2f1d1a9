"""Lines that are too long, and files of which too many lines are none."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.bronze import batches, lines
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from tests.bronze.arrive import Row, arrived, read, refusal, written

PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
SET_ASIDE = "a record of {:,} bytes, longer than bytes_per_record allows: 1,000"


@pytest.mark.parametrize("block_bytes", [7, 64, 2500, 8 * 1024 * 1024])
@pytest.mark.parametrize("ending", PACK)
def test_a_line_that_is_too_long_is_set_aside_with_its_size_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, ending: str
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    texts = ['{"a":1}', "x" * 1001, '{"a":2}', "", "y" * 5000, "z" * 1000, "é" * 600]
    content = "\n".join(texts).encode()
    packed = PACK[ending](content)

    found = read(written(tmp_path, f"a.log{ending}", packed), "text", bytes_per_record=1000)

    expected: list[Row] = [(1, '{"a":1}', None), (2, None, SET_ASIDE.format(1001)), (3, '{"a":2}', None)]
    expected += [(5, None, SET_ASIDE.format(5000)), (6, "z" * 1000, None), (7, None, SET_ASIDE.format(1200))]
    assert found == expected


def test_a_packed_line_without_end_is_never_held_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1000)
    held: list[int] = []
    add = lines._Begun.add

    def watch(begun: lines._Begun, piece: bytes) -> None:
        add(begun, piece)
        held.append(sum(map(len, begun.pieces)))

    monkeypatch.setattr(lines._Begun, "add", watch)
    bomb = written(tmp_path, "bomb.gz", gzip.compress(b"x" * 1_000_000 + b"\nlast"))
    assert read(bomb, "text", bytes_per_record=5000) == [
        (1, None, "a record of 1,000,000 bytes, longer than bytes_per_record allows: 5,000"),
        (2, "last", None),
    ]
    assert max(held) == 5000


def test_which_lines_are_blank_does_not_depend_on_their_neighbours(tmp_path: Path) -> None:
    content = "one\n\u00a0\n\u3000 \n\x1c\n\u200b\ntwo\n".encode()
    alone = read(written(tmp_path, "a.log", content), "text")
    assert [record for _, record, _ in alone] == ["one", "\u200b", "two"]
    beside = read(written(tmp_path, "b.log", content + b"\xff\n"), "text")
    assert beside[:-1] == alone


def test_the_line_numbers_of_an_appended_part_go_on_behind_a_line_that_is_too_long(tmp_path: Path) -> None:
    file = written(tmp_path, "a.log", b"one\n" + b"x" * 2000 + b"\nthree\n")
    source = FileSource.model_validate({"format": "text", "path": "in", "bytes_per_record": 1000})
    batches = list(read_records(arrived(file, start_byte=4, start_line=2), source))
    assert [row["line"] for batch in batches for row in batch.to_pylist()] == [2, 3]


def test_a_few_lines_that_are_no_text_are_set_aside_alone_and_many_refuse_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_BROKEN", 3)
    few = written(tmp_path, "few.json", b'{"a":1}\n' + b"caf\xe9\n" * 3)
    rare = written(tmp_path, "rare.json", b'{"a":1}\n' * 50 + b"caf\xe9\n" * 4)
    many = written(tmp_path, "many.json", b'{"a":1}\n' + b"caf\xe9\n" * 4)

    assert [problem for _, _, problem in read(few)] == [None, *["not UTF-8 text"] * 3]
    assert len(read(rare)) == 54
    assert (
        refusal(read(many))
        == "UnreadableFile: 4 of its 5 records are not UTF-8 text, the first is line 2; it seems to be text"
        " in another encoding, such as Latin-1 or Windows-1252: land it as UTF-8"
    )


def test_a_json_file_without_objects_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_BROKEN", 3)
    values, objects = b'[\n{"a":1}\n1,\n2,\n3,\n4\n]\n', b'{"a":1}\n' + b'{"a":1},\n' * 4 + b'{"a":1}\n'
    assert "6 of its 7 records are no JSON objects, the first is line 1" in refusal(
        read(written(tmp_path, "a.json", values))
    )
    assert "4 of its 6 records are no JSON objects, the first is line 2" in refusal(
        read(written(tmp_path, "b.json", objects))
    )
    assert len(read(written(tmp_path, "c.json", b'{"a":1}\r\n{"a":1} \n {"a":1}\t\r\n{"a":1}\n{"a":1}'))) == 5
    assert len(read(written(tmp_path, "a.log", values), "text")) == 7


@pytest.mark.parametrize("other", [b"", b"\xff\n"])
def test_one_carriage_return_belongs_to_the_end_of_a_line(tmp_path: Path, other: bytes) -> None:
    rows = read(written(tmp_path, "a.log", b"one\r\ntwo\r\r\n" + other), "text")

    assert rows[:2] == [(1, "one", None), (2, "two\r", None)]


def test_a_text_whose_lines_end_with_a_carriage_return_alone_is_refused(tmp_path: Path) -> None:
    refused = refusal(read(written(tmp_path, "a.log", b"one\rtwo\rthree\r"), "text"))

    assert "its lines end with a carriage return alone" in refused
    assert read(written(tmp_path, "b.log", b"one\rtwo\nthree\r"), "text") == [
        (1, "one\rtwo", None),
        (2, "three", None),
    ]
