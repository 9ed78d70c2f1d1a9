"""A year of results in the ledger, 96 runs a day with 15 rules each: how long it takes to ask for the last
runs, and for the trend.

Run alone: python -m bench.ledger_year
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.lake.scan import read_where

RUNS_A_DAY, DAYS, RULES = 96, 365, 15
RUNS_PER_FILE = 2_000
START = datetime(2025, 1, 1, tzinfo=UTC)


def main() -> None:
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "expectations"))
        runs = RUNS_A_DAY * DAYS
        for first in range(0, runs, RUNS_PER_FILE):
            write_deltalake(path, _rows(range(first, min(runs, first + RUNS_PER_FILE))), mode="append")
        last = [f"run-{number:08}" for number in range(runs - 30, runs)]
        started = time.monotonic()
        found = read_where(path, ["rule", "failed", "rows", "judged_at"], {"run_id": last})
        asked = time.monotonic()
        expectations = DeltaTable(path).to_pyarrow_dataset()
        by_month = duckdb.sql(
            "SELECT rule, date_trunc('month', judged_at) AS month, sum(failed) AS failed FROM expectations"
            " GROUP BY ALL"
        ).fetchall()
        ended = time.monotonic()
        print(
            f"{runs * RULES:,} results of a year; {len(found):,} of the last 30 runs in"
            f" {asked - started:.2f} s,",
            end=" ",
        )
        print(f"the trend of all rules by month ({len(by_month):,} rows) in {ended - asked:.2f} s")
        del expectations


def _rows(runs: range) -> pa.Table:
    rows = []
    for run in runs:
        at = START + timedelta(minutes=run * 24 * 60 / RUNS_A_DAY)
        for rule in range(RULES):
            rows.append(
                {"run_id": f"run-{run:08}", "table": "silver.orders", "step": "stream", "generation": 1, "batch": run, "judged_at": at,
                 "rules": "0123456789ab", "rule": f"rule_{rule}", "type": "expect_column_values_to_not_be_null", "columns": "amount",
                 "on_fail": "warn", "severity": "warning", "reason": "It must be known.", "scope": "batch", "is_met": rule != run % RULES,
                 "rows": 1_000, "failed": run % 7, "observed": None, "problem": None}
            )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SCHEMAS["expectations"])


if __name__ == "__main__":
    main()
