"""A chunk is cut at the first of two limits: files and bytes."""

from typing import Any

import pytest

from spark_jobs.landing.arrivals import REFUSED, TAKEN, cut_chunks


def file(size: int, verdict: str = TAKEN, start_byte: int | None = None) -> dict[str, Any]:
    return {"size": size, "verdict": verdict, "start_byte": start_byte}


@pytest.mark.parametrize(
    ("sizes", "most_files", "most_bytes", "chunks"),
    [
        ([1, 1, 1], 2, None, [[1, 1], [1]]),
        ([4, 4, 4], 10, 8, [[4, 4], [4]]),
        ([4, 4, 4], 1, 8, [[4], [4], [4]]),
        ([1, 100, 1], 10, 8, [[1], [100], [1]]),
        ([], 10, 8, []),
    ],
)
def test_a_chunk_ends_at_the_first_of_its_limits(
    sizes: list[int], most_files: int, most_bytes: int | None, chunks: list[list[int]]
) -> None:
    found = cut_chunks([file(size) for size in sizes], most_files, most_bytes)

    assert [[row["size"] for row in chunk] for chunk in found] == chunks


def test_only_bytes_that_are_read_count() -> None:
    rows = [file(100, REFUSED), file(100, start_byte=96), file(4)]

    assert list(cut_chunks(rows, 10, 8)) == [rows]
