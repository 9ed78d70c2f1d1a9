"""One fact in one place: how tables and runs ended is read from the ledger, and page, list and terminal say
the same of it.
"""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.cli.account import account_command
from spark_jobs.lake.blocked import allowed_actions, ways_on
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.states import TableEnd, write_states
from spark_jobs.operations.status import status_of
from spark_jobs.report.collect import collect_report
from spark_jobs.report.facts import Outcome, Report, RuleState, TableState
from spark_jobs.report.flow_nodes import WIDTH, make_nodes, room_of, wrap
from spark_jobs.report.render import render_run
from spark_jobs.report.rules import found_rules
from spark_jobs.report.write import write_report
from spark_jobs.run.order import new_order, note_run
from spark_jobs.run.page import close_killed_runs
from spark_jobs.run.plan import make_plan
from tests.conftest import unguarded
from tests.report.lake_of_runs import START, Day, Judged, LakeOfRuns, run_id_of

MADE = START + timedelta(days=3)
UNMET = {"enough_orders": Judged(None, is_met=False, rows=None, observed="312")}
ALL_QUARANTINED = Counts(rows_in=1_040, quarantined=1_040)
ALL_LATE = Counts(rows_in=980, late=980)


def report_of(shop: LakeOfRuns, day: Day) -> Report:
    return collect_report(shop.project, "shop", day.run_id, MADE)


def listed(shop: LakeOfRuns) -> list[dict[str, object]]:
    runs: list[dict[str, object]] = json.loads(
        (shop.root / "reports/shop/runs.json").read_text(encoding="utf-8")
    )["runs"]
    return runs


def states_in(report: Report) -> dict[str, TableState]:
    return {table.name: table.state for table in report.tables}


def close_killed(shop: LakeOfRuns) -> None:
    with hold_lease(shop.lake.lease(), "shop", "test") as lease:
        close_killed_runs(shop.project, "shop", lease)


def test_of_two_failed_tables_both_are_failed_each_with_its_own_error(shop: LakeOfRuns) -> None:
    broken = {
        "dimension.customers": "the disk is full",
        "silver.orders": "no such column",
        "gold.revenue_per_hour": "x",
    }
    day = Day(0, "failed", "dimension.customers failed (and 1 more table): the disk is full", failed=broken)
    shop.run(day)

    report = report_of(shop, day)

    assert [states_in(report)[name] for name in broken] == [TableState.FAILED] * 3
    assert {table.name: table.error for table in report.tables if table.error} == broken
    assert "silver.orders failed: no such column" in report.verdict.why


@pytest.mark.parametrize(
    ("is_old", "below"), [(False, TableState.NOT_REACHED), (True, TableState.NOT_IN_RUN)]
)
def test_a_lake_without_states_still_reads(shop: LakeOfRuns, is_old: bool, below: TableState) -> None:
    shop.run(Day(0, is_old=is_old))
    shop.run(Day(1, "blocked", "blocked", verdict="blocked", judged=UNMET, is_old=is_old))

    first, second = report_of(shop, Day(0)), report_of(shop, Day(1))

    assert set(states_in(first).values()) == {TableState.DONE}
    assert (states_in(second)["silver.orders"], states_in(second)["gold.revenue_per_hour"]) == (
        TableState.BLOCKED,
        below,
    )
    assert (first.verdict.outcome, second.verdict.outcome) == (Outcome.WARNINGS, Outcome.BLOCKED)


def test_page_and_list_judge_every_kind_of_run_alike(shop: LakeOfRuns) -> None:
    days = [
        Day(0, quarantined=0),
        Day(1, quarantined=24),
        Day(2, "failed", "silver.orders failed: x", failed={"silver.orders": "x"}),
        Day(3, "blocked", "blocked", verdict="blocked", judged=UNMET),
        Day(4, "stopped", "stopped by SIGTERM: 2 tables brought up to date, others wait"),
        Day(5, None),
        Day(6, quarantined=0, silver=ALL_QUARANTINED),
        Day(7, quarantined=0, gold=ALL_LATE, late_kept=980),
    ]
    outcomes = [
        Outcome.GOOD,
        Outcome.WARNINGS,
        Outcome.FAILED,
        Outcome.BLOCKED,
        Outcome.STOPPED,
        Outcome.KILLED,
        Outcome.BAD,
        Outcome.BAD,
    ]
    for day in days:
        shop.run(day)
        write_report(shop.project, "shop", day.run_id)

    lines = {line["run_id"]: line for line in listed(shop)}
    reports = [report_of(shop, day) for day in days]

    assert [lines[day.run_id]["outcome"] for day in days] == [
        report.verdict.outcome.value for report in reports
    ]
    assert [report.verdict.outcome for report in reports[:-1]] == outcomes[:-1]
    assert [lines[day.run_id]["why"] for day in days] == [report.verdict.why for report in reports]
    front = (shop.root / "reports/index.html").read_text(encoding="utf-8")
    assert "The rows do not add up" in front, (
        "the overview speaks of what is so now: the ledger has rows that no table has"
    )


def test_a_run_in_which_every_row_is_set_aside_is_not_good(shop: LakeOfRuns) -> None:
    said = "silver.orders: all 1,040 rows that came are quarantined: none is published"
    shop.run(Day(0, quarantined=0, silver=ALL_QUARANTINED, alarms=(said,)))
    shop.set_aside("quarantine.silver.orders", [("amount_in_range", "amount", "-1")] * 1_040, Day(0))

    report = report_of(shop, Day(0))

    assert (report.verdict.outcome, report.verdict.why) == (Outcome.BAD, f"{said}.")
    assert report.verdict.notes == (), "once"
    assert "weir quarantine list shop" in [step.command for step in report.verdict.steps]
    assert (report.totals.published, report.totals.quarantined, report.totals.set_aside) == (0, 1_040, 1_040)


def test_the_rows_of_a_query_are_no_share_of_the_batch() -> None:
    row = {"rule": "whole_amounts", "type": "unexpected_rows_expectation", "on_fail": "warn", "scope": "batch", "step": "stream",
           "is_met": False, "rows": 160, "failed": 1, "problem": None}  # fmt: skip

    [found] = found_rules([row])

    assert (found.state, found.rows, found.failed) == (RuleState.WARNING, None, None)


def test_rows_that_are_tagged_are_counted_and_need_no_look() -> None:
    row = {"rule": "total_is_usual", "type": "expect_column_values_to_be_between", "on_fail": "tag", "scope": "batch",
           "step": "stream", "is_met": False, "rows": 160, "failed": 3, "problem": None}  # fmt: skip

    [tagged], [met], [unknown] = (
        found_rules([{**row, **other}])
        for other in ({}, {"is_met": True, "failed": 0}, {"failed": None, "problem": "no column"})
    )

    assert (tagged.state, tagged.rows, tagged.failed) == (RuleState.TAGGED, 160, 3)
    assert (met.state, unknown.state) == (RuleState.MET, RuleState.PROBLEM)


def test_empty_files_are_counted_on_the_page(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    shop.arrive("orders", Day(0), "taken", "shop/empty.json", size=0)

    page = render_run(report_of(shop, Day(0)))

    assert "2 taken (1 of them without a byte)" in page


def test_a_file_that_was_refused_and_then_taken_is_not_waiting_and_a_close_mark_is_no_file(
    shop: LakeOfRuns,
) -> None:
    shop.run(Day(0))
    shop.arrive("orders", Day(1), "refused", "shop/hidden.json", "its name begins with _")
    refused = report_of(shop, Day(0))
    shop.arrive("orders", Day(2), "taken", "shop/hidden.json")
    shop.arrive("orders", Day(3), "closed", "")

    taken = report_of(shop, Day(0))

    assert [report.sources[1].not_taken for report in (refused, taken)] == [1, 0]
    assert "1 not taken" in render_run(refused)
    assert taken.sources[1].verdicts == {"refused": 1, "taken": 2}


def test_late_rows_that_count_nowhere_are_in_verdict_totals_and_picture(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0, gold=replace(ALL_LATE, inserted=3), late_kept=40))
    report = report_of(shop, Day(0))

    assert report.verdict.outcome is Outcome.WARNINGS
    note = "gold.revenue_per_hour: 40 rows came too late for a window or state, and do not count there."
    assert note in report.verdict.notes
    assert "40 late and not counted" in report.verdict.why
    assert (report.totals.late_kept, report.totals.set_aside) == (40, 45), "with the five that are parked"
    nodes = {node.name: node for node in make_nodes(report.sources, report.tables, report.gates)}
    assert [branch.text for branch in nodes["gold.revenue_per_hour"].branches] == ["40 late, not counted"]


def test_a_row_that_is_late_for_several_windows_is_one_row_on_the_page(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0, gold=replace(ALL_LATE, inserted=3), late_kept=40))
    windows = pa.table({"window_start": [START] * 80})  # two windows of each of the 40
    write_deltalake(shop.lake.table("late.gold.revenue_per_hour"), windows)

    report = report_of(shop, Day(0))

    gold = next(table for table in report.tables if table.name == "gold.revenue_per_hour")
    assert (gold.late_kept, gold.late_open) == (40, gold.counts.late)
    assert f"{gold.counts.late} rows came too late for a window or state, over all runs" in render_run(report)


def test_repaired_late_rows_are_no_warning(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0))  # three rows came late, and count

    report = report_of(shop, Day(0))
    assert (report.verdict.outcome, report.totals.late_kept, report.totals.late_repaired) == (
        Outcome.GOOD,
        0,
        3,
    )


def test_the_newest_judgement_of_a_whole_table_counts_and_not_the_sum_over_the_steps_of_a_run(
    shop: LakeOfRuns,
) -> None:
    for number, failed in ((0, (9, 4)), (1, (5, 0))):
        shop.run(Day(number, quarantined=0))
        path = shop.lake.ledger("expectations")
        [judged] = (
            DeltaTable(path)
            .to_pyarrow_table(filters=[("run_id", "=", run_id_of(number)), ("rule", "=", "known_status")])
            .to_pylist()
        )
        steps = [
            judged | {"step": step, "rows": 1_000 + place, "failed": rows, "is_met": rows == 0, "scope": "table", "rule": "whole",
                      "sequence": 10 + place}
            for place, (step, rows) in enumerate(zip(("stream", "release"), failed, strict=True))
        ]  # fmt: skip
        Ledger(shop.lake, unguarded).append("expectations", steps)

    report = report_of(shop, Day(1))

    rule = next(rule for table in report.tables for rule in table.rules if rule.name == "whole")
    assert (rule.state, rule.rows, rule.failed) == (RuleState.MET, 1_001, 0), "it is met in the end"
    assert [(point.rows, point.bad, point.is_met) for point in rule.trend] == [
        (1_001, 4, False),
        (1_001, 0, True),
    ]
    assert report.verdict.outcome is Outcome.GOOD


def test_a_killed_run_gets_its_end_and_its_page_at_the_next_start(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0))
    shop.run(Day(1, None, quarantined=0, judged={"known_status": Judged(71, is_met=False)}))

    close_killed(shop)

    assert (shop.root / "reports/shop" / f"{run_id_of(1)}.html").is_file()
    killed = report_of(shop, Day(1))
    assert (killed.run.status, killed.verdict.outcome, killed.run.seconds) == ("killed", Outcome.KILLED, None)
    assert "980 silver rows published" in killed.verdict.why
    page = (shop.root / "reports/shop" / f"{run_id_of(1)}.html").read_text(encoding="utf-8")
    said = [words in page for words in ("<dt>found killed</dt>", "<dt>ended</dt>", "It ended with")]
    assert said == [True, False, False], "nobody knows when it ended"
    assert listed(shop)[0]["outcome"] == "killed"
    rows = len(Ledger(shop.lake).rows("runs"))
    close_killed(shop)
    assert len(Ledger(shop.lake).rows("runs")) == rows, "once"


def test_a_table_of_which_a_killed_run_wrote_nothing_may_have_been_in_it(shop: LakeOfRuns) -> None:
    shop.run(Day(0, None, failed={"gold.revenue_per_hour": "it was at work when the run was killed"}))

    report = report_of(shop, Day(0))

    assert {table.name: table.state for table in report.tables}[
        "gold.revenue_per_hour"
    ] is TableState.NO_TRACE
    assert "Not in this run" not in render_run(report)


def test_status_tells_of_a_killed_run_before_the_next_one_starts(shop: LakeOfRuns) -> None:
    shop.run(Day(0, None))
    now = START + timedelta(hours=2)

    killed = status_of(shop.project, "shop", now).last_run or {}
    with hold_lease(shop.lake.lease(), "shop", "weir run"):
        at_work = status_of(shop.project, "shop", now).last_run
    shop.run(Day(1))
    ended = status_of(shop.project, "shop", now).last_run or {}

    assert (killed["run_id"], killed["status"]) == (run_id_of(0), "killed")
    assert at_work is None, "it may still come to its end"
    assert (ended["run_id"], ended["status"]) == (run_id_of(1), "ok")


def test_after_a_killed_run_the_newest_page_speaks_of_what_it_left(tmp_path: Path) -> None:
    shop = LakeOfRuns(tmp_path)
    shop.set_up()
    (tmp_path / "expectations/shop").mkdir(parents=True)
    (tmp_path / "expectations/shop/silver.orders.yml").write_text(
        "expectations:\n  known_status:\n    type: expect_column_values_to_be_in_set\n    reason: Reports"
        " group by these.\n    kwargs: {column: status, value_set: [new]}\n    on_fail: warn\n",
        encoding="utf-8",
    )
    shop.run(Day(0, quarantined=0))
    shop.run(Day(1, None, quarantined=0, judged={"known_status": Judged(71, is_met=False)}))
    close_killed(shop)
    last = Day(2, quarantined=0)
    ledger = Ledger(shop.lake, unguarded)
    for event, status in (("started", None), ("ended", "ok")):
        ledger.write_run(
            run_id=last.run_id,
            at=last.at,
            event=event,
            status=status,
            host="h",
            pid=1,
            message="1 table brought up to date",
        )
    write_states(ledger, [TableEnd(last.run_id, "gold.revenue_per_hour", 1, "done")], last.at)

    report = report_of(shop, last)

    assert report.verdict.outcome is Outcome.WARNINGS
    assert report.verdict.notes == (
        (
            "The run of 2026-11-01 07:00 UTC was killed: 980 silver rows published, 58 in dimensions, 5"
            " parked before that."
        ),
        (
            "silver.orders: known_status is not met by 71 of 1,000 rows, judged last in the run of 2026-11-01"
            " 07:00 UTC."
        ),
    )
    write_report(shop.project, "shop", last.run_id)
    assert listed(shop)[0]["outcome"] == "good_with_warnings"
    overview = (tmp_path / "reports/index.html").read_text(encoding="utf-8")
    assert (
        "0 silver rows published; 2 things need a look. The run of 2026-11-01 07:00 UTC was killed: 980"
        " silver rows" in overview
    )
    assert report_of(shop, Day(0)).verdict.outcome is Outcome.GOOD, "an older page is about its own run"


def test_the_account_says_whether_late_rows_count_and_which_fields_returned(
    shop: LakeOfRuns, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.run(Day(0))
    shop.drift(Day(0), "coupon")
    shop.drift(Day(0), "amount", kind="missing")
    shop.drift(Day(0), "amount", kind="returned")
    monkeypatch.setenv("WEIR_HOME", str(shop.root))

    account_command("shop", as_json=False)

    said = capsys.readouterr().out
    assert "they count in it, or with `late: keep` stand beside the table" in said
    drift = [line.split()[2:4] for line in said.splitlines() if line.startswith("drift: ")]
    assert drift == [["'amount'", "missing"], ["'amount'", "returned"], ["'coupon'", "added"]]


def test_every_note_of_the_verdict_is_on_the_page(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    report = report_of(shop, Day(0))
    notes = tuple(f"silver.orders: rule_{number} is not met." for number in range(15))

    page = render_run(replace(report, verdict=replace(report.verdict, notes=notes)))

    assert all(note in page for note in notes)
    assert "and 7 more" in page


def test_of_a_blocked_batch_no_rule_says_that_rows_were_quarantined(shop: LakeOfRuns) -> None:
    shop.run(Day(0, "blocked", "blocked", verdict="blocked", judged=UNMET))

    page = render_run(report_of(shop, Day(0)))

    assert "! Rows fail" in page
    assert "Rows quarantined" not in page


def test_the_list_of_runs_calls_rows_set_aside_what_they_are(shop: LakeOfRuns) -> None:
    """They are quarantined, parked or late."""
    for day in (Day(0), Day(1)):
        shop.run(day)
        write_report(shop.project, "shop", day.run_id)

    page = (shop.root / "reports/shop/index.html").read_text(encoding="utf-8")

    [newest, _] = listed(shop)
    assert f"{newest['published']} published, {newest['set_aside']} set aside" in page


def run_of_bronze_alone(shop: LakeOfRuns, day: Day) -> None:
    ledger = Ledger(shop.lake, unguarded)
    for event, status in (("started", None), ("ended", "ok")):
        ledger.write_run(
            run_id=day.run_id,
            at=day.at,
            event=event,
            status=status,
            host="h",
            pid=1,
            message="1 table brought up to date",
        )
    write_states(ledger, [TableEnd(day.run_id, "bronze.orders", 1, "done")], day.at)


def test_a_table_that_an_earlier_run_left_blocked_is_the_verdict_of_a_run_that_had_no_part_in_it(
    shop: LakeOfRuns,
) -> None:
    shop.run(Day(0, quarantined=0))
    shop.run(Day(1, "blocked", "blocked", verdict="blocked", judged=UNMET))
    last, after = Day(2), Day(3)
    run_of_bronze_alone(shop, last)

    verdict = report_of(shop, last).verdict

    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.why.startswith(
        "Not up to date: silver.orders (blocked in the run of 2026-11-01 07:00 UTC)"
    )
    assert any(
        (step.command or "").startswith("weir release shop silver.orders --seen") for step in verdict.steps
    )
    page = write_report(shop.project, "shop", last.run_id)
    assert "Not up to date: silver.orders" in page.read_text(encoding="utf-8")
    run_of_bronze_alone(shop, after)
    write_report(shop.project, "shop", after.run_id)
    assert (listed(shop)[1]["run_id"], listed(shop)[1]["outcome"]) == (last.run_id, "good")
    assert "Not up to date: silver.orders" not in page.read_text(encoding="utf-8"), (
        "what the list says of an older run, its page says"
    )


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (None, None, Outcome.KILLED),
        ("stopped", "stopped by SIGTERM: 3 tables brought up to date, others wait", Outcome.STOPPED),
        ("failed", "dimension.customers failed: the disk is full", Outcome.FAILED),
    ],
)
def test_a_run_that_was_cut_and_had_blocked_a_batch_says_both(
    shop: LakeOfRuns, status: str | None, message: str | None, outcome: Outcome
) -> None:
    shop.run(Day(0, status, f"{message}\nTo go on: …", verdict="blocked", judged=UNMET))
    close_killed(shop)

    report = report_of(shop, Day(0))

    assert (report.verdict.outcome, report.run.message.partition(":")[0]) == (
        outcome,
        (message or "killed").partition(":")[0],
    )
    assert "To go on" not in report.run.message, "its first line alone: the steps below the verdict say more"
    assert report.verdict.notes[0].startswith("silver.orders: batch blocked, 312 rows not published")
    commands = [step.command or "" for step in report.verdict.steps]
    assert [command for command in commands if command.startswith("weir release shop silver.orders --seen")]


class SteppedBack(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2020, 1, 1, tzinfo=tz)


@pytest.mark.parametrize("clock", [datetime, SteppedBack])
def test_a_run_at_work_is_called_so_while_its_process_has_the_lease(
    shop: LakeOfRuns, monkeypatch: pytest.MonkeyPatch, clock: type[datetime]
) -> None:
    monkeypatch.setattr("spark_jobs.run.order.datetime", clock)
    project, plan = shop.project, make_plan(shop.project.pipelines["shop"], shop.project.conf, shop.lake)
    with hold_lease(shop.lake.lease(), "shop", "weir run") as lease:
        order = new_order(project, project.profiles["local"], plan, lease)
        note_run(order, "started")
        close_killed_runs(project, "shop", lease)
        at_work = collect_report(project, "shop", order.run_id, MADE).verdict.outcome
    killed = collect_report(project, "shop", order.run_id, MADE).verdict.outcome

    assert (at_work, killed) == (Outcome.RUNNING, Outcome.KILLED)


def test_what_is_advised_about_a_blocked_batch_is_what_is_allowed() -> None:
    silver, correction, gold = (
        allowed_actions(*batch)
        for batch in (("silver.a", "stream"), ("silver.a", "reenrich.members"), ("gold.b", "stream"))
    )

    assert (silver, correction, gold) == (
        ("release", "set_aside", "hold"),
        ("release", "hold"),
        ("release", "hold"),
    )
    for waiting in ("unpark", "release"):  # as an older Weir calls it
        assert allowed_actions("silver.a", waiting) == silver
    assert [way.command.split()[1] for way in ways_on("shop", "gold.b", "5c0f", gold)] == ["run", "release"]
    assert [way.command.split()[1] for way in ways_on("shop", "silver.a", "5c0f", silver)] == [
        "run",
        "release",
        "set-aside",
    ]
    assert [way.command for way in ways_on("shop", "silver.a", None, silver)] == ["weir run shop"], (
        "of an earlier version: judged again"
    )


def test_rows_that_went_on_are_no_negative_number(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0, silver=Counts(rows_in=10, inserted=1_305, parked=-1_295, grown=1_305)))

    report = report_of(shop, Day(0))

    assert (report.totals.set_aside, report.totals.went_on) == (0, 1_295)
    assert "1,295 rows no longer" in render_run(report)
    assert "-1,295</dd>" not in render_run(report)
    nodes = {node.name: node for node in make_nodes(report.sources, report.tables, report.gates)}
    assert [branch.text for branch in nodes["silver.orders"].branches] == ["1,295 no longer parked"]


def test_a_page_says_nothing_that_is_true_only_when_it_is_made(shop: LakeOfRuns) -> None:
    shop.run(Day(0, judged={"known_status": Judged(290, is_met=False, rows=None)}))
    page = write_report(shop.project, "shop", run_id_of(0))
    texts = [
        path.read_text(encoding="utf-8")
        for path in (page, page.parent / "index.html", page.parents[1] / "index.html")
    ]

    assert [re.findall(r"\bago\b|just now", text) for text in texts] == [[], [], []]
    assert "290 rows fail." in texts[0]
    assert "of – fail" not in texts[0]


@pytest.mark.parametrize(
    "name", ["orders", "a_rather_long_name_of_a_table_that_ends_with_one", "m" * 63, "wwwwwwww_" * 6]
)
def test_a_name_in_the_picture_is_whole_and_fits_its_box(name: str) -> None:
    lines = wrap(name)

    assert "".join(lines) == name
    assert max(map(room_of, lines)) <= WIDTH - 24


def test_a_finding_that_is_written_twice_counts_once_by_its_last_row(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0))
    path = shop.lake.ledger("expectations")
    write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="append")

    assert report_of(shop, Day(0)).verdict.outcome is Outcome.GOOD
