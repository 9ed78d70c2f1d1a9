from spark_jobs.run.failure import first_line


class JavaError(Exception):
    """What comes through from the JVM: its text is a stack of Java."""


def test_an_error_of_the_jvm_is_told_with_what_it_came_from() -> None:
    error = JavaError(
        "An error occurred while calling o54.save.\n"
        ": org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows\n\tat org.apache.spark.Some.scala\n"
        "Caused by: org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark.Other.scala\n"
        "Caused by: java.io.IOException: No space left on device\n\t... 40 more\n"
    )

    assert first_line(error) == (
        "JavaError: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows; "
        "Caused by: java.io.IOException: No space left on device"
    )


def test_other_errors_are_told_by_their_first_line() -> None:
    assert first_line(KeyError("no such thing")) == "KeyError: 'no such thing'"
    assert first_line(ValueError("one\ntwo")) == "ValueError: one"
    assert first_line(ValueError()) == "ValueError: no further word"
