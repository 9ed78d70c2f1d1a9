"""Where rows of files came from, as columns: in keys, sequences, conditions and gold. Any order of files, any
grouping into runs and any crash give the same tables, and `weir verify` recomputes them.
"""

import os
import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake import failpoints
from spark_jobs.lake.selection import Selection
from spark_jobs.run.decisions import apply_request
from spark_jobs.run.order import QuarantineRequest
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import RunResult
from spark_jobs.verify.files import verify_files
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

PIPELINE = r"""
pipeline: tills
sources:
  bills: {format: csv, path: "bills/dt={day}/shop={shop}", header: [article, cents], comment: "#"}
  logs: {format: text, path: logs, skip_lines: 1, path_fields: 'till-(?P<till>\d+)/.*', fields: '(?P<said>\w+)'}
dimensions:
  shops:
    from: bills
    key: shop
    columns: {shop: {type: int, from: _path.shop}, file: {type: string, from: _file}, sold_on: {type: date, from: _path.day}, cents: int}
    sequence_by: [sold_on, file]
    where: _line = 1
    history: scd2
silver:
  bills:
    from: bills
    columns:
      day: {type: date, from: _path.day}
      shop: {type: int, from: _path.shop}
      line: {type: bigint, from: _line}
      exported_at: {type: timestamp, from: _file_modified_at}
      article: string
      cents: int
      name: {type: string, sql: "substring_index(_file, '/', -1)"}
    key: [day, shop, line]
    sequence_by: [exported_at, name]
    where: _line < 4
    delete_when: article = 'gone'
  logs:
    from: logs
    columns: {till: {type: int, from: _path.till}, line: {type: bigint, from: _line}, said: string}
gold:
  days: {from: silver.bills, group_by: [day, shop], measures: {cents: sum(cents), newest: max(exported_at)}}
"""
RULES = """
expectations:
  cents_are_positive:
    type: expect_column_values_to_be_between
    kwargs: {column: cents, min_value: LEAST}
    on_fail: quarantine
    reason: Nobody is paid for buying.
"""
FILES = {
    "bills/dt=2026-03-01/shop=1/a.csv": (1, "ink,100\nink,200\n# all\n"),
    "bills/dt=2026-03-01/shop=1/b.csv": (2, "pen,150\ngone,0\ncap,-5\n"),
    "bills/dt=2026-03-01/shop=2/a.csv": (3, "# none\nink,70\n"),
    "bills/dt=2026-03-02/shop=1/a.csv": (4, "cap,10\ncap,20\ncap,30\ncap,40\n"),
    "bills/dt=soon/shop=1/a.csv": (5, "ink,1\n"),
    "bills/loose.csv": (6, "ink,2\n"),
    "logs/till-7/1.log": (7, "said\nopen\n"),
    "logs/till-8/deep/2.log": (8, "said\nshut\nno word\n"),
    "logs/till-9.log": (9, "said\nlost\n"),
}
"""By path: the hour of the file's own time, and what it says."""
BILLS = ("day", "shop", "line", "exported_at", "article", "cents", "name", "_content")
FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)


def at(hour: int) -> datetime:
    return datetime(2026, 3, 10, hour, tzinfo=UTC)


def prepare(workshop: Workshop) -> Workshop:
    workshop.write("conf/pipelines/tills.yml", PIPELINE)
    workshop.write("expectations/tills/silver.bills.yml", RULES.replace("LEAST", "0"))
    return workshop


def land(workshop: Workshop, *paths: str) -> None:
    for path in paths:
        hour, text = FILES[path]
        os.utime(workshop.land(path, text), (at(hour).timestamp(),) * 2)


def tables(workshop: Workshop) -> dict[str, list[Any]]:
    place = ("file", "line", "element")
    return {
        "bills": workshop.rows("tills.silver.bills", *BILLS),
        "shops": workshop.rows("tills.dimension.shops", "shop", "cents", "file", "_valid_from", "_valid_to"),
        "logs": workshop.rows("tills.silver.logs", "till", "line", "said", "_file"),
        "days": workshop.rows("tills.gold.days", "day", "shop", "cents", "newest", "_row_count"),
        "bad bills": workshop.rows("tills.quarantine.silver.bills", *place, "reasons", "file_modified_at"),
        "bad logs": workshop.rows("tills.quarantine.silver.logs", *place, "reasons", "file_modified_at"),
    }


@pytest.fixture(scope="module")
def first_run(new_workshop: Callable[[], Workshop]) -> tuple[Workshop, RunResult]:
    """All files in one run."""
    workshop = prepare(new_workshop())
    land(workshop, *FILES)
    result = workshop.run("tills")
    assert result.exit_code == 0, result.message
    return workshop, result


@pytest.fixture(scope="module")
def at_once(first_run: tuple[Workshop, RunResult]) -> Workshop:
    """Not to be touched."""
    return first_run[0]


def test_columns_say_where_a_row_came_from(at_once: Workshop) -> None:
    found = tables(at_once)

    assert [row[:-1] for row in found["bills"]] == sorted(
        [
            (FIRST, 1, 1, at(2), "pen", 150, "b.csv"),
            (FIRST, 2, 2, at(3), "ink", 70, "a.csv"),
            *((SECOND, 1, line, at(4), "cap", line * 10, "a.csv") for line in (1, 2, 3)),
        ],
        key=repr,
    )
    assert found["logs"] == [
        (7, 2, "open", "logs/till-7/1.log"),
        (8, 2, "shut", "logs/till-8/deep/2.log"),
    ]
    assert found["shops"] == [
        (1, 10, "bills/dt=2026-03-02/shop=1/a.csv", SECOND, None),
        (1, 150, "bills/dt=2026-03-01/shop=1/b.csv", FIRST, SECOND),
    ]
    assert found["days"] == [(FIRST, 1, 150, at(2), 1), (FIRST, 2, 70, at(3), 1), (SECOND, 1, 60, at(4), 3)]
    bad = [
        (file, line, [(reason["rule"], reason["column"], reason["value"]) for reason in reasons], time)
        for kind in ("bad bills", "bad logs")
        for file, line, _, reasons, time in found[kind]
    ]
    other_path = [("decodable", None, "the path of its file is another one than its source says")]
    assert bad == [
        ("bills/dt=2026-03-01/shop=1/b.csv", 3, [("cents_are_positive", "cents", "-5")], at(2)),
        ("bills/dt=soon/shop=1/a.csv", 1, [("type date", "day", "soon")], at(5)),
        ("bills/loose.csv", 1, other_path, at(6)),
        (
            "logs/till-8/deep/2.log",
            3,
            [("decodable", None, "the line does not match the fields of its source")],
            at(8),
        ),
        ("logs/till-9.log", 2, other_path, at(9)),
    ]


def test_header_lines_of_text_are_counted_as_filtered(first_run: tuple[Workshop, RunResult]) -> None:
    workshop, result = first_run
    [logs] = [one.counts for one in result.tables if one.table == "silver.logs"]

    assert (logs.rows_in, logs.inserted, logs.filtered, logs.quarantined) == (7, 2, 3, 2)
    assert [line for line, _ in workshop.rows("tills.bronze.logs", "_line", "record")].count(1) == 3


def test_any_order_grouping_and_crash_and_a_rebuild_give_the_same(
    at_once: Workshop, new_workshop: Callable[[], Workshop]
) -> None:
    shuffled, draw = prepare(new_workshop()), random.Random(5)
    paths = draw.sample(list(FILES), len(FILES))
    for part, cut in (
        (paths[:2], None),
        (paths[2:6], "write.after:silver.bills"),
        (paths[6:], "marker.before:gold.days"),
    ):
        land(shuffled, *part)
        if cut:
            with failpoints.arm(f"{cut}=raise"):
                shuffled.run("tills")
        result = shuffled.run_beside_others("tills")
        assert result.exit_code in (0, 3), result.message

    assert tables(shuffled) == tables(at_once)
    assert verified(shuffled, "tills") == verified(at_once, "tills") == []
    assert verify_files(shuffled.project, "tills").exit_code == 0
    names = ["dimension.shops", "silver.bills", "silver.logs", "gold.days"]
    rebuilt = rebuild_tables(shuffled.project, "tills", PROFILE, names, start=shuffled._start)
    assert rebuilt.exit_code == 0, rebuilt.message
    assert tables(shuffled) == tables(at_once)


def test_a_replayed_row_has_the_time_of_its_file(at_once: Workshop, workshop: Workshop) -> None:
    home = at_once.copied(workshop.root / "home")
    home.write("expectations/tills/silver.bills.yml", RULES.replace("LEAST", "-10"))
    request = QuarantineRequest("silver.bills", "replay", Selection(), "ada@here", "a refund")
    result = apply_request(home.project, "tills", PROFILE, request, start=home._start)

    assert result.exit_code == 0, result.message
    replayed = [row[:-1] for row in home.rows("tills.silver.bills", *BILLS) if row[5] == -5]
    assert replayed == [(FIRST, 1, 3, at(2), "cap", -5, "b.csv")]
    assert verified(home, "tills") == []


def test_a_quarantine_of_an_earlier_version_gets_the_column_that_it_lacks(
    at_once: Workshop, workshop: Workshop
) -> None:
    home = at_once.copied(workshop.root / "home")
    path = str(home.root / "lake/tills/quarantine/silver.logs")
    old = DeltaTable(path).to_pyarrow_table()
    write_deltalake(path, old.drop_columns(["file_modified_at"]), mode="overwrite", schema_mode="overwrite")
    home.land("logs/till-8/3.log", "said\nno word\n")

    result = home.run("tills")

    assert result.exit_code == 0, result.message
    found = home.rows("tills.quarantine.silver.logs", "file", "file_modified_at")
    assert [(file, time is None) for file, time in found] == [
        ("logs/till-8/3.log", False),
        ("logs/till-8/deep/2.log", True),
        ("logs/till-9.log", True),
    ]
    request = QuarantineRequest("silver.logs", "replay", Selection(), "ada@here", "again")
    assert apply_request(home.project, "tills", PROFILE, request, start=home._start).exit_code == 0
    assert verified(home, "tills") == []
