"""`weir release`, `weir set-aside`, `weir hold`, `weir quarantine replay` and `discard`, as far as they go
without Spark.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from spark_jobs.lake.blocked import Finding, Grounds
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import FileLease, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import SWAPPING, Definition
from spark_jobs.lake.verdicts import BLOCKED, Decision, Verdict, Verdicts
from spark_jobs.run.pipeline import RunRequest
from spark_jobs.run.result import RunResult, Status
from tests.conftest import Workshop, unguarded

Weir = Callable[..., Result]
PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders: {from: orders, columns: {id: bigint, at: timestamp}, event_time: at}
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, measures: {order_count: count(*)}}
"""
AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def shop(idle_workshop: Workshop) -> Workshop:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    return idle_workshop


@pytest.fixture
def weir(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Weir:
    monkeypatch.setenv("WEIR_HOME", str(shop.root))
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


SEEN = Grounds("c0ffee", 7, (Finding("usual_mean", observed="101"),), {"silver.orders": 3})


def hold(shop: Workshop, table: str, grounds: Grounds | None = SEEN, at: datetime = AT) -> None:
    """As a run does whose batch is held."""
    verdict = Verdict("run", (table, "stream", 1, 0), at, at, BLOCKED, ("usual_mean",), grounds)
    Verdicts(Ledger(Lake(shop.project.lake, "shop"), unguarded)).write(verdict, "0123456789ab", 7)


@pytest.mark.parametrize("command", ["release", "set-aside", "hold"])
def test_where_nothing_is_held_there_is_nothing_to_decide(weir: Weir, shop: Workshop, command: str) -> None:
    nothing = weir(command, "shop", "silver.orders", "--reason", "right", "--json")
    hold(shop, "gold.per_hour")
    other = weir(command, "shop", "silver.orders", "--reason", "right")

    assert nothing.exit_code == other.exit_code == 3
    assert (
        json.loads(nothing.stdout)["message"]
        == "no batch of silver.orders is blocked, nor of any other table"
    )
    assert "no batch of silver.orders is blocked; blocked: gold.per_hour" in other.output


def test_a_decision_needs_a_reason_and_a_table_that_is_there(weir: Weir) -> None:
    without, unknown = (
        weir("release", "shop", "silver.orders"),
        weir("release", "shop", "silver.order", "--reason", "right"),
    )

    assert (without.exit_code, unknown.exit_code) == (2, 2)
    assert "--reason" in without.output
    assert "did you mean 'silver.orders'?" in unknown.output


@pytest.mark.parametrize(
    ("name", "said"),
    [(" \n\x07", "it is empty"), ("x" * 201, "it has 201 characters")],
    ids=["empty", "too long"],
)
def test_who_decided_must_be_a_name(weir: Weir, shop: Workshop, name: str, said: str) -> None:
    hold(shop, "silver.orders")

    refused = weir("release", "shop", "silver.orders", "--reason", "right", "--by", name)

    assert (refused.exit_code, said in refused.output) == (2, True)
    assert Ledger(Lake(shop.project.lake, "shop")).rows("decisions") == []


@pytest.mark.parametrize("command", ["release", "set-aside"])
def test_who_decided_is_recorded_as_it_was_given(
    weir: Weir, shop: Workshop, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    hold(shop, "silver.orders")
    monkeypatch.setattr(
        "spark_jobs.run.decisions.run_pipeline", lambda *_, **__: RunResult("shop", Status.OK, "done")
    )

    assert (
        weir(
            command, "shop", "silver.orders", "--reason", "right", "--by", "Ada\tof the\x1b[31m shop\n"
        ).exit_code
        == 0
    )

    [decision] = Ledger(Lake(shop.project.lake, "shop")).rows("decisions")
    assert (decision["decided_by"], decision["reason"]) == ("Ada of the[31m shop", "right")


def test_a_batch_that_is_left_held_stays_so_with_who_decided_it_and_a_later_decision_counts(
    weir: Weir, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(shop, "gold.per_hour")
    monkeypatch.setattr(
        "spark_jobs.run.decisions.run_pipeline", lambda *_, **__: RunResult("shop", Status.OK, "done")
    )

    left = weir(
        "hold", "shop", "gold.per_hour", "--reason", "the shop looks into it", "--by", "ada", "--json"
    )

    verdicts = Verdicts(Ledger(Lake(shop.project.lake, "shop")))
    held = verdicts.blocked("gold.per_hour", 1)
    assert (left.exit_code, json.loads(left.stdout)["status"]) == (0, "ok")
    assert held is not None
    assert verdicts.decision(held.batch_id) == Decision(
        held.batch_id, "hold", ("usual_mean",), "ada", "the shop looks into it", SEEN
    )
    assert weir("release", "shop", "gold.per_hour", "--reason", "right", "--by", "bob").exit_code == 0
    assert getattr(verdicts.decision(held.batch_id), "action", None) == "release"


def test_after_a_decision_tables_go_on_that_a_blocking_rule_let_wait(
    weir: Weir, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(
        "conf/pipelines/shop.yml",
        PIPELINE.replace("gold:", "  lines: {from: orders, columns: {id: bigint}}\ngold:"),
    )
    kwargs = "{column: id, other_table: silver.orders, other_column: id}"
    rule = f"type: expect_column_values_to_be_in_other_table, kwargs: {kwargs}, on_fail: block, reason: Why."
    shop.write("expectations/shop/silver.lines.yml", f"expectations: {{as_ordered: {{{rule}}}}}\n")
    hold(shop, "silver.orders")
    went_on: list[str] = []

    def go_on(project: object, name: str, profile: object, request: RunRequest, start: object) -> RunResult:
        went_on.extend(request.select)
        return RunResult(name, Status.OK, "done")

    monkeypatch.setattr("spark_jobs.run.decisions.run_pipeline", go_on)

    assert weir("release", "shop", "silver.orders", "--reason", "right").exit_code == 0
    assert sorted(went_on) == ["gold.per_hour", "silver.lines", "silver.orders"]


@pytest.mark.parametrize("command", ["release", "set-aside", "hold"])
def test_a_decision_about_what_is_no_longer_blocked_is_refused_with_what_changed(
    weir: Weir, shop: Workshop, command: str
) -> None:
    hold(shop, "silver.orders")
    now = replace(
        SEEN,
        content="decaf",
        findings=(Finding("usual_mean", observed="999999999"),),
        inputs={"silver.orders": 4},
    )
    hold(shop, "silver.orders", now, AT + timedelta(hours=1))

    late = weir(command, "shop", "silver.orders", "--reason", "right", "--seen", SEEN.id, "--json")
    unknown = weir(command, "shop", "silver.orders", "--reason", "right", "--seen", "0000000000")

    assert late.exit_code == unknown.exit_code == 4
    said = "(usual_mean: 101 then, 999999999 now; changed since: silver.orders); nothing was decided"
    assert said in json.loads(late.stdout)["message"]
    assert f"--seen {now.id}" in json.loads(late.stdout)["message"]
    assert "nothing of silver.orders was ever blocked as 0000000000" in unknown.output
    assert Ledger(Lake(shop.project.lake, "shop")).rows("decisions") == []


def test_a_batch_that_an_earlier_version_blocked_is_judged_again_before_anything_is_decided(
    weir: Weir, shop: Workshop
) -> None:
    lake = Lake(shop.project.lake, "shop")
    hold(shop, "silver.orders", grounds=None)
    earlier = Ledger(lake).read("gates").drop_columns(["grounds"])
    write_deltalake(lake.ledger("gates"), earlier, mode="overwrite", schema_mode="overwrite")

    refused = weir("release", "shop", "silver.orders", "--reason", "right")
    hold(shop, "silver.orders", at=AT + timedelta(hours=1))

    assert (refused.exit_code, "run `weir run shop`, which judges it again" in refused.output) == (4, True)
    assert [verdict.grounds for verdict in Verdicts(Ledger(lake)).all()] == [None, SEEN]
    assert Ledger(lake).rows("decisions") == []


def test_a_rebuild_of_all_tables_names_none_and_needs_some(weir: Weir) -> None:
    both, none_there = (
        weir("rebuild", "shop", "silver.orders", "--all"),
        weir("rebuild", "shop", "--all", "--json"),
    )

    assert (both.exit_code, none_there.exit_code) == (2, 3)
    assert "give either --all or the names" in both.output
    assert "`weir run shop` makes them" in json.loads(none_there.stdout)["message"]


def test_a_dry_rebuild_does_not_finish_one_that_was_cut(weir: Weir, shop: Workshop) -> None:
    Ledger(Lake(shop.project.lake, "shop"), unguarded).write_definitions(
        "run", {"silver.orders": Definition(2, {}, {}, SWAPPING)}
    )
    before = shop.versions()

    tried = weir("rebuild", "shop", "silver.orders", "--dry-run")

    assert (tried.exit_code, "run `weir run shop` first" in tried.output) == (1, True)
    assert shop.versions() == before


def test_the_rows_of_a_gold_table_cannot_be_set_aside(weir: Weir, shop: Workshop) -> None:
    hold(shop, "gold.per_hour")

    refused = weir("set-aside", "shop", "gold.per_hour", "--reason", "wrong")

    assert refused.exit_code == 2
    assert "weir release shop gold.per_hour" in refused.output
    assert Ledger(Lake(shop.project.lake, "shop")).rows("decisions") == []


def test_nothing_is_decided_while_another_process_holds_the_pipeline(weir: Weir, shop: Workshop) -> None:
    hold(shop, "silver.orders")

    with hold_lease(Lake(shop.project.lake, "shop").lease(), "shop", "a test"):
        refused = weir("release", "shop", "silver.orders", "--reason", "right")

    assert refused.exit_code == 5
    assert Ledger(Lake(shop.project.lake, "shop")).rows("decisions") == []


def test_what_another_process_did_before_the_lease_was_free_is_seen(
    weir: Weir, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(shop, "silver.orders")
    take = FileLease.take

    def take_after_a_rebuild(lease: FileLease, patience: float = 0.0) -> bool:
        rebuilt = {"silver.orders": Definition(2, {}, {})}
        Ledger(Lake(shop.project.lake, "shop"), unguarded).write_definitions("rebuild", rebuilt)
        return take(lease, patience)

    monkeypatch.setattr(FileLease, "take", take_after_a_rebuild)
    late = weir("release", "shop", "silver.orders", "--reason", "right")

    assert late.exit_code == 3
    assert "no batch of silver.orders is blocked" in late.output
    assert Ledger(Lake(shop.project.lake, "shop")).rows("decisions") == []


def test_replay_and_discard_say_what_they_need(weir: Weir) -> None:
    empty = weir("quarantine", "replay", "shop", "silver.orders")
    all_of_it = weir("quarantine", "discard", "shop", "silver.orders", "--reason", "old")
    gold = weir("quarantine", "replay", "shop", "gold.per_hour")
    files = weir("quarantine", "replay", "shop", "bronze.orders")

    assert [result.exit_code for result in (empty, all_of_it, gold, files)] == [3, 2, 2, 2]
    assert "no open row in the quarantine of silver.orders is selected" in empty.output
    assert "add --rule, --file, --since or --until" in all_of_it.output
    assert "nothing of a gold table is quarantined" in gold.output
    assert "no file is named" in files.output
