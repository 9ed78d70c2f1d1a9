"""Gold through whole runs: changes of silver reach exactly the windows they touch, and tables by SQL and
Python follow their inputs.
"""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.gold import windows
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  clicks: {format: json, path: clicks}
silver:
  clicks:
    from: clicks
    columns: {id: bigint, at: timestamp, version: bigint, page: string}
    key: id
    sequence_by: version
    event_time: at
gold:
  per_hour:
    from: silver.clicks
    window: {size: 1 hour}
    group_by: [page]
    measures: {click_count: count(*)}
  all_hours:
    from: silver.clicks
    window: {size: 1 hour}
    measures: {click_count: count(*)}
    where: page is not null
    emit: complete
  per_page:
    from: silver.clicks
    group_by: [page]
    measures: {click_count: count(*)}
  pages:
    sql: sql/pages.sql
  busiest:
    python: hooks/shop.py:busiest
    inputs: [gold.pages, silver.clicks]
"""
HOOK = """
def busiest(pages, clicks):
    return pages.crossJoin(clicks.selectExpr("count(*) AS click_count")).orderBy("visits", ascending=False).limit(1)
"""


@pytest.fixture
def in_new_york() -> Iterator[None]:
    """The zone of the machine, which must change nothing."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    yield
    os.environ.pop("TZ")
    os.environ.update({"TZ": before} if before else {})
    time.tzset()


def hour(number: int) -> datetime:
    return datetime(2024, 5, 1, number, tzinfo=UTC)


def window(start: datetime, *values: object) -> tuple[object, ...]:
    return (start, start + timedelta(hours=1), *values)


def click(number: int, at: str, version: int, page: str | None = "a") -> str:
    named = f',"page":"{page}"' if page else ""
    return f'{{"id":{number},"at":"{at}","version":{version}{named}}}\n'


@pytest.mark.usefixtures("in_new_york")
def test_gold_follows_silver(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """One story, as every run takes seconds."""
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("conf/hooks/shop.py", HOOK)
    workshop.write(
        "conf/sql/pages.sql",
        "SELECT c.page, count(*) AS visits FROM silver.clicks AS c WHERE c.page IS NOT NULL GROUP BY c.page",
    )
    first = [
        click(1, "2024-05-01T10:05:00Z", 1),
        click(2, "2024-05-01T10:55:00Z", 1, "b"),
        click(3, "2024-05-01T12:30:00Z", 1, None),
    ]
    workshop.land("clicks/1.json", "".join([*first, click(5, "2024-05-01T18:00:00Z", 1)]))

    assert workshop.run("shop").exit_code == 0

    untouched = window(hour(18), "a", 1)
    columns = ("window_start", "window_end", "page", "click_count")
    assert workshop.rows("shop.gold.per_hour", *columns) == sorted(
        [window(hour(10), "a", 1), window(hour(10), "b", 1), window(hour(12), None, 1), untouched], key=repr
    )
    assert workshop.rows("shop.gold.all_hours", "window_start", "window_end", "click_count") == [
        window(hour(10), 2),
        window(hour(18), 1),
    ]
    assert workshop.rows("shop.gold.per_page", "page", "click_count") == [("a", 2), ("b", 1), (None, 1)]
    assert workshop.rows("shop.gold.pages", "page", "visits") == [("a", 2), ("b", 1)]
    assert workshop.rows("shop.gold.busiest", "page", "visits", "click_count") == [("a", 2, 4)]
    processed = dict(workshop.rows("shop.gold.per_hour", "window_start", "_processed_at"))

    # 1 goes from ten to eleven o'clock, 3 leaves its hour empty, 4 has a mistaken year; more windows are
    # touched than are listed.
    monkeypatch.setattr(windows, "MOST_WINDOWS_LISTED", 3)
    moved = [click(1, "2024-05-01T11:05:00Z", 2), click(3, "2024-05-01T14:00:00Z", 2, "b")]
    workshop.land("clicks/2.json", "".join([*moved, click(4, "0001-01-01T00:30:00Z", 1)]))

    result = workshop.run("shop")

    assert (result.exit_code, result.message) == (0, "7 tables brought up to date")
    ancient = datetime(1, 1, 1, tzinfo=UTC)
    assert workshop.rows("shop.gold.per_hour", *columns) == sorted(
        [
            window(ancient, "a", 1),
            window(hour(10), "b", 1),
            window(hour(11), "a", 1),
            window(hour(14), "b", 1),
            untouched,
        ],
        key=repr,
    )
    assert workshop.rows("shop.gold.per_page", "page", "click_count") == [("a", 3), ("b", 2)]
    assert workshop.rows("shop.gold.busiest", "page", "visits", "click_count") == [("a", 3, 5)]
    assert (
        dict(workshop.rows("shop.gold.per_hour", "window_start", "_processed_at"))[hour(18)]
        == processed[hour(18)]
    )

    # A changed text of SQL is a changed table, without new data.
    before = workshop.versions()
    workshop.write(
        "conf/sql/pages.sql", "SELECT page, 10 * count(*) AS visits FROM silver.clicks GROUP BY page"
    )

    changed = workshop.run("shop")

    assert {run.table: run.state for run in changed.tables if run.state != "up_to_date"} == {
        "gold.pages": "done",
        "gold.busiest": "done",
    }
    assert workshop.rows("shop.gold.pages", "page", "visits") == [("a", 30), ("b", 20)]
    moved_tables = {
        table
        for table, version in workshop.versions().items()
        if before[table] != version and "_weir" not in table
    }
    assert moved_tables == {"lake/shop/gold/pages", "lake/shop/gold/busiest"}
