"""Constants and texts that Spark reads as times of the day on which it reads them."""

import pytest

from spark_jobs.config.expressions import judge_row_expression

COLUMNS = {"at": "timestamp", "day": "date", "word": "string", "user": "string", "number": "int"}


@pytest.mark.parametrize(
    "expression",
    [
        "TIMESTAMP 'now'", "DATE 'today'", "TIMESTAMP_NTZ 'tomorrow'", "TIMESTAMP 'today UTC'", "TIMESTAMP '12:30'",
        "cast(' NOW ' AS date)", "'yesterday'::timestamp", "to_timestamp('now')", "date('today')", "cast(r'now' AS timestamp)",
        r"cast('\u006eow' AS timestamp)", "cast(concat('n', 'ow') AS timestamp)", "cast('n' || 'ow' AS date)", "at > 'n' 'ow'",
        "at > reverse('won')", "at > 'now'", "at BETWEEN '2026-01-01' AND 'today'", "day IN ('today')", "at < 'T12:30'",
        "TIMESTAMP 'now' - INTERVAL '1' DAY", "year('now')", "date_add('today', 1)", "datediff('today', day)", "hour('12:30')",
        "coalesce(at, 'now')", "if(number = 1, at, 'now')", "CASE at WHEN 'now' THEN 1 END", "CASE WHEN number = 1 THEN at ELSE 'now' END",
        "window('now', '1 hour')", "date_part('year', 'now')", "monthname('today')", "convert_timezone('UTC', 'Europe/Rome', 'now')",
        "time_bucket(INTERVAL '1' DAY, 'now')", "CAST(array('now') AS array<timestamp>)",
        "array_contains(array(at), 'now')", "array_append(array(day), 'today')", "equal_null(at, '12:30')",
        "decode(number, 1, 'now', at)", "map_contains_key(map(at, 1), 'now')",
    ],
)  # fmt: skip
def test_a_constant_that_is_the_clock_is_refused(expression: str) -> None:
    messages = [message for message, _ in judge_row_expression(expression, COLUMNS)]

    assert any("the day on which it is read" in message for message in messages), messages


@pytest.mark.parametrize(
    "expression",
    [
        "cast(word AS timestamp)",
        "to_timestamp(word)",
        "hour(word)",
        "date_part('hour', word)",
        "word::timestamp",
        "at > word",
        "word - INTERVAL '1' DAY",
    ],
)
def test_text_is_read_as_a_time_only_by_a_form(expression: str) -> None:
    ((message, hint),) = judge_row_expression(expression, COLUMNS)

    assert "a value such as 12:30" in message
    assert "to_timestamp(word, 'yyyy-MM-dd HH:mm:ss')" in hint
    assert judge_row_expression("to_timestamp(word, 'yyyy-MM-dd HH:mm:ss')", COLUMNS) == []


@pytest.mark.parametrize(
    "expression",
    [
        "TIMESTAMP '2026-01-31 12:30:00'", "DATE 'epoch'", "at > '2026-01-31 12:30'", "word = 'now'", "word IN ('now', 'later')",
        "CASE word WHEN 'today' THEN 1 END", "CASE WHEN number = 1 THEN 'now' ELSE 'later' END", "concat(word, '12:30')",
        "date_format(at, 'HH:mm') > '12:30'", "CAST(number AS STRING) = 'now'", "at + INTERVAL '2:30' HOUR TO MINUTE",
        "try_to_timestamp(word, 'HH:mm')", "to_date(word)", "cast(number AS timestamp)", "split(word, '12:30')[0]", "word LIKE 'now%'",
        "user = 'ann'", "at + INTERVAL '1' DAY", "date_trunc('hour', at)", "from_utc_timestamp(at, 'Europe/Berlin')",
        "to_timestamp('12:30', 'HH:mm')", "date_part('hour', at)", "CAST(array('now') AS array<string>)", "dayname(day)",
        "array_contains(split(word, ','), 'now')", "equal_null(word, '12:30')", "decode(word, 'now', 1, 'today', 2)",
    ],
)  # fmt: skip
def test_text_and_fixed_times_pass(expression: str) -> None:
    assert judge_row_expression(expression, COLUMNS) == []


def test_a_time_window_in_an_expression_would_make_several_rows_of_one() -> None:
    ((message, _),) = judge_row_expression("window(at, '10 minutes', '5 minutes').start", COLUMNS)

    assert "makes several rows of one" in message


@pytest.mark.parametrize(
    "expression", ["TIME '12:30'", "CAST(word AS TIME)", "CAST(array(word) AS array<time>)"]
)
def test_a_time_without_a_day_is_no_type_of_a_table(expression: str) -> None:
    ((message, hint),) = judge_row_expression(expression, COLUMNS)

    assert message == "TIME may not be used: its type cannot be stored in a table"
    assert "use a timestamp" in hint
