"""`weir show`: a table with its version, rows, columns and history, without Spark."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from tests.conftest import Workshop
from tests.look.conftest import Weir
from tests.look.lake import write_quarantine


def test_a_table_is_shown_with_what_it_is_and_holds(weir: Weir) -> None:
    done = weir("show", "shop.silver.orders", "--rows", "2")

    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert lines[0].startswith("shop.silver.orders: 3 rows, version 1, 1 file, ")
    assert "id bigint" in lines
    assert "email string sensitive" in lines
    assert "amount decimal(12,2)" in lines
    assert [line.split()[0] for line in lines[lines.index("history") + 2 :][:2]] == ["1", "0"]
    assert "2 of the rows" in lines
    assert lines[-2].startswith("1 ••• Rome 3.50 2026-03-01 15:00:00")
    assert "@example" not in done.stdout


def test_an_earlier_version_is_shown_as_it_was(weir: Weir) -> None:
    found = json.loads(weir("show", "silver.orders@v0".replace("silver", "shop.silver"), "--json").stdout)

    assert (found["status"], found["table"], found["version"], found["rows"]) == (
        "ok",
        "shop.silver.orders",
        0,
        2,
    )
    assert [commit["version"] for commit in found["history"]] == [0]
    assert found["columns"][1] == {"name": "email", "type": "string", "is_sensitive": True}
    assert found["first"][0] == {
        "id": 1, "email": "•••", "city": "Rome", "amount": "3.50", "_processed_at": "2026-03-01T14:00:00Z",
    }  # fmt: skip


def test_the_history_names_the_run_and_the_step_of_a_write(weir: Weir, shop: Workshop) -> None:
    note = {"userMetadata": json.dumps({"run_id": "20260301T120000-abc", "step": "stream", "batch": 4})}
    path = Lake(shop.project.lake, "depot").table("silver.boxes")
    write_deltalake(path, pa.table({"id": [1]}), commit_properties=CommitProperties(custom_metadata=note))

    [commit] = json.loads(weir("show", "silver.boxes", "--json").stdout)["history"]

    assert (commit["run_id"], commit["step"]) == ("20260301T120000-abc", "stream")


def test_without_a_name_all_tables_are_listed(weir: Weir, shop: Workshop) -> None:
    write_quarantine(shop)

    plain, found = weir("show"), json.loads(weir("show", "--json").stdout)

    rows = {table["table"]: (table["version"], table["rows"]) for table in found["tables"]}
    assert rows == {
        "depot.bronze.orders": (None, None),
        "depot.bronze.boxes": (None, None),
        "depot.silver.orders": (None, None),
        "depot.silver.boxes": (None, None),
        "shop.bronze.orders": (None, None),
        "shop.silver.orders": (1, 3),
        "shop.gold.per_city": (None, None),
        "shop.quarantine.silver.orders": (0, 1),
    }
    assert ["shop.silver.orders", "1", "3", "1"] in [line.split()[:4] for line in plain.stdout.splitlines()]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            "shop.silver.order",
            "TABLE: there is no table 'shop.silver.order'\n    did you mean 'shop.silver.orders'?",
        ),
        (
            "silver.orders",
            "TABLE: several pipelines have a table 'silver.orders'\n    write one of: depot.silver",
        ),
        ("shop.silver.orders@v8", "TABLE: shop.silver.orders: there is no version 8; the newest is 1"),
        (
            "shop.silver.orders@soon",
            "TABLE 'shop.silver.orders@soon': 'soon' is not a version\n    write a number",
        ),
        ("../../etc@v1", "TABLE: there is no table '../../etc'"),
    ],
)
def test_a_mistake_says_what_was_meant(weir: Weir, table: str, said: str) -> None:
    plain, as_json = weir("show", table), weir("show", table, "--json")

    assert (plain.exit_code, as_json.exit_code) == (2, 2)
    assert plain.stderr.startswith(f"error: {said}"), plain.stderr
    assert json.loads(as_json.stdout)["status"] == "usage_error"


def test_what_is_not_there_yet_is_no_mistake(weir: Weir, shop: Workshop) -> None:
    done = weir("show", "shop.gold.per_city", "--json")
    shutil.rmtree(shop.project.lake)

    assert done.exit_code == 3
    assert json.loads(done.stdout)["message"].endswith("no run has made it yet: `weir run shop`")
    assert weir("show").exit_code == 0


def test_a_load_at_work_is_not_waited_for(weir: Weir, shop: Workshop) -> None:
    with hold_lease(Lake(shop.project.lake, "shop").lease(), "shop", "weir run"):
        shown = weir("show", "shop.silver.orders")
        asked = weir("query", "select count(*) as n from shop.silver.orders")

    assert (shown.exit_code, asked.stdout.split()) == (0, ["n", "3"])


def test_rows_whose_files_are_gone_end_it_with_1(weir: Weir, shop: Workshop) -> None:
    for file in Path(Lake(shop.project.lake, "shop").table("silver.orders")).glob("*.parquet"):
        file.unlink()

    done = weir("show", "shop.silver.orders@v0", "--json")

    assert done.exit_code == 1
    assert json.loads(done.stdout)["status"] == "failed"


def test_a_project_without_a_pipeline_says_so(weir: Weir, shop: Workshop) -> None:
    for file in (shop.root / "conf" / "pipelines").iterdir():
        file.unlink()

    done = weir("show", "--json")

    assert done.stderr.startswith("conf/pipelines has no pipeline yet")
    assert json.loads(done.stdout) == {"status": "ok", "exit_code": 0, "tables": []}
