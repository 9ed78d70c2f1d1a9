"""Seconds that become times are exact numbers."""

import pytest

from spark_jobs.config.expressions import judge_row_expression

TYPES = {"x": "double", "f": "float", "n": "bigint", "d": "decimal(20,6)", "at": "timestamp", "t": "string"}


@pytest.mark.parametrize(
    "sql",
    [
        "timestamp_seconds(x)",
        "TIMESTAMP_SECONDS( (F) )",
        "CAST(x AS TIMESTAMP)",
        "x::timestamp",
        "try_cast(x AS timestamp)",
        "timestamp(x)",
        "timestamp_seconds(n / 1000)",
        "timestamp_seconds(n + x)",
        "timestamp_seconds(CAST(d AS DOUBLE))",
        "timestamp_seconds(17e8)",
        "timestamp_seconds(x / 1000.0)",
        "year(timestamp_seconds(-x))",
    ],
)
def test_a_time_of_a_floating_number_is_refused(sql: str) -> None:
    [(message, hint)] = judge_row_expression(sql, TYPES)

    assert "is a floating number, of which a time may lose a microsecond" in message
    assert "AS DECIMAL(20, 6))" in hint


@pytest.mark.parametrize(
    "sql",
    [
        "timestamp_seconds(n)",
        "timestamp_seconds(d)",
        "timestamp_seconds(n div 1000)",
        "timestamp_seconds(d / 1000)",
        "timestamp_seconds(CAST(x AS DECIMAL(20, 6)))",
        "timestamp_millis(n)",
        "CAST(n AS TIMESTAMP)",
        "timestamp_seconds(1.5)",
        "CAST(at AS TIMESTAMP)",
        "CAST(x AS DECIMAL(20, 6))",
    ],
)
def test_a_time_of_an_exact_number_passes(sql: str) -> None:
    assert judge_row_expression(sql, TYPES) == []
