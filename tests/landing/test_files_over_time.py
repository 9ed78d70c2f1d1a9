"""Odd, broken, changing and vanishing files through whole runs: each read once, or named with its reason and
taken in by a command.
"""

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.bronze.drift import Drift
from spark_jobs.cli.take import take_command
from spark_jobs.lake.layout import Lake
from spark_jobs.landing.arrivals import read_arrivals
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import register_arrivals
from spark_jobs.report.account import sum_up
from tests.conftest import Workshop, unguarded

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: odd
sources:
  events: {format: json, path: events, changed: take}
  sheets: {format: csv, path: sheets}
  notes:  {format: text, path: notes, same_content: skip}
silver:
  events: {from: events, columns: {id: bigint}}
  sheets: {from: sheets, columns: {id: bigint, name: string}}
  notes:  {from: notes, columns: {line: {type: string, from: value}}}
"""
NAMES = ["with blank.json", "100%25.json", "[a]*?.json", "naïve-日本.json", "deep/er/old.json"]


def records(workshop: Workshop, source: str) -> list[tuple[str, int, str]]:
    """The records of a bronze table, and at line 0 the first word of the problem."""
    rows = workshop.rows(f"odd.bronze.{source}", "_file", "_line", "record", "_problem")
    return sorted(
        (file.partition("/")[2], line, record if line else problem.split(":")[0])
        for file, line, record, problem in rows
    )


def verdicts(lake: Lake, source: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in sorted(read_arrivals(lake.arrivals(source)), key=lambda row: row["chunk"]):
        found.setdefault(row["path"].partition("/")[2], []).append(row["verdict"])
    return found


def sums(workshop: Workshop, lake: Lake) -> dict[str, tuple[int, ...]]:
    accounts = sum_up(workshop.project.pipelines["odd"], lake)
    names = ("rows_in", "inserted", "quarantined", "missing")
    return {account["table"]: tuple(account[name] for name in names) for account in accounts}


def said_of_fields(warnings: tuple[str, ...]) -> list[str]:
    return [warning for warning in warnings if ": field " in warning]


def said(warnings: tuple[str, ...], path: str) -> list[str]:
    return [warning.split(": ", 2)[1].rpartition(" ")[2] for warning in warnings if f"'{path}'" in warning]


def silver(workshop: Workshop, table: str, column: str) -> list[Any]:
    return sorted(value for (value,) in workshop.rows(f"odd.silver.{table}", column))


def test_every_file_is_read_once_or_named_with_its_reason(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(workshop.root))
    workshop.write("conf/pipelines/odd.yml", PIPELINE)
    lake = Lake(workshop.project.lake, "odd")
    events = _land_everything(workshop)

    first = workshop.run("odd")

    assert first.exit_code == 0, first.message
    assert records(workshop, "events") == sorted(
        [(name, 1, f'{{"id":{number}}}') for number, name in enumerate(NAMES)]
        + [("cut.json.gz", 0, "EOFError"), ("half.json", 1, '{"id":10}'), ("half.json", 2, '{"id":1')]
        + [("latin.json", 1, '{"id":20,"n":"caf\\xe9"}'), ("latin.json", 2, '{"id":21}')]
        + [("utf16.json", 0, "UnreadableFile")]
    )  # fmt: skip
    assert records(workshop, "sheets") == [
        ("good.csv", 2, '{"id": "1", "name": "a"}'),
        ("twice.csv", 0, "UnreadableFile"),
    ]
    assert records(workshop, "notes") == [("a.txt", 1, "one"), ("a.txt", 2, "two")]
    assert verdicts(lake, "events") == {
        **{
            name: ["taken"]
            for name in (*NAMES, "cut.json.gz", "empty.json", "half.json", "latin.json", "utf16.json")
        },
        **{
            name: ["refused"]
            for name in ("_hidden.json", "caf\\xe9.json", "folder", "link.json", "nothing", "pipe.json")
        },
    }
    assert verdicts(lake, "sheets") == {
        name: ["taken"] for name in ("empty.csv", "good.csv", "header.csv", "twice.csv")
    }
    assert verdicts(lake, "notes") == {"a.txt": ["taken"], "b.txt": ["repeated"]}
    assert silver(workshop, "events", "id") == [0, 1, 2, 3, 4, 10, 21]
    assert sums(workshop, lake) == {
        "bronze.events": (11, 9, 2, 0),
        "bronze.sheets": (2, 1, 1, 0),
        "bronze.notes": (2, 2, 0, 0),
        "silver.events": (9, 7, 2, 0),
        "silver.sheets": (1, 1, 0, 0),
        "silver.notes": (2, 2, 0, 0),
    }
    assert [
        kind for path in ("events/_hidden.json", "notes/b.txt") for kind in said(first.warnings, path)
    ] == ["refused", "repeated"]
    assert (
        "events: 3 more files refused (6 in all): `weir quarantine list odd bronze.events` lists them"
        in first.warnings
    )
    assert {
        path: said(first.warnings, path)
        for path in ("events/cut.json.gz", "events/utf16.json", "sheets/twice.csv")
    } == {
        "events/cut.json.gz": ["unreadable"],
        "events/utf16.json": ["unreadable"],
        "sheets/twice.csv": ["unreadable"],
    }
    assert [
        said(first.warnings, path) for path in ("events/empty.json", "sheets/empty.csv", "sheets/header.csv")
    ] == [["empty"]] * 3
    assert said_of_fields(first.warnings) == []  # the field `n` stands in a record that is not UTF-8

    # Half a file is completed, a cut one sent again, sheets are rewritten; a file vanishes before it is read,
    # and others change.
    workshop.land("events/half.json", '{"id":10}\n{"id":11}\n{"id":12,"tip":1}\n')
    workshop.land("events/cut.json.gz", gzip.compress(b'{"id":40}\n'))
    workshop.land("events/empty.json", '{"id":50}\n')
    workshop.land("events/vanishes.json", '{"id":60}\n')
    workshop.land("events/grows.json", '{"id":70}\n')
    workshop.land("sheets/twice.csv", "id,name\n2,b\n")
    workshop.land("sheets/good.csv", "id,name\n3,c\n")
    project = workshop.project
    feed = make_feed(lake, project.landing, "events", project.pipelines["odd"].sources["events"], unguarded)
    assert register_arrivals(feed, datetime.now(UTC)).taken == 5
    vanished = (events / "vanishes.json").rename(workshop.root / "vanished.json")
    workshop.land("events/grows.json", '{"id":70}\n{"id":71}\n')
    assert take_command("odd", "events", "events/_hidden.json", False) == 0
    assert take_command("odd", "notes", "notes/b.txt", False) == 0

    second = workshop.run("odd")

    assert second.exit_code == 0, second.message
    assert [
        row
        for row in records(workshop, "events")
        if row[0] in ("half.json", "cut.json.gz", "vanishes.json", "grows.json")
    ] == [
        ("cut.json.gz", 0, "EOFError"),
        ("cut.json.gz", 1, '{"id":40}'),
        ("grows.json", 1, '{"id":70}'),
        ("grows.json", 2, '{"id":71}'),
        ("half.json", 1, '{"id":10}'),
        ("half.json", 2, '{"id":1'),
        ("half.json", 2, '{"id":11}'),
        ("half.json", 3, '{"id":12,"tip":1}'),
        ("vanishes.json", 0, "FileNotFoundError"),
    ]
    assert silver(workshop, "events", "id") == [0, 1, 2, 3, 4, 10, 11, 12, 21, 40, 50, 70, 71, 99]
    assert said(second.warnings, "events/vanishes.json") == ["unread", "unreadable"]
    assert (
        said(second.warnings, "sheets/good.csv") == said(second.warnings, "sheets/twice.csv") == ["refused"]
    )
    assert silver(workshop, "notes", "line") == ["one", "one", "two", "two"]
    assert said_of_fields(second.warnings) == [str(Drift("events", "tip", "added", "events/half.json"))]

    # The same file is back with the time it had; the refused sheets are taken in.
    vanished.rename(events / "vanishes.json")
    assert take_command("odd", "events", "events/vanishes.json", False) == 0
    assert take_command("odd", "sheets", "sheets/good.csv", False) == 0
    assert take_command("odd", "sheets", "sheets/twice.csv", False) == 0
    assert take_command("odd", "events", "events/half.json", False) == 2

    third = workshop.run("odd")

    assert (third.exit_code, third.warnings) == (0, ())
    assert [row for row in records(workshop, "events") if row[0] == "vanishes.json"] == [
        ("vanishes.json", 0, "FileNotFoundError"),
        ("vanishes.json", 1, '{"id":60}'),
    ]
    assert silver(workshop, "events", "id") == [0, 1, 2, 3, 4, 10, 11, 12, 21, 40, 50, 60, 70, 71, 99]
    assert silver(workshop, "sheets", "name") == ["a", "b", "c"]
    assert {table: counts[3] for table, counts in sums(workshop, lake).items()} == dict.fromkeys(
        sums(workshop, lake), 0
    )
    assert Workshop(workshop.root, None).run("odd").status == "nothing_to_do"


def _land_everything(workshop: Workshop) -> Path:
    for number, name in enumerate(NAMES):
        os.utime(workshop.land(f"events/{name}", f'{{"id":{number}}}\n'), (1, 1))
    workshop.land("events/half.json", '{"id":10}\n{"id":1')
    workshop.land("events/cut.json.gz", gzip.compress(b'{"id":40}\n' * 1000)[:-20])
    workshop.land("events/latin.json", b'{"id":20,"n":"caf\xe9"}\n{"id":21}\n')
    workshop.land("events/utf16.json", b"\xff\xfe" + "{}\n".encode("utf-16-le"))
    workshop.land("events/empty.json", "")
    events = workshop.land("events/_hidden.json", '{"id":99}\n').parent
    (events / "link.json").symlink_to("half.json")
    (events / "folder").symlink_to(workshop.root)
    (events / "nothing").symlink_to("gone")
    os.mkfifo(events / "pipe.json")
    with open(os.fsencode(events) + b"/caf\xe9.json", "wb") as file:
        file.write(b'{"id":98}\n')
    workshop.land("sheets/good.csv", "id,name\n1,a\n")
    workshop.land("sheets/header.csv", "id,name\n")
    workshop.land("sheets/empty.csv", "")
    workshop.land("sheets/twice.csv", "id,id\n1,2\n")
    workshop.land("notes/a.txt", "one\ntwo\n")
    workshop.land("notes/b.txt", "one\ntwo\n")
    return events
