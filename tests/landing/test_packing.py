"""Packed content is read to its last byte, or not at all."""

import bz2
import gzip
import io
from collections.abc import Callable

import pyarrow as pa
import pytest

from spark_jobs.landing.packing import TIMES_COLUMNAR, TIMES_PACKED, estimate_unpacked, unpack

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}
FIRST, SECOND = b"one\ntwo\n" * 2000, b"three\nfour\n" * 2000


def unpacked(content: bytes, ending: str) -> bytes:
    return unpack(io.BufferedReader(io.BytesIO(content)), f"a{ending}").read()


def damaged(packed: bytes, at: int) -> bytes:
    return packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]


@pytest.mark.parametrize("ending", PACK)
def test_streams_behind_one_another_are_one_content(ending: str) -> None:
    assert unpacked(PACK[ending](FIRST) + PACK[ending](SECOND), ending) == FIRST + SECOND
    assert unpacked(PACK[ending](b""), ending) == b""


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("at", [0, 1, 2, 3, 10])
def test_a_damaged_second_stream_is_an_error(ending: str, at: int) -> None:
    if ending == ".gz" and at == 10:
        at = 14  # before that stands the time and the system, which say nothing of the content
    with pytest.raises((OSError, EOFError, ValueError, Exception)):
        unpacked(PACK[ending](FIRST) + damaged(PACK[ending](SECOND), at), ending)


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("behind", [b"x", b"some rubbish", b"\x01\x02\x03\x04\x05", b"BZ", b"BZh9"])
def test_bytes_that_are_left_behind_the_last_stream_are_an_error(ending: str, behind: bytes) -> None:
    with pytest.raises((OSError, EOFError)):
        unpacked(PACK[ending](FIRST) + behind, ending)


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("left", [1, 3, 8, 20, -1, -9])
def test_a_stream_that_is_cut_anywhere_is_an_error(ending: str, left: int) -> None:
    with pytest.raises((OSError, EOFError)):
        unpacked(PACK[ending](FIRST) + PACK[ending](SECOND)[:left], ending)


@pytest.mark.parametrize("ending", PACK)
def test_a_packed_file_without_a_byte_was_cut_as_well(ending: str) -> None:
    with pytest.raises(EOFError, match="it has no byte"):
        unpacked(b"", ending)


@pytest.mark.parametrize(
    ("path", "file_format", "times"),
    [
        ("a.json", "json", 1),
        ("a.json.gz", "json", TIMES_PACKED),
        ("a.csv.zst", "csv", TIMES_PACKED),
        ("a.parquet", "parquet", TIMES_COLUMNAR),
    ],
)
def test_a_packed_or_columnar_file_counts_for_more_than_its_size(
    path: str, file_format: str, times: int
) -> None:
    assert estimate_unpacked(path, 1_000, file_format) == 1_000 * times
