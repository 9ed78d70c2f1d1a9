"""`weir take` and `weir close` as a person types them. None of this starts Spark."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from spark_jobs.config.loading import load_project
from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.landing.arrivals import close_marks
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.look import register_arrivals
from tests.conftest import Workshop, unguarded

Weir = Callable[..., Result]
PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
  visits: {format: json, path: visits}
silver:
  orders: {from: orders, columns: {id: bigint}}
  newest: {from: orders, columns: {id: bigint, v: int}, key: id, sequence_by: v}
"""


@pytest.fixture
def shop(idle_workshop: Workshop) -> Workshop:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.land("orders/a.json", '{"id":1}\n')
    idle_workshop.land("orders/_b.json", '{"id":2}\n')
    register_arrivals(feed(idle_workshop), datetime(2026, 3, 1, tzinfo=UTC))
    return idle_workshop


@pytest.fixture
def weir(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Weir:
    monkeypatch.setenv("WEIR_HOME", str(shop.root))
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *arguments: CliRunner().invoke(app, arguments, catch_exceptions=False)


def feed(workshop: Workshop, source: str = "orders") -> Feed:
    project = load_project(workshop.root, {})
    return make_feed(
        Lake(project.lake, "shop"),
        project.landing,
        source,
        project.pipelines["shop"].sources[source],
        unguarded,
    )


def test_take_says_what_the_next_run_reads(weir: Weir) -> None:
    done = weir("take", "shop", "orders", "orders/_b.json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "'orders/_b.json' is taken in, the whole file: `weir run shop` reads it\n"


def test_take_warns_of_tables_without_a_key_where_records_may_come_twice(weir: Weir, shop: Workshop) -> None:
    shop.land("orders/a.json", '{"id":9}\n{"id":1}\n')
    done = weir("take", "shop", "orders", "orders/a.json")
    assert done.exit_code == 0
    assert "stand in this file too will be twice in silver.orders, which has no key" in done.stdout


def test_take_as_json(weir: Weir, shop: Workshop) -> None:
    shop.land("orders/a.json", '{"id":1}\n{"id":2}\n')
    done = weir("take", "shop", "orders", "orders/a.json", "--json")
    said = json.loads(done.stdout)
    assert (said["status"], said["exit_code"], said["path"], said["chunk"], said["start_line"]) == (
        "ok",
        0,
        "orders/a.json",
        2,
        2,
    )
    assert "from line 2 on" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("shp", "orders", "orders/_b.json"), "did you mean 'shop'"),
        (("shop", "order", "orders/_b.json"), "did you mean 'orders'"),
        (("shop", "orders", "orders/b.json"), "did you mean 'orders/_b.json'"),
        (("shop", "orders", "orders/a.json"), "it is taken already; `weir run shop` reads it"),
    ],
)
def test_take_refuses_with_what_to_do(weir: Weir, arguments: tuple[str, ...], hint: str) -> None:
    plain, as_json = weir("take", *arguments), weir("take", *arguments, "--json")
    assert (plain.exit_code, plain.stdout) == (2, "")
    assert hint in plain.stderr
    said = json.loads(as_json.stdout)
    assert (as_json.exit_code, said["status"], said["exit_code"], hint in said["message"]) == (
        2,
        "usage_error",
        2,
        True,
    )


def test_close_marks_every_source_of_which_something_has_arrived(weir: Weir, shop: Workshop) -> None:
    first, second = weir("close", "shop", "--json"), weir("close", "shop")
    said = json.loads(first.stdout)
    assert (first.exit_code, said["status"], said["closed"]) == (0, "ok", {"orders": 2, "visits": None})
    assert (second.exit_code, "nothing to close" in second.stdout) == (3, True)
    assert close_marks(feed(shop).arrivals) == [2]
    assert close_marks(feed(shop, "visits").arrivals) == []


def test_close_of_one_source(weir: Weir) -> None:
    assert weir("close", "shop", "visits").exit_code == 3
    done = weir("close", "shop", "orders")
    assert (done.exit_code, "orders closed: `weir run shop`" in done.stdout) == (0, True)
    wrong = weir("close", "shop", "order")
    assert (wrong.exit_code, "did you mean 'orders'" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("command", [("take", "shop", "orders", "orders/_b.json"), ("close", "shop")])
def test_both_leave_a_pipeline_alone_that_another_process_holds(
    weir: Weir, shop: Workshop, command: tuple[str, ...]
) -> None:
    before = shop.versions()
    with hold_lease(Lake(shop.project.lake, "shop").lease(), "shop", "a test"):
        done = weir(*command, "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (5, "leased")
    assert "a test" in done.stderr
    assert shop.versions() == before


DISCARD = (
    "quarantine",
    "discard",
    "shop",
    "bronze.orders",
    "--file",
    "orders/_b.json",
    "--reason",
    "a trial",
)


@pytest.mark.parametrize(
    "command", [("take", "shop", "orders", "orders/_b.json"), ("close", "shop"), DISCARD]
)
def test_a_command_that_has_lost_the_lease_meanwhile_writes_no_arrivals(
    weir: Weir, shop: Workshop, command: tuple[str, ...]
) -> None:
    before = shop.versions()
    lease = Path(Lake(shop.project.lake, "shop").lease())
    with failpoints.deciding(lambda *_: lease.unlink(missing_ok=True)):
        done = weir(*command, "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (5, "leased")
    assert "was removed while this run held it" in done.stderr
    assert shop.versions() == before


@pytest.mark.parametrize("command", ["take", "close"])
def test_help_shows_an_example_and_the_exit_codes(weir: Weir, command: str) -> None:
    done = weir(command, "--help")
    assert (
        done.exit_code,
        f"Example: weir {command} retail" in done.stdout,
        "Exit codes" in done.stdout,
    ) == (0, True, True)


def test_the_mark_says_who_set_it(weir: Weir, shop: Workshop) -> None:
    weir("close", "shop", "orders")
    [reason] = [
        reason
        for verdict, reason in shop.rows("shop._weir.arrivals/orders", "verdict", "reason")
        if verdict == "closed"
    ]
    assert reason.startswith("by ")
    assert "@" in reason
    assert Path(shop.root / "lake" / "shop" / "_weir" / "arrivals" / "visits").exists() is False
