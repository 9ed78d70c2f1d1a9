"""Sessions as tables have them, and rows of every type with NULLs and edges in each column."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.run.silver import LENIENT
from tests.quality.rules import COLUMNS


@pytest.fixture(scope="session")
def lenient(spark: SparkSession) -> SparkSession:
    """A session as a silver batch has it: ANSI off."""
    session = spark.newSession()
    for name, value in LENIENT.items():
        session.conf.set(name, value)
    return session


@pytest.fixture(scope="session")
def strict(spark: SparkSession) -> SparkSession:
    """A session as Spark has it by itself: ANSI on."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    return session


@pytest.fixture(scope="session")
def edges(lenient: SparkSession) -> Iterator[DataFrame]:
    rows = lenient.createDataFrame(EDGES, COLUMNS).persist()
    yield rows
    rows.unpersist()


@pytest.fixture(scope="session")
def strict_edges(strict: SparkSession) -> Iterator[DataFrame]:
    rows = strict.createDataFrame(EDGES, COLUMNS).persist()
    yield rows
    rows.unpersist()


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
FULL = (5, 5, 7, Decimal("10.00"), Decimal("0.50"), 1.5, 2.5, "abc", "abc", date(2024, 5, 1), NOON, True)
BIG = 2**63 - 1


def _row(number: int, **changes: Any) -> tuple[Any, ...]:
    """A row that is FULL but for the changes."""
    names = [part.split()[0] for part in COLUMNS.split(", ")][1:]
    return (number, *(changes.get(name, value) for name, value in zip(names, FULL, strict=True)))


NAMES = [part.split()[0] for part in COLUMNS.split(", ")][1:]
CHANGES: list[dict[str, Any]] = [
    {},
    *({name: None} for name in NAMES),
    dict.fromkeys(NAMES),
    {"n": None, "m": None},
    {"n": 0, "price": Decimal("0.00"), "ratio": 0.0, "weight": 0.0, "word": "", "other": ""},
    {"n": -5, "m": 5, "k": -7, "price": Decimal("-0.01"), "ratio": -0.0, "word": " abc"},
    {"n": 2**53 + 1, "m": 2**53, "price": Decimal("9999999999.99"), "ratio": 1e308, "word": "Abc"},
    {"n": BIG, "m": BIG, "k": 2**31 - 1, "ratio": float("inf"), "word": "a" * 50},
    {"n": -BIG, "m": BIG, "ratio": float("nan"), "weight": float("nan"), "word": "äöü", "other": "ÄÖÜ"},
    {
        "n": 10,
        "m": 7,
        "price": Decimal("99.99"),
        "share": Decimal("0.01"),
        "ratio": 0.1,
        "weight": 0.1,
        "word": "a\nb",
        "other": "12",
    },
    {
        "n": 100,
        "m": 5,
        "price": Decimal("100.00"),
        "ratio": 100.0,
        "day": date(1970, 1, 1),
        "at": datetime(1970, 1, 1, tzinfo=UTC),
    },
    {
        "day": date(9999, 12, 31),
        "at": datetime(2024, 5, 1, 12, 0, 0, 1, tzinfo=UTC),
        "flag": False,
        "word": "🦆",
        "other": "x,y",
    },
    {
        "day": date(2024, 4, 30),
        "at": datetime(2024, 5, 1, tzinfo=UTC),
        "word": "NULL",
        "other": None,
        "n": 3,
        "m": None,
    },
    {"m": 3, "n": 7, "k": 5, "word": "12", "other": "abc"},
]
EDGES = [_row(number, **changes) for number, changes in enumerate(CHANGES)]
