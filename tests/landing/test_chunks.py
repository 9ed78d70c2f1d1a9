"""A chunk is cut at the first of two limits: files and bytes."""

from collections import Counter
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.config.sources import FileSource
from spark_jobs.lake import delta_commit
from spark_jobs.landing.arrivals import REFUSED, TAKEN, TOUCHED, append_chunks, cut_chunks
from spark_jobs.landing.content import Content
from spark_jobs.landing.folder import LandedFile
from spark_jobs.landing.verdicts import make_row
from tests.landing.landing_zone import AT, LandingZone


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


@pytest.mark.parametrize(
    ("count", "size", "keys", "chunks"),
    [
        (100_000, 300, {}, [20_000] * 5),
        (100_000, 300, {"files_per_batch": 500}, [500] * 200),
        (25, 100 * 1024**2, {}, [10, 10, 5]),
        (25, 100 * 1024**2, {"files_per_batch": 20}, [20, 5]),
        (25, 100 * 1024**2, {"bytes_per_batch": 500 * 1024**2}, [5] * 5),
        (25, 100, {"files_per_batch": 20, "bytes_per_batch": 1_000}, [10, 10, 5]),
        (3, 5 * 1024**3, {}, [1, 1, 1]),
    ],
)
def test_without_limits_of_its_own_a_source_takes_many_small_files_or_few_large_ones_at_once(
    count: int, size: int, keys: dict[str, int], chunks: list[int]
) -> None:
    source = FileSource.model_validate({"format": "json", "path": "in", **keys})

    assert [len(chunk) for chunk in cut_chunks([file(size)] * count, *source.batch_limits)] == chunks


def test_a_chunk_stays_as_it_was_cut_and_the_largest_is_one_data_file(zone: LandingZone) -> None:
    rows = [
        make_row(LandedFile(f"shop/orders/{number:05}.json", 9, AT), Content(f"{number:064}"), TAKEN)
        for number in range(20_001)
    ]
    append_chunks(zone.feed(), rows, AT)
    before = DeltaTable(zone.feed().arrivals).file_uris()
    append_chunks(zone.feed(files_per_batch=1), rows[:2], AT)

    assert len(before) == 2
    assert set(before) < set(DeltaTable(zone.feed().arrivals).file_uris())
    assert Counter(chunk for (chunk,) in zone.arrivals("chunk")) == {1: 20_000, 2: 1, 3: 1, 4: 1}


def test_a_chunk_whose_answer_was_lost_is_written_once(
    zone: LandingZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """delta-rs takes its own commit for that of another writer then, and would commit once more behind it."""
    rows = [make_row(LandedFile("shop/orders/1.json", 9, AT), Content("a" * 64), TAKEN)]
    append_chunks(zone.feed(), rows, AT)

    def write_without_an_answer(table: str, *args: Any, **said: Any) -> None:
        before = DeltaTable(table)
        write_deltalake(table, *args, **said)
        write_deltalake(before, *args, **{**said, "storage_options": None})

    monkeypatch.setattr(delta_commit, "write_deltalake", write_without_an_answer)

    assert append_chunks(zone.feed(), rows, AT) == 2
    assert sorted(chunk for (chunk,) in zone.arrivals("chunk")) == [1, 2]


def test_only_bytes_that_are_read_count() -> None:
    rows = [file(100, REFUSED), file(100, start_byte=96), file(4)]

    assert list(cut_chunks(rows, 10, 8)) == [rows]


def test_only_files_that_are_read_count() -> None:
    touched, taken = [file(4, TOUCHED)] * 2, [file(4)] * 3

    assert list(cut_chunks([*touched, *taken], 2, None)) == [[*touched, *taken[:2]], taken[2:]]
    assert list(cut_chunks([*taken, *touched], 2, None)) == [taken[:2], [*taken[2:], *touched]]
    assert list(cut_chunks(touched, 1, None)) == [touched]
