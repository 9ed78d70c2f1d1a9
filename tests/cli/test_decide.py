"""`weir release`, `weir set-aside`, `weir hold`, `weir quarantine replay` and `discard`, as far as they go without Spark."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.verdicts import BLOCKED, Decision, Verdict, Verdicts
from spark_jobs.run.result import RunResult, Status
from tests.conftest import Workshop

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


def hold(shop: Workshop, table: str) -> None:
    """As a run does whose batch is held."""
    verdict = Verdict("run", (table, "stream", 1, 0), AT, AT, BLOCKED, ("usual_mean",))
    Verdicts(Ledger(Lake(shop.project.lake, "shop"))).write(verdict, "0123456789ab", 7)


@pytest.mark.parametrize("command", ["release", "set-aside", "hold"])
def test_where_nothing_is_held_there_is_nothing_to_decide(weir: Weir, shop: Workshop, command: str) -> None:
    nothing = weir(command, "shop", "silver.orders", "--reason", "right", "--json")
    hold(shop, "gold.per_hour")
    other = weir(command, "shop", "silver.orders", "--reason", "right")

    assert nothing.exit_code == other.exit_code == 3
    assert json.loads(nothing.stdout)["message"] == "nothing of silver.orders is held, and of no other table"
    assert "nothing of silver.orders is held; held is gold.per_hour" in other.output


def test_a_decision_needs_a_reason_and_a_table_that_is_there(weir: Weir) -> None:
    without, unknown = weir("release", "shop", "silver.orders"), weir("release", "shop", "silver.order", "--reason", "right")

    assert (without.exit_code, unknown.exit_code) == (2, 2)
    assert "--reason" in without.output
    assert "did you mean 'silver.orders'?" in unknown.output


@pytest.mark.parametrize(("name", "said"), [(" \n\x07", "it is empty"), ("x" * 201, "it has 201 characters")], ids=["empty", "too long"])
def test_who_decided_must_be_a_name(weir: Weir, shop: Workshop, name: str, said: str) -> None:
    hold(shop, "silver.orders")

    refused = weir("release", "shop", "silver.orders", "--reason", "right", "--by", name)

    assert (refused.exit_code, said in refused.output) == (2, True)
    assert Ledger(Lake(shop.project.lake, "shop")).rows("decisions") == []


@pytest.mark.parametrize("command", ["release", "set-aside"])
def test_who_decided_is_recorded_as_it_was_given(weir: Weir, shop: Workshop, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    hold(shop, "silver.orders")
    monkeypatch.setattr("spark_jobs.run.decide.run_pipeline", lambda *_, **__: RunResult("shop", Status.OK, "done"))

    assert weir(command, "shop", "silver.orders", "--reason", "right", "--by", "Ada\tof the\x1b[31m shop\n").exit_code == 0

    [decision] = Ledger(Lake(shop.project.lake, "shop")).rows("decisions")
    assert (decision["decided_by"], decision["reason"]) == ("Ada of the[31m shop", "right")


def test_a_batch_that_is_left_held_stays_so_with_who_decided_it_and_a_later_decision_counts(
    weir: Weir, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(shop, "gold.per_hour")
    monkeypatch.setattr("spark_jobs.run.decide.run_pipeline", lambda *_, **__: RunResult("shop", Status.OK, "done"))

    left = weir("hold", "shop", "gold.per_hour", "--reason", "the shop looks into it", "--by", "ada", "--json")

    verdicts = Verdicts(Ledger(Lake(shop.project.lake, "shop")))
    held = verdicts.held("gold.per_hour", 1)
    assert (left.exit_code, json.loads(left.stdout)["status"]) == (0, "ok")
    assert held is not None
    assert verdicts.decision(held.batch_id) == Decision(held.batch_id, "hold", ("usual_mean",), "ada", "the shop looks into it")
    assert weir("release", "shop", "gold.per_hour", "--reason", "right", "--by", "bob").exit_code == 0
    assert getattr(verdicts.decision(held.batch_id), "action", None) == "release"


def test_a_rebuild_of_all_tables_names_none_and_needs_some(weir: Weir) -> None:
    both, none_there = weir("rebuild", "shop", "silver.orders", "--all"), weir("rebuild", "shop", "--all", "--json")

    assert (both.exit_code, none_there.exit_code) == (2, 3)
    assert "give either --all or the names" in both.output
    assert "`weir run shop` makes them" in json.loads(none_there.stdout)["message"]


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


def test_replay_and_discard_say_what_they_need(weir: Weir) -> None:
    empty = weir("quarantine", "replay", "shop", "silver.orders")
    all_of_it = weir("quarantine", "discard", "shop", "silver.orders", "--reason", "old")
    gold = weir("quarantine", "replay", "shop", "gold.per_hour")
    files = weir("quarantine", "replay", "shop", "bronze.orders")

    assert [result.exit_code for result in (empty, all_of_it, gold, files)] == [3, 2, 2, 2]
    assert "no open row in the quarantine of silver.orders is selected" in empty.output
    assert "add --rule, --file, --since or --until" in all_of_it.output
    assert "nothing of a gold table is quarantined" in gold.output
    assert "name the files with --file" in files.output
