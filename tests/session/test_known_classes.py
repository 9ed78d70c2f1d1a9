"""PySpark's expressions cost one call to the JVM for each function: classes and methods
are looked up once.
"""

import pytest
from py4j.clientserver import ClientServerConnection  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark

LOOKUP = "r\n"
"""How a question for a class or a member begins."""


@pytest.fixture
def sent(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that reach the JVM from now on."""
    commands, send = list[str](), ClientServerConnection.send_command

    def note(connection: ClientServerConnection, command: str) -> str:
        commands.append(command)
        return str(send(connection, command))

    monkeypatch.setattr(ClientServerConnection, "send_command", note)
    return commands


def test_an_expression_asks_for_no_class_twice(sent: list[str]) -> None:
    made = [F.coalesce(F.col("a"), F.lit(number)) for number in range(3)]
    sent.clear()

    made += [F.coalesce(F.col("a"), F.lit(number)) for number in range(3)]

    assert [command for command in sent if command.startswith(LOOKUP)] == []
    assert {str(column) for column in made} == {f"Column<'coalesce(a, {number})'>" for number in range(3)}


def test_what_is_not_there_is_said_as_before(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="no_such_function does not exist in the JVM"):
        spark.sparkContext._jvm.functions.no_such_function  # type: ignore[union-attr]  # noqa: B018
