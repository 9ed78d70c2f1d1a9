"""The true answers of the clickstream pipeline, table by table."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.sample.oracle.decode import (
    MisfitError,
    Record,
    Row,
    Tables,
    Tally,
    event_time,
    field,
    integer,
    json_records,
    present,
    within,
)

SIZE = timedelta(minutes=10)
SLIDE = timedelta(minutes=5)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def click_answers(landing: Path, future_from: datetime) -> tuple[Tables, list[Row]]:
    tally = Tally("silver.clicks")
    clicks = [
        row
        for record in json_records(landing / "clickstream/clicks")
        for row in tally.fitting(_click, record, future_from)
    ]
    tables = {
        "silver.clicks": clicks,
        "gold.clicks_per_page": _clicks_per_page(clicks),
        "gold.page_funnel": _page_funnel(clicks),
    }
    return tables, [tally.counts()]


def _click(record: Record | None, future_from: datetime) -> Row:
    whole = present(record, "record")
    return {
        "click_id": field(whole, "click_id"),
        "user_id": within(integer(field(whole, "user_id")), 1, 2**63 - 1),
        "page": _page(present(field(whole, "page"), "page")),
        "clicked_at": event_time(whole, "clicked_at", future_from),
        "referrer": field(whole, "context.referrer"),
    }


def _page(text: str) -> str:
    if not text.startswith("/"):
        raise MisfitError(f"{text!r} is no page of the shop")
    return text


def _clicks_per_page(clicks: list[Row]) -> list[Row]:
    groups: dict[tuple[datetime, str], list[Row]] = defaultdict(list)
    for click in clicks:
        for start in _window_starts(click["clicked_at"]):
            groups[start, click["page"]].append(click)
    return [
        {
            "window_start": start,
            "window_end": start + SIZE,
            "page": page,
            "click_count": len(here),
            "user_count": _different(here, "user_id"),
        }
        for (start, page), here in groups.items()
    ]


def _window_starts(moment: datetime) -> Iterator[datetime]:
    """Every window that holds the moment: its start belongs to a window, its end does not."""
    start = moment - (moment - EPOCH) % SLIDE
    while moment < start + SIZE:
        yield start
        start -= SLIDE


def _page_funnel(clicks: list[Row]) -> list[Row]:
    pages: dict[str, list[Row]] = defaultdict(list)
    for click in clicks:
        pages[click["page"]].append(click)
    return [
        {
            "page": page,
            "user_count": _different(here, "user_id"),
            "click_count": len(here),
            "referrer_count": _different(here, "referrer"),
        }
        for page, here in pages.items()
    ]


def _different(rows: list[Row], column: str) -> int:
    """SQL's count(DISTINCT): NULL is no value."""
    return len({row[column] for row in rows} - {None})
