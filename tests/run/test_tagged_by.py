"""Whether rows that are there may be tagged by other rules than those of today, by what the ledger knows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from spark_jobs.config.expectations import Rule, rules_version
from spark_jobs.lake import delta_log
from spark_jobs.lake.ledger_batches import STREAM, Intent
from spark_jobs.run.context import RULES, RunContext
from spark_jobs.run.plan import TAGGING
from spark_jobs.run.tagging import TAG, is_behind, version_of
from spark_jobs.silver.fact_table import FactTable

BOUND = {"column": "a", "max_value": 1}
BIG = Rule("big", "expect_column_values_to_be_between", BOUND, on_fail="tag", severity="info", reason="so")
BIGGER = replace(BIG, kwargs={"column": "a", "max_value": 2})
START = datetime(2024, 1, 1, tzinfo=UTC)
Rules = tuple[Rule, ...]


def at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


def asked(
    monkeypatch: pytest.MonkeyPatch,
    noted: dict[int, Rules],
    begun: dict[str, dict[int, Rules]],
    now: Rules,
    consumed: Rules = (),
) -> bool:
    """The rules by the hours at which they were noted, and by which batches of each step began."""
    monkeypatch.setattr(delta_log, "count_rows", lambda _: 1)
    by_version = {rules_version(rules): rules for rules in (*noted.values(), now)}

    def intents(_: str, step: str, generation: int) -> list[Intent]:
        found = begun.get(step, {}).items()
        return [Intent(at(hour), {RULES: rules_version(rules)} if rules else {}) for hour, rules in found]

    run: Any = SimpleNamespace(
        lake=SimpleNamespace(staged=None, table=str),
        order=SimpleNamespace(ledger=SimpleNamespace(intents=intents)),
        plan=SimpleNamespace(generation=lambda _: 1),
        rules=lambda _: now,
        verdicts=SimpleNamespace(
            noted=lambda _: [(at(hour), rules) for hour, rules in noted.items()],
            rules=lambda _, version: by_version[version],
        ),
    )
    table: Any = SimpleNamespace(name="silver.orders", is_tagged=True)
    done = {TAGGING: version_of(consumed)} if consumed else {}
    return is_behind(cast(RunContext, run), cast(FactTable, table), done)


def test_a_first_run_that_was_cut_has_tagged_rows_though_no_rule_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asked(monkeypatch, {0: (BIG,), 2: ()}, {STREAM: {1: (BIG,)}}, now=())


def test_rows_of_one_set_of_rules_are_not_tagged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not asked(monkeypatch, {0: (BIG,)}, {STREAM: {1: (BIG,)}}, now=(BIG,), consumed=(BIG,))
    # built beside: the rules of the rows that stood then were noted behind
    beside: dict[int, Rules] = {0: (BIGGER,), 1: (BIG,), 2: (BIGGER,), 4: (BIG,)}
    assert not asked(monkeypatch, beside, {STREAM: {3: (BIG,)}}, now=(BIG,), consumed=(BIG,))


def test_a_cut_run_by_other_rules_counts_until_all_rows_were_tagged(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: dict[int, Rules] = {0: (BIG,), 2: (BIGGER,), 4: (BIG,)}
    begun: dict[str, dict[int, Rules]] = {STREAM: {1: (BIG,), 3: (BIGGER,)}}
    assert asked(monkeypatch, noted, begun, now=(BIG,), consumed=(BIG,))
    assert not asked(monkeypatch, noted, {**begun, TAG: {5: (BIG,)}}, now=(BIG,), consumed=(BIG,))
