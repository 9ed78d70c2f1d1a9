"""A run says that rules changed since the rows were judged that readers see; no rebuild that replaced nothing
keeps it from that.
"""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake import failpoints
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run.order import keep_rules, note_rules
from spark_jobs.run.plan import make_plan
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop

AT = datetime(2026, 1, 1, tzinfo=UTC)
SHOP = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders: {from: orders, columns: {id: bigint}}
"""
RULES = """
expectations:
  small: {type: expect_column_values_to_be_between, kwargs: {column: id, max_value: MOST}, on_fail: quarantine, reason: ids are small}
"""


@pytest.fixture
def judged(idle_workshop: Workshop) -> Workshop:
    """A table whose rows were judged by rules that have changed since."""
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    for name in ("bronze", "silver"):
        write_deltalake(f"{idle_workshop.project.lake}/shop/{name}/orders", pa.table({"id": [1]}))
    idle_workshop.write("expectations/shop/silver.orders.yml", RULES.replace("MOST", "10"))
    assert changed(idle_workshop) == []
    idle_workshop.write("expectations/shop/silver.orders.yml", RULES.replace("MOST", "5"))
    return idle_workshop


def changed(workshop: Workshop) -> list[str]:
    """As a run asks it."""
    plan = make_plan(
        workshop.project.pipelines["shop"], workshop.project.conf, Lake(workshop.project.lake, "shop")
    )
    plan.ledger.guard = lambda: None
    return note_rules(workshop.project, plan)


@pytest.mark.parametrize("is_dry", [False, True])
def test_a_rebuild_that_replaced_nothing_leaves_it_to_the_next_run_to_say_that_rules_changed(
    judged: Workshop, is_dry: bool
) -> None:
    cut = rebuild_tables(judged.project, "shop", PROFILE, ["silver.orders"], is_dry, judged._start)

    assert (cut.status, "nothing was replaced" in cut.message) == (Status.FAILED, True)  # no Spark is there
    assert changed(judged) == ["silver.orders"]
    assert changed(judged) == []


def test_a_rebuild_that_dies_while_it_notes_rules_leaves_it_to_the_next_run_as_well(judged: Workshop) -> None:
    with failpoints.arm("ledger.after:ledger.rules=raise"):
        cut = rebuild_tables(judged.project, "shop", PROFILE, ["silver.orders"], False, judged._start)

    assert cut.status is Status.FAILED
    assert changed(judged) == ["silver.orders"]


def test_a_first_rule_is_a_change_for_rows_that_came_before_it(idle_workshop: Workshop) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    assert changed(idle_workshop) == []
    ledger = Ledger(Lake(idle_workshop.project.lake, "shop"), lambda: None)
    ledger.write_batch("run", ("silver.orders", "stream", 1, 0), AT, 1, Counts(inserted=1), Seen())
    assert changed(idle_workshop) == []
    idle_workshop.write("expectations/shop/silver.orders.yml", RULES.replace("MOST", "5"))

    rebuild_tables(idle_workshop.project, "shop", PROFILE, ["silver.orders"], True, idle_workshop._start)

    assert changed(idle_workshop) == ["silver.orders"], "a dry rebuild judges no row that readers see"
    assert changed(idle_workshop) == []


def test_rules_that_are_kept_can_be_judged_by(judged: Workshop) -> None:
    plan = make_plan(judged.project.pipelines["shop"], judged.project.conf, Lake(judged.project.lake, "shop"))
    plan.ledger.guard = lambda: None
    keep_rules(judged.project, plan)

    versions = [row["rules"] for row in plan.ledger.ordered("rules")]

    assert [
        Verdicts(plan.ledger).rules("silver.orders", version)[0].kwargs["max_value"] for version in versions
    ] == [10, 5, 10]


def test_rules_that_tag_are_not_said_to_leave_the_rows_that_are_there(judged: Workshop) -> None:
    def write(rules: str) -> None:
        judged.write("expectations/shop/silver.orders.yml", rules)

    tagging = RULES.replace("quarantine", "tag")
    assert changed(judged) == ["silver.orders"]
    both = (
        RULES.replace("MOST", "5")
        + tagging.replace("MOST", "3").replace("small:", "tiny:").partition(":\n")[2]
    )
    write(both)
    assert changed(judged) == []
    write(both.replace("max_value: 3", "max_value: 2"))
    assert changed(judged) == []
    write(tagging.replace("MOST", "2"))  # the rule that set rows aside is gone
    assert changed(judged) == ["silver.orders"]
