"""Windows over silver rows: which are touched, and what they hold."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from spark_jobs.config.gold import Gold
from spark_jobs.gold import windows
from spark_jobs.gold.windows import (
    Selection,
    aggregate,
    find_touched,
    first_window,
    literal_time,
    select_rows,
    window_count,
    windowed,
)
from spark_jobs.lake.queries import AddsFloats

pytestmark = pytest.mark.spark

AT = datetime(2024, 5, 1, 10, tzinfo=UTC)
NOW = datetime(2024, 6, 1, tzinfo=UTC)


@pytest.fixture(params=["UTC", "America/New_York"], autouse=True)
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """The zone of the machine must change nothing."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    os.environ.pop("TZ")
    os.environ.update({"TZ": before} if before else {})
    time.tzset()


def gold(size: str, slide: str | None = None, **more: Any) -> Gold:
    window = {"size": size, **({"slide": slide} if slide else {})}
    return Gold.model_validate(
        {
            "from": "silver.clicks",
            "window": window,
            "group_by": "page",
            "measures": {"click_count": "count(*)"},
            **more,
        }
    )


def clicks(spark: SparkSession, *rows: tuple[str, str | None]) -> DataFrame:
    return spark.createDataFrame(rows, "at string, page string").withColumn(
        "at", F.col("at").cast("timestamp")
    )


def expected(spark: SparkSession, *rows: tuple[str, str, str | None, int]) -> DataFrame:
    frame = spark.createDataFrame(
        rows, "window_start string, window_end string, page string, click_count bigint"
    )
    times = {name: F.col(name).cast("timestamp") for name in ("window_start", "window_end")}
    return frame.withColumns({**times, "_processed_at": F.lit(NOW)})


def compute_windows(rows: DataFrame, definition: Gold, selection: Selection | None) -> DataFrame:
    return aggregate(select_rows(rows, definition, "at", selection), definition, NOW).drop("_row_count")


def test_a_window_begins_with_its_start_and_ends_before_its_end(spark: SparkSession) -> None:
    rows = clicks(
        spark,
        ("2024-05-01 10:00:00", "a"),
        ("2024-05-01 10:59:59.999999", "a"),
        ("2024-05-01 11:00:00", "a"),
        ("2024-05-01 10:30:00", None),
        ("1969-12-31 23:30:00", "old"),
    )

    found = compute_windows(rows, gold("1 hour"), None)

    assertDataFrameEqual(
        found,
        expected(
            spark,
            ("2024-05-01 10:00:00", "2024-05-01 11:00:00", "a", 2),
            ("2024-05-01 11:00:00", "2024-05-01 12:00:00", "a", 1),
            ("2024-05-01 10:00:00", "2024-05-01 11:00:00", None, 1),
            ("1969-12-31 23:00:00", "1970-01-01 00:00:00", "old", 1),
        ),
    )


def test_a_row_is_in_every_sliding_window_that_covers_it_and_in_none_that_the_condition_leaves_out(
    spark: SparkSession,
) -> None:
    rows = clicks(spark, ("2024-05-01 10:05:00", "a"), ("2024-05-01 10:07:00", "b"))

    found = compute_windows(rows, gold("10 minutes", "5 minutes", where="page <> 'b'"), None)

    assertDataFrameEqual(
        found,
        expected(
            spark,
            ("2024-05-01 10:00:00", "2024-05-01 10:10:00", "a", 1),
            ("2024-05-01 10:05:00", "2024-05-01 10:15:00", "a", 1),
        ),
    )


def test_only_touched_windows_are_computed(spark: SparkSession) -> None:
    silver = clicks(spark, *((f"2024-05-01 {hour:02}:30:00", "a") for hour in range(8, 16)))
    changes = clicks(spark, ("2024-05-01 10:10:00", "a"), ("2024-05-01 14:20:00", "b"))

    touched = find_touched(changes, gold("1 hour"), "at")
    assert touched is not None
    found = compute_windows(silver, gold("1 hour"), touched)

    assert touched.condition.count("TIMESTAMP") == 2
    assertDataFrameEqual(
        found,
        expected(
            spark,
            ("2024-05-01 10:00:00", "2024-05-01 11:00:00", "a", 1),
            ("2024-05-01 14:00:00", "2024-05-01 15:00:00", "a", 1),
        ),
    )


def test_too_many_touched_windows_are_named_as_a_span(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "MOST_WINDOWS_LISTED", 2)
    silver = clicks(spark, *((f"2024-05-01 {hour:02}:30:00", "a") for hour in range(8, 16)))
    changes = clicks(spark, *((f"2024-05-01 {hour:02}:10:00", "a") for hour in (14, 10, 12)))

    touched = find_touched(changes, gold("1 hour"), "at")
    assert touched is not None
    found = compute_windows(silver, gold("1 hour"), touched)

    assert (
        touched.condition
        == "window_start >= TIMESTAMP '2024-05-01 10:00:00' AND window_start <= TIMESTAMP '2024-05-01"
        " 14:00:00'"
    )
    hours = [
        (f"2024-05-01 {hour:02}:00:00", f"2024-05-01 {hour + 1:02}:00:00", "a", 1) for hour in range(10, 15)
    ]
    assertDataFrameEqual(found, expected(spark, *hours))


def test_a_watermark_before_the_year_1000_is_a_time_that_spark_reads() -> None:
    assert literal_time(datetime(999, 6, 1, 12, tzinfo=UTC)) == "TIMESTAMP '0999-06-01 12:00:00.000000'"


def test_rows_without_a_time_touch_no_window(spark: SparkSession) -> None:
    changes = clicks(spark, ("2024-05-01 10:10:00", "a")).withColumn("at", F.lit(None).cast("timestamp"))

    assert find_touched(changes, gold("1 hour"), "at") is None


@pytest.mark.parametrize(
    "at", ["0202-05-01 10:00:00", "0001-01-01 00:00:00", "0000-01-01 00:00:00", "9999-12-31 23:59:59"]
)
def test_a_mistaken_year_does_not_stop_the_windows(spark: SparkSession, at: str) -> None:
    """Feeds send 0001-01-01 for 'no date', and the window before it starts in the year 0."""
    changes = clicks(spark, (at, "a"))

    touched = find_touched(changes, gold("10 minutes", "5 minutes"), "at")
    assert touched is not None
    found = compute_windows(changes, gold("10 minutes", "5 minutes"), touched)

    assert found.where(touched.condition).agg(F.sum("click_count")).collect()[0][0] == 2


def test_a_table_without_windows_has_a_row_per_group(spark: SparkSession) -> None:
    definition = Gold.model_validate(
        {
            "from": "silver.clicks",
            "group_by": "page",
            "measures": {"click_count": "count(*)", "last_at": "max(at)"},
            "where": "at is not null",
        }
    )
    rows = clicks(
        spark, ("2024-05-01 10:00:00", "a"), ("2024-05-01 11:00:00", "a"), ("2024-05-01 11:00:00", None)
    )

    found = aggregate(rows, definition, NOW)

    last = AT + timedelta(hours=1)
    schema = "page string, click_count bigint, last_at timestamp, _row_count bigint, _processed_at timestamp"
    assertDataFrameEqual(
        found, spark.createDataFrame([("a", 2, last, 2, NOW), (None, 1, last, 1, NOW)], schema)
    )


@pytest.mark.parametrize(
    ("size", "slide"),
    [("10 minutes", "5 minutes"), ("10 minutes", "3 minutes"), ("1 hour", None), ("7 days", "1 day")],
)
def test_the_arithmetic_of_windows_agrees_with_the_windows(
    spark: SparkSession, size: str, slide: str | None
) -> None:
    """The number of a row's windows and the first of them are computed apart from the
    windows, to check them.
    """
    times = [
        "2024-05-01 10:00:00",
        "2024-05-01 10:04:59.999999",
        "2024-05-01 10:05:00",
        "1969-12-31 23:59:59",
        "0202-05-01 10:00:00",
    ]
    definition = gold(size, slide)
    assert definition.window is not None
    rows = clicks(spark, *((at, at) for at in times))
    counted = (
        windowed(rows, definition, "at")
        .groupBy("page")
        .agg(F.count("*"), F.min("window_start"), F.min("window_end"))
    )
    start, end = first_window(definition.window, F.col("at"))

    computed = rows.select("page", window_count(definition.window, F.col("at")), start, end)

    assert sorted(map(str, computed.collect())) != []
    assert {tuple(map(str, row)) for row in computed.collect()} == {
        tuple(map(str, row)) for row in counted.collect()
    }


def test_a_measure_that_turns_out_to_add_floating_numbers_is_refused(spark: SparkSession) -> None:
    rows = windowed(clicks(spark, ("2024-05-01T10:00:00Z", "a")), gold("1 hour"), "at")

    with pytest.raises(AddsFloats, match="adds floating-point numbers"):
        aggregate(rows, gold("1 hour", measures={"shares": "sum(length(page) / 3)"}), NOW)
