"""Calendar windows against the calendar of Python: zones in which clocks skip midnight, show it twice, or a
day is left out.
"""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.calendar import LONGEST
from spark_jobs.config.gold import Window
from spark_jobs.config.names import parse_duration
from spark_jobs.gold.calendar import in_calendar
from spark_jobs.verify.gold_rows import calendar_window

pytestmark = pytest.mark.spark

CHANGES = {
    "Europe/Berlin": [datetime(2024, 3, 31, 1), datetime(2024, 10, 27, 1), datetime(2024, 12, 31, 23)],
    "America/Sao_Paulo": [
        datetime(2018, 11, 4, 3),
        datetime(2018, 2, 18, 2),
    ],  # skips midnight; back across it
    "America/Havana": [datetime(2024, 3, 10, 5), datetime(2024, 11, 3, 5)],  # midnight is shown twice
    "America/St_Johns": [
        datetime(2010, 11, 7, 2, 31),
        datetime(2010, 3, 14, 3, 31),
    ],  # a minute after midnight
    "Pacific/Apia": [datetime(2011, 12, 30, 10)],  # a day is left out
    "Asia/Kathmandu": [datetime(1985, 12, 31, 18, 30)],
    "UTC": [datetime(2024, 2, 29), datetime(1969, 12, 31)],
}
AROUND = [
    timedelta(seconds=seconds)
    for minutes in range(-30 * 60, 30 * 60, 17)
    for seconds in (minutes * 60, minutes * 60 + 1)
]


def trunc(day: date, unit: str) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return day.replace(month=month, day=1)


def behind(day: date, unit: str) -> date:
    """The first day of the next window."""
    return trunc(
        day + timedelta(days={"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[unit]), unit
    )


def midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def expected(at: datetime, unit: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    first = trunc(at.astimezone(zone).date(), unit)
    first = behind(first, unit) if at >= midnight(behind(first, unit), zone) else first
    return midnight(first, zone), midnight(behind(first, unit), zone)


@pytest.mark.parametrize("name", CHANGES)
def test_windows_are_those_of_the_calendar(spark: SparkSession, name: str) -> None:
    zone = ZoneInfo(name)
    times = [change.replace(tzinfo=UTC) + step for change in CHANGES[name] for step in AROUND]
    rows = spark.createDataFrame([(int(at.timestamp()),) for at in times], "at bigint").withColumn(
        "at", F.timestamp_seconds("at")
    )
    for unit, longest in LONGEST.items():
        window = Window.model_validate({"calendar": unit, "zone": name})
        found = rows.select(
            F.unix_timestamp("at").alias("at"),
            *(
                F.unix_timestamp(made[edge]).alias(f"{way}_{edge}")
                for way, made in (
                    ("run", in_calendar(window, F.col("at"))),
                    ("verify", calendar_window(unit, name, "at")),
                )
                for edge in ("start", "end")
            ),
        ).collect()
        for row in found:
            at = datetime.fromtimestamp(row["at"], UTC)
            wanted = tuple(int(bound.timestamp()) for bound in expected(at, unit, zone))
            assert (row["run_start"], row["run_end"]) == wanted, (at, unit)
            assert (row["verify_start"], row["verify_end"]) == wanted, (at, unit)
            assert wanted[0] <= row["at"] < wanted[1]
            assert wanted[1] - wanted[0] <= parse_duration(longest).total_seconds()


def test_no_time_is_in_no_window(spark: SparkSession) -> None:
    window = Window.model_validate({"calendar": "day", "zone": "Europe/Berlin"})
    found = spark.sql("SELECT CAST(NULL AS TIMESTAMP) AS at").select(
        in_calendar(window, F.col("at")).alias("w")
    )

    assert found.select("w.start", "w.end").collect() == [(None, None)]
