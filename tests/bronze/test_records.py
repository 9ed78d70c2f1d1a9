import bz2
import gzip
import io
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from spark_jobs.bronze import batches, lines, records, xml
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from tests.bronze.arrive import arrived, read, refusal, written


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
    assert read(file, "csv") == [
        (2, '{"name": "Smith, J.", "id": "1"}', None),
        (5, '{"name": "two\\nlines", "id": "2"}', None),
    ]


def test_a_csv_row_of_another_width_than_the_header_keeps_its_fields_and_gets_a_problem(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, "a.csv", b"id,name\n1\n2,b\n3,c,x\n")
    assert read(file, "csv") == [
        (2, '["1"]', "1 field, the header has 2"),
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
        pa.table({"id": [1], "at": times, "amount": [Decimal("1.50")], "tags": [["a"]], "none": pa.nulls(1)}),
        tmp_path / "a.parquet",
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
    assert read(written(tmp_path, "a.json.gz", gzip.compress(b'\xef\xbb\xbf{"a":1}\n'))) == [
        (1, '{"a":1}', None)
    ]


ZSTD = pa.Codec("zstd")
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: ZSTD.compress(content, asbytes=True),
}
WORDS = b"id,name\n" + b"".join(b"%d,%d\n" % (number, number * 7919) for number in range(20_000))


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("file_format", ["json", "text", "csv", "xml"])
def test_a_packed_file_says_what_the_plain_one_says(tmp_path: Path, file_format: str, ending: str) -> None:
    plain = (
        b"<r><a><b>1</b></a></r>"
        if file_format == "xml"
        else b'{"b": "1"}\n'
        if file_format != "csv"
        else b"b\n1\n"
    )
    keys = {"row_tag": "a"} if file_format == "xml" else {}

    found = read(written(tmp_path, f"a.{file_format}{ending}", PACKED[ending](plain)), file_format, **keys)

    assert found == [(2 if file_format == "csv" else 1, '{"b": "1"}', None)]


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize(
    "damage",
    [lambda packed: packed[: len(packed) // 2], lambda packed: packed[:-10], lambda _: b"id,name\n1,2\n"],
)
@pytest.mark.parametrize("file_format", ["text", "csv"])
def test_a_packed_file_that_is_cut_or_none_gives_no_record(
    tmp_path: Path, file_format: str, damage: Any, ending: str
) -> None:
    found = read(written(tmp_path, f"a{ending}", damage(PACKED[ending](WORDS))), file_format)

    assert [(line, record) for line, record, _ in found] == [(0, None)]


@pytest.mark.parametrize("ending", PACKED)
def test_packed_streams_that_follow_one_another_are_one_content(tmp_path: Path, ending: str) -> None:
    two = PACKED[ending](b"one\n") + PACKED[ending](b"two\n")
    assert read(written(tmp_path, f"a{ending}", two), "text") == [(1, "one", None), (2, "two", None)]


def test_an_orc_row_becomes_a_json_object(tmp_path: Path) -> None:
    at = pa.array([datetime(2026, 3, 1, 12, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    orc.write_table(
        pa.table({"id": [1], "at": at, "amount": [Decimal("1.50")], "tags": [["a"]]}), str(tmp_path / "a.orc")
    )
    record = '{"id": 1, "at": "2026-03-01T12:00:00+00:00", "amount": "1.50", "tags": ["a"]}'
    assert read(tmp_path / "a.orc", "orc") == [(1, record, None)]


AVRO = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "note", "type": ["null", "string"]},
    ],
}


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2"])
def test_an_avro_row_becomes_a_json_object(tmp_path: Path, codec: str) -> None:
    content = io.BytesIO()
    order = {"id": 1, "at": datetime(2026, 3, 1, 12, tzinfo=UTC), "amount": Decimal("1.50"), "note": None}
    fastavro.writer(content, AVRO, [order], codec=codec)
    record = '{"id": 1, "at": "2026-03-01T12:00:00+00:00", "amount": "1.50", "note": null}'
    assert read(written(tmp_path, "a.avro", content.getvalue()), "avro") == [(1, record, None)]


def test_a_cut_avro_file_gives_no_record(tmp_path: Path) -> None:
    content = io.BytesIO()
    fastavro.writer(content, "long", range(10_000))
    found = read(written(tmp_path, "a.avro", content.getvalue()[:-5000]), "avro")
    assert [(line, record) for line, record, _ in found] == [(0, None)]
    assert "not a whole Avro file" in str(found[0][2])


ORDERS = """<?xml version="1.0"?>
<shop:orders xmlns:shop="urn:shop">
  <!-- two orders -->
  <shop:order id="1" paid="yes"><customer><name>Ann &amp; Bob</name></customer>
    <line sku="a">2</line><line sku="b"/><note/></shop:order>
  <shop:order id="2"><line sku="c">1</line>as soon as possible</shop:order>
</shop:orders>"""


def test_an_xml_element_becomes_a_json_object_of_its_attributes_and_elements(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.xml", ORDERS.encode()), "xml", row_tag="order", lists="line")

    first = (
        '"customer": {"name": "Ann & Bob"}, "line": [{"sku": "a", "value": "2"}, {"sku": "b"}], "note": null'
    )
    second = '"line": [{"sku": "c", "value": "1"}], "value": "as soon as possible"'
    assert found == [
        (1, f'{{"id": "1", "paid": "yes", {first}}}', None),
        (2, f'{{"id": "2", {second}}}', None),
    ]


BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><r><order>&b;</order></r>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r><order>&a;</order></r>'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "declares the entity 'a'"),
        (OUTSIDE, "declares the entity 'a'"),
        ("<r><order></r>", "not well-formed XML: mismatched tag"),
        ("<r><order>1</order>", "not well-formed XML: no element found"),
        ("<r><order>" + "<a>" * 200 + "</a>" * 200 + "</order></r>", "nested more than 100 deep"),
        (
            f"<r><order a='{'x' * 200_000}'>1</order></r>",
            "a tag or a comment is longer than bytes_per_record allows: 2,000",
        ),
        (
            f"<r><!--{'x' * 200_000}--><order>1</order></r>",
            "a tag or a comment is longer than bytes_per_record allows: 2,000",
        ),
    ],
)
def test_xml_that_is_broken_or_a_bomb_is_refused_as_a_whole(tmp_path: Path, text: str, reason: str) -> None:
    found = read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order", bytes_per_record=2000)
    assert [(line, record) for line, record, _ in found] == [(0, None)]
    assert reason in str(found[0][2])


CUT = gzip.compress(b'{"a":1}\n' * 5000, mtime=0)[:-10]


@pytest.mark.parametrize(
    ("name", "content", "file_format", "reason"),
    [
        ("cut.json.gz", CUT, "json", "ended before the end-of-stream marker"),
        ("plain.csv.gz", b"id\n1\n", "csv", "Not a gzipped file"),
        ("twice.csv", b"id,id\n1,2\n", "csv", "empty or repeated name"),
        ("not.parquet", b"id\n1\n", "parquet", "Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_gives_its_problem_and_no_record(
    tmp_path: Path, name: str, content: bytes, file_format: str, reason: str
) -> None:
    found = read(written(tmp_path, name, content), file_format)
    assert [(line, record) for line, record, _ in found] == [(0, None)]
    assert reason in str(found[0][2])


@pytest.mark.parametrize("encoding", ["utf8", "ISO-2022-JP"])
def test_xml_whose_encoding_is_known_for_ascii_alone_is_refused_with_its_name(
    tmp_path: Path, encoding: str
) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><r><order>日</order></r>'.encode(encoding)
    reason = refusal(read(written(tmp_path, "a.xml", text), "xml", row_tag="order"))
    assert f"not well-formed XML in the encoding '{encoding}': " in reason


@pytest.mark.parametrize("encoding", ["GB2312", "Shift_JIS", "klingon", "utf-7", "idna", "rot13"])
def test_xml_in_an_encoding_that_cannot_be_read_concerns_its_file_alone(
    tmp_path: Path, encoding: str
) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><r><order>1</order></r>'
    reason = refusal(read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order"))
    assert (
        reason == f"UnreadableFile: XML in the encoding '{encoding}', which cannot be read; land it as UTF-8"
    )


@pytest.mark.parametrize(
    "row", ["<order>A&nbsp;B</order>", '<order a="1" name="A&nbsp;B"/>', "<order name='A&nbsp;B'>1</order>"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_entity_of_a_dtd_elsewhere_is_not_passed_over(tmp_path: Path, row: str, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE r SYSTEM "r.dtd"><r>{row}</r>'
    reason = refusal(read(written(tmp_path, "a.xml", text.encode(encoding)), "xml", row_tag="order"))
    assert "it has the entity '&nbsp;', which it does not declare" in reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_an_entity_of_a_dtd_elsewhere_is_found_behind_whatever_stands_before_it(
    tmp_path: Path, encoding: str
) -> None:
    before = f"<!--{'ü' * 70_000}-->" + "<order n='ü &amp; u'/>" * 5_000
    mark, declared = ("\ufeff", "utf-16") if encoding.startswith("utf-16") else ("", encoding)
    start = f'{mark}<?xml version="1.0" encoding="{declared}"?><!DOCTYPE r SYSTEM "r.dtd"><r>{before}'
    whole, entity = f"{start}</r>", f'{start}<order n="A&nbsp;B"/></r>'
    assert len(read(written(tmp_path, "a.xml", whole.encode(encoding)), "xml", row_tag="order")) == 5_000
    reason = refusal(read(written(tmp_path, "b.xml", entity.encode(encoding)), "xml", row_tag="order"))
    assert "it has the entity '&nbsp;'" in reason


def test_tags_behind_a_dtd_take_time_in_proportion_to_the_file(tmp_path: Path) -> None:
    """Python's parser copies all that it has waiting for each tag that it is asked to show."""
    text = f'<!DOCTYPE r SYSTEM "r.dtd"><r><!--{"c" * 5_000_000}-->' + f'<order n="1"/>{" " * 220}' * 20_000
    file = written(tmp_path, "a.xml", f"{text}</r>".encode())
    before = time.process_time()
    assert len(read(file, "xml", row_tag="order")) == 20_000
    assert time.process_time() - before < 8


def test_other_blanks_than_those_of_xml_are_the_senders(tmp_path: Path) -> None:
    text = "<r><order><name> \n\u00a0x\u3000\t</name><note>\u00a0</note></order></r>"
    assert read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order") == [
        (1, '{"name": "\u00a0x\u3000", "note": "\u00a0"}', None)
    ]


def test_what_every_xml_file_may_have_is_read_beside_a_dtd_elsewhere(tmp_path: Path) -> None:
    text = (
        '<!DOCTYPE r SYSTEM "r.dtd"><r><!-- &c; --><?p &d; ?><order n="A&amp;&#66;">x &lt;'
        " <![CDATA[&e;]]></order></r>"
    )
    assert read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order") == [
        (1, '{"n": "A&B", "value": "x < &e;"}', None)
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-15", "windows-1252"])
def test_xml_says_its_encoding_itself(tmp_path: Path, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><r><order name="Köln"/></r>'
    assert read(written(tmp_path, "a.xml", text.encode(encoding)), "xml", row_tag="order") == [
        (1, '{"name": "Köln"}', None)
    ]


def test_an_xml_element_that_is_too_long_is_set_aside_and_the_others_are_read(tmp_path: Path) -> None:
    parts = "".join(f"<part n='{number}'>text</part>" for number in range(500))
    text = f"<r><order>1</order><order>{parts}<a><b>2</b></a></order><order><c>3</c></order></r>"
    found = read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order", bytes_per_record=2000)
    assert found == [
        (1, '{"value": "1"}', None),
        (2, None, "a record of 9,407 bytes, longer than bytes_per_record allows: 2,000"),
        (3, '{"c": "3"}', None),
    ]


@pytest.mark.parametrize("part", ["<a b=''/>", "<a/>", "x<!---->"])
def test_an_xml_element_of_many_small_parts_is_as_long_as_they_are_in_the_file(
    tmp_path: Path, part: str
) -> None:
    text = f"<r><order>{part * 1000}</order><order>{part * 10}</order></r>"
    found = read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order", bytes_per_record=1000)
    size = {"<a b=''/>": "9,008", "<a/>": "4,008", "x<!---->": "8,008"}[part]
    assert found[0] == (1, None, f"a record of {size} bytes, longer than bytes_per_record allows: 1,000")
    assert found[1][2] is None


def test_an_xml_file_of_elements_that_are_too_long_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_BROKEN", 3)
    long = f"<order>{'x' * 2000}</order>"
    text = f"<r><order>1</order>{long * 4}</r>"
    found = read(written(tmp_path, "a.xml", text.encode()), "xml", row_tag="order", bytes_per_record=1000)
    assert "4 of its 5 records are longer than bytes_per_record, the first is line 2" in refusal(found)


def test_a_long_tag_is_read_in_few_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser begins an open tag again with every block: in blocks of one size the work would grow with
    the square of its length.
    """
    sizes: list[int] = []

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            sizes.append(size or 0)
            return super().read(size)

    text = f'<r><order id="1"/><order id="{"x" * 4_000_000}"/></r>'.encode()
    monkeypatch.setattr(xml, "unpack", lambda *_: Counted(text))

    found = read(written(tmp_path, "a.xml", text), "xml", row_tag="order")

    assert [len(record or "") for _, record, _ in found] == [11, 4_000_010]
    assert len(sizes) < 2 * 20  # read twice


def test_whatever_a_reader_raises_concerns_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(records, "parquet_batches", fail)
    assert read(written(tmp_path, "a.parquet", b"PAR1"), "parquet") == [(0, None, "RecursionError: too deep")]


@pytest.mark.parametrize("inside", ["today", "today/orders"])
def test_a_folder_that_was_swapped_for_a_link_is_not_followed_but_that_of_the_source_may_be_one(
    tmp_path: Path, inside: str
) -> None:
    """Also where a folder below has the name of the source's own."""
    elsewhere, disk, landing = tmp_path / "elsewhere", tmp_path / "disk", tmp_path / "landing"
    for folder in (disk / inside, elsewhere / inside.partition("/")[2]):
        folder.mkdir(parents=True)
        (folder / "1.json").write_text('{"id":1}\n')
    landing.mkdir()
    (landing / "orders").symlink_to(disk)
    file = landing / "orders" / inside / "1.json"
    source = FileSource.model_validate({"format": "json", "path": "orders"})
    known = replace(arrived(file), landing=str(landing))
    before = [row for batch in read_records(known, source) for row in batch.to_pylist()]
    (disk / "today").rename(disk / "yesterday")
    (disk / "today").symlink_to(elsewhere)

    after = [row for batch in read_records(known, source) for row in batch.to_pylist()]

    assert [(row["line"], row["record"]) for row in before] == [(1, '{"id":1}')]
    assert [(row["line"], row["problem"].partition(":")[0]) for row in after] == [(0, "NotADirectoryError")]


def test_rows_of_xml_whose_tag_is_spelled_in_another_case_are_not_passed_over(tmp_path: Path) -> None:
    file = written(tmp_path, "a.xml", b"<orders><Order id='1'/></orders>")

    assert "it has no element 'order', but elements 'Order'" in refusal(read(file, "xml", row_tag="order"))
    assert read(written(tmp_path, "b.xml", b"<orders/>"), "xml", row_tag="order") == []
