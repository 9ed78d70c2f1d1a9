"""What a run of some tables alone needs of those that it does not make. No JVM."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.config.definition import definition_parts
from spark_jobs.config.errors import ConfigError
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run.definitions import note_definitions
from spark_jobs.run.plan import make_plan
from tests.conftest import Workshop, unguarded
from tests.run import standing_lake
from tests.run.standing_lake import StandingLake


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> StandingLake:
    root = Workshop(tmp_path_factory.mktemp("standing"), None)
    root.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nprofile: local\nkeep_reports: 0\n")
    return standing_lake.build(root, datetime(2024, 5, 1, 9, tzinfo=UTC))


@pytest.mark.parametrize(
    ("old", "new", "select", "said"),
    [
        (
            "city: string, v: int}",
            "city: string, zip: string, v: int}",
            "silver.orders",
            (
                "silver.orders is made from dimension.members, whose definition has changed since its rows"
                " were made: columns.zip"
            ),
        ),
        (
            "columns: {id: bigint, member: bigint",
            "columns: {id: string, member: bigint",
            "gold.closed",
            (
                "gold.closed is made from silver.orders, whose definition has changed since its rows were"
                " made: columns.id"
            ),
        ),
    ],
    ids=["a dimension of facts", "a silver table of windows"],
)
def test_tables_are_not_made_from_one_whose_rows_do_not_follow_the_pipeline_file(
    standing: StandingLake, tmp_path: Path, old: str, new: str, select: str, said: str
) -> None:
    """Selected alone, they would take columns that none of its rows was asked for."""
    changed = standing_lake.copy_of(standing, tmp_path)
    changed.workshop.write("conf/pipelines/shop.yml", standing_lake.PIPELINE.replace(old, new))
    before = changed.files()

    with pytest.raises(ConfigError) as refused:
        changed.workshop.run("shop", select)

    assert said in str(refused.value)
    assert f"run `weir rebuild shop {said.split()[4].rstrip(',')}`" in str(refused.value)
    kept = {path: known for path, known in changed.files().items() if "lease" not in path}
    assert kept == {path: known for path, known in before.items() if "lease" not in path}


def test_a_dimension_that_is_created_for_selected_facts_has_its_definition_written_down(
    idle_workshop: Workshop,
) -> None:
    """Else nobody would know later by which columns it was created."""
    idle_workshop.write("conf/pipelines/shop.yml", standing_lake.PIPELINE)
    idle_workshop.write("conf/sql/total.sql", "SELECT count(*) AS n FROM silver.orders")
    project = idle_workshop.project
    lake, pipeline = Lake(project.lake, "shop"), project.pipelines["shop"]
    plan = make_plan(pipeline, project.conf, lake, ["silver.orders"])
    plan.ledger.guard = unguarded

    note_definitions(plan, "run")

    known = Ledger(lake, unguarded).definitions()
    assert known.keys() == {"silver.orders", "dimension.members"}
    assert known["dimension.members"].parts == definition_parts(pipeline, "dimension.members", project.conf)
