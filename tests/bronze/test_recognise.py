"""What is no text is refused by name, with what it seems to be; a text with a few odd bytes is not."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bronze.arrive import read, refusal, written

LINES = "".join(f'{{"id": {number}, "city": "Köln"}}\n' for number in range(200))
CHINESE = "".join(f"訂單{number}：已發貨，客戶滿意。\n" for number in range(200))


def parquet() -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table({"id": range(100)}), content)
    return content.getvalue()


def avro() -> bytes:
    content = io.BytesIO()
    fastavro.writer(content, "long", range(100))
    return content.getvalue()


def tar() -> bytes:
    """Nearly all of its beginning is the text of its file."""
    content, lines = io.BytesIO(), LINES.encode() * 2_000
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo("a.json")
        member.size = len(lines)
        archive.addfile(member, io.BytesIO(lines))
    return content.getvalue()


def lz4() -> bytes:
    return bytes(pa.compress(LINES.encode() * 10, "lz4", asbytes=True))


NO_TEXT = {
    "UTF-16 text;": LINES.encode("utf-16"),
    "UTF-32 text;": LINES.encode("utf-32"),
    "UTF-16 text without a byte order mark; land it as UTF-8": LINES.encode("utf-16-le"),
    "UTF-16 text without": CHINESE.encode("utf-16-be"),
    "UTF-32 text without": LINES.encode("utf-32-be"),
    "a gzip file; packed files are known by their names": gzip.compress(LINES.encode(), mtime=0),
    "a bzip2 file": bz2.compress(LINES.encode()),
    "an xz file": lzma.compress(LINES.encode()),
    "a Parquet file; give it a source with format: parquet": parquet(),
    "an Avro file": avro(),
    "an LZ4 file": lz4(),
    "a tar archive; land the files that it holds": tar(),
    "binary data": random.Random(1).randbytes(100_000),
    # EBCDIC, which UTF-16 could be, too
    "binary data; look at what wrote it": LINES.encode("cp500", errors="replace"),
    "nothing but zero bytes": b"\0" * 5000,
}


@pytest.mark.parametrize("seems", NO_TEXT)
@pytest.mark.parametrize("file_format", ["json", "csv", "text"])
def test_what_is_no_text_is_refused_with_what_it_seems_to_be(
    tmp_path: Path, file_format: str, seems: str
) -> None:
    found = refusal(read(written(tmp_path, "a.dat", NO_TEXT[seems]), file_format))
    assert f"not UTF-8 text: it seems to be {seems}" in found
    packed = refusal(read(written(tmp_path, "a.dat.gz", gzip.compress(NO_TEXT[seems])), file_format))
    assert packed == found


def test_what_is_no_xml_is_named_as_well(tmp_path: Path) -> None:
    packed = written(tmp_path, "a.xml", gzip.compress(b"<orders><order/></orders>"))

    found = refusal(read(packed, "xml", row_tag="order"))

    assert "not XML: it seems to be a gzip file; packed files are known by their names" in found


@pytest.mark.parametrize(
    "content",
    [
        b"ORC of the north, PAR1 and BZh\n",
        b'{"a":1}\n\xff{"a":2}\n',
        b"one\ntwo \0 three\nfour\n",
        b"a\x01b\x01c\n" * 50,
        b"\x1b[31mred\x1b[0m\n" * 50,
        "".join(f"{number} caf\u00e9\n" for number in range(50)).encode("latin-1"),
        ("x" * 65_535 + "é\n").encode(),
    ],
)
def test_a_text_with_a_few_odd_bytes_is_read_line_by_line(tmp_path: Path, content: bytes) -> None:
    assert [line for line, _, _ in read(written(tmp_path, "a.log", content), "text")] == list(
        range(1, content.count(b"\n") + 1)
    )


def test_any_character_may_be_the_delimiter(tmp_path: Path) -> None:
    content = b"a\x01b\n" + b"1\x01\xff\n" * 5
    assert len(read(written(tmp_path, "a.csv", content), "csv", delimiter="\x01")) == 5
