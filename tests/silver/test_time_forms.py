"""The check of forms of times against Spark: each letter, as often as it may stand, and once more."""

import string

import pytest
from pyspark.sql import SparkSession

from spark_jobs.config.sql_times import MOST, judge_form
from spark_jobs.run.silver import LENIENT

pytestmark = pytest.mark.spark

FORMS = [
    *(letter * times for letter in string.ascii_letters for times in {1, MOST.get(letter, 1), MOST.get(letter, 1) + 1}),
    *("VV", "OO", "yyyy{", "yyyy#", "[yyyy", "yyyy]", "[yyyy]", "yyyy][", "[yyyy]]", "vv", "'a", "''", "h 'o''clock'", "yyyy'T'HH"),
]  # fmt: skip
ROW = "VALUES (timestamp'2024-05-02 12:30:00', '2024-05-02') AS t(at, text)"


def test_the_check_refuses_what_spark_refuses_and_nothing_else(spark: SparkSession) -> None:
    session = spark.newSession()
    for name, value in LENIENT.items():
        session.conf.set(name, value)

    def takes(function: str, column: str, form: str) -> bool:
        """The optimizer computes a query over rows that are written out; no job is needed."""
        quoted = form.replace("'", "\\'")
        try:
            session.sql(f"SELECT {function}({column}, '{quoted}') AS x FROM {ROW}").collect()
        except Exception as error:
            if "pattern" in str(error).lower():
                return False
            raise
        return True

    differing = [
        (function, form)
        for form in FORMS
        for function, column in (("date_format", "at"), ("to_timestamp", "text"))
        if takes(function, column, form) != (judge_form(form, is_read=column == "text") is None)
    ]

    assert differing == []
