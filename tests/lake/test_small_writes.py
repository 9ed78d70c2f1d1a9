"""Few rows into a small table go by way of the driver: the same rows, changes and transaction ids as by
Spark, with one question.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_jobs.config.spark_settings import CUTS_PLANS
from spark_jobs.lake import delta_log, kept, small_writes, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import OpenGate
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease, hold_lease
from spark_jobs.lake.small_writes import Upsert, append, overwrite, replace, upsert
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.versions import is_newer
from tests.conftest import unguarded
from tests.lake.questions import counting

pytestmark = pytest.mark.spark

NAME = "silver.sales"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
COLUMNS = {
    "id": "bigint", "Line No": "int", "at": "timestamp", "_content": "bigint", "text": "string", "price": "decimal(38,10)",
    "weight": "double", "share": "float", "day": "date", "is_card": "boolean", "small": "smallint", "tiny": "tinyint", "raw": "binary",
    "versions": "array<struct<at: timestamp, price: decimal(10,2), names: array<string>>>", "place": "struct<city: string, zip: int>",
}  # fmt: skip
DDL = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())
HOW = Upsert(
    ("id", "Line No"),
    tuple(COLUMNS),
    delete_when=f"new._is_delete AND {is_newer(['at'], [])}",
    update_when=is_newer(["at"], []),
    insert_when="NOT new._is_delete",
    compared=("at",),
)


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """One of a small run."""
    session = spark.newSession()
    session.conf.set(CUTS_PLANS, "true")
    return session


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[Lease]:
    with hold_lease(str(tmp_path / "lease"), "shop", "test") as held:
        yield held


def new_batch(tmp_path: Path, lease: Lease, place: str, number: int = 0, ddl: str = DDL) -> Batch:
    lake = Lake(str(tmp_path / place), "shop")
    tables.create(lake.table(NAME), ddl, tables.CHANGE_FEED, unguarded)
    inputs = {NAME: delta_log.table_version(lake.table(NAME))}
    return Batch(lake, lease, NAME, "stream", 1, number, "run", NOON, inputs, OpenGate())


def sales(spark: SparkSession, *rows: tuple[int, int, str, int, str | None, bool]) -> DataFrame:
    """Rows of (id, line, time, content, text, whether it deletes), with values at the ends of their types
    where a text is given.
    """
    frame = spark.createDataFrame(
        list(rows), "id bigint, line int, at string, _content bigint, text string, _is_delete boolean"
    )
    version = (
        "named_struct('at', timestamp(at), 'price', CAST(1.25 AS decimal(10,2)), 'names', array('a', NULL))"
    )
    ends = {
        "price": "if(text IS NULL, NULL, 1234567890123456789012345678.0123456789BD)",
        "weight": "if(text IS NULL, double('NaN'), -0.0D)",
        "share": "if(text IS NULL, NULL, float('0.1'))",
        "day": "if(text IS NULL, date'0001-01-01', date'9999-12-31')",
        "is_card": "if(text IS NULL, NULL, true)",
        "small": "if(text IS NULL, NULL, -32768S)",
        "tiny": "if(text IS NULL, NULL, -128Y)",
        "raw": "if(text IS NULL, NULL, X'00FF')",
        "versions": f"if(text IS NULL, NULL, array({version}, NULL))",
        "place": "if(text IS NULL, NULL, named_struct('city', text, 'zip', int(NULL)))",
    }
    values = [f"{sql} AS {name}" for name, sql in ends.items()]
    named = ["id", "line AS `Line No`", "timestamp(at) AS at", "_content", "text", *values, "_is_delete"]
    return frame.selectExpr(*named).localCheckpoint()


def write_both(session: SparkSession, tmp_path: Path, lease: Lease) -> dict[str, Any]:
    """A table by the driver and one by Spark, from the same rows; the upsert is repeated,
    as after a crash.
    """
    found: dict[str, Any] = {}
    for place in ("driver", "spark"):
        standing = [
            (1, 1, "2024-01-01 00:00:00.000001", 5, None, False),
            (1, 2, "0101-01-01", 5, "ü\u0000'`", False),
        ]
        standing += [
            (2, 1, "2024-01-01", 5, "old", False),
            (3, 1, "2024-01-01", 5, "old", False),
            (4, 1, "2024-01-01", 5, "old", False),
        ]
        tables.append(
            sales(session, *standing).drop("_is_delete"), NAME, new_batch(tmp_path, lease, place), Counts()
        )
        batch = new_batch(tmp_path, lease, place, 1)
        session.conf.set(CUTS_PLANS, str(place == "driver").lower())
        coming = sales(
            session,
            (1, 1, "2024-01-01 00:00:00.000002", 1, "new", False),  # newer by a microsecond
            (1, 2, "0101-01-01", 6, None, False),  # newer by its content
            (2, 1, "2023-12-31", 9, "older", False),  # the guard keeps what stands
            (3, 1, "2024-01-02", 1, "gone", True),
            (9, 9, "9999-12-31 23:59:59.999999", 1, "come", False),
            (8, 8, "2024-01-01", 1, "never was", True),
        )
        with counting(session) as asked:
            upsert(coming, 6, NAME, HOW, batch, Counts(inserted=1, updated=2, deleted=1))
        upsert(coming, 6, NAME, HOW, batch, Counts())
        path = batch.lake.table(NAME)
        feed = tables.read_changes(session, path, 1, 2).drop("_commit_version", "_commit_timestamp")
        found[place] = {
            "asked": asked,
            "rows": session.read.format("delta").load(path).localCheckpoint(),
            "changes": feed.localCheckpoint(),
            "version": delta_log.table_version(path),
            "has transaction": delta_log.has_transaction(path, batch.app_id, 1),
            "noted": delta_log.noted_counts(path, "stream", 1),
        }
    return found


def test_the_driver_leaves_the_same_rows_and_changes_as_spark(
    session: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    found = write_both(session, tmp_path, lease)
    driver, by_spark = found["driver"], found["spark"]

    assertDataFrameEqual(driver["rows"], by_spark["rows"])
    assertDataFrameEqual(driver["changes"], by_spark["changes"])
    kinds = sorted((row["id"], row["Line No"], row["_change_type"]) for row in driver["changes"].collect())
    updates = [(1, line, kind) for line in (1, 2) for kind in ("update_postimage", "update_preimage")]
    assert kinds == [*updates, (3, 1, "delete"), (9, 9, "insert")]
    for name in ("version", "has transaction", "noted"):
        assert driver[name] == by_spark[name], name
    assert driver["version"] == 2
    assert (driver["asked"].executions, driver["asked"].jobs) == (1, 1)
    assert by_spark["asked"].executions > 5


@pytest.mark.parametrize(
    ("ddl", "how", "count"),
    [
        ("id bigint, tags map<string, string>", Upsert(("id",), ("id", "tags")), 1),
        ("id double, tags string", Upsert(("id",), ("id", "tags")), 1),
        ("id bigint, tags string", Upsert(("id",), ("id", "tags")), small_writes.MOST_ROWS + 1),
        ("id bigint, tags string", Upsert(("id",), ("id", "tags"), for_spark=True), 1),
    ],
    ids=["maps", "a key that is no exact number", "many rows", "conditions that only Spark knows"],
)
def test_all_else_is_left_to_spark(
    session: SparkSession, tmp_path: Path, lease: Lease, ddl: str, how: Upsert, count: int
) -> None:
    rows = session.createDataFrame([], ddl).localCheckpoint()
    batch = new_batch(tmp_path, lease, "lake", ddl=ddl)

    with counting(session) as asked:
        upsert(rows, count, NAME, how, batch, Counts())

    assert asked.executions > 1


def test_few_rows_that_are_long_are_left_to_spark(
    session: SparkSession, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_writes, "MOST_KEPT_BYTES", 2_000_000)
    ddl, how = "id bigint, tags string", Upsert(("id",), ("id", "tags"))
    for number, length, is_by_driver in ((0, 10, True), (1, 3_000_000, False)):
        with (
            kept.kept(session.sql(f"SELECT 1L AS id, repeat('x', {length}) AS tags")) as rows,
            counting(session) as asked,
        ):
            upsert(rows, 1, NAME, how, new_batch(tmp_path, lease, "lake", number, ddl=ddl), Counts())
        assert (asked.executions == 1) == is_by_driver

    assert delta_log.table_version(Lake(str(tmp_path / "lake"), "shop").table(NAME)) == 2


def test_new_rows_are_appended_as_spark_does_it_to_a_table_of_any_size(
    session: SparkSession, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_writes, "MOST_BYTES", 0)
    rows = sales(
        session, (1, 1, "2024-01-01", 5, None, False), (1, 2, "0101-01-01", 5, "ü\u0000'`", False)
    ).drop("_is_delete")
    counted, changes = {}, {}
    for place in ("driver", "spark"):
        session.conf.set(CUTS_PLANS, str(place == "driver").lower())
        for number in range(2):
            with counting(session) as counted[place]:
                append(rows, 2, NAME, new_batch(tmp_path, lease, place, number), Counts(inserted=2))
        append(rows, 2, NAME, new_batch(tmp_path, lease, place, 1), Counts())  # as after a crash
        path = new_batch(tmp_path, lease, place).lake.table(NAME)
        assert delta_log.table_version(path) == 2
        assert delta_log.noted_counts(path, "stream", 1) == Counts(inserted=2)
        changes[place] = tables.read_changes(session, path, 0, 2).drop("_commit_timestamp")

    assertDataFrameEqual(changes["driver"], changes["spark"])
    assert (counted["driver"].executions, counted["driver"].jobs) == (1, 1)
    assert counted["spark"].executions > 1


@pytest.mark.parametrize(
    "ddl",
    ["id bigint, tags map<string, string>", "id bigint, tags string, note string"],
    ids=["maps", "a column more"],
)
def test_rows_are_appended_by_spark_where_it_does_more(
    session: SparkSession, tmp_path: Path, lease: Lease, ddl: str
) -> None:
    value = "map('a', 'b')" if "map" in ddl else "'a'"
    rows = session.sql(f"SELECT 1L AS id, {value} AS tags").localCheckpoint()
    batch = new_batch(tmp_path, lease, "lake", ddl=ddl)

    with counting(session) as asked:
        append(rows, 1, NAME, batch, Counts())

    assert asked.executions > 1
    assert session.read.format("delta").load(batch.lake.table(NAME)).count() == 1


def test_two_rows_for_one_are_refused(session: SparkSession, tmp_path: Path, lease: Lease) -> None:
    row = (1, 1, "2024-01-01", 5, "old", False)
    tables.append(sales(session, row).drop("_is_delete"), NAME, new_batch(tmp_path, lease, "lake"), Counts())
    batch = new_batch(tmp_path, lease, "lake", 1)
    twice = sales(session, (1, 1, "2024-01-02", 5, "one", False), (1, 1, "2024-01-03", 5, "other", False))

    with pytest.raises(Exception, match="multiple source rows"):
        upsert(twice, 2, NAME, HOW, batch, Counts())

    assert delta_log.table_version(batch.lake.table(NAME)) == 1


HOURS = "window_start timestamp, window_end timestamp, city string, revenue decimal(12,2)"


def hours(spark: SparkSession, *rows: tuple[int, str | None, str]) -> DataFrame:
    """Windows of (hour, city, revenue)."""
    frame = spark.createDataFrame(list(rows), "hour int, city string, revenue string")
    start = "timestamp'2024-05-01 00:00:00' + make_interval(0, 0, 0, 0, hour)"
    named = [
        f"{start} AS window_start",
        f"{start} + INTERVAL 1 hour AS window_end",
        "city",
        "CAST(revenue AS decimal(12,2)) AS revenue",
    ]
    return frame.selectExpr(*named).localCheckpoint()


@pytest.mark.parametrize(
    "condition",
    [
        "window_start IN (TIMESTAMP '2024-05-01 02:00:00', TIMESTAMP '2024-05-01 03:00:00')",
        (
            "(window_start >= TIMESTAMP '2024-05-01 02:00:00.000000' AND window_start <= TIMESTAMP"
            " '2024-05-01 03:00:00') AND (window_end <= TIMESTAMP '2024-05-01 09:00:00.5' OR window_start <="
            " TIMESTAMP '2024-05-01 02:00:00')"
        ),
    ],
    ids=["a list", "a span of closed ones"],
)
def test_windows_are_replaced_as_spark_does_it(
    session: SparkSession, tmp_path: Path, lease: Lease, condition: str
) -> None:
    found: dict[str, Any] = {}
    for place in ("driver", "spark"):
        standing = hours(
            session, (1, "Ulm", "1.00"), (2, "Ulm", "2.00"), (2, None, "3.00"), (3, "Bonn", "4.00")
        )
        tables.append(standing, NAME, new_batch(tmp_path, lease, place, ddl=HOURS), Counts())
        batch = new_batch(tmp_path, lease, place, 1, ddl=HOURS)
        session.conf.set(CUTS_PLANS, str(place == "driver").lower())
        new = hours(session, (2, "Ulm", "9.00"), (2, "Kiel", "8.00"))
        with counting(session) as asked:
            replace(new, 2, NAME, condition, batch, Counts(inserted=2))
        replace(new, 2, NAME, condition, batch, Counts())
        path = batch.lake.table(NAME)
        changes = (
            tables.read_changes(session, path, 1, 2)
            .drop("_commit_version", "_commit_timestamp")
            .localCheckpoint()
        )
        found[place] = (
            asked.executions,
            session.read.format("delta").load(path).localCheckpoint(),
            changes,
            delta_log.table_version(path),
        )
        with pytest.raises(Exception, match=r"failed validation check|does not conform"):
            replace(
                hours(session, (5, "Ulm", "1.00")),
                1,
                NAME,
                condition,
                new_batch(tmp_path, lease, place, 2, ddl=HOURS),
                Counts(),
            )

    assertDataFrameEqual(found["driver"][1], found["spark"][1])
    assertDataFrameEqual(found["driver"][2], found["spark"][2])
    assert found["driver"][3] == found["spark"][3] == 2
    assert found["driver"][0] == 1


def test_a_table_is_overwritten_as_spark_does_it_and_by_spark_where_its_columns_change(
    session: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    found: dict[str, Any] = {}
    for place in ("driver", "spark"):
        tables.append(
            hours(session, (1, "Ulm", "1.00")), NAME, new_batch(tmp_path, lease, place, ddl=HOURS), Counts()
        )
        batch = new_batch(tmp_path, lease, place, 1, ddl=HOURS)
        path = batch.lake.table(NAME)
        session.conf.set(CUTS_PLANS, str(place == "driver").lower())
        with counting(session) as asked:
            overwrite(hours(session, (2, None, "9.00")), 1, NAME, batch, Counts(inserted=1))
        changes = (
            tables.read_changes(session, path, 1, 2)
            .drop("_commit_version", "_commit_timestamp")
            .localCheckpoint()
        )
        rows = session.read.format("delta").load(path).localCheckpoint()
        overwrite(
            hours(session, (2, None, "9.00")).withColumnRenamed("city", "town"), 1, NAME, batch, Counts()
        )
        found[place] = (asked.executions, rows, changes, session.read.format("delta").load(path).columns)

    assertDataFrameEqual(found["driver"][1], found["spark"][1])
    assertDataFrameEqual(found["driver"][2], found["spark"][2])
    assert found["driver"][3] == found["spark"][3] == ["window_start", "window_end", "town", "revenue"]
    assert found["driver"][0] == 2  # one of them makes the rows
