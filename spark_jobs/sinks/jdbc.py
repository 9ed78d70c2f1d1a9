"""Rows of a table in PostgreSQL. A batch goes into a staging table first, by Spark; then one transaction on
the driver puts it in its place and notes its id beside it: readers see all of a batch or nothing, and one
that is done again finds its id and does nothing.

The target belongs to the sink, which makes it where it is not there. Identifiers come from checked names
alone and are quoted anyway.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.connections import Connection
from spark_jobs.config.sinks import JdbcSink
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.tables import writing
from spark_jobs.sinks.changes import JSON, OPERATION, is_nested
from spark_jobs.sinks.delivery import Delivery
from spark_jobs.sinks.jdbc_target import NOTES, TargetTable

DRIVER = "org.postgresql.Driver"
NOTES_LOCK = 74_311_018
COMMIT, NUL_IN = "commit", "NUL in "


class DatabaseFailed(Exception):
    """The database refused something. Its own words may hold values of rows, so that only what kind of error
    it was is said.
    """

    def __init__(self, sink: str, doing: str, state: str | None, named: str) -> None:
        self.sink, self.state = sink, state
        super().__init__(
            f"{sink}: the database refused it while {doing} (SQLSTATE {state or 'unknown'}{named}); nothing"
            " of the batch is visible there: fix the cause and rerun"
        )


class NulInText(Exception):
    """A text has the character NUL, which PostgreSQL cannot hold."""

    def __init__(self, sink: str, column: str) -> None:
        self.sink, self.column = sink, column
        super().__init__(
            f"{sink}: a value of {column} has the character NUL, which PostgreSQL cannot hold; quarantine"
            " such rows by a rule"
        )


class TargetNotEmpty(Exception):
    """The target has rows that no sink of Weir has written: they would be changed or deleted."""

    def __init__(self, sink: str, table: str) -> None:
        self.sink, self.table = sink, table
        super().__init__(
            f"{sink}: {table} has rows that this sink did not write; nothing was changed: name another table,"
            " or empty it"
        )


def deliver_jdbc(delivery: Delivery, sink: JdbcSink, connection: Connection) -> tuple[Counts, int | None]:
    """Bring the target from the batch before to this one, once."""
    name = delivery.batch.table
    database = _Database(delivery.rows.sparkSession, name, connection)
    target = TargetTable(sink, delivery)
    with database.session() as session:
        # several sinks may begin at once, and PostgreSQL would let one of them fail
        with session.transaction():
            session.ask("making its table of notes", f"SELECT pg_advisory_xact_lock({NOTES_LOCK})")
            session.do("making its table of notes", target.make_notes())
            if not session.ask("making its table of notes", target.find_names()):
                session.do("making its table of notes", target.add_names())
        noted = session.ask("looking for the batch", target.find_note())
        if noted and delivery.known_as.is_known_as(noted[0][-1]):
            came, inserted, updated, deleted, version = noted[0][:-1]
            superseded = came - inserted - updated - deleted
            return Counts(came, inserted, updated, deleted, superseded, grown=inserted - deleted), version
        last = session.ask("looking for earlier batches", target.find_last())
        delivery.check_history(f"{target.plain} (by {NOTES})", last[0][0] if last else None)
        rows = _staged_rows(delivery, sink)
        try:
            database.stage(rows, target.staging)
        except Exception:
            # why it failed is said; the next batch would replace what is left of this one
            with suppress(DatabaseFailed):
                session.do("dropping the staging table", f"DROP TABLE IF EXISTS {target.staging}")
            raise
        arrived = session.ask("counting the staged rows", f"SELECT count(*) FROM {target.staging}")[0][0]
        counts = delivery.counts(arrived)
        delivery.refuse_deletes(counts)
        if delivery.has_nothing(counts):
            session.do("dropping the staging table", f"DROP TABLE {target.staging}")
            return counts, delivery.tally.version
        with writing(name, delivery.batch):
            _put_in_place(session, target, delivery, counts)
    return counts, delivery.tally.version


def _put_in_place(session: "_Session", target: TargetTable, delivery: Delivery, counts: Counts) -> None:
    """The one transaction. It is given up wherever the numbers do not agree."""
    name = delivery.batch.table
    with session.transaction():
        if not session.ask("looking for the target", f"SELECT to_regclass('{target.plain}')")[0][0]:
            for statement in target.create():
                session.do("making the target", statement)
        session.do("locking the target", f"LOCK TABLE {target.table} IN SHARE ROW EXCLUSIVE MODE")
        is_known = bool(session.ask("looking for earlier batches", target.find_sink()))
        if not is_known and session.ask("looking at the target", f"SELECT 1 FROM {target.table} LIMIT 1"):
            raise TargetNotEmpty(name, target.plain)
        types = dict(session.ask("reading the target's columns", target.find_types()))
        if emptying := target.empties():
            session.do("emptying the target", emptying)
        changed = sum(session.do(doing, statement) for doing, statement in target.upserts(types))
        for doing, statement in target.deletes(types):
            session.do(doing, statement)
        delivery.counts(changed + (0 if delivery.operation else counts.deleted))
        if delivery.is_whole:
            session.do("noting the batch", target.forget_notes())
        session.do("noting the batch", target.note(counts, delivery.tally.version))
        session.do("dropping the staging table", f"DROP TABLE {target.staging}")
        reach("write.before", name, COMMIT)


def _staged_rows(delivery: Delivery, sink: JdbcSink) -> DataFrame:
    """Nested values become JSON text. The character NUL, which PostgreSQL cannot hold, is refused here, by
    the name of its column.
    """
    fields = {field.name: field.dataType for field in delivery.rows.schema.fields}
    values = [_value(name, fields[name]) for name in delivery.columns]
    return delivery.rows.select(*values, F.col(OPERATION).alias(sink.operation or OPERATION))


def _value(name: str, data_type: Any) -> Column:
    if is_nested(data_type):
        return F.to_json(F.col(name), JSON).alias(name)
    if data_type.typeName() != "string":
        return F.col(name)
    refused = F.raise_error(F.lit(f"{NUL_IN}{name}")).cast("string")
    return F.when(F.contains(F.col(name), F.lit("\0")), refused).otherwise(F.col(name)).alias(name)


class _Database:
    def __init__(self, spark: SparkSession, sink: str, connection: Connection) -> None:
        self.spark, self.sink, self.connection = spark, sink, connection

    def properties(self) -> dict[str, str]:
        given = {"user": self.connection.user, "password": self.connection.password}
        return {"driver": DRIVER, **{name: value for name, value in given.items() if value}}

    def stage(self, rows: DataFrame, staging: str) -> None:
        with _telling(self.sink, "staging the batch"):
            rows.write.option("isolationLevel", "READ_COMMITTED").jdbc(
                str(self.connection.url), staging, "overwrite", self.properties()
            )

    @contextmanager
    def session(self) -> Iterator["_Session"]:
        jvm: Any = self.spark._jvm
        with _telling(self.sink, "connecting"):
            loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
            driver = loader.loadClass(DRIVER).newInstance()
            properties = jvm.java.util.Properties()
            for name, value in self.properties().items():
                properties.setProperty(name, value)
            opened = driver.connect(str(self.connection.url), properties)
        try:
            yield _Session(self.sink, opened)
        finally:
            opened.close()


class _Session:
    """A connection of the driver's own."""

    def __init__(self, sink: str, opened: Any) -> None:
        self.sink, self.opened = sink, opened

    def do(self, doing: str, statement: str) -> int:
        """The number of rows that it concerned."""
        with _telling(self.sink, doing):
            made = self.opened.createStatement()
            changed: int = made.executeUpdate(statement)
            made.close()
            return changed

    def ask(self, doing: str, query: str) -> list[list[Any]]:
        with _telling(self.sink, doing):
            made = self.opened.createStatement()
            found, rows = made.executeQuery(query), []
            width = found.getMetaData().getColumnCount()
            while found.next():
                rows.append([found.getObject(place) for place in range(1, width + 1)])
            made.close()
            return [
                [value if value is None or isinstance(value, int | str) else str(value) for value in row]
                for row in rows
            ]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Committed at the end of the block, or given up with it."""
        with _telling(self.sink, "beginning a transaction"):
            self.opened.setAutoCommit(False)
        try:
            yield
        except BaseException:
            with suppress(Py4JJavaError):  # a connection that is gone has given it up by itself
                self.opened.rollback()
            raise
        with _telling(self.sink, "committing"):
            self.opened.commit()
            self.opened.setAutoCommit(True)


@contextmanager
def _telling(sink: str, doing: str) -> Iterator[None]:
    """What the database says is told by its kind alone: its messages quote rows."""
    try:
        yield
    except Py4JJavaError as error:
        raise _without_values(sink, doing, error.java_exception) from None
    except Exception as error:
        if found := re.search(rf"{NUL_IN}(\w+)", str(error)):
            raise NulInText(sink, found[1]) from None
        cause = getattr(error, "_origin", None)
        thrown = getattr(cause, "java_exception", cause)
        if thrown is None:
            raise
        raise _without_values(sink, doing, thrown) from None


def _without_values(sink: str, doing: str, thrown: Any) -> Exception:
    cause, state, named = thrown, None, ""
    while cause is not None and state is None:
        kind = str(cause.getClass().getName())
        if hasattr(cause, "getSQLState") and kind.startswith(("org.postgresql", "java.sql")):
            state = cause.getSQLState()
            message = cause.getServerErrorMessage() if kind.endswith("PSQLException") else None
            parts = (message.getTable(), message.getColumn(), message.getConstraint()) if message else ()
            named = "".join(f", {part}" for part in parts if part)
        cause = cause.getCause()
    return DatabaseFailed(sink, doing, state, named)
