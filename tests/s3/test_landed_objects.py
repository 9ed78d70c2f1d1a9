"""Landed objects that are replaced: a store tells times in whole seconds, so time and size do not tell two
contents apart.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.bronze.arrived import make_arrived
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from spark_jobs.lake import storage
from spark_jobs.lake.layout import Lake
from spark_jobs.landing.arrivals import read_arrivals
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.look import look_at, register_arrivals
from tests.conftest import unguarded
from tests.s3.server import S3Server

AT = datetime(2026, 3, 1, tzinfo=UTC)
ORDERS = FileSource.model_validate({"path": "orders", "format": "json"})


@dataclass(frozen=True)
class Replaced:
    """An object that was registered, and replaced by one of the same size within the same second."""

    feed: Feed
    path: str

    @property
    def first_arrival(self) -> dict[str, Any]:
        return next(row for row in read_arrivals(self.feed.arrivals) if row["path"] == self.path)


@pytest.fixture
def replaced(s3: S3Server, tmp_path: Path) -> Replaced:
    landing = f"s3a://{s3.new_bucket()}/landing"
    feed = make_feed(Lake(str(tmp_path), "shop"), landing, "orders", ORDERS, unguarded)
    for attempt in range(50):  # until no second ends in between
        path = f"orders/{attempt}.json"
        storage.write_bytes(f"{landing}/{path}", b'{"a":1}')
        assert register_arrivals(feed, AT).taken == 1
        before = storage.describe(f"{landing}/{path}")
        storage.write_bytes(f"{landing}/{path}", b'{"a":2}')
        after = storage.describe(f"{landing}/{path}")
        if (after.size, after.modified_at) == (before.size, before.modified_at):
            return Replaced(feed, path)
    raise AssertionError("this machine takes more than a second for four requests")


def test_the_new_content_is_noticed(replaced: Replaced) -> None:
    refused = dict(look_at(replaced.feed, AT, None).found.refused)

    assert refused[replaced.path].startswith("it says something else than when it was taken; ")


def test_the_new_content_is_not_read_as_the_old_one(replaced: Replaced) -> None:
    arrived = make_arrived(replaced.first_arrival, replaced.feed.landing)

    [batch] = read_records(arrived, ORDERS)

    assert batch.to_pylist() == [
        {"line": 0, "record": None, "problem": "UnreadableFile: changed between arrival and reading"}
    ]


def test_an_object_that_stays_as_it_is_is_looked_into_once(replaced: Replaced) -> None:
    register_arrivals(replaced.feed, AT)

    assert look_at(replaced.feed, AT, None).rows == []
