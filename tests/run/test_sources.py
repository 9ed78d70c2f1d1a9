"""Files of every format through one run, with its result, its ledger and readers outside Spark."""

import gzip
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.config.errors import ConfigError
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.account import sum_up
from spark_jobs.run.pipeline import run_pipeline
from tests.conftest import PROFILE, Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: feeds
sources:
  sheets:  {format: csv, path: sheets, delimiter: ";", files_per_batch: 1}
  columns: {format: parquet, path: columns}
  lines:   {format: text, path: logs, pattern: "*.log"}
  packed:  {format: json, path: packed, files_per_batch: 2}
silver:
  sheets:
    from: sheets
    columns:
      id: bigint
      price: {type: "decimal(10,2)", from: unit.price}
      city: {type: string, from: the city}
  columns:
    from: columns
    columns: {id: bigint, amount: "decimal(20,4)", at: timestamp, name: {type: string, from: who.name}, tags: "array<string>"}
  lines:
    from: lines
    columns:
      line: {type: string, from: value}
      level: {type: string, sql: "regexp_extract(line, '^[A-Z]+', 0)"}
    where: level <> ''
  packed:
    from: packed
    columns: {id: bigint}
    key: id
    sequence_by: id
"""
AT = datetime(2024, 5, 1, 10, tzinfo=UTC)


def parquet(rows: list[dict[str, object]]) -> bytes:
    amount = pa.field("amount", pa.decimal128(20, 4))
    who = pa.field("who", pa.struct([("name", pa.string())]))
    schema = pa.schema(
        [("id", pa.int32()), amount, ("at", pa.timestamp("us", "UTC")), who, ("tags", pa.list_(pa.string()))]
    )
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)
    return file.getvalue()


def test_every_format_comes_through_one_run(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/feeds.yml", PIPELINE)
    workshop.land("sheets/1.csv", 'id;unit.price;the city\n1;9.5;Ulm\n2;;"a;b\nc"\n')
    workshop.land(
        "sheets/deep/er/2.csv", "the city;id;more;unit.price\nBonn;3;x;1.010\nKöln;4;y;z\nonly;two\n"
    )
    workshop.land("sheets/3.csv", "id;id\n1;2\n")
    workshop.land("sheets/_half.csv", "id;unit.price;the city\n9;9;9\n")
    workshop.land(
        "columns/1.parquet",
        parquet(
            [
                {
                    "id": 1,
                    "amount": Decimal("12345678901234.5678"),
                    "at": AT,
                    "who": {"name": "é"},
                    "tags": ["x"],
                },
                {"id": 2},
            ]
        ),
    )
    workshop.land("columns/2.parquet", b"PAR1 this is none")
    workshop.land("logs/a.log", "INFO started\n\nnothing\nWARN {\n")
    workshop.land("logs/a.txt", "ERROR of another feed\n")
    workshop.land("packed/1.json.gz", gzip.compress(b'{"id":1}\n{"id":1}\n'))
    workshop.land("packed/2.json.gz", gzip.compress(b'{"id":2}\n' * 1000)[:-20])
    workshop.land("packed/3.json", b'{"id":3}\n\xff{"id":4}\n')

    result = workshop.run("feeds")

    assert result.exit_code == 0, result.message
    assert workshop.rows("feeds.silver.sheets", "id", "price", "city") == [
        (1, Decimal("9.50"), "Ulm"),
        (2, None, "a;b\nc"),
        (3, Decimal("1.01"), "Bonn"),
    ]
    assert workshop.rows("feeds.silver.columns", "id", "amount", "at", "name", "tags") == [
        (1, Decimal("12345678901234.5678"), AT, "é", ["x"]),
        (2, None, None, None, None),
    ]
    assert workshop.rows("feeds.silver.lines", "level", "line", "_file", "_line") == [
        ("INFO", "INFO started", "logs/a.log", 1),
        ("WARN", "WARN {", "logs/a.log", 4),
    ]
    assert workshop.rows("feeds.silver.packed", "id") == [(1,), (3,)]
    assert workshop.rows("feeds.quarantine.silver.sheets", "line", "file") == [
        (3, "sheets/deep/er/2.csv"),
        (4, "sheets/deep/er/2.csv"),
    ]
    assert [
        (record, reasons)
        for record, reasons in workshop.rows("feeds.quarantine.silver.packed", "record", "reasons")
    ] == [('\\xff{"id":4}', [{"rule": "readable", "column": None, "value": "not UTF-8 text"}])]
    problems = {
        file: problem
        for file, line, problem in workshop.rows("feeds.bronze.packed", "_file", "_line", "_problem")
        if line == 0
    }
    assert list(problems) == ["packed/2.json.gz"]
    assert "EOFError" in problems["packed/2.json.gz"]
    unreadable = {line.split("'")[1] for line in result.warnings if "' unreadable: " in line}
    assert (unreadable, len(result.warnings)) == (
        {"sheets/3.csv", "columns/2.parquet", "packed/2.json.gz"},
        5,
    )
    assert "sheets/_half.csv" in result.warnings[0]
    assert any("field 'more' is new in 'sheets/deep/er/2.csv'" in line for line in result.warnings)

    # What the run says of itself.
    said = json.loads(json.dumps(result.as_dict()))
    assert {name: said[name] for name in ("pipeline", "status", "exit_code", "message")} == {
        "pipeline": "feeds",
        "status": "ok",
        "exit_code": 0,
        "message": "8 tables brought up to date",
    }
    counts = (
        "batches",
        "rows_in",
        "inserted",
        "updated",
        "superseded",
        "duplicate",
        "quarantined",
        "filtered",
    )
    assert {table["table"]: [table[name] for name in counts] for table in said["tables"]} == {
        "bronze.sheets": [3, 6, 5, 0, 0, 0, 1, 0],
        "bronze.columns": [1, 3, 2, 0, 0, 0, 1, 0],
        "bronze.lines": [1, 3, 3, 0, 0, 0, 0, 0],
        "bronze.packed": [2, 5, 4, 0, 0, 0, 1, 0],
        "silver.sheets": [1, 5, 3, 0, 0, 0, 2, 0],
        "silver.columns": [1, 2, 2, 0, 0, 0, 0, 0],
        "silver.lines": [1, 3, 2, 0, 0, 0, 0, 1],
        "silver.packed": [1, 4, 2, 0, 0, 1, 1, 0],
    }
    assert {table["state"] for table in said["tables"]} == {"done"}

    # The ledger says the same.
    lake = Lake(workshop.project.lake, "feeds")
    ledger = Ledger(lake)
    assert [
        (row["event"], row["status"], row["run_id"])
        for row in sorted(ledger.rows("runs"), key=lambda row: row["at"])
    ] == [
        ("started", None, result.run_id),
        ("ended", "ok", result.run_id),
    ]
    of_tables = {row["table"]: [row[name] for name in counts] for row in ledger.rows("tables")}
    assert of_tables == {table["table"]: [table[name] for name in counts] for table in said["tables"]}
    assert len(ledger.rows("batches")) == sum(table["batches"] for table in said["tables"])
    accounts = {row["table"]: row for row in sum_up(workshop.project.pipelines["feeds"], lake)}
    assert {table: [row[name] for name in counts] for table, row in accounts.items()} == of_tables
    assert {row["missing"] for row in accounts.values()} == {0}
    assert {table["table"]: table["version"] for table in said["tables"]} == {
        table: row["version"] for table, row in accounts.items()
    }

    # Any Delta client reads the tables.
    frame = polars.read_delta(lake.table("silver.sheets")).sort("id").select("id", "city")
    assert frame.rows() == [(1, "Ulm"), (2, "a;b\nc"), (3, "Bonn")]

    # A second and a third run with nothing new start no Spark and change no table.
    before, idle = workshop.versions(), Workshop(workshop.root, None)
    for _ in range(2):
        again = idle.run("feeds")
        assert (again.status, again.exit_code, again.run_id) == ("nothing_to_do", 3, None)
    assert workshop.versions() == before


def test_a_pipeline_of_fourteen_lines_is_enough(workshop: Workshop) -> None:
    workshop.write(
        "conf/pipelines/meters.yml",
        """pipeline: meters
sources:
  readings: {format: csv, path: meters/readings}
  sites:    {format: csv, path: meters/sites}
dimensions:
  sites: {from: sites, key: site_id, sequence_by: changed_at, columns: {site_id: string, region: string, changed_at: timestamp}}
silver:
  readings:
    {from: readings, key: [meter, read_at], event_time: read_at,
     columns: {meter: string, read_at: timestamp, site_id: string, kwh: "decimal(10,3)"},
     lookup: {sites: {on: site_id, take: region}}}
gold:
  kwh_per_hour: {from: silver.readings, window: {size: 1 hour}, group_by: region, measures: {kwh: sum(kwh)}}
""",
    )
    workshop.land(
        "meters/sites/s.csv", "changed_at,region,site_id\n2024-01-01,north,s1\n2024-02-01,south,s2\n"
    )
    workshop.land(
        "meters/readings/r.csv",
        "meter,read_at,site_id,kwh\nm1,2024-05-01 10:10:00,s1,1.5\nm2,2024-05-01 10:20:00,s2,2\nm1,2024-05-01"
        " 10:50:00,s1,0.25\n",
    )

    result = workshop.run("meters")

    assert result.exit_code == 0, result.message
    assert workshop.rows("meters.gold.kwh_per_hour", "window_start", "region", "kwh") == [
        (AT, "north", Decimal("1.750")),
        (AT, "south", Decimal("2.000")),
    ]

    # Rows that are published follow the definition of their time: another one is refused before Spark starts.
    text = (workshop.root / "conf/pipelines/meters.yml").read_text()
    workshop.write(
        "conf/pipelines/meters.yml", text.replace("measures: {kwh: sum(kwh)}", "measures: {most: max(kwh)}")
    )
    with pytest.raises(
        ConfigError,
        match=r"(?s)the definition of gold\.kwh_per_hour has changed.*weir rebuild meters gold\.kwh_per_hour",
    ):
        Workshop(workshop.root, None).run("meters")
    workshop.write("conf/pipelines/meters.yml", text.replace("take: region", "take: [region, changed_at]"))
    with pytest.raises(
        ConfigError,
        match=r"(?s)the definition of silver\.readings has changed.*weir rebuild meters silver\.readings",
    ):
        Workshop(workshop.root, None).run("meters")


def test_a_run_of_a_held_pipeline_ends_at_once(idle_workshop: Workshop) -> None:
    from spark_jobs.lake.lease import hold_lease

    idle_workshop.write("conf/pipelines/feeds.yml", PIPELINE)
    project = idle_workshop.project
    with hold_lease(Lake(project.lake, "feeds").lease(), "feeds", "a test"):
        result = run_pipeline(project, "feeds", PROFILE)

    assert (result.status, result.exit_code) == ("leased", 5)
    assert "a test" in result.message
    assert "wait for it" in result.message
