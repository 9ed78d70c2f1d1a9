"""What commands that only look must not load. It is counted instead of timed: each of these libraries takes
longer than all the rest.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Workshop, weir_environ

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = """\
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders:
    from: orders
    columns: {order_id: bigint, ordered_at: timestamp, amount: "decimal(12,2)"}
    key: order_id
    event_time: ordered_at
gold:
  orders_per_hour:
    from: silver.orders
    window: {column: ordered_at, size: 1 hour}
    measures: {order_count: count(*)}
    watermark: 2 hours
    emit: append
"""
RULES = """\
expectations:
  amount_is_known:
    type: expect_column_values_to_not_be_null
    kwargs: {column: amount}
    on_fail: quarantine
    reason: It is what is owed.
"""
SLOW = ("pyarrow", "numpy", "pandas", "pyspark", "py4j", "great_expectations", "scipy")
ASK = """
import json, sys
from spark_jobs.cli.app import app
try:
    app()
except SystemExit as ending:
    print(json.dumps([ending.code or 0, sorted(set(json.loads(sys.stdin.read())) & set(sys.modules))]))
"""


def ask(root: Path, *arguments: str) -> tuple[int, list[str]]:
    """The exit code of a command, and what it has loaded of the slow libraries."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, *arguments],
        env=weir_environ(WEIR_HOME=str(root)),
        cwd=ROOT,
        input=json.dumps(SLOW),
        capture_output=True,
        text=True,
        check=True,
    )
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    return code, loaded


@pytest.mark.system
def test_commands_that_find_nothing_to_do_load_neither_arrow_nor_spark(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("expectations/shop/silver.orders.yml", RULES)
    good = '{"order_id": 1, "ordered_at": "2024-01-01T10:00:00Z", "amount": 3}\n'
    workshop.land("orders/1.json", good + '{"order_id": 2, "ordered_at": "2024-01-01T11:00:00Z"}\n')
    assert workshop.run("shop").exit_code == 0

    assert ask(workshop.root, "run", "shop") == (3, [])
    assert ask(workshop.root, "plan", "shop") == (3, [])
    assert ask(workshop.root, "status") == (0, [])
    assert ask(workshop.root, "account") == (0, [])


@pytest.mark.system
def test_the_check_of_the_shipped_project_loads_neither_great_expectations_nor_spark() -> None:
    assert ask(ROOT, "check") == (0, [])


@pytest.mark.system
def test_help_loads_no_sql_parser_and_no_engine() -> None:
    assert ask(ROOT, "--help") == (0, [])
