from pathlib import Path

import pytest

from spark_jobs.config.hooks import HookRaised, calling
from spark_jobs.failure import first_line, keep_trace


class JavaError(Exception):
    """What comes through from the JVM: its text is a stack of Java."""


def test_an_error_of_the_jvm_is_told_with_what_it_came_from() -> None:
    error = JavaError(
        "An error occurred while calling o54.save.\n: org.apache.spark.SparkException: [TASK_WRITE_FAILED]"
        " Task failed while writing rows\n\tat org.apache.spark.Some.scala\nCaused by:"
        " org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark.Other.scala\nCaused by:"
        " java.io.IOException: No space left on device\n\t... 40 more\n"
    )

    assert (
        first_line(error)
        == "JavaError: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows; "
        "Caused by: java.io.IOException: No space left on device"
    )


class PythonException(Exception):
    """What comes through from Spark's own Python process."""


def test_an_error_of_a_function_in_sparks_own_python_is_told_with_its_place_and_without_its_words() -> None:
    said = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File"
        ' "/envs/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 3622, in main\n   '
        ' process()\n  File "/srv/shop/conf/hooks/visits.py", line 6, in handleInputRows\n    raise'
        " ValueError(row)\n    ^^^^^^\nValueError: s3cret\nCity: Bonn\n"
    )

    assert first_line(PythonException(said)) == "PythonException: ValueError at hooks/visits.py line 6"
    assert first_line(PythonException(said.replace("ValueError: s3cret\nCity: Bonn", "SystemExit"))).endswith(
        "SystemExit at hooks/visits.py line 6"
    )
    assert first_line(PythonException("An exception was thrown from the Python worker: it is gone")).endswith(
        "worker: it is gone"
    )


def test_an_error_in_a_python_worker_is_told_by_the_line_of_the_users_file_without_its_words(
    tmp_path: Path,
) -> None:
    error = JavaError(
        "[STREAM_FAILED] Query terminated with exception: Job aborted\nTraceback (most recent call last):\n"
        '  File "/opt/spark/worker.py", line 1901, in main\n    process()\n'
        '  File "/srv/shop/conf/hooks/shop.py", line 12, in total\n    return int(text)\n'
        '  File "/envs/site-packages/decimals.py", line 3, in parse\n    raise ValueError(value)\n'
        "ValueError: order 4711\nof Ada\n\nJVM stacktrace:\norg.apache.spark.SparkException\n"
    )

    assert first_line(error) == "JavaError: ValueError at hooks/shop.py line 12"
    keep_trace(tmp_path / "run.log", "gold.totals", error)
    kept = (tmp_path / "run.log").read_text()
    assert ("4711" in kept or "Ada" in kept, "line 12, in total" in kept, "ValueError: " in kept) == (
        False,
        True,
        True,
    )


def test_an_error_of_spark_in_a_function_is_told_with_its_place_and_its_words() -> None:
    class AnalysisException(Exception):
        __module__ = "pyspark.errors"

    with pytest.raises(HookRaised) as raised, calling("hooks/shop.py:build"):
        raise AnalysisException("[UNRESOLVED_COLUMN] `citi` cannot be resolved;\n'Project ['citi]")

    said = first_line(raised.value)
    assert said.startswith("HookRaised: hooks/shop.py:build raised AnalysisException at hooks/shop.py")
    assert said.endswith(": [UNRESOLVED_COLUMN] `citi` cannot be resolved")
    assert said.count("AnalysisException") == 1


def test_other_errors_are_told_by_their_first_line() -> None:
    assert first_line(KeyError("no such thing")) == "KeyError: 'no such thing'"
    assert first_line(ValueError("one\ntwo")) == "ValueError: one"
    assert first_line(ValueError()) == "ValueError: no message"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            (
                '[CAST_INVALID_INPUT] The value \'s3cret\' of the type "STRING" cannot be cast to "BIGINT".'
                " SQLSTATE: 22018"
            ),
            '[CAST_INVALID_INPUT] ••• of the type "STRING" cannot be cast to "BIGINT" SQLSTATE: 22018',
        ),
        (
            (
                "[CAST_INVALID_INPUT] The value 'a\nSQLSTATE: 22018\ns3cret' of the type \"STRING\" cannot be"
                ' cast to "DATE". SQLSTATE: 22018'
            ),
            '[CAST_INVALID_INPUT] ••• of the type "STRING" cannot be cast to "DATE" SQLSTATE: 22018',
        ),
        (
            "[MALFORMED_RECORD_IN_PARSING] Malformed records: s3cret. SQLSTATE: 22023",
            "[MALFORMED_RECORD_IN_PARSING] ••• SQLSTATE: 22023",
        ),
        (
            'java.lang.NumberFormatException: For input string: "s3"cret"',
            "java.lang.NumberFormatException: For input string: •••",
        ),
        ("could not convert string to float: 's3cret'", "could not convert string to float: •••"),
        ("Text 's3cret' could not be parsed at index 0", "Text ••• could not be parsed at index 0"),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. SQLSTATE: 42P01",
            "[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. SQLSTATE: 42P01",
        ),
    ],
)
def test_neither_a_person_nor_the_log_is_told_a_value(said: str, told: str, tmp_path: Path) -> None:
    error = JavaError(said)

    keep_trace(tmp_path / "run.log", "gold.x", error)

    assert first_line(error) == f"JavaError: {told}"
    assert "cret" not in (tmp_path / "run.log").read_text(encoding="utf-8")


def test_a_long_trace_that_ends_without_words_is_kept_as_it_is(tmp_path: Path) -> None:
    """For each line the way to take it doubled the ways to be tried: such a failure never came to its end."""
    frames = '  File "/envs/site-packages/py4j/java_gateway.py", line 1362, in __call__\n    send(command)\n'
    said = f'Traceback:\n  File "/srv/shop/conf/hooks/shop.py", line 3, in top\n    rows()\n{frames * 40}EOFError\n'

    keep_trace(tmp_path / "run.log", "gold.top", JavaError(said))

    assert said in (tmp_path / "run.log").read_text()


def test_a_failure_cannot_forge_lines_or_colours(tmp_path: Path) -> None:
    error = ValueError("bad \x1b[31mred\rover\u202e")

    keep_trace(tmp_path / "run.log", "gold.x", error)

    assert first_line(error) == "ValueError: bad \\x1b[31mred"
    assert "bad \\x1b[31mred\\rover\\u202e" in (tmp_path / "run.log").read_text(encoding="utf-8")


def test_an_error_of_delta_rs_is_told_with_what_it_came_from() -> None:
    arrow = "\x1b[31m↳\x1b[0m"
    said = (
        f"Generic LocalFileSystem error\n  {arrow} Unable to copy data to file\n    {arrow} No space left on"
        " device (os error 28)\n"
    )

    told = first_line(OSError(said))

    assert (
        told
        == "OSError: Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os"
        " error 28)"
    )
