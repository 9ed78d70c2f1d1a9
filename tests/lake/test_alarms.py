"""Shares of rows that nobody should miss."""

import pytest

from spark_jobs.lake.counts import Counts, add_up, find_alarms, is_all_set_aside

USUAL = Counts(rows_in=10_000, inserted=9_980, quarantined=20)


@pytest.mark.parametrize(
    ("table", "counts", "late_kept", "said"),
    [
        ("silver.a", Counts(rows_in=19_998, quarantined=19_998), 0,
         "silver.a: all 19,998 rows that came are quarantined: none is published"),
        ("silver.a", Counts(rows_in=1, quarantined=1), 0, "silver.a: the one row that came is quarantined: none is published"),
        ("silver.a", Counts(rows_in=100, inserted=88, quarantined=12), 0,
         "silver.a: 12.0% of the rows are quarantined (12 of 100); before it was 0.2%"),
        ("silver.a", Counts(rows_in=100, inserted=98, quarantined=2), 0, None),
        ("silver.a", Counts(rows_in=10, inserted=5, quarantined=5), 0, None),
        ("gold.b", Counts(rows_in=19_244, inserted=1, late=19_244), 19_244,
         "gold.b: all 19,244 rows that came are too late for a window or state, and not counted there"),
        ("gold.b", Counts(rows_in=100, inserted=4, late=30), 30,
         "gold.b: 30.0% of the rows are too late for a window or state, and not counted there (30 of 100);"
         " before it was 0.0%"),
        ("gold.b", Counts(rows_in=100, inserted=4, late=30), 0, None),
        ("bronze.c", Counts(rows_in=100, inserted=60, quarantined=40), 0, None),
        ("bronze.c", Counts(rows_in=12, quarantined=12), 0, "bronze.c: no record was read: 12 files cannot be read"),
    ],
)  # fmt: skip
def test_all_rows_set_aside_or_a_share_that_jumps_is_a_sentence(
    table: str, counts: Counts, late_kept: int, said: str | None
) -> None:
    assert list(find_alarms(table, counts, late_kept, USUAL, 0)) == ([said] if said else [])


def test_a_filter_that_lets_nothing_through_is_no_alarm() -> None:
    assert not is_all_set_aside("silver.a", Counts(rows_in=5, filtered=5), 0)
    assert is_all_set_aside("silver.a", Counts(rows_in=5, filtered=4, quarantined=1), 0)


def test_files_are_no_rows_and_repaired_rows_are_not_lost_ones() -> None:
    totals = add_up(
        [
            ("bronze.a", Counts(rows_in=292, inserted=288, quarantined=4), 0),
            ("dimension.m", Counts(inserted=2, parked=0), 0),
            ("silver.a", Counts(inserted=200, quarantined=88, parked=-3), 0),
            ("gold.b", Counts(late=7), 7),
            ("gold.c", Counts(late=5), 0),
        ]
    )

    assert (totals.records, totals.files_unreadable, totals.published, totals.members) == (288, 4, 200, 2)
    assert (totals.quarantined, totals.parked, totals.went_on, totals.set_aside) == (88, 0, 3, 95)
    assert (totals.late_kept, totals.late_repaired) == (7, 5)
