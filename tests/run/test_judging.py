"""What a rule observes of a sensitive column is shown nowhere, and still tells one finding from another."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from spark_jobs.config.expectations import Rule
from spark_jobs.config.sensitive import MASK
from spark_jobs.lake.blocked import Grounds
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.quality.result import RuleResult
from spark_jobs.run.judging import judge_rows, masked, tells_of_sensitive
from spark_jobs.run.plan import Plan, make_plan
from spark_jobs.run.quality_gate import BatchGate
from tests.conftest import Workshop

SHOP = """
pipeline: shop
sources: {orders: {format: json, path: orders}, wages: {format: json, path: wages}}
silver:
  orders: {from: orders, columns: {id: bigint, amount: bigint, Tip: {type: bigint, sensitive: true}}}
  wages: {from: wages, columns: {id: bigint, hours: bigint, wage: {type: bigint, sensitive: true}}}
"""
SUM = "expect_column_sum_to_equal_other_table"


def rule(gx_type: str, **kwargs: Any) -> Rule:
    return Rule("usual", gx_type, kwargs, "block", "critical", "because", "table")


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        (rule("expect_column_sum_to_be_between", column="Tip", max_value=9), True),
        (rule("expect_column_sum_to_be_between", column="amount", max_value=9), False),
        (rule(SUM, column="amount", other_table="silver.wages", other_column="wage"), True),
        (rule(SUM, column="amount", other_table="silver.wages", other_column="hours"), False),
        (rule("expect_table_row_count_to_be_between", min_value=1), False),
    ],
)
def test_a_rule_tells_of_the_sensitive_columns_of_both_tables_that_it_compares(
    idle_workshop: Workshop, asked: Rule, is_told: bool
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    project = idle_workshop.project

    assert tells_of_sensitive(project.pipelines["shop"], "silver.orders", asked, project.conf) is is_told


@dataclass(frozen=True)
class SameContent:
    """The same rows each time, around which the table changes."""

    count: int = 7

    def fingerprint(self) -> str:
        return "c0ffee"


def seen(folder: Path, observed: str) -> Grounds:
    verdicts = Verdicts(Ledger(Lake(str(folder), "shop")))
    batch_id = ("silver.orders", "stream", 1, 0)
    gate = BatchGate(
        "run",
        batch_id,
        datetime.now(UTC),
        {},
        (),
        verdicts,
        None,
        lambda *_: [],
        lambda line: None,
        lambda result: None,
    )
    found = masked(
        RuleResult(rule("expect_column_sum_to_be_between", column="Tip"), False, observed=observed)
    )
    return gate._grounds(cast(Candidate, SameContent()), [found])


def test_a_decision_about_a_masked_finding_holds_for_no_other_one(tmp_path: Path) -> None:
    decided = seen(tmp_path, "4711")

    assert decided.covers(seen(tmp_path, "4711.0000000001"))
    assert not decided.covers(seen(tmp_path, "815"))
    assert decided.id != seen(tmp_path, "815").id


def test_what_was_decided_about_is_written_down_without_the_masked_value(tmp_path: Path) -> None:
    written = seen(tmp_path, "4711").as_json()

    assert Grounds.of_json(written) == seen(tmp_path, "4711")
    assert "4711" not in written
    assert MASK in Grounds.of_json(written).findings[0].describe()  # type: ignore[union-attr]


def test_how_recent_rows_are_is_judged_by_the_last_arrival_and_not_by_a_clock_that_was_ahead(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    project, last = idle_workshop.project, datetime(2024, 5, 1, tzinfo=UTC)
    plan = make_plan(project.pipelines["shop"], project.conf, Lake(project.lake, "shop"))
    monkeypatch.setattr(Plan, "clock", lambda _: datetime(2036, 5, 1, tzinfo=UTC))
    monkeypatch.setattr(Plan, "last_arrival", lambda _: last)
    asked: list[Any] = []

    def judge(*given: Any) -> list[Any]:
        asked.append(given[2])
        return []

    evaluate = ModuleType("evaluate")
    vars(evaluate).update(Surroundings=SimpleNamespace, judge=judge)
    monkeypatch.setitem(sys.modules, "spark_jobs.quality.evaluate", evaluate)
    rows = SimpleNamespace(sparkSession=SimpleNamespace(conf=SimpleNamespace(get=str, set=lambda *_: None)))

    judge_rows(plan, ("silver.orders", "stream", 1, 0), {}, cast(Any, rows), [], cast(Any, None), 1)

    assert [around.clock for around in asked] == [last]
