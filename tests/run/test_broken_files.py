"""Files that are broken, hostile or no text, through one run: each is named, no row of them is published, and
the others come through.
"""

import bz2
import io
import json

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.skipped import files_set_aside
from spark_jobs.report.account import account_of, sum_up
from spark_jobs.report.sources import collect_files_not_taken
from tests.conftest import Workshop, unguarded

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: feeds
sources:
  sheets:   {format: csv, path: sheets}
  lines:    {format: json, path: lines, bytes_per_record: 100000}
  elements: {format: xml, path: elements, row_tag: order}
  columns:  {format: parquet, path: columns}
silver:
  sheets:   {from: sheets, columns: {id: bigint, name: string}}
  lines:    {from: lines, columns: {id: bigint}}
  elements: {from: elements, columns: {id: bigint}}
  columns:  {from: columns, columns: {id: bigint}}
"""
ROWS = 300_000


def parquet() -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([7] * ROWS)}), content)
    return content.getvalue()


def avro() -> bytes:
    content = io.BytesIO()
    fastavro.writer(content, "long", range(1000))
    return content.getvalue()


def test_a_broken_file_is_named_and_the_others_come_through(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/feeds.yml", PIPELINE)
    workshop.land("sheets/1.csv", 'id,name\n1,"a ""b"""\n')
    workshop.land("sheets/2.csv", 'id,name\n2,"oops\n' + "".join(f"{number},c\n" for number in range(3, 50)))
    workshop.land("sheets/3.csv", 'id,"name\n3,c\n')
    workshop.land("sheets/4.csv", 'id,name\n4,"abc"def\n')
    workshop.land("lines/1.json", '{"id":1}\n{"id":2,"text":"' + "x" * 3_000_000 + '"}\n{"id":3}\n')
    workshop.land("lines/2.json", '{"id":4}\n'.encode("utf-16"))
    damaged = bytearray(bz2.compress(b'{"id":5}\n') + bz2.compress(b'{"id":6}\n'))
    damaged[len(damaged) // 2 + 1] ^= 0xFF
    workshop.land("lines/3.json.bz2", bytes(damaged))
    workshop.land("lines/4.json", avro())
    workshop.land("elements/1.xml", '<?xml version="1.0" encoding="GB2312"?><r><order id="1"/></r>')
    workshop.land("elements/2.xml", '<r><order id="2"/></r>')
    workshop.land("sheets/5.csv", "id,name\n")
    small = workshop.land("columns/1.parquet", parquet())
    assert small.stat().st_size < 10_000

    result = workshop.run("feeds")

    assert result.exit_code == 0, result.message
    assert workshop.rows("feeds.silver.sheets", "id", "name") == [(1, 'a "b"')]
    assert workshop.rows("feeds.silver.lines", "id") == [(1,), (3,)]
    assert workshop.rows("feeds.silver.elements", "id") == [(2,)]
    pipeline, lake = workshop.project.pipelines["feeds"], Lake(workshop.project.lake, "feeds")
    accounts = {
        row["table"]: (row["rows_in"], row["inserted"], row["quarantined"], row["missing"])
        for row in sum_up(pipeline, lake)
    }
    assert accounts == {
        "bronze.sheets": (4, 1, 3, 0),
        "bronze.lines": (6, 3, 3, 0),
        "bronze.elements": (2, 1, 1, 0),
        "bronze.columns": (ROWS, ROWS, 0, 0),
        "silver.sheets": (1, 1, 0, 0),
        "silver.lines": (3, 2, 1, 0),
        "silver.elements": (1, 1, 0, 0),
        "silver.columns": (ROWS, ROWS, 0, 0),
    }
    reason = {
        "rule": "readable",
        "column": None,
        "value": "a record of 3,000,018 bytes, longer than bytes_per_record allows: 100,000",
    }
    assert workshop.rows("feeds.quarantine.silver.lines", "line", "record", "reasons") == [
        (2, None, [reason])
    ]

    # `weir quarantine list` names each file with its reason.
    feeds = [
        make_feed(lake, workshop.project.landing, name, source, unguarded)
        for name, source in pipeline.sources.items()
    ]
    unreadable = {
        file.path: file.reason.removeprefix("UnreadableFile: ")
        for feed in feeds
        for file in files_set_aside(feed)
    }
    assert list(unreadable) == [
        "sheets/2.csv",
        "sheets/3.csv",
        "sheets/4.csv",
        "lines/2.json",
        "lines/3.json.bz2",
        "lines/4.json",
        "elements/1.xml",
    ]
    assert unreadable["sheets/2.csv"] == "line 2 to 49: a quote is opened and never closed"
    assert unreadable["sheets/3.csv"] == "line 1 to 2: a quote is opened and never closed"
    assert unreadable["sheets/4.csv"].startswith("line 2: text follows a closing quote")
    assert unreadable["lines/2.json"] == "not UTF-8 text: it seems to be UTF-16 text; land it as UTF-8"
    assert "Invalid data stream" in unreadable["lines/3.json.bz2"]
    assert unreadable["lines/4.json"].startswith("not UTF-8 text: it seems to be an Avro file")
    assert unreadable["elements/1.xml"].startswith("XML in the encoding 'GB2312', which cannot be read")
    assert json.loads(json.dumps(result.as_dict()))["status"] == "ok"

    # The run, `weir account` and the report name them as well, and say which files have no record.
    for path, why in unreadable.items():
        assert any(
            line.startswith(f"{path.partition('/')[0]}: {path!r} unreadable: ") and why in line
            for line in result.warnings
        ), path
    assert [line for line in result.warnings if " empty: " in line] == [
        "sheets: 'sheets/5.csv' empty: it has no record"
    ]
    account = account_of(workshop.project, "feeds")
    assert {file["path"]: file["verdict"] for file in account["files_not_taken"]} == dict.fromkeys(
        unreadable, "unreadable"
    )
    files, total = collect_files_not_taken(pipeline, lake)
    assert ({file.path for file in files}, total) == ({*unreadable}, len(unreadable))
    assert all(file.reason.startswith("it cannot be read: ") for file in files)
