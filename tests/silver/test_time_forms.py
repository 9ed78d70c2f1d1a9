"""The check of forms of times against Spark: each letter, as often as it may stand, and once more."""

import string

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.sql_times import MOST, judge_form
from spark_jobs.run.silver import LENIENT

pytestmark = pytest.mark.spark

FORMS = [
    *(letter * times for letter in string.ascii_letters for times in {1, MOST.get(letter, 1), MOST.get(letter, 1) + 1}),
    *("VV", "OO", "yyyy{", "yyyy#", "[yyyy", "yyyy]", "[yyyy]", "yyyy][", "'a", "''", "h 'o''clock'", "yyyy'T'HH"),
]  # fmt: skip


def test_the_check_refuses_what_spark_refuses_and_nothing_else(spark: SparkSession) -> None:
    session = spark.newSession()
    for name, value in LENIENT.items():
        session.conf.set(name, value)
    rows = session.createDataFrame([("2024-05-02",)], "t string").withColumn("at", F.to_timestamp("t"))
    rows = rows.cache()

    def takes(function: str, column: str, form: str) -> bool:
        try:
            rows.select(F.call_function(function, F.col(column), F.lit(form))).collect()
        except PySparkException:
            return False
        return True

    differing = [
        (function, form)
        for form in FORMS
        for function, column in (("date_format", "at"), ("try_to_timestamp", "t"))
        if takes(function, column, form) != (judge_form(form, is_read=column == "t") is None)
    ]
    rows.unpersist()

    assert differing == []
