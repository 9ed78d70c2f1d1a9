"""Forms of dates and times in SQL: what Spark would refuse on every row is refused before anything runs.
tests/silver/test_time_forms.py asks Spark itself.
"""

import pytest

from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.sql import parse_query
from spark_jobs.config.sql_times import judge_form, judge_forms

COLUMNS = {"a": "string", "at": "timestamp"}


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        ("date_format(at, 'YYYY')", "the form 'YYYY' of date_format cannot be used: Y is no letter", "yyyy"),
        ("to_timestamp(a, 'yyyy-MM-ddTHH:mm')", "of to_timestamp cannot be used: T is no letter", "'T'"),
        ("to_date(a, 'EEE d MMM yyyy')", "E cannot be read", "take it out"),
        ("to_date(concat(a, ',', a), 'dddd')", "d stands 4 times", "write dd, or fewer"),
        ('unix_timestamp(a, "yyyy\'")', "a quote is opened and never closed", "twice"),
        ("coalesce(try_to_timestamp(a, 'yyyy{MM}'), at)", "{ means nothing", "in quotes"),
        ("to_date(a, r'yyyy]')", "a ] has no [ before it", "quotes"),
    ],
)
def test_a_form_that_spark_refuses_is_refused_with_what_to_write(call: str, message: str, hint: str) -> None:
    [(said, advice)] = judge_row_expression(call, COLUMNS)

    assert message in said
    assert hint in advice


@pytest.mark.parametrize(
    "call",
    [
        "date_format(at, 'EEEE, d MMMM yyyy')",
        "to_timestamp(a, \"yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXX]\")",
        "to_date(a, 'dd.MM.yy')",
        "concat(date_format(at, 'yyyy'), 'YYYY')",
        "to_date(substr(a, 1, 10), 'yyyy/MM/dd')",
        "date_format(at, 'h \\'o\\'\\'clock\\' a')",
    ],
)
def test_a_form_that_spark_takes_is_taken(call: str) -> None:
    assert judge_row_expression(call, COLUMNS) == []


def test_forms_of_a_query_are_judged_as_well() -> None:
    text = "SELECT date_format(at, 'yyyy-ww') AS week, count(*) AS n FROM silver.orders GROUP BY 1"

    assert parse_query(text)
    assert [message for message, _ in judge_forms(text)] == [
        "the form 'yyyy-ww' of date_format cannot be used: w is no letter of a form"
    ]


def test_a_weekday_can_be_written_and_not_read() -> None:
    assert judge_form("EEE", is_read=False) is None
    assert judge_form("EEE", is_read=True) is not None
