"""`weir query`: SQL over tables by name, of any version, and over nothing else. None of this starts Spark."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.look.names import LEDGER_TABLES
from tests.conftest import Workshop
from tests.look.conftest import Weir
from tests.look.lake import DEPOT, write_bronze, write_quarantine

ADDRESS = "@example"


def rows(weir: Weir, sql: str, *more: str) -> list[dict[str, object]]:
    done = weir("query", sql, "--json", *more)
    assert done.exit_code == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["rows"]
    return found


def test_a_table_is_asked_by_its_full_name(weir: Weir) -> None:
    done = weir(
        "query", "select city, amount from retail.x.y".replace("retail.x.y", "shop.silver.orders order by id")
    )

    assert done.exit_code == 0
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["city", "amount"],
        ["Rome", "3.50"],
        ["Bern", "4.00"],
        ["Oslo", "9.99"],
    ]
    assert "3 rows in " in done.stderr
    assert "from shop.silver.orders v1" in done.stderr


def test_json_has_the_columns_the_rows_and_the_versions_that_were_read(weir: Weir) -> None:
    done = weir("query", "select id, amount from shop.silver.orders order by id", "--limit", "2", "--json")

    assert json.loads(done.stdout) == {
        "status": "ok",
        "exit_code": 0,
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "amount", "type": "DECIMAL(12,2)"}],
        "rows": [{"id": 1, "amount": "3.50"}, {"id": 2, "amount": "4.00"}],
        "has_more": True,
        "versions": {"shop.silver.orders": [1]},
    }


@pytest.mark.parametrize("at", ["v0", "0"])
def test_an_earlier_version_is_read_beside_the_newest(weir: Weir, at: str) -> None:
    sql = f"""select old.city as was, orders.city as "is" from shop.silver.orders@{at} as old
        join shop.silver.orders using (id) where old.city <> orders.city"""

    assert rows(weir, sql) == [{"was": "Oslo", "is": "Bern"}]


def test_a_version_is_known_by_its_time_as_well(weir: Weir) -> None:
    assert rows(weir, "select count(*) as n from shop.silver.orders@'2999-01-01 12:00'") == [{"n": 3}]
    assert rows(weir, "select count(*) as n from shop.silver.orders@2999-01-01T12:00:00Z") == [{"n": 3}]

    before = weir("query", "select 1 from shop.silver.orders@2020-01-01")

    assert before.exit_code == 2
    assert "there is no version of 2020-01-01 00:00:00 UTC; the newest is 1" in before.stderr


def test_columns_are_named_by_the_table_whether_old_new_or_beside_it(weir: Weir, shop: Workshop) -> None:
    write_quarantine(shop)

    assert rows(weir, "select orders.id from shop.silver.orders@v0 where orders.id = 2") == [{"id": 2}]
    assert rows(weir, "select orders.file from shop.quarantine.silver.orders") == [{"file": "orders/a.json"}]
    assert rows(weir, "select shop.silver.orders.id from shop . silver . orders limit 0") == []


@pytest.mark.parametrize("name", ["temp", "system", "memory", "main"])
def test_a_pipeline_may_be_called_as_a_database_of_duckdbs_own(weir: Weir, shop: Workshop, name: str) -> None:
    shop.write(f"conf/pipelines/{name}.yml", DEPOT.replace("depot", name))
    write_deltalake(Lake(shop.project.lake, name).table("silver.boxes"), pa.table({"id": [4]}))

    assert rows(weir, f"select boxes.id, {name}.silver.boxes.id as again from {name}.silver.boxes") == [
        {"id": 4, "again": 4}
    ]


def test_names_in_texts_and_comments_are_left_alone(weir: Weir) -> None:
    sql = """select 'shop.silver.orders@v9' as a, $$shop.quarantine.silver.orders$$ as b -- shop.silver.orders@v9
        /* shop.silver.orders@v9 */"""

    assert rows(weir, sql) == [{"a": "shop.silver.orders@v9", "b": "shop.quarantine.silver.orders"}]


def test_a_name_that_only_one_pipeline_has_is_enough(weir: Weir, shop: Workshop) -> None:
    write_deltalake(Lake(shop.project.lake, "depot").table("silver.boxes"), pa.table({"id": [4]}))

    assert rows(weir, "select id from silver.boxes") == [{"id": 4}]
    both = weir("query", "select id from silver.orders", "--json")

    assert both.exit_code == 2
    assert (
        "several pipelines have a table 'silver.orders'\n    write one of: "
        in json.loads(both.stdout)["message"]
    )


def test_sensitive_values_are_masked_before_anything_is_done_with_them(weir: Weir, shop: Workshop) -> None:
    write_quarantine(shop)
    write_bronze(shop)

    assert rows(weir, "select id, email from shop.silver.orders order by id") == [
        {"id": 1, "email": "•••"},
        {"id": 2, "email": None},
        {"id": 3, "email": "•••"},
    ]
    assert rows(weir, "select id from shop.silver.orders where email like 'eve%'") == []
    assert rows(weir, "select count(distinct email) as n, max(email) as m from shop.silver.orders") == [
        {"n": 1, "m": "•••"}
    ]
    assert rows(weir, "select record, reasons from shop.quarantine.silver.orders") == [
        {
            "record": '{"id": 7, "person": {"email": "•••"}, "city": "Rome"}',
            "reasons": [{"rule": "known", "column": "email", "value": "•••"}],
        }
    ]
    assert rows(weir, "select record, _problem from shop.bronze.orders order by _line") == [
        {"record": '{"id": 7, "person": {"email": "•••"}}', "_problem": None},
        {"record": "•••", "_problem": "line 2: •••"},
    ]
    for sql in ("from shop.silver.orders@v0", "from shop.bronze.orders", "summarize shop.silver.orders"):
        assert ADDRESS not in weir("query", sql).stdout


@pytest.mark.parametrize(
    "sql",
    [
        "insert into shop.silver.orders values (1)",
        "delete from shop.silver.orders",
        "copy (select 1) to 'out.csv'",
        "attach 'other.db'",
        "set enable_external_access = true",
        "install httpfs",
        "create table x as select 1",
        "pragma database_list",
        "select 1; select 2",
        "select * from read_csv('{file}')",
        "select * from read_text('{file}')",
        "select * from '{file}'",
        'select * from "{file}"',
        "select * from glob('/*')",
        "select * from (select * from read_parquet('{file}'))",
        "with x as (from read_csv('{file}')) select * from x",
        "select (select content from read_text('{file}'))",
        "select * from shop.silver.orders where exists (from read_csv('{file}'))",
        "select * from query('select 1')",
        "select * from query_table('x')",
        "select * from duckdb_views()",
        "select * from duckdb_settings()",
        "select * from information_schema.tables",
        "select * from sqlite_master",
        "select * from temp.main.raw",
        "select * from project",
        "show all tables",
        "show tables",
        "select * from arrow_scan(0, 0, 0)",
        "with orders as (select 1) select * from temp.main.orders",
    ],
)
def test_nothing_is_changed_and_nothing_outside_of_the_lake_is_reached(
    weir: Weir, tmp_path: Path, sql: str
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nxyzzy\n", encoding="utf-8")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}

    done = weir("query", sql.format(file=secret), "--json")

    assert done.exit_code == 2
    result = json.loads(done.stdout)
    assert (result["status"], result["exit_code"]) == ("usage_error", 2)
    assert "xyzzy" not in done.stdout
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()} == before


def test_duckdb_itself_refuses_files_where_a_query_would_come_through(shop: Workshop, tmp_path: Path) -> None:
    import duckdb

    from spark_jobs.look.engine import lock, open_engine

    secret = tmp_path / "secret.csv"
    secret.write_text("word\nxyzzy\n", encoding="utf-8")
    with open_engine() as engine:
        lock(engine)
        for sql in (f"from read_csv('{secret}')", "set enable_external_access = true", "load httpfs"):
            with pytest.raises(duckdb.Error):
                engine.execute(sql)
        with pytest.raises(duckdb.CatalogException):
            engine.execute("select * from secret")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "select * from shop.silver.order",
            "there is no table 'shop.silver.order'\n    did you mean 'shop.silver.orders'?",
        ),
        (
            "select * from shp.silver.orders",
            "there is no table 'shp.silver.orders'\n    did you mean 'shop.silver.orders'?",
        ),
        (
            "select * from shop.ledger.rnus",
            "there is no table 'shop.ledger.rnus'\n    did you mean 'shop.ledger.runs'?",
        ),
        ("select * from orders@v3", "there is no table 'orders'\n    did you mean "),
        ("select * from shop.silver.orders@v7", "shop.silver.orders: there is no version 7; the newest is 1"),
        ("select * from shop.silver.orders at (version => 1)", "AT is not how a version is asked for"),
        ("select ctiy from shop.silver.orders", 'Referenced column "ctiy" not found'),
        (
            "select id from shop.silver.orders@v0, shop.silver.orders",
            "(use: 'shop.silver.orders@v0.id' or 'shop.silver.orders.id')",
        ),
        ("selec 1", "it cannot be read: syntax error at or near"),
        (" ", "it is empty"),
    ],
)
def test_a_mistake_says_what_was_meant(weir: Weir, sql: str, said: str) -> None:
    done = weir("query", sql)

    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_table_that_no_run_has_made_yet_is_no_mistake(weir: Weir) -> None:
    gold, quarantine, ledger = (
        weir("query", f"from shop.{name}", "--json")
        for name in ("gold.per_city", "quarantine.silver.orders", "ledger.runs")
    )

    assert [done.exit_code for done in (gold, quarantine, ledger)] == [3, 3, 3]
    assert "shop.gold.per_city is not there: no run has made it yet: `weir run shop`" in gold.stderr
    assert "nothing was set aside there yet" in quarantine.stderr
    assert json.loads(ledger.stdout)["status"] == "nothing_to_do"


def test_a_query_that_fails_on_a_value_ends_with_1(weir: Weir) -> None:
    done = weir("query", "select cast(city as int) from shop.silver.orders", "--json")

    assert done.exit_code == 1
    assert json.loads(done.stdout)["status"] == "failed"
    assert "error: the query failed: Conversion Error" in done.stderr


def test_a_version_whose_files_are_gone_is_said(weir: Weir, shop: Workshop) -> None:
    for file in Path(Lake(shop.project.lake, "shop").table("silver.orders")).glob("*.parquet"):
        file.unlink()

    done = weir("query", "select sum(amount) from shop.silver.orders@v0")

    assert done.exit_code == 1
    assert "the query failed: " in done.stderr
    assert "Traceback" not in done.stderr


def test_what_json_has_no_word_for_is_text(weir: Weir) -> None:
    sql = """select 1/0.0 as a, 'nan'::double as b, map {1: date '2026-03-01'} as c, 'x'::blob as d,
        timestamptz '2026-03-01 12:00:00+01' as e, 1 as f, 2 as f, 'f_1' as f_1, timestamp '2026-03-01 12:00' as g"""

    found = rows(weir, sql)

    assert found == [
        {
            "a": "inf", "b": "nan", "c": {"1": "2026-03-01"}, "d": "78", "e": "2026-03-01T11:00:00Z",
            "f": 1, "f_2": 2, "f_1": "f_1", "g": "2026-03-01T12:00:00",
        }
    ]  # fmt: skip


def test_text_of_rows_moves_no_cursor_and_is_no_markup(weir: Weir) -> None:
    done = weir("query", r"select e'\x1b[2J[bold]x[/bold]\nerror: forged' as said")

    assert done.stdout.splitlines()[1] == r"\x1b[2J[bold]x[/bold]\nerror: forged"


def test_the_query_is_taken_from_standard_input(weir: Weir) -> None:
    done = weir("query", "-", input="select count(*) as n\nfrom shop.silver.orders; \n")

    assert done.stdout.split() == ["n", "3"]


def test_ledger_and_arrivals_have_names(weir: Weir, shop: Workshop) -> None:
    lake = Lake(shop.project.lake, "shop")
    write_deltalake(lake.ledger("runs"), pa.table({"run_id": ["a"]}))
    write_deltalake(lake.arrivals("orders"), pa.table({"path": ["orders/a.json"]}))

    assert rows(weir, "select run_id from shop.ledger.runs") == [{"run_id": "a"}]
    assert rows(weir, "select path from shop.arrivals.orders") == [{"path": "orders/a.json"}]
    assert set(LEDGER_TABLES) == set(SCHEMAS)


def test_a_project_without_pipelines_and_a_lake_without_tables(
    weir: Weir, shop: Workshop, idle_workshop: Workshop
) -> None:
    shutil.rmtree(shop.project.lake)
    assert weir("query", "from shop.silver.orders").exit_code == 3
    for file in (shop.root / "conf" / "pipelines").iterdir():
        file.unlink()

    empty = weir("query", "select * from shop.silver.orders")

    assert empty.exit_code == 2
    assert "conf/pipelines has no pipeline yet" in empty.stderr
    assert rows(weir, "select 1 as one") == [{"one": 1}]
