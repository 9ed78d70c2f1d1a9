"""Avro files that are larger or deeper than they look, broken, or have more than their rows."""

import io
import json
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from spark_jobs.bronze import avro, batches
from spark_jobs.bronze.messages import _avro_reader
from tests.bronze.arrive import read, refusal, written

SYNC = b"0123456789abcdef"
LONGEST = 16_000_000
PAIR: dict[str, Any] = {
    "type": "record",
    "name": "pair",
    "fields": [{"name": "id", "type": "long"}, {"name": "text", "type": "string"}],
}
NODE: dict[str, Any] = {
    "type": "record",
    "name": "node",
    "fields": [{"name": "next", "type": ["null", "node"]}],
}


def number(value: int) -> bytes:
    value, found = (value << 1) ^ (value >> 63), b""
    while value > 127:
        value, found = value >> 7, found + bytes([value & 127 | 128])
    return found + bytes([value])


def text(content: bytes) -> bytes:
    return number(len(content)) + content


def container(schema: Any, blocks: list[tuple[int, bytes]], codec: str = "null") -> bytes:
    meta = (
        number(2)
        + text(b"avro.schema")
        + text(json.dumps(schema).encode())
        + text(b"avro.codec")
        + text(codec.encode())
        + b"\0"
    )
    return (
        b"Obj\x01" + meta + SYNC + b"".join(number(count) + text(content) + SYNC for count, content in blocks)
    )


def packed(content: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(content) + stream.flush()


def pair(value: int, content: bytes = b"a") -> bytes:
    return number(value) + text(content)


@pytest.mark.parametrize(
    "items",
    ["null", {"type": "record", "name": "empty", "fields": []}, {"type": "fixed", "name": "none", "size": 0}],
)
def test_an_array_of_items_without_bytes_is_set_aside_by_their_number(tmp_path: Path, items: Any) -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": {"type": "array", "items": items}}],
    }
    rows = [number(2) + b"\0", number(10**12) + b"\0", number(1) + b"\0"]
    found = read(written(tmp_path, "a.avro", container(schema, [(3, b"".join(rows))])), "avro")
    assert [(line, problem) for line, _, problem in found] == [
        (1, None),
        (2, "a record of 4,000,000,000,012 bytes, longer than bytes_per_record allows: 16,000,000"),
        (3, None),
    ]


def test_rows_without_bytes_cannot_be_without_number(tmp_path: Path) -> None:
    for blocks in ([(10**12, b"")], [(1000, b"")] * 3):
        file = written(tmp_path, "a.avro", container("null", blocks))
        assert "rows without any content" in refusal(read(file, "avro", bytes_per_record=2000))
    assert len(read(written(tmp_path, "b.avro", container("null", [(3, b"")])), "avro")) == 3


def test_a_row_that_is_too_long_is_set_aside_and_the_others_are_read(tmp_path: Path) -> None:
    block = pair(1) + pair(2, b"x" * 5000) + pair(3)
    found = read(
        written(tmp_path, "a.avro", container(PAIR, [(3, packed(block)), (1, packed(pair(4)))], "deflate")),
        "avro",
        bytes_per_record=1000,
    )
    assert found == [
        (1, '{"id": 1, "text": "a"}', None),
        (2, None, "a record of 5,017 bytes, longer than bytes_per_record allows: 1,000"),
        (3, '{"id": 3, "text": "a"}', None),
        (4, '{"id": 4, "text": "a"}', None),
    ]


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_a_block_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    content = io.BytesIO()
    fastavro.writer(content, PAIR, [{"id": 1, "text": "x" * 300_000}], codec=codec)
    file = written(tmp_path, "a.avro", content.getvalue())

    assert [line for line, _, _ in read(file, "avro")] == [1]
    monkeypatch.setattr(avro, "BLOCK_BYTES", 100_000)
    assert "a block holds more than 100,000 bytes when it is unpacked" in refusal(read(file, "avro"))


def test_a_type_within_itself_is_read_to_a_depth_and_no_further(tmp_path: Path) -> None:
    shallow = container(NODE, [(1, b"\x02\x02\x00")])
    deep = container(NODE, [(1, b"\x02" * 100_000 + b"\x00")])
    assert read(written(tmp_path, "a.avro", shallow), "avro") == [
        (1, '{"next": {"next": {"next": null}}}', None)
    ]
    assert "a row is nested more than 100 deep" in refusal(read(written(tmp_path, "b.avro", deep), "avro"))


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ([(1, pair(1) + pair(2))], "a block has more content than rows"),
        ([(2, pair(1))], "not a whole Avro file"),
        ([(-1, pair(1))], "a block of 3 bytes says that it has -1 rows"),
        ([(1, number(1) + number(10**12) + b"a")], "not a whole Avro file"),
        ([(1, number(1) + text(b"caf\xe9"))], "not a whole Avro file: UnicodeDecodeError"),
    ],
)
def test_a_block_that_is_not_its_rows_is_refused(
    tmp_path: Path, blocks: list[tuple[int, bytes]], reason: str
) -> None:
    assert reason in refusal(read(written(tmp_path, "a.avro", container(PAIR, blocks)), "avro"))


@pytest.mark.parametrize(
    ("kind", "logical", "value"),
    [("long", "timestamp-micros", 2**62), ("int", "date", 2_932_897), ("int", "date", -719_163)],
)
def test_a_time_that_python_does_not_know_is_a_problem_of_its_row_alone(
    tmp_path: Path, kind: str, logical: str, value: int
) -> None:
    at = {"name": "at", "type": {"type": kind, "logicalType": logical}}
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}, at]}
    rows = [number(id) + number(1 if id != 2 else value) for id in (1, 2, 3)]
    found = read(
        written(tmp_path, "a.avro", container(schema, [(2, rows[0] + rows[1]), (1, rows[2])])), "avro"
    )
    assert [(line, problem) for line, _, problem in found] == [
        (1, None), (2, "a time of the row is beyond the years 1 to 9999"), (3, None)
    ]  # fmt: skip
    assert found[1][1] is None
    many = container(schema, [(1_001, rows[1] * 1_001)])
    assert "1,001 of its 1,001 records have a time beyond" in refusal(
        read(written(tmp_path, "b.avro", many), "avro")
    )


@pytest.mark.parametrize("kind", ["bytes", "fixed"])
def test_a_decimal_keeps_the_digits_that_its_schema_does_not_expect(tmp_path: Path, kind: str) -> None:
    decimal = {"logicalType": "decimal", "precision": 4, "scale": 2}
    is_fixed = kind == "fixed"
    at = {"type": "fixed", "name": "f", "size": 9, **decimal} if is_fixed else {"type": "bytes", **decimal}
    schema = {"type": "record", "name": "r", "fields": [{"name": "price", "type": at}]}
    values = [-123_456, 1_000_005, 10**20 + 1]
    contents = [value.to_bytes(9, "big", signed=True) for value in values]
    rows = b"".join(content if is_fixed else text(content) for content in contents)
    found = read(written(tmp_path, "a.avro", container(schema, [(3, rows)])), "avro")
    assert [record for _, record, _ in found] == [
        '{"price": "-1234.56"}', '{"price": "10000.05"}', '{"price": "1000000000000000000.01"}'
    ]  # fmt: skip
    messages = _avro_reader(schema, "none", LONGEST)(pa.array([rows[: len(rows) // 3]])).to_pylist()
    assert messages == [{"text": '{"price": "-1234.56"}', "size": None}]


def test_a_uuid_is_kept_as_it_was_written(tmp_path: Path) -> None:
    kind = {"name": "id", "type": {"type": "string", "logicalType": "uuid"}}
    schema = {"type": "record", "name": "r", "fields": [kind]}
    ids = ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "none"]
    rows = b"".join(text(one.encode()) for one in ids)
    found = read(written(tmp_path, "a.avro", container(schema, [(2, rows)])), "avro")
    assert [record for _, record, _ in found] == [f'{{"id": "{one}"}}' for one in ids]


def test_a_schema_with_a_field_twice_refuses_the_file(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}] * 2}
    found = read(written(tmp_path, "a.avro", container(schema, [(1, number(1) + number(2))])), "avro")
    assert "its schema has a field twice: id" in refusal(found)


def test_a_decimal_of_more_digits_than_anyone_has_time_for_refuses_its_file(tmp_path: Path) -> None:
    price = {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4}}
    schema = {"type": "record", "name": "r", "fields": [price]}
    row = text(b"\1" * 1_001)
    reason = refusal(read(written(tmp_path, "a.avro", container(schema, [(1, row)])), "avro"))
    assert "a decimal of 1,001 bytes; it may have 1,000" in reason
    assert _avro_reader(schema, "none", LONGEST)(pa.array([row])).to_pylist() == [
        {"text": None, "size": None}
    ]


@pytest.mark.parametrize(("kind", "unit"), [("int", "millis"), ("long", "micros")])
@pytest.mark.parametrize("value", [-5, 86_400_000_000])
def test_what_is_no_time_of_day_does_not_become_another_one(
    tmp_path: Path, kind: str, unit: str, value: int
) -> None:
    at = {"name": "at", "type": {"type": kind, "logicalType": f"time-{unit}"}}
    schema = {"type": "record", "name": "r", "fields": [at]}
    found = read(written(tmp_path, "a.avro", container(schema, [(2, number(1_000) + number(value))])), "avro")
    assert "is no time of day" in refusal(found)


def test_a_file_that_is_cut_or_damaged_anywhere_gives_no_record(tmp_path: Path) -> None:
    whole = container(PAIR, [(1, pair(1)), (1, pair(2))])
    start = whole.index(SYNC) + len(SYNC)
    for end in (*range(0, start), *range(start + 1, start + 4), len(whole) - 1):
        assert "Avro" in refusal(read(written(tmp_path, "a.avro", whole[:end]), "avro")) or end == 0
    assert "does not end with the marker" in refusal(
        read(written(tmp_path, "b.avro", whole[:-1] + b"x"), "avro")
    )


def test_a_message_that_is_deeper_or_longer_than_its_bytes_say_is_none() -> None:
    nulls = {"type": "array", "items": "null"}
    read_nodes, read_nulls = _avro_reader(NODE, "none", LONGEST), _avro_reader(nulls, "none", LONGEST)
    none = {"text": None, "size": None}
    deep = pa.array([b"\x02\x00", b"\x02" * 100_000 + b"\x00", None])
    assert read_nodes(deep).to_pylist() == [{"text": '{"next": {"next": null}}', "size": None}, none, none]
    many = pa.array([number(2) + b"\0", number(10**12) + b"\0"])
    assert read_nulls(many).to_pylist() == [
        {"text": '{"value": [null, null]}', "size": None},
        {"text": None, "size": 4 * 10**12 + 7},
    ]


def test_a_map_that_has_a_key_twice_is_a_problem_of_its_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "maps", "type": {"type": "array", "items": {"type": "map", "values": "int"}}}],
    }
    once, twice = (
        b"".join(text(key) + number(value) for value, key in enumerate(keys))
        for keys in ((b"a", b"b"), (b"a", b"a"))
    )
    rows = [number(1) + number(2) + entries + b"\0\0" for entries in (once, twice, once)]

    found = read(written(tmp_path, "a.avro", container(schema, [(3, b"".join(rows))])), "avro")
    messages = _avro_reader(schema, "none", LONGEST)(pa.array(rows)).to_pylist()
    monkeypatch.setattr(batches, "MOST_BROKEN", 1)
    refused = read(written(tmp_path, "b.avro", container(schema, [(2, rows[1] * 2)])), "avro")

    assert [(line, problem) for line, _, problem in found] == [
        (1, None),
        (2, "a map of the row has a key twice"),
        (3, None),
    ]
    assert [message["text"] is None for message in messages] == [False, True, False]
    assert "2 of its 2 records have a map with a key twice" in refusal(refused)


def test_names_that_are_written_out_in_every_item_count(tmp_path: Path) -> None:
    item = {"type": "record", "name": "item", "fields": [{"name": "x" * 5000, "type": "boolean"}]}
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "items", "type": {"type": "array", "items": item}}],
    }
    rows = {count: number(count) + b"\1" * count + b"\0" for count in (1, 2, 20_000, 10_000_000)}
    long, endless = (packed(rows[1] + rows[count] + rows[2]) for count in (20_000, 10_000_000))

    found = read(written(tmp_path, "a.avro", container(schema, [(3, long)], "deflate")), "avro")
    refused = refusal(read(written(tmp_path, "b.avro", container(schema, [(3, endless)], "deflate")), "avro"))

    assert [(line, record is None) for line, record, _ in found] == [(1, False), (2, True), (3, False)]
    assert "when its names are written out" in refused


@pytest.mark.parametrize("leaf", ["null", "boolean"])
def test_types_that_hold_each_other_many_times_over_are_not_followed(tmp_path: Path, leaf: str) -> None:
    kind: Any = {"type": "record", "name": "r0", "fields": [{"name": "a", "type": leaf}]}
    for level in range(1, 60):
        kind = {
            "type": "record",
            "name": f"r{level}",
            "fields": [{"name": "a", "type": kind}, {"name": "b", "type": f"r{level - 1}"}],
        }
    assert "its schema alone makes rows of" in refusal(
        read(written(tmp_path, "a.avro", container(kind, [(1, b"")])), "avro")
    )
