"""What a rebuild has built is all there, to the last file, or nothing is replaced; and nothing takes the
place of rows.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.config.definition import definition_parts
from spark_jobs.config.errors import ConfigError
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import LIVE, SWAPPING, Definition
from spark_jobs.lake.selection import Selection
from spark_jobs.run.decisions import try_replay
from spark_jobs.run.finish_swap import Rebuild, Swap, consumed_by, note_swapping, only_tables
from spark_jobs.run.judging import version_to_judge_by
from spark_jobs.run.order import QuarantineRequest
from spark_jobs.run.plan import TAGGING, Plan, make_plan
from spark_jobs.run.rebuild import rebuild_tables, with_new_dimensions
from spark_jobs.run.result import RunResult, Status
from spark_jobs.run.stage import NotReplaceable, StageLost, check_live, check_stage, describe_stage
from tests.conftest import PROFILE, Workshop

TABLE = "silver.orders"
SHOP = """
pipeline: shop
sources: {orders: {format: json, path: orders}, returns: {format: json, path: returns}}
silver:
  orders: {from: orders, columns: {id: bigint}}
  returns: {from: returns, columns: {id: bigint}}
gold:
  count: {from: silver.orders, measures: {n: count(*)}}
"""
BOARD = """
pipeline: board
gold:
  count: {from: shop.silver.orders, measures: {n: count(*)}}
"""


@pytest.fixture
def staged(tmp_path: Path) -> Lake:
    """A stage in which silver.orders and its quarantine were built."""
    lake = Lake(str(tmp_path), "shop", frozenset({TABLE}))
    for name in (TABLE, f"quarantine.{TABLE}"):
        write_deltalake(lake.table(name), pa.table({"id": [1, 2, 3]}))
    return lake


def swapping(lake: Lake) -> dict[str, Definition]:
    return {TABLE: Definition(2, {}, {}, SWAPPING, describe_stage(lake, TABLE))}


def test_a_stage_that_is_whole_passes_also_where_nothing_was_built_beside_a_table(staged: Lake) -> None:
    begun = swapping(staged)
    check_stage(staged, begun)
    stage = begun[TABLE].stage
    assert stage is not None
    assert [name for name, built in stage.items() if built is None] == [
        f"{side}.{TABLE}" for side in ("parked", "deleted", "late")
    ]


@pytest.mark.parametrize("name", [TABLE, f"quarantine.{TABLE}"])
def test_a_data_file_that_is_cut_or_gone_is_found(staged: Lake, name: str) -> None:
    begun = swapping(staged)
    [file] = Path(staged.table(name)).glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StageLost, match=f"1 data files of {staged.table(name)} are missing or cut"):
        check_stage(staged, begun)
    file.unlink()
    with pytest.raises(StageLost, match="`weir rebuild shop` builds it again from bronze"):
        check_stage(staged, begun)


def test_a_side_table_that_vanished_is_not_taken_for_one_that_was_never_built(staged: Lake) -> None:
    begun = swapping(staged)
    for file in Path(staged.table(f"quarantine.{TABLE}"), "_delta_log").iterdir():
        file.unlink()
    with pytest.raises(StageLost, match=f"quarantine/{TABLE} is not there"):
        check_stage(staged, begun)


def test_a_stage_of_another_rebuild_is_not_taken_for_the_one_that_was_cut(staged: Lake) -> None:
    begun = swapping(staged)
    DeltaTable(staged.table(TABLE)).delete("id = 1")
    with pytest.raises(StageLost, match="is another table than the one that was built"):
        check_stage(staged, begun)


def test_a_table_with_rows_for_which_nothing_was_built_is_not_replaced(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop", frozenset({TABLE}))
    begun = swapping(lake)
    check_stage(lake, begun)
    write_deltalake(replace(lake, staged=frozenset()).table(TABLE), pa.table({"id": [1]}))
    with pytest.raises(
        StageLost, match=r"nothing was built that could take the place of the rows of silver\.orders"
    ):
        check_stage(lake, begun)


def test_of_a_swap_that_an_earlier_version_began_the_table_itself_must_be_there(
    staged: Lake, tmp_path: Path
) -> None:
    begun = {table: replace(known, stage=None) for table, known in swapping(staged).items()}
    check_stage(staged, begun)
    with pytest.raises(StageLost, match="is not there"):
        check_stage(Lake(str(tmp_path / "elsewhere"), "shop", frozenset({TABLE})), begun)


def test_a_current_table_that_refuses_to_be_replaced_is_found_first(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    write_deltalake(lake.table(f"parked.{TABLE}"), pa.table({"id": [1]}))
    check_live(lake, [TABLE])
    DeltaTable(lake.table(f"parked.{TABLE}")).alter.add_constraint({"small": "id < 100"})
    with pytest.raises(
        NotReplaceable, match=r"parked\.silver\.orders cannot be replaced: .* CHECK .* 'small'"
    ):
        check_live(lake, [TABLE])
    DeltaTable(lake.table(f"parked.{TABLE}")).alter.drop_constraint("small")
    DeltaTable(lake.table(f"parked.{TABLE}")).alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(
        NotReplaceable,
        match=r"parked\.silver\.orders cannot be replaced: its property delta\.appendOnly is true",
    ):
        check_live(lake, [TABLE])


@pytest.fixture
def standing(idle_workshop: Workshop) -> Workshop:
    """Two pipelines whose tables have rows; nothing was ever returned."""
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    idle_workshop.write("conf/pipelines/board.yml", BOARD)
    for name in ("shop/bronze/orders", "shop/silver/orders", "shop/gold/count", "board/gold/count"):
        write_deltalake(f"{idle_workshop.project.lake}/{name}", pa.table({"id": [1, 2, 3]}))
    return idle_workshop


def rebuild(workshop: Workshop, pipeline: str, *tables: str, is_dry: bool = False) -> Rebuild:
    return rebuild_tables(workshop.project, pipeline, PROFILE, tables, is_dry, workshop._start)


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize("tables", [(TABLE,), ("silver.returns", TABLE), ("gold.count", TABLE)])
def test_a_table_with_rows_is_not_rebuilt_from_a_table_that_is_not_there(
    standing: Workshop, tables: tuple[str, ...], is_dry: bool
) -> None:
    shutil.rmtree(f"{standing.project.lake}/shop/bronze/orders")

    refused = rebuild(standing, "shop", *tables, is_dry=is_dry)

    assert refused.status is Status.FAILED
    assert (
        "silver.orders cannot be replaced: bronze.orders is not there: `weir run shop --select bronze.orders`"
        in refused.message
    )
    assert "nothing was replaced" in refused.message


def test_a_table_with_rows_is_not_rebuilt_by_way_of_one_that_cannot_be_built(standing: Workshop) -> None:
    for name in ("bronze", "silver"):
        shutil.rmtree(f"{standing.project.lake}/shop/{name}/orders")

    refused = rebuild(standing, "shop", TABLE)

    assert "gold.count cannot be replaced: bronze.orders is not there" in refused.message


def test_a_table_with_rows_is_not_rebuilt_while_its_input_of_another_pipeline_is_replaced(
    standing: Workshop,
) -> None:
    ledger = Ledger(Lake(standing.project.lake, "shop"), guard=lambda: None)
    ledger.write_definitions("1", {TABLE: Definition(1, {}, {}, LIVE)})
    ledger.write_definitions("2", {TABLE: Definition(2, {}, {}, SWAPPING)})

    refused = rebuild(standing, "board", "gold.count")

    assert refused.status is Status.FAILED
    assert (
        "gold.count cannot be replaced: shop.silver.orders is being replaced by a rebuild" in refused.message
    )


def test_a_rule_does_not_take_a_table_of_another_pipeline_that_is_replaced_for_an_empty_one(
    standing: Workshop,
) -> None:
    project, board = standing.project, Lake(standing.project.lake, "board")
    ledger = Ledger(Lake(project.lake, "shop"), guard=lambda: None)
    ledger.write_definitions("1", {TABLE: Definition(2, {}, {}, SWAPPING)})
    plan = make_plan(project.pipelines["board"], project.conf, board)
    assert plan.version(f"shop.{TABLE}") is None, "it is no input"

    assert version_to_judge_by(plan, {}, f"shop.{TABLE}") == 0
    assert version_to_judge_by(plan, {f"shop.{TABLE}": 7}, f"shop.{TABLE}") == 7
    shutil.rmtree(f"{project.lake}/shop/silver/orders")
    assert version_to_judge_by(plan, {}, f"shop.{TABLE}") is None


def test_a_table_without_rows_keeps_no_rebuild_waiting_for_what_never_came(standing: Workshop) -> None:
    begun = rebuild(standing, "shop", TABLE, "silver.returns")

    assert "cannot be replaced" not in begun.message  # it goes on to Spark, which is not there


FACTS = """
pipeline: facts
sources: {shops: {format: json, path: shops}, sales: {format: json, path: sales}}
dimensions:
  shops: {from: shops, columns: {id: bigint, v: int, city: string}, key: id, sequence_by: v}
silver:
  sales: {from: sales, columns: {id: bigint, shop: bigint}, lookup: {shops: {on: shop, take: [city]}}}
"""


@pytest.fixture
def facts(idle_workshop: Workshop) -> Workshop:
    """Facts with their dimension, as a run has left them."""
    idle_workshop.write("conf/pipelines/facts.yml", FACTS)
    lake, project = Lake(idle_workshop.project.lake, "facts"), idle_workshop.project
    tables = ("bronze.shops", "bronze.sales", "dimension.shops", "silver.sales")
    known = {
        table: Definition(1, definition_parts(project.pipelines["facts"], table, project.conf), {})
        for table in tables
    }
    Ledger(lake, guard=lambda: None).write_definitions("1", known)
    for table in tables:
        write_deltalake(lake.table(table), pa.table({"id": [1], "v": [1], "city": ["Ulm"]}))
    return idle_workshop


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "source"),
    [
        ("city: string}", "city: string, street: string}", "dimension.shops"),
        ("sales: {format: json", "sales: {format: text", "bronze.sales"),
    ],
)
def test_a_table_is_not_rebuilt_from_one_that_does_not_follow_its_definition(
    facts: Workshop, before: str, after: str, source: str, is_dry: bool
) -> None:
    facts.write("conf/pipelines/facts.yml", FACTS.replace(before, after))
    versions = facts.versions()

    with pytest.raises(
        ConfigError,
        match=rf"silver\.sales is made from {source}, whose definition has changed since its rows were made",
    ):
        rebuild(facts, "facts", "silver.sales", is_dry=is_dry)

    assert facts.versions() == versions


def test_a_table_is_rebuilt_with_the_redefined_one_that_it_is_made_from(facts: Workshop) -> None:
    facts.write("conf/pipelines/facts.yml", FACTS.replace("city: string}", "city: string, street: string}"))

    for tables in ((), ("dimension.shops",), ("silver.sales", "dimension.shops")):
        assert "this test must not start Spark" in rebuild(facts, "facts", *tables).message


def test_a_dimension_of_which_nothing_has_come_keeps_no_facts_from_a_rebuild(facts: Workshop) -> None:
    lake = Lake(facts.project.lake, "facts")
    shutil.rmtree(lake.table("bronze.shops"))
    empty = DeltaTable(lake.table("dimension.shops")).to_pyarrow_table().slice(0, 0)
    write_deltalake(lake.table("dimension.shops"), empty, mode="overwrite")

    for tables in (("dimension.shops",), ("silver.sales", "dimension.shops")):
        assert "this test must not start Spark" in rebuild(facts, "facts", *tables).message


def test_a_dimension_that_facts_look_up_for_the_first_time_is_built_beside_with_them(facts: Workshop) -> None:
    new = FACTS.replace("sources: {", "sources: {towns: {format: json, path: towns}, ").replace(
        "dimensions:",
        "dimensions:\n  towns: {from: towns, columns: {id: bigint, v: int}, key: id, sequence_by: v}",
    )
    new = new.replace("take: [city]}}", "take: [city]}, towns: {on: id, take: {v: town}}}")
    facts.write("conf/pipelines/facts.yml", new)
    project = facts.project
    plan = make_plan(project.pipelines["facts"], project.conf, Lake(project.lake, "facts"))

    assert sorted(with_new_dimensions(plan, ["silver.sales"])) == ["dimension.towns", "silver.sales"]
    assert with_new_dimensions(plan, ["dimension.shops"]) == ["dimension.shops"]


def test_so_is_one_that_a_dimension_looks_up_and_those_that_it_looks_up_itself(facts: Workshop) -> None:
    town = "columns: {id: bigint, v: int}, key: id, sequence_by: v"
    new = FACTS.replace("sources: {", "sources: {towns: {format: json, path: towns}, ").replace(
        "dimensions:",
        f"dimensions:\n  towns: {{from: towns, {town}, lookup: {{lands: {{on: id, take: {{v: land}}}}}}}}"
        f"\n  lands: {{from: towns, {town}}}",
    )
    new = new.replace("city: string}", "city: string}, lookup: {towns: {on: id, take: {v: town}}}")
    facts.write("conf/pipelines/facts.yml", new)
    project = facts.project
    plan = make_plan(project.pipelines["facts"], project.conf, Lake(project.lake, "facts"))

    found = with_new_dimensions(plan, ["dimension.shops", "silver.sales"])
    assert sorted(found) == ["dimension.lands", "dimension.shops", "dimension.towns", "silver.sales"]
    assert found == [table for table in plan.tables if table in found]


def test_a_rebuild_that_was_cut_knows_by_which_rules_its_rows_were_tagged(facts: Workshop) -> None:
    rule = "{type: expect_column_values_to_not_be_null, kwargs: {column: COLUMN}, on_fail: tag, reason: so}"

    def planned(column: str) -> Plan:
        facts.write(
            "expectations/facts/silver.sales.yml",
            f"expectations:\n  known: {rule.replace('COLUMN', column)}\n",
        )
        project = facts.project
        return make_plan(project.pipelines["facts"], project.conf, Lake(project.lake, "facts"))

    def noted(plan: Plan) -> Definition:
        ledger = Ledger(plan.lake, guard=lambda: None)
        order: Any = SimpleNamespace(plan=only_tables(plan, ["silver.sales"]), ledger=ledger, run_id="r")
        note_swapping(order, [], Swap(["silver.sales"]))
        return Ledger(plan.lake).definitions()["silver.sales"]

    built = planned("city")
    tagged_by, cut = built.current_inputs("silver.sales")[TAGGING], noted(built)
    later = planned("shop")

    assert later.current_inputs("silver.sales")[TAGGING] != tagged_by
    assert consumed_by(later, "silver.sales", cut)[TAGGING] == tagged_by
    (facts.root / "expectations/facts/silver.sales.yml").unlink()
    none = make_plan(facts.project.pipelines["facts"], facts.project.conf, built.lake)
    assert consumed_by(none, "silver.sales", cut)[TAGGING] == tagged_by
    assert TAGGING not in consumed_by(later, "silver.sales", noted(none))


def test_a_dry_replay_refuses_what_a_replay_would_refuse(facts: Workshop) -> None:
    lake = Lake(facts.project.lake, "facts")
    write_deltalake(lake.table("quarantine.silver.sales"), pa.table({"id": [1]}))
    request = QuarantineRequest("silver.sales", "replay", Selection(), "ada@here")

    def tried() -> RunResult:
        return try_replay(facts.project, "facts", PROFILE, request, facts._start)

    assert (tried().status, "this test must not start Spark" in tried().message) == (Status.FAILED, True)
    facts.write("conf/pipelines/facts.yml", FACTS.replace("id: bigint, shop", "id: int, shop"))
    with pytest.raises(ConfigError, match=r"the definition of silver\.sales has changed"):
        tried()
    Ledger(lake, guard=lambda: None).write_definitions("2", {"silver.sales": Definition(2, {}, {}, SWAPPING)})
    assert tried().message.startswith("a rebuild was cut while it replaced silver.sales")
