"""A small, correct project in a temporary folder, which each test breaks in one place."""

from pathlib import Path

import pytest

from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.errors import Problem

SHOP = """\
pipeline: shop
schedule: "0 * * * *"
sources:
  orders: {format: json, path: shop/orders}
  customers: {format: csv, path: shop/customers}
  regions: {format: csv, path: shop/regions}
  logs: {format: text, path: shop/logs}
dimensions:
  customers:
    from: customers
    key: customer_id
    columns:
      customer_id: bigint
      city: string
      changed_at: timestamp
    sequence_by: changed_at
    history: scd2
  regions:
    from: regions
    key: [country, region]
    columns: {country: string, region: string, manager: string, version: int}
    sequence_by: version
silver:
  orders:
    from: orders
    columns:
      order_id: bigint
      customer_id: bigint
      ordered_at: timestamp
      paid_at: timestamp
      shipped_on: date
      version: int
      tags: array<string>
      amount: {type: "decimal(12,2)", from: payment.amount}
      is_big: {type: boolean, sql: "amount > 100"}
    key: order_id
    sequence_by: version
    event_time: ordered_at
    where: amount >= 0
    lookup:
      customers: {on: customer_id, take: [city]}
  lines:
    from: orders
    explode: items
    columns:
      order_id: bigint
      sku: {type: string, from: items.sku}
      country: string
      region: string
    lookup:
      regions:
        on: [country, region]
        take: manager
  logs:
    from: logs
    columns:
      line: {type: string, from: value}
      level: {type: string, sql: "split_part(line, ' ', 1)"}
gold:
  hourly:
    from: silver.orders
    window: {size: 1 hour, slide: 30 minutes}
    group_by: [city]
    measures:
      order_count: count(*)
      revenue: sum(amount)
    where: order_id > 0
  top:
    sql: sql/top.sql
  funnel:
    python: hooks/shop.py:funnel
    inputs: [silver.orders, gold.top]
"""
TOP_SQL = """\
SELECT o.city, sum(o.amount) AS revenue
FROM silver.orders o
JOIN silver.lines USING (order_id)
GROUP BY o.city
"""
HOOK = "def funnel(orders, top):\n    return orders\n"


class Workspace:
    """The project's files, ways to break them, and the problems that this makes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nprofile: local\n")
        self.write("conf/profiles/local.yml", "master: local[*]\n")
        self.write("conf/pipelines/shop.yml", SHOP)
        self.write("conf/sql/top.sql", TOP_SQL)
        self.write("conf/hooks/shop.py", HOOK)

    def write(self, file: str, text: str) -> Path:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def replace(self, old: str, new: str, file: str = "conf/pipelines/shop.yml") -> None:
        text = (self.root / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        self.write(file, text.replace(old, new))

    def problems(self) -> list[Problem]:
        return check_folder(self.root, {})

    def problem(self) -> Problem:
        """The one problem that there must be."""
        problems = self.problems()
        assert len(problems) == 1, "\n".join(map(str, problems)) or "no problem was found"
        return problems[0]

    def assert_refused(
        self, line: str, value: object, message: str, hint: str, file: str = "conf/pipelines/shop.yml"
    ) -> None:
        """The one problem is in the line that has this text, with this value, and says this."""
        problem = self.problem()
        lines = (self.root / file).read_text(encoding="utf-8").splitlines()
        assert problem.file == file
        assert line in lines[problem.line - 1], f"line {problem.line}: {lines[problem.line - 1]}"
        assert problem.value == value
        assert message in problem.message
        assert hint in problem.hint


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)
