"""From the ledger to the facts: what the page says is what the ledger has."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.report import collect
from spark_jobs.report.collect import UnknownRun, collect_report
from spark_jobs.report.facts import Outcome, Report, RuleState, TableState
from spark_jobs.report.render import as_json
from spark_jobs.report.verdict import judge_table
from tests.report.lake_of_runs import (
    GROUNDS,
    PIPELINE,
    QUARANTINE,
    REASON,
    START,
    Day,
    Judged,
    LakeOfRuns,
    run_id_of,
)

MADE = START + timedelta(days=3)


def report_of(shop: LakeOfRuns, day: Day) -> Report:
    return collect_report(shop.project, "shop", day.run_id, MADE)


@pytest.fixture
def run_days(shop: LakeOfRuns) -> Callable[..., Report]:
    """Runs these days, and gives the report of the last one."""

    def run(*days: Day) -> Report:
        for day in days:
            shop.run(day)
        return report_of(shop, days[-1])

    return run


def test_a_clean_run_is_good_and_says_how_much_it_published(run_days: Callable[..., Report]) -> None:
    report = run_days(Day(0, quarantined=0))

    assert report.verdict.outcome is Outcome.GOOD
    assert report.verdict.why == (
        "980 silver rows published, 58 in dimensions, 5 parked, none quarantined; all 5 expectations are met."
    )
    assert (report.verdict.notes, report.verdict.steps) == ((), ())


def test_rows_set_aside_and_a_rule_that_warns_are_named_in_the_verdict(
    run_days: Callable[..., Report], shop: LakeOfRuns
) -> None:
    day = Day(1, quarantined=24, judged={"known_status": Judged(71, is_met=False)})
    shop.drift(day, "coupon")
    report = run_days(Day(0), day)

    assert report.verdict.outcome is Outcome.WARNINGS
    assert report.verdict.notes == (
        "silver.orders: known_status is not met by 71 of 1,000 rows.",
        "silver.orders: 24 of 1,040 rows quarantined.",
        "1 field of the feeds came or went: orders.coupon.",
    )


def test_fields_that_came_or_went_are_counted_before_they_are_cut(
    run_days: Callable[..., Report], shop: LakeOfRuns
) -> None:
    day = Day(0, quarantined=0)
    shop.drift(day, *(f"f{number:02}" for number in range(30)))
    shop.drift(day, "amount", kind="missing")
    report = run_days(day)

    assert (report.drift[0].field, len(report.drift), report.drift_count) == ("amount", 20, 31)
    assert report.verdict.notes[0].startswith("31 fields of the feeds came or went: orders.amount, ")


def test_a_blocked_run_names_rule_rows_and_the_ways_on(
    run_days: Callable[..., Report], shop: LakeOfRuns
) -> None:
    day = Day(
        1,
        "blocked",
        "held back",
        verdict="blocked",
        judged={"enough_orders": Judged(None, is_met=False, rows=None, observed="312")},
    )
    report = run_days(Day(0), day)

    assert report.verdict.outcome is Outcome.BLOCKED
    assert report.verdict.why.startswith(
        "silver.orders: batch blocked, 312 rows not published; failed rule: enough_orders."
    )
    assert [step.command for step in report.verdict.steps] == [
        "weir run shop",
        f'weir release shop silver.orders --seen {GROUNDS.id} --reason "..."',
        f'weir set-aside shop silver.orders --seen {GROUNDS.id} --reason "..."',
    ]
    states = {table.name: table.state for table in report.tables}
    assert (states["silver.orders"], states["gold.revenue_per_hour"]) == (
        TableState.BLOCKED,
        TableState.NOT_REACHED,
    )
    own = {table.name: judge_table(table, report.gates, report.balance) for table in report.tables}
    assert (own["bronze.orders"], own["silver.orders"], own["gold.revenue_per_hour"]) == (
        Outcome.GOOD,
        Outcome.BLOCKED,
        Outcome.STOPPED,
    ), "each table by what concerns it alone"

    shop.decide(day, "hold", "bo@host", "I look into it.")
    left = report_of(shop, day)
    assert left.verdict.steps[0].what == "silver.orders was left blocked since, by bo@host: I look into it."
    assert len(left.verdict.steps) == 4, "and the ways on are as they were"

    shop.decide(day, "release", "ana@host", "Easter: two shops are closed.", hours=2)
    decided = report_of(shop, day)
    assert [step.what for step in decided.verdict.steps] == [
        "silver.orders was released since, by ana@host: Easter: two shops are closed."
    ]
    assert [(known.action, known.decided_by) for known in decided.decisions] == [
        ("hold", "bo@host"),
        ("release", "ana@host"),
    ]


def test_a_failed_run_gives_its_cause_and_its_log(run_days: Callable[..., Report]) -> None:
    report = run_days(Day(0, "failed", "gold.revenue_per_hour failed: no space left"))

    assert (report.verdict.outcome, report.verdict.why) == (
        Outcome.FAILED,
        "gold.revenue_per_hour failed: no space left",
    )
    assert report.verdict.steps[0].what == f"Read the log: logs/shop/{run_id_of(0)}.log"


def test_a_run_without_an_end_is_not_called_good(run_days: Callable[..., Report]) -> None:
    assert run_days(Day(0, None)).verdict.outcome is Outcome.KILLED


def test_rows_that_do_not_add_up_make_the_verdict_bad(
    run_days: Callable[..., Report], shop: LakeOfRuns
) -> None:
    run_days(Day(0))
    # a row that no batch tells of
    shop.set_aside("quarantine.silver.orders", [("required", "amount", None)], Day(0))

    report = report_of(shop, Day(0))
    assert (report.verdict.outcome, report.verdict.why) == (
        Outcome.FAILED,
        "The rows do not add up: silver.orders (-1).",
    )
    assert [entry.table for entry in report.balance if entry.missing] == ["silver.orders"]


def test_of_a_run_that_was_cut_no_row_is_called_missing(
    run_days: Callable[..., Report], shop: LakeOfRuns
) -> None:
    run_days(Day(0, quarantined=0), Day(1, None))
    # written, and its batch not noted yet
    shop.set_aside("quarantine.silver.orders", [("required", "amount", None)], Day(1))

    earlier, at_work = report_of(shop, Day(0, quarantined=0)), report_of(shop, Day(1))
    assert (earlier.verdict.outcome, at_work.verdict.outcome) == (Outcome.GOOD, Outcome.KILLED)
    assert {entry.missing for report in (earlier, at_work) for entry in report.balance} == {None}


def test_a_table_says_what_came_what_stands_and_how_fresh_it_is(run_days: Callable[..., Report]) -> None:
    report = run_days(Day(0), Day(1, quarantined=3))

    orders = next(table for table in report.tables if table.name == "silver.orders")
    assert (orders.counts.rows_in, orders.counts.published, orders.counts.quarantined) == (1_040, 980, 3)
    assert (orders.rows, orders.version, orders.quarantine_open, orders.parked_open) == (1_800, 2, 5, 10)
    assert (orders.newest, orders.newest_of) == (
        Day(1).at + timedelta(seconds=12) - timedelta(minutes=30),
        "event",
    )
    assert [(point.rows, point.bad) for point in orders.trend] == [(980, 2), (980, 3)]
    assert [source.files for source in report.sources] == [1, 1]


def test_rules_come_with_words_and_trend_and_those_not_met_first(run_days: Callable[..., Report]) -> None:
    report = run_days(Day(0), Day(1, quarantined=7, judged={"order_once": Judged(problem="no such column")}))

    rules = {table.name: table.rules for table in report.tables}["silver.orders"]
    assert [(rule.name, rule.state) for rule in rules] == [
        ("order_once", RuleState.PROBLEM),
        ("amount_in_range", RuleState.SET_ASIDE),
        ("enough_orders", RuleState.MET),
        ("known_status", RuleState.MET),
    ]
    amount = rules[1]
    assert (amount.sentence, amount.reason) == (
        "amount is between 0 and 100,000",
        "Amounts outside of this are typing mistakes.",
    )
    assert [(point.bad, point.is_met) for point in amount.trend] == [(2, False), (7, False)]


def test_trends_look_back_from_the_run_and_no_further_than_the_history(
    run_days: Callable[..., Report], shop: LakeOfRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "HISTORY", 2)
    report = run_days(*(Day(number) for number in range(4)))

    assert [len(table.trend) for table in report.tables] == [2] * 5
    assert [run.run_id for run in report.history] == [run_id_of(2), run_id_of(3)]
    assert [run.run_id for run in report_of(shop, Day(1)).history] == [run_id_of(0), run_id_of(1)]


def test_sensitive_values_reach_neither_page_nor_json(
    run_days: Callable[..., Report], shop: LakeOfRuns
) -> None:
    secret = "ada@example.org"
    found = [
        ("has_email", "email", secret),
        ("decodable", None, "not one JSON object"),
        ("set aside", None, "mean_in_euros"),
        ("of_all_columns", None, secret),
        ("type bigint", "customer_id", "x7"),
    ]
    day = Day(
        0,
        quarantined=0,
        judged={"has_email": Judged(3, rows=60, observed=secret, problem=f"cannot cast {secret}")},
    )
    shop.set_aside("quarantine.dimension.customers", found, day)
    report = run_days(day)

    shown = {
        reason.rule: [sample.value for sample in reason.samples]
        for reason in report.reasons
        if reason.table == "dimension.customers"
    }
    others = {"of_all_columns": ["•••"], "type bigint": ["x7"]}
    assert shown == {
        "has_email": ["•••"],
        "decodable": ["not one JSON object"],
        "set aside": ["mean_in_euros"],
        **others,
    }
    assert secret not in json.dumps(as_json(report))


def test_a_column_computed_from_a_sensitive_one_is_masked(tmp_path: Path) -> None:
    domain = "      domain: {type: string, sql: \"split(email, '@')[1]\"}\n"
    shop = LakeOfRuns(tmp_path)
    shop.set_up(
        pipeline=PIPELINE.replace("      changed_at: timestamp\n", f"      changed_at: timestamp\n{domain}")
    )
    shop.run(Day(0, quarantined=0))
    shop.set_aside("quarantine.dimension.customers", [("known_domain", "domain", "example.org")], Day(0))

    assert [
        reason.samples[0].value for reason in report_of(shop, Day(0)).reasons if reason.rule == "known_domain"
    ] == ["•••"]


def test_decided_rows_no_longer_count_as_open(run_days: Callable[..., Report], shop: LakeOfRuns) -> None:
    run_days(Day(0, quarantined=0))
    why = [{"rule": "amount_in_range", "column": "amount", "value": "-1"}]
    rows = [
        {"reasons": why, "state": state, "run_id": run_id_of(0), "file": "f", "line": 1}
        for state in ("replayed", "discarded", "open", None)
    ]
    write_deltalake(
        shop.lake.table("quarantine.silver.orders"),
        pa.Table.from_pylist(rows, schema=QUARANTINE),
        mode="append",
    )

    report = report_of(shop, Day(0))
    assert [table.quarantine_open for table in report.tables if table.name == "silver.orders"] == [2]
    assert [
        (reason.open_rows, reason.new_rows) for reason in report.reasons if reason.place == "quarantine"
    ] == [(2, 2)]


def test_an_older_lake_without_expectations_or_states_has_a_report(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0))
    for name in ("rules", "expectations", "gates"):
        shutil.rmtree(shop.lake.ledger(name))
    old = pa.schema([("reasons", pa.list_(REASON)), ("file", pa.string()), ("line", pa.int64())])
    row = {
        "reasons": [{"rule": "required", "column": "order_id", "value": None}],
        "file": "a.json",
        "line": 3,
    }
    write_deltalake(shop.lake.table("quarantine.silver.orders"), pa.Table.from_pylist([row], schema=old))

    report = report_of(shop, Day(0))
    assert [table.rules for table in report.tables] == [()] * 5
    assert [
        (reason.rule, reason.open_rows, reason.samples[0].value)
        for reason in report.reasons
        if reason.place == "quarantine"
    ] == [("required", 1, "(no value)")]


def test_a_run_that_is_not_there_is_refused_with_those_that_are(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    with pytest.raises(UnknownRun) as refused:
        collect_report(shop.project, "shop", "../../etc/passwd", MADE)
    assert refused.value.known == [run_id_of(0)]


def test_a_run_that_was_stopped_is_called_so_and_says_what_to_do(run_days: Callable[..., Report]) -> None:
    report = run_days(
        Day(0, "stopped", "stopped by SIGTERM: 2 tables brought up to date, others wait; run again to resume")
    )

    assert report.verdict.outcome is Outcome.STOPPED
    assert report.verdict.why.startswith("The run was stopped by SIGTERM: 2 tables brought up to date")
    assert [step.command for step in report.verdict.steps] == ["weir run shop"]
