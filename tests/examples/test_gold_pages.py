"""docs/pipeline-file.md: calendar windows, windows over gold tables and running totals give the rows that the
page shows.
"""

from datetime import datetime
from typing import Any

import pytest

from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.examples.page import blocks, section, tables
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

PAGE = "pipeline-file.md"


def shown(value: Any) -> str:
    return f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else str(value)


def rows(workshop: Workshop, table: str, like: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of a table with the columns of a table of the page."""
    names = list(like[0])
    found = sorted(workshop.rows(table, *names))
    return [dict(zip(names, map(shown, row), strict=True)) for row in found]


def test_calendar_windows_are_those_of_the_page(workshop: Workshop) -> None:
    text = section(PAGE, "Calendar windows")
    per_day, per_month = tables(text)
    workshop.write("conf/pipelines/kiosk.yml", blocks(text, "yaml")[0])
    for number, line in enumerate(reversed(blocks(text, "json")[0].splitlines())):
        workshop.land(f"kiosk/sales/{number}.json", line)
        assert workshop.run("kiosk").status is Status.OK

    assert rows(workshop, "kiosk.gold.per_day", per_day) == per_day
    assert rows(workshop, "kiosk.gold.per_month", per_month) == per_month
    assert verified(workshop, "kiosk") == []


def test_days_and_totals_made_from_hours_are_those_of_the_page(workshop: Workshop) -> None:
    text = section(PAGE, "Windows over gold tables")
    before, after = tables(text)
    workshop.write("conf/pipelines/bakery.yml", blocks(text, "yaml")[0])
    first, correction = blocks(text, "json")
    workshop.land("bakery/sales/a.json", first)

    assert workshop.run("bakery").status is Status.OK
    assert rows(workshop, "bakery.gold.per_day", before) == before

    workshop.land("bakery/sales/b.json", correction)

    assert workshop.run("bakery").status is Status.OK
    assert rows(workshop, "bakery.gold.per_day", after) == after
    assert verified(workshop, "bakery") == []
