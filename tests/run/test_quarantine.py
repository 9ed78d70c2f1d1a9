"""Rows in quarantine: replayed exactly once, discarded, and what is left of both in a rebuild and in a
verification.
"""

import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake import failpoints
from spark_jobs.lake.selection import Selection
from spark_jobs.run.decisions import apply_request, try_replay
from spark_jobs.run.order import QuarantineRequest
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import RunResult, Status
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop
from tests.run.test_gate import PIPELINE, RULES, decided, ids, ledger, missing, order, prepare
from tests.verify.conftest import differing

pytestmark = pytest.mark.spark

PEOPLE = """
expectations:
  city_not_empty:
    type: expect_column_value_lengths_to_be_between
    kwargs: {column: city, min_value: LEAST}
    on_fail: quarantine
    reason: A city has a name.
"""


def quarantine_request(table: str, action: str = "replay", **filters: object) -> QuarantineRequest:
    return QuarantineRequest(table, action, Selection(**filters), "ada@here", "wrong rule")  # type: ignore[arg-type]


def replayed(workshop: Workshop, table: str, action: str = "replay", **filters: object) -> RunResult:
    return apply_request(
        workshop.project, "shop", PROFILE, quarantine_request(table, action, **filters), start=workshop._start
    )


def states(workshop: Workshop, table: str) -> list[tuple[int, str, int]]:
    """Line, state and attempts of every row that is or was in quarantine."""
    return workshop.rows(f"shop.quarantine.{table}", "line", "state", "attempts")


def allow_fax(workshop: Workshop) -> None:
    workshop.write(
        "expectations/shop/silver.orders.yml",
        RULES.replace("[web, till]", "[web, till, fax]").replace("MEAN", "1000"),
    )


@pytest.fixture(scope="module")
def with_quarantine(new_workshop: Callable[[], Workshop]) -> Workshop:
    """A lake with a published order and three in quarantine, of which one would pass by now. Not to be
    touched: it is copied.
    """
    workshop = new_workshop()
    prepare(workshop)
    workshop.land("people/1.csv", "id,city,at\n1,Ulm,2024-01-01\n")
    workshop.land(
        "orders/1.json",
        order(1, kind="fax") + order(2, kind="fax", cents=-1) + order(3) + order(4, kind="post"),
    )
    assert workshop.run("shop").exit_code == 0
    allow_fax(workshop)
    return workshop


def test_replayed_rows_that_pass_by_now_are_published_once_and_the_others_stay(
    with_quarantine: Workshop, tmp_path: Path
) -> None:
    workshop = with_quarantine.copied(tmp_path / "home")

    dry = try_replay(
        workshop.project,
        "shop",
        PROFILE,
        quarantine_request("silver.orders", rules=("known_kind",)),
        start=workshop._start,
    )
    by_file = replayed(workshop, "silver.orders", files=("other/*",), since=date(2000, 1, 1))
    first = replayed(workshop, "silver.orders", rules=("known_kind",))
    second = replayed(workshop, "silver.orders")

    tried = (
        "silver.orders: 1 would pass, 2 would be quarantined (1 by cents_not_negative, 1 by known_kind); this"
        " was a dry run"
    )
    assert dry.message == tried
    said = (
        "silver.orders: 1 of 3 replayed rows left the quarantine (1 published); 2 stay: 1 by"
        " cents_not_negative, 1 by known_kind"
    )
    assert first.message.startswith(said)
    assert [result.exit_code for result in (by_file, first, second)] == [0, 0, 0], first.message
    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, "Ulm"), (3, "Ulm")]
    assert sum(row[0] for row in workshop.rows("shop.gold.per_hour", "order_count")) == 2
    assert states(workshop, "silver.orders") == [(1, "replayed", 1), (2, "open", 2), (4, "open", 2)]
    still = {
        line: [reason["rule"] for reason in found]
        for line, found in workshop.rows("shop.quarantine.silver.orders", "line", "reasons")
    }
    assert still[2] == ["cents_not_negative"]
    assert missing(workshop) == {}
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


def test_a_replay_or_a_discard_that_dies_is_ended_by_the_next_run(
    with_quarantine: Workshop, tmp_path: Path
) -> None:
    workshop = with_quarantine.copied(tmp_path / "home")

    for point in ("gate.after", "write.after", "marker.before"):
        with failpoints.arm(f"{point}:silver.orders@replay=raise"):
            assert replayed(workshop, "silver.orders", rules=("known_kind",)).status is Status.FAILED
    prepare(workshop)  # the rules of before: a replay that has begun is ended by those that it began with
    ended = workshop.run("shop")

    assert ended.exit_code == 0, ended.message
    assert ids(workshop) == [1, 3]
    assert states(workshop, "silver.orders") == [(1, "replayed", 1), (2, "open", 1), (4, "open", 1)]

    with failpoints.arm("write.before:quarantine.silver.orders@discard=raise"):
        cut = replayed(workshop, "silver.orders", "discard", rules=("cents_not_negative",))
    assert (cut.status, states(workshop, "silver.orders")[1]) == (Status.FAILED, (2, "open", 1))
    assert workshop.run("shop").exit_code == 0
    assert states(workshop, "silver.orders") == [(1, "replayed", 1), (2, "discarded", 1), (4, "open", 1)]
    assert missing(workshop) == {}
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


def test_a_replay_that_a_rule_holds_waits_with_its_rows_until_a_person_decides(workshop: Workshop) -> None:
    prepare(workshop)
    workshop.land(
        "orders/1.json", order(1) + order(2, kind="fax", cents=50_000) + order(3, kind="post", cents=50_000)
    )
    workshop.run("shop")
    allow_fax(workshop)

    held = replayed(workshop, "silver.orders", rules=("known_kind",))
    again = workshop.run("shop")
    while_blocked = ids(workshop), states(workshop, "silver.orders")
    released = decided(workshop, "release")

    assert (held.status, again.status) == (Status.BLOCKED, Status.BLOCKED), again.message
    assert "usual_mean" in held.message
    assert while_blocked == ([1], [(2, "open", 0), (3, "open", 0)])
    assert released.exit_code == 0, released.message
    assert ids(workshop) == [1, 2]
    assert states(workshop, "silver.orders") == [(2, "replayed", 1), (3, "open", 1)]
    assert missing(workshop) == {}
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


def test_versions_of_a_dimension_are_replayed_into_their_history(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("expectations/shop/dimension.people.yml", PEOPLE.replace("LEAST", "4"))
    workshop.land("people/1.csv", "id,city,at\n1,Berlin,2024-01-01\n1,Ulm,2024-03-01\n1,Potsdam,2024-06-01\n")
    workshop.land("orders/1.json", order(1))
    workshop.run("shop")
    workshop.write("expectations/shop/dimension.people.yml", PEOPLE.replace("LEAST", "3"))

    result = replayed(workshop, "dimension.people")
    workshop.run("shop")

    assert result.exit_code == 0, result.message
    assert [row[0] for row in workshop.rows("shop.dimension.people", "city")] == ["Berlin", "Potsdam", "Ulm"]
    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, "Ulm")]
    assert states(workshop, "dimension.people") == [(3, "replayed", 1)]
    assert missing(workshop) == {}


def test_what_people_decided_survives_a_rebuild_and_is_taken_as_it_is_by_verify(
    workshop: Workshop, spark: SparkSession
) -> None:
    prepare(workshop)
    workshop.land("orders/1.json", order(1, cents=50_000))
    assert workshop.run("shop").status is Status.BLOCKED
    assert decided(workshop, "set_aside").exit_code == 0
    workshop.land(
        "orders/2.json", order(2, kind="fax") + order(3, kind="post") + order(4) + order(5, cents=-1)
    )
    workshop.run("shop")
    assert replayed(workshop, "silver.orders", "discard", rules=("cents_not_negative",)).exit_code == 0
    allow_fax(workshop)
    assert replayed(workshop, "silver.orders", rules=("known_kind",)).exit_code == 0
    workshop.land("orders/3.json", order(6, kind="fax") + order(7, kind="post"))
    assert workshop.run("shop").exit_code == 0

    verified = verify_pipeline(workshop.project, "shop", PROFILE, start=lambda: nullcontext(spark))
    before = ids(workshop)
    workshop.write(
        "expectations/shop/silver.orders.yml",
        RULES.replace("[web, till]", "[web, till, fax]").replace("MEAN", "100000"),
    )
    rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["silver.orders"], start=workshop._start)

    assert differing(verified) == {}
    assert rebuilt.status is Status.OK, rebuilt.message
    assert ids(workshop) == before == [2, 4, 6]
    kept = workshop.rows("shop.quarantine.silver.orders", "record", "state", "reasons")
    assert sorted((json.loads(record)["id"], state, reasons[0]["rule"]) for record, state, reasons in kept) == [
        (1, "open", "set aside"), (3, "open", "known_kind"), (5, "discarded", "cents_not_negative"), (7, "open", "known_kind"),
    ]  # fmt: skip
    assert missing(workshop) == {}
    assert sorted(row["action"] for row in ledger(workshop).rows("decisions")) == ["discard", "set_aside"]


TEXT = """
pipeline: shop
sources:
  notes: {format: text, path: notes}
silver:
  notes: {from: notes, columns: {note: {type: string, from: value}}}
"""


def test_a_replay_that_is_only_tried_says_why_it_could_not_be(with_quarantine: Workshop) -> None:
    def gone(order: object, consumed: object) -> NoReturn:
        raise ConnectionRefusedError(111, "Connection refused")

    tried = try_replay(
        with_quarantine.project, "shop", PROFILE, quarantine_request("silver.orders"), start=gone
    )

    assert (tried.exit_code, "Connection refused; log: " in tried.message) == (1, True)


def test_a_record_that_could_not_be_read_is_never_replayed_into_a_row(
    workshop: Workshop, spark: SparkSession
) -> None:
    workshop.write("conf/pipelines/shop.yml", TEXT)
    workshop.land("notes/1.txt", b"good\nbroken \xff\xfe\nfine\n")
    assert workshop.run("shop").exit_code == 0
    before = workshop.rows("shop.quarantine.silver.notes", "line", "reasons")

    dry = try_replay(
        workshop.project, "shop", PROFILE, quarantine_request("silver.notes"), start=workshop._start
    )
    result = replayed(workshop, "silver.notes")
    verified = verify_pipeline(workshop.project, "shop", PROFILE, start=lambda: nullcontext(spark))

    assert [(line, reasons[0]["rule"]) for line, reasons in before] == [(2, "readable")]
    assert (
        "1 would be quarantined (1 by readable; a record that could not be read cannot be replayed"
        in dry.message
    )
    assert (
        "silver.notes: 0 of 1 replayed rows left the quarantine; 1 stay: 1 by readable; a record that could"
        " not be" in result.message
    )
    assert workshop.rows("shop.silver.notes", "note") == [("fine",), ("good",)]
    assert states(workshop, "silver.notes") == [(2, "open", 1)]
    assert workshop.rows("shop.quarantine.silver.notes", "line", "reasons") == before, (
        "the reason is the one that it had"
    )
    assert differing(verified) == {}
    assert missing(workshop) == {}
