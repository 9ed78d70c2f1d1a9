from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.report.text import age, count, cut, duration, moment, number, rate, share

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_share_never_hides_what_is_small_or_nearly_all() -> None:
    assert [share(*pair) for pair in ((0, 10), (1, 8), (1, 1_000_000), (999_999, 1_000_000), (5, 5), (1, 0), (None, 3))] == [
        "0 %", "12.5 %", "< 0.01 %", "> 99.99 %", "100 %", "–", "–"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (30, "just now"),
        (60, "1 minute ago"),
        (7_300, "2 hours ago"),
        (200_000, "2 days ago"),
        (-90_000, "in 1 day"),
    ],
)
def test_an_age_is_told_in_its_greatest_unit(ago: int, said: str) -> None:
    assert age(NOW - timedelta(seconds=ago), NOW) == said


def test_numbers_times_and_durations_are_for_people() -> None:
    assert (number(1_234_567), number(None), count(1, "row"), count(2_000, "row")) == (
        "1,234,567",
        "–",
        "1 row",
        "2,000 rows",
    )
    assert (moment(NOW), moment(None)) == ("2026-03-01 12:00 UTC", "–")
    assert [duration(seconds) for seconds in (None, 0.04, 59.9, 59.96, 61, 7_260)] == [
        "–",
        "0.0 s",
        "59.9 s",
        "1 min 0 s",
        "1 min 1 s",
        "2 h 1 min",
    ]
    assert [rate(rows, 2.0) for rows in (0, 1, 2, 3_000)] == ["–", "< 1 row/s", "1 row/s", "1,500 rows/s"]


def test_a_cut_value_shows_its_hidden_characters_and_its_length() -> None:
    assert cut("a\u202eb\x00c\nd") == "a\\u202eb\\u0000c\\u000ad"
    assert cut("نص 👩‍💻 ü") == "نص 👩‍💻 ü"
    assert cut("e" + "\u0301" * 5) == "e" + "\u0301" * 3 + "\\u0301\\u0301"
    assert cut("x" * 1_000_000) == "x" * 80 + "… (1,000,000 characters)"
