"""Records as bronze keeps them, decoded without a pipeline around."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyspark.sql import SparkSession

from spark_jobs.bronze.ingest import BRONZE_DDL
from spark_jobs.config.expectations import Rule
from spark_jobs.config.silver import Columns
from spark_jobs.run.silver import LENIENT
from spark_jobs.silver.decode import decode
from spark_jobs.silver.decoding import Decoding

ARRIVED_AT = datetime(2024, 5, 1, 12, tzinfo=UTC)

Reasons = list[tuple[str, str | None, str | None]]
Decoded = tuple[dict[str, Any], Reasons, bool]
Decode = Callable[..., list[Decoded]]


@pytest.fixture(scope="session")
def lenient(spark: SparkSession) -> SparkSession:
    """A session as a silver batch has it."""
    session = spark.newSession()
    for name, value in LENIENT.items():
        session.conf.set(name, value)
    return session


@pytest.fixture
def decode_records(lenient: SparkSession) -> Decode:
    """Decodes records in one go. Per row, in the order of records: its columns, its reasons, and whether it
    is filtered.
    """

    def run(
        records: Sequence[str],
        columns: dict[str, Any],
        source_format: str = "json",
        problem: str | None = None,
        rules: Sequence[Rule] = (),
        **how: Any,
    ) -> list[Decoded]:
        bronze = [
            (text, "f.json", "f1", line, ARRIVED_AT, ARRIVED_AT, 1, problem)
            for line, text in enumerate(records, start=1)
        ]
        decoding = Decoding(source_format, TypeAdapter(Columns).validate_python(columns), **how)
        rows = decode(lenient.createDataFrame(bronze, BRONZE_DDL), decoding, rules).orderBy("_line").collect()
        return [
            (
                {name: _utc(row[name]) for name in columns},
                [tuple(reason) for reason in row["_reasons"]],
                row["_is_filtered"],
            )
            for row in rows
        ]

    return run


def _utc(value: Any) -> Any:
    """Spark hands out timestamps in the zone of the machine, without saying so."""
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value
