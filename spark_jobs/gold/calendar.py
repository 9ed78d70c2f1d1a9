"""The calendar window of a time: the day, week, month, quarter or year of a time zone, as instants.

It begins when the clocks of the zone first show its midnight (where they skip that, at the next time that
they show) and ends where the next one begins. So windows leave no instant out and share none, and a day has
23 or 25 hours where clocks change. Needs a session in UTC.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config.calendar import Unit
from spark_jobs.config.gold import Window

STEPS: dict[Unit, str] = {
    "day": "INTERVAL 1 DAY",
    "week": "INTERVAL 7 DAY",
    "month": "INTERVAL 1 MONTH",
    "quarter": "INTERVAL 3 MONTH",
    "year": "INTERVAL 1 YEAR",
}


def in_calendar(window: Window, at: Column) -> Column:
    """A struct of its `start` and `end`; of NULLs where there is no time.

    Where clocks go back across midnight, they show the end of a day again after the next one has begun.
    """
    assert window.calendar is not None
    unit, step = window.calendar, F.expr(STEPS[window.calendar])
    zone = window.zone or "UTC"
    first = F.date_trunc(unit, F.from_utc_timestamp(at, zone))
    is_shown_again = at >= F.to_utc_timestamp(first + step, zone)
    begun = F.when(is_shown_again, first + step).otherwise(first)
    start, end = F.to_utc_timestamp(begun, zone), F.to_utc_timestamp(begun + step, zone)
    return F.struct(start.alias("start"), end.alias("end"))
